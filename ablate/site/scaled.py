"""What the ledger would say if every margin were larger or smaller by one factor."""

from dataclasses import replace
from typing import NamedTuple

from ablate.evidence.types import Band
from ablate.ledger.entries import Entry
from ablate.ledger.headline import headline
from ablate.ledger.verdicts import Finding
from ablate.report.selection import bound
from ablate.site.model import Site

LARGEST = 10.0  # factor, and its inverse the least
Turns = list[tuple[float, Finding]]


class Turn(NamedTuple):
    """From a factor on, a claim has this headline."""

    factor: float
    word: str


def turns(entry: Entry, site: Site) -> list[Turn]:
    """The states of a claim by the factor, from the least; empty where no factor changes it."""
    known = [_verdicts(finding, site) for finding in entry.headline.deciding]
    starts = sorted({start for found in known for start, _ in found})
    statement, given = entry.claim.statement, entry.headline
    words = [
        headline(
            statement, [_at(start, found) for found in known], given.gone, given.real_text
        ).word
        for start in starts
    ]
    turned = [Turn(start, word) for start, word in zip(starts, words, strict=True)]
    kept = [turn for i, turn in enumerate(turned) if not i or turn.word != turned[i - 1].word]
    return kept if len(kept) > 1 else []


def _at(factor: float, found: Turns) -> Finding:
    return [finding for start, finding in found if start <= factor][-1]


def _verdicts(finding: Finding, site: Site) -> Turns:
    """A verdict by the factor; that of the study's own margin is the one that was given.

    One that no margin would change, as where nothing was learned, has no bands.
    """
    told = site.told(finding)
    which, own = bound(told) if told else ("", 0.0)
    if told is None or not told["sensitivity"] or which != "margin" or own <= 0:
        return [(0.0, finding)]
    bands: list[Band] = [band for band in told["sensitivity"] if band["from"] < LARGEST * own]
    here = [band for band in bands if band["from"] <= own][-1]["verdict"]
    found = [
        finding if band["verdict"] == here else replace(finding, verdict=band["verdict"])
        for band in bands
    ]
    least = [i for i, band in enumerate(bands) if band["from"] * LARGEST <= own][-1]
    starts = [0.0, *(band["from"] / own for band in bands[least + 1 :])]
    return list(zip(starts, found[least:], strict=True))
