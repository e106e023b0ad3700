"""Prepare the page of a claim: the claim as a sentence, the answer (the word that combines all
verdicts on the claim), a figure, reasons for and against trusting the answer, and the answers that
other margins would give.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from ablate.evidence.types import Band, ReportedClaim
from ablate.ledger.claims import Pair
from ablate.ledger.entries import Entry
from ablate.ledger.headline import MIXED, headline
from ablate.ledger.verdicts import Finding
from ablate.phrases import counted, listed
from ablate.report.selection import bound
from ablate.site.documents import linked
from ablate.site.forest import Forest, Margins, Row, forests, margins, row
from ablate.site.model import Site
from ablate.site.source import Source
from ablate.site.wording import changes, doubts, duration, support
from ablate.verdict.decision import INCONCLUSIVE, REFUTED, SUPPORTED, was_trained
from ablate.verdict.wording.caveats import about

LARGEST = 10.0  # the largest factor of the margins; the smallest is its inverse
Verdicts = list[tuple[float, Finding]]


@dataclass(frozen=True)
class View:
    """A verdict of an experiment, as the page of its claim shows it."""

    finding: Finding
    source: Source
    claim: ReportedClaim | None
    page: str  # name of the experiment's page
    key: str  # id of the verdict on the page, with which the margin slider finds the drawn effect
    decides: bool = True  # whether the verdict determines the headline of the claim

    @cached_property
    def row(self) -> Row | None:
        """The effect to draw; None if the verdict has no effect."""
        return row(self.claim, self.place) if self.claim else None

    @property
    def changes_by_correction(self) -> bool:
        """Whether a correction for testing all claims of the site would change the verdict."""
        return self.finding.ledger_wide not in ("", self.finding.verdict)

    @property
    def place(self) -> str:
        """A short text on where the verdict holds: the reading of the claim (one of the meanings of
        an ambiguous claim), the corpus, the number of training steps, and whether the experiment is
        the user's.
        """
        parts = [self.finding.reading, self.setting, self.source.by_user]
        return "; ".join(part for part in parts if part)

    @property
    def setting(self) -> str:
        """The corpus and the number of training steps, as text, or "without training"."""
        if not was_trained(self.source.verdict):
            return "without training"
        corpus = listed(self.source.corpora)
        steps = self.finding.steps_text
        return f"{corpus}, {steps} steps" if steps else corpus

    @property
    def opening(self) -> str:
        """The answer in a few words, such as "Supported": the first words of the verdict's first
        sentence.
        """
        word = "undecided" if self.finding.verdict == INCONCLUSIVE else self.finding.verdict
        headline = self.claim.get("headline", "") if self.claim else ""
        return headline.partition(". ")[0] or word.capitalize()

    @property
    def margins(self) -> Margins | None:
        """The verdicts that other margins would give; None if every margin gives the same
        verdict.
        """
        return margins(self.claim) if self.claim else None

    @property
    def changes(self) -> list[str]:
        """Sentences on what would change the verdict, such as more seeds."""
        return changes(self.claim, self.source.per_seed(self.claim)) if self.claim else []

    @cached_property
    def caveats(self) -> list[str]:
        """Sentences on the limits of this verdict."""
        if self.claim is None:
            return self.source.caveats
        return about(self.claim, self.source.entries, self.source.caveats)

    @property
    def cost(self) -> str:
        """The number of runs of the experiment and their total time, as text; "" if the results of
        the runs are not available.
        """
        if self.source.evidence is None:
            return ""
        runs = len(self.source.evidence.runs)
        took = duration(self.source.seconds)
        return f"{counted(runs, 'run')}, {took} of one processor core in all"


def views(entry: Entry, site: Site) -> list[View]:
    """Return every verdict on a claim; verdicts that determine the claim's headline (the word that
    combines all verdicts) come first.
    """
    deciding = entry.headline.deciding
    ordered = sorted(entry.findings, key=lambda finding: finding not in deciding)
    return [
        View(
            finding,
            site.sources[finding.report.parent],
            site.answer(finding),
            site.experiments[finding.report.parent],
            f"v{number}",
            finding in deciding,
        )
        for number, finding in enumerate(ordered, 1)
    ]


def drawn(views: list[View]) -> list[tuple[Forest, list[View]]]:
    """Return forest plots of the effects of verdicts, as few as possible, each with its verdicts.

    The effects in a plot share a horizontal axis. Plots come first if they have a verdict that
    decides the claim's headline, the word that combines all verdicts on the claim.
    """
    axes = forests((view.row, view) for view in views)
    return sorted(axes, key=lambda pair: not any(view.decides for view in pair[1]))


def clearest(word: str, views: list[View]) -> list[View]:
    """Return the verdict that shows best why a claim has its headline, the word that combines all
    verdicts on the claim; for a mixed headline, return a supported and a refuted verdict.

    Verdicts are preferred in this order: those that stay the same with a correction for all claims
    of the site; those with an effect to draw; those that are not exact, or whose check was seen to
    fail in a control; and those with the most seeds. The list is empty if no verdict decides the
    claim.

    Args:
        word: the headline, such as "supported" or "mixed".
        views: all verdicts on the claim.
    """
    deciding = sorted((view for view in views if view.decides), key=_unclear)
    if word == MIXED:
        both = ([v for v in deciding if v.finding.verdict == w] for w in (SUPPORTED, REFUTED))
        return [same[0] for same in both if same]
    return ([view for view in deciding if view.finding.verdict == word] or deciding)[:1]


def _unclear(view: View) -> tuple[bool, bool, bool, int]:
    cases = view.claim.get("cases") if view.claim else None
    no_control = cases is not None and cases["control"] is None and "elsewhere" not in cases
    pairs = view.claim["pairs"] if view.claim else 0
    return view.changes_by_correction, not view.row, no_control, -pairs


def against(claim: str, site: Site) -> Iterator[tuple[Pair, list[Entry]]]:
    """Yield the contradictions in which a claim takes part, each with the claims that contradict
    it.

    `claim` is the id of the claim.
    """
    for pair in site.pairs:
        if claim in {*pair.first, *pair.second}:
            yield pair, [site.by_id[opposite] for opposite in pair.against(claim)]


def whole(entry: Entry, site: Site) -> dict[str, object]:
    """Return the variables of the HTML template for the page of a claim."""
    all_views = views(entry, site)
    deciding = [view for view in all_views if view.decides]
    return {
        "entry": entry,
        "places": linked(entry, site),
        "against": [*against(entry.claim.id, site)],
        "views": all_views,
        "deciding": deciding,
        "best": clearest(entry.verdict, all_views),
        "drawn": drawn(all_views),
        "support": [*support([(view.finding, view.source, view.claim) for view in deciding])],
        "doubts": [*doubts([(view.finding, view.source, view.claim) for view in deciding])],
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
    statement, current = entry.claim.statement, entry.headline
    words = [
        headline(
            statement,
            [_at(start, by_factor) for by_factor in verdicts],
            current.gone,
            current.real_text,
            current.unasked,
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
