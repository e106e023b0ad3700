"""Readings of the claims of the documents: which a document states, and which are remarks."""

import csv
import io
from collections import defaultdict
from itertools import chain

import pytest

from ablate.config.location import catalogue
from ablate.ledger.verdicts import collect, read_claims, read_notes, read_text

ENTRIES = {
    (claim, reading): {"at": "", "says": "", "remark": "", **entry}
    for claim, readings in read_notes("readings").items()
    for reading, entry in readings.items()
}
STATED, REMARK = "all values", "under a causal mask"


@pytest.fixture(scope="module")
def asked():
    """The readings that committed verdicts asked, by the claims that documents make."""
    made = {claim.id for claim in read_claims()}
    readings = defaultdict(set)
    for finding in chain(*collect(catalogue()).values()):
        if finding.claim in made:
            readings[finding.claim].add(finding.reading)
    return readings


def test_every_claim_with_several_readings_says_what_each_of_them_is(asked):
    several = {
        (claim, reading) for claim, many in asked.items() if len(many) > 1 for reading in many
    }
    unfinished = {key for key in ENTRIES if key[0] in read_notes("unasked")}
    assert several | unfinished == set(ENTRIES)


def test_a_document_states_at_least_one_reading_of_each_claim():
    stated = {claim for (claim, _), reading in ENTRIES.items() if not reading["remark"]}
    assert stated == {claim for claim, _ in ENTRIES}


def test_a_reading_has_a_place_in_a_document_or_a_reason_to_be_a_remark():
    rows = csv.DictReader(io.StringIO(read_text("documents.csv")))
    places = [f"{row['document']}, {row['section']}" for row in rows if row["section"]]
    for key, reading in ENTRIES.items():
        if reading["remark"]:
            assert not reading["at"] and not reading["says"], key
        else:
            assert reading["at"] in places, key
        assert (reading["says"] or reading["remark"])[-1] in ".,:", key
