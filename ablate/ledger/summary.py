"""Summarise the ledger (the list of all claims with their verdicts) on one screen: the number of
claims that are supported, refuted and so on, and further commands.
"""

import textwrap
from collections.abc import Iterator

from ablate.ledger.entries import ONLY, Entry, count
from ablate.ledger.family import changes
from ablate.ledger.headline import HEADLINES
from ablate.ledger.places import COMMITTED
from ablate.ledger.verdicts import Finding
from ablate.phrases import listed
from ablate.report.marks import AGAIN, MARKS

WIDTH = 80
QUESTIONS = {  # options of the command, and what they print
    "--all": "every claim with its verdicts",
    "word=warm-up": "claims that contain a word",
    "state=refuted": "claims in one of the states above",
    "document=notes": "claims of a document, by its title",
    "experiment=head_count": "claims that an experiment tests",
    "only=own": "what your own experiments say",
    "--json": "all of it as data (or --csv)",
    "--help": "more filters; they can be combined",
}


def summary(entries: list[Entry]) -> Iterator[str]:
    """Yield the lines of a summary of all claims, each of at most 80 characters.

    There are at most 24 lines, and a few more if evidence is missing.
    """
    counts = count(entries)
    yield f"{sum(counts.values())} claims about the Transformer, by what experiments say of them:"
    for state in HEADLINES:
        yield f"  {MARKS[state].letter} {state:16}{counts[state]:4}"
    yield ""
    notes = " ".join([*_notes(entries), *_by_user(entries)])
    yield from textwrap.wrap(notes, WIDTH, break_on_hyphens=False)
    yield ""
    for options, meaning in QUESTIONS.items():
        yield f"{f'  ablate ledger {options}':38}{meaning}"


def _notes(entries: list[Entry]) -> Iterator[str]:
    """Yield sentences for the summary: on claims that no document makes, on smoke tests, on
    verdicts that differ between settings, on missing evidence, on the correction for multiple
    tests, and on replications.

    The last two are about the committed verdicts, or about all verdicts if none is committed.
    """
    every = [finding for entry in entries for finding in entry.findings]
    findings = [finding for finding in every if finding.origin == COMMITTED] or every
    if outside := sum(entry.outside for entry in entries):
        yield f"Experiments test {_many(outside, 'claim')} that no document makes."
    if smoke := sum(entry.smoke for entry in entries):
        yield f"Tested only at smoke scale, which decides nothing: {_many(smoke, 'claim')}."
    if differ := sum(entry.differs for entry in entries):
        yield f"Verdicts of different settings differ on {_many(differ, 'claim')}."
    if gone := [entry.gone[0] for entry in entries if entry.gone]:
        yield f"{gone[0]}"
        if further := len(gone) - 1:
            yield f"So is evidence on {_many(further, 'other claim')} (ablate ledger --all)."
    family = changes(findings)
    if family.decided:
        yield str(family)
    yield from _replications(findings)


def _replications(findings: list[Finding]) -> Iterator[str]:
    words = [finding.again["replication"] for finding in findings if finding.again]
    counts = [f"{words.count(word)} {word}" for word in AGAIN if word in words]
    if counts:
        yield f"Fresh seeds were asked for {_many(len(words), 'verdict')}: {listed(counts)}."


def _by_user(entries: list[Entry]) -> Iterator[str]:
    findings = [
        finding for entry in entries for finding in entry.findings if finding.origin in ONLY["own"]
    ]
    if findings:
        claims = len({finding.claim for finding in findings})
        alone = sum(entry.by_user for entry in entries)
        yield f"Your own: {_many(len(findings), 'verdict')} on {_many(claims, 'claim')}."
        if alone:
            yield f"Without a committed verdict: {alone} of these."


def _many(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"
