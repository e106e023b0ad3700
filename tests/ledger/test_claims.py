"""The data of the ledger: its claims, and the readings of the claims of documents."""

import re
from collections import defaultdict
from itertools import chain
from pathlib import Path

import pytest
import yaml

from ablate.config import catalogue_root
from ablate.ledger.headline import NOT_TESTED
from ablate.ledger.text import read_entries
from ablate.ledger.verdicts import collect, read_claims, read_notes
from experiments.site.catalogue import read_documents

from ..experiments import EXPERIMENTS

CLAIMS = read_claims()
DOCUMENTS = {document.title: document for document in read_documents()}


def claims_of(study):
    """The claims of a study, and those of its screen."""
    return [*study.get("claims", []), *study.get("screen", {}).get("claims", {}).values()]


STUDIED = [
    (name, claim)
    for name, path in EXPERIMENTS.items()
    for claim in claims_of(yaml.load(path.read_text(), yaml.CSafeLoader).get("study") or {})
]


def known_section(title, section):
    """Whether a document has the section, by its number too, or that which a detail is added to."""
    sections = [
        spelling
        for name in DOCUMENTS[title].sections
        for spelling in (name, name.partition(":")[0])
    ]
    return any(section == name or section.startswith(f"{name}, ") for name in sections)


def test_all_claims_are_there_once():
    assert len(CLAIMS) >= 213
    assert len({claim.id for claim in CLAIMS}) == len(CLAIMS)
    assert len({claim.statement for claim in CLAIMS}) == len(CLAIMS)


def test_every_claim_says_where_it_stands():
    for claim in CLAIMS:
        for section in claim.section.split("; "):
            assert known_section(claim.document, section), (claim.id, section)
        for place in filter(None, claim.also_in.split("; ")):
            title = next(title for title in DOCUMENTS if place.startswith(f"{title}, "))
            assert known_section(title, place.removeprefix(f"{title}, ")), (claim.id, place)


def test_studies_name_documents_as_the_ledger_does():
    sources = [(study, s) for study, claim in STUDIED for s in claim["source"].split("; ")]
    for study, source in sources:
        for title in (title for title in DOCUMENTS if source.startswith(title)):
            section = re.sub(r" \(.*\)$", "", source.removeprefix(title).lstrip(", "))
            assert known_section(title, section), f"{study}: {source}"


ENTRIES = {
    (claim, reading): {"at": "", "says": "", "remark": "", **entry}
    for claim, readings in read_notes("readings").items()
    for reading, entry in readings.items()
}


@pytest.fixture(scope="module")
def asked():
    """The readings that committed verdicts asked, by the claims that documents make."""
    made = {claim.id for claim in read_claims()}
    readings = defaultdict(set)
    for finding in chain(*collect(catalogue_root()).values()):
        if finding.answer["id"] in made:
            readings[finding.answer["id"]].add(finding.reading)
    return readings


def test_every_claim_with_several_readings_says_what_each_of_them_is(asked):
    several = {
        (claim, reading) for claim, many in asked.items() if len(many) > 1 for reading in many
    }
    unfinished = {key for key in ENTRIES if key[0] in read_notes("unasked")}
    assert several | unfinished == set(ENTRIES)


UNDER_WAY = (
    "The modern Transformer"  # its screen has begun; docs/explanation/modern.md says what asks each
)
ROOT = Path(__file__).resolve().parents[2]


def test_no_claim_is_left_untested():
    entries = read_entries(ROOT / "experiments")
    assert len(entries) >= 249
    untested = [entry.claim for entry in entries if entry.verdict == NOT_TESTED]
    assert [claim.id for claim in untested if claim.document != UNDER_WAY] == []
    asked = " ".join(path.read_text() for path in EXPERIMENTS.values())
    assert [claim.id for claim in untested if claim.id not in asked] == []
