"""Prepare the page of a claim: the claim as a sentence, the answer (the word that combines all
verdicts on the claim), a figure, reasons for and against trusting the answer, and the answers that
other margins would give.
"""

from dataclasses import replace
from typing import NamedTuple

from ablate.evidence.types import Band
from ablate.ledger.entries import Entry
from ablate.ledger.headline import headline
from ablate.ledger.verdicts import Finding
from ablate.report.selection import bound
from ablate.site.documents import linked
from ablate.site.model import Site
from ablate.site.view import clearest, drawn, views
from ablate.site.wording import doubts, support

LARGEST = 10.0  # the largest factor of the margins; the smallest is its inverse
Verdicts = list[tuple[float, Finding]]


def whole(entry: Entry, site: Site) -> dict[str, object]:
    """Return the variables of the HTML template for the page of a claim."""
    all_views = views(entry, site)
    deciding = [view for view in all_views if view.decides]
    return {
        "entry": entry,
        "places": linked(entry, site),
        "views": all_views,
        "deciding": deciding,
        "best": clearest(entry.verdict, all_views),
        "drawn": drawn(all_views),
        "support": [*support(deciding)],
        "doubts": [*doubts(deciding)],
    }


class HeadlineThreshold(NamedTuple):
    """The word that combines all verdicts on a claim, such as "supported", if all margins are
    multiplied by `factor` or more, up to the next threshold.
    """

    factor: float
    word: str


def turns(entry: Entry, site: Site) -> list[HeadlineThreshold]:
    """Return how the headline of a claim (the word that combines all verdicts on the claim) changes
    if all margins are multiplied by a factor.

    Each element of the result has a factor, and the headline from this factor on, up to the factor
    of the next element. The factors ascend. The result is empty if no factor changes the headline.
    """
    verdicts = [_verdicts(finding, site) for finding in entry.headline.deciding]
    starts = sorted({start for by_factor in verdicts for start, _ in by_factor})
    current = entry.headline
    words = [
        headline(
            [_at(start, by_factor) for by_factor in verdicts],
            current.gone,
            universal=entry.claim.universal,
            real_text=current.real_text,
            unasked=current.unasked,
        ).word
        for start in starts
    ]
    turned = [HeadlineThreshold(start, word) for start, word in zip(starts, words, strict=True)]
    kept = [turn for i, turn in enumerate(turned) if not i or turn.word != turned[i - 1].word]
    return kept if len(kept) > 1 else []


def _at(factor: float, by_factor: Verdicts) -> Finding:
    return [finding for start, finding in by_factor if start <= factor][-1]


def _verdicts(finding: Finding, site: Site) -> Verdicts:
    """Return the verdicts that an experiment on a claim would have if its margin were multiplied by
    a factor, each with the smallest factor for which the verdict holds.

    The verdict at factor 1 is the original verdict. If no margin would change the verdict (for
    example, because nothing was learned), the result has only the original verdict.
    """
    claim = site.answer(finding)
    which, margin = bound(claim) if claim else ("", 0.0)
    if claim is None or not claim["sensitivity"] or which != "margin" or margin <= 0:
        return [(0.0, finding)]
    bands: list[Band] = [band for band in claim["sensitivity"] if band["from"] < LARGEST * margin]
    here = [band for band in bands if band["from"] <= margin][-1]["verdict"]
    findings = [
        finding if band["verdict"] == here else replace(finding, verdict=band["verdict"])
        for band in bands
    ]
    least = [i for i, band in enumerate(bands) if band["from"] * LARGEST <= margin][-1]
    starts = [0.0, *(band["from"] / margin for band in bands[least + 1 :])]
    return list(zip(starts, findings[least:], strict=True))
