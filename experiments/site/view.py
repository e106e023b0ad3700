"""Describe a verdict of an experiment as the page of its claim shows it.

The sentence of the verdict itself comes from ablate.words.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ablate.ledger.headline import MIXED
from ablate.ledger.text import Entry
from ablate.ledger.verdicts import Finding
from ablate.metric import metric_of
from ablate.report.content import details
from ablate.report.draw import contrast_lines, draw_effects, has_effect, style, svg
from ablate.verdict.kinds import KINDS
from ablate.verdict.stored import is_exact
from ablate.verdict.types import INCONCLUSIVE, REFUTED, SUPPORTED
from ablate.verdict.types import Entry as Answered
from ablate.words.answer import EXPONENT, effect_text, evidence_line, short_answer, unit_of
from experiments.site.model import Site
from experiments.site.source import Source

OTHER_VARIANTS = "No number of seeds would decide the claim: other variants or settings are needed."


@dataclass(frozen=True)
class View:
    """A verdict of an experiment, as the page of its claim shows it."""

    finding: Finding
    source: Source
    page: str  # name of the experiment's page
    key: str  # id of the verdict on the page
    decides: bool  # whether the verdict determines the headline of the claim

    @property
    def is_drawable(self) -> bool:
        """Whether the verdict has a finite effect that a forest plot can show."""
        ends = self.finding.answer["interval"] or []
        return has_effect(self.finding.answer) and all(map(math.isfinite, ends))

    @property
    def changes_by_correction(self) -> bool:
        """Whether a correction for testing all claims of the site would change the verdict."""
        return self.finding.corrected not in ("", self.finding.verdict)

    @property
    def place(self) -> str:
        """The reading of the claim (one of the meanings of an ambiguous claim), the corpus, and the
        number of training steps, as text.
        """
        return "; ".join(part for part in (self.finding.reading, self.setting) if part)

    @property
    def setting(self) -> str:
        """The corpus and the number of training steps, as text, or "without training"."""
        return self.finding.place or "without training"

    @property
    def opening(self) -> str:
        """The answer in a few words, such as "Supported"."""
        return short_answer(self.finding.answer, self.finding.answer)

    @property
    def changes(self) -> list[str]:
        """Sentences on what would change the verdict, such as more seeds."""
        return changes(self.finding.answer)

    @property
    def sentence(self) -> str:
        """The line of evidence of this verdict."""
        return evidence_line(self.finding.answer, self.finding.answer)

    @property
    def fresh(self) -> str:
        """The effect on fresh seeds with its interval; "" without a replication or an effect."""
        fresh = self.finding.replication["fresh"] if self.finding.replication else None
        if not fresh or fresh["effect"] is None:
            return ""
        answer, ends = self.finding.answer, fresh["interval"]
        return f"{effect_text(answer, fresh['effect'], ends, 1 - answer['alpha'])}."

    @property
    def details(self) -> dict[str, str]:
        """The numbers of this verdict as text, by name."""
        return details(self.finding.answer)

    @property
    def caveats(self) -> list[str]:
        """Sentences on the limits of this verdict."""
        return self.source.caveats(self.finding.answer)


def views(entry: Entry, site: Site) -> list[View]:
    """Return every verdict on a claim; verdicts that determine the claim's headline (the word that
    combines all verdicts) come first.
    """
    deciding = entry.headline.deciding
    ordered = sorted(entry.findings, key=lambda finding: finding not in deciding)
    return [
        View(
            finding,
            site.sources[finding.folder],
            site.experiments[finding.folder],
            f"v{number}",
            finding in deciding,
        )
        for number, finding in enumerate(ordered, 1)
    ]


def drawn(all_views: Sequence[View]) -> list[View]:
    """Return the verdicts that the figure of a claim shows: those that decide it and have an
    effect, or, if none of them has one, all with an effect.
    """
    drawable = [view for view in all_views if view.is_drawable]
    return [view for view in drawable if view.decides] or drawable


def draw(shown: Sequence[View]) -> str:
    """Return the forest plot of some verdicts as SVG, as reports have it.

    Rows name the place of a verdict if several rows have the same arms.
    """
    contrasts = {tuple(contrast_lines(view.finding.answer)) for view in shown}
    places = [view.place for view in shown] if len(contrasts) < len(shown) else []
    with style():
        return svg(draw_effects([view.finding.answer for view in shown], places))


def clearest(word: str, all_views: Sequence[View]) -> list[View]:
    """Return the verdict that shows best why a claim has its headline, the word that combines all
    verdicts on the claim; for a mixed headline, return a supported and a refuted verdict.

    Verdicts are preferred in this order: those that stay the same with a correction for all claims
    of the site; those with an effect to draw; those that are not exact, or whose check was seen to
    fail in a control; and those with the most seeds. The list is empty if no verdict decides the
    claim.

    Args:
        word: the headline, such as "supported" or "mixed".
        all_views: all verdicts on the claim.
    """
    deciding = sorted((view for view in all_views if view.decides), key=_unclear)
    if word == MIXED:
        both = ([v for v in deciding if v.finding.verdict == w] for w in (SUPPORTED, REFUTED))
        return [same[0] for same in both if same]
    return ([view for view in deciding if view.finding.verdict == word] or deciding)[:1]


def _unclear(view: View) -> tuple[bool, bool, bool, int]:
    cases = view.finding.answer.get("cases")
    no_control = cases is not None and cases["control"] is None and "elsewhere" not in cases
    return (
        view.changes_by_correction,
        not view.is_drawable,
        no_control,
        -view.finding.answer["pairs"],
    )


def changes(claim: Answered) -> list[str]:
    """Return sentences on what would change the verdict on a claim, such as more seeds."""
    sentences = _more_seeds(claim)
    if claim["verdict"] == INCONCLUSIVE and not sentences:  # no number of seeds was computed
        if not claim["sensitivity"]:
            sentences.append(OTHER_VARIANTS)
        elif not is_exact(claim):
            sentences.append("Each further seed makes the interval narrower.")
    if is_exact(claim):
        sentences.append("A single further case in which the claim does not hold would refute it.")
    return sentences


def _more_seeds(claim: Answered) -> list[str]:
    """Return sentences on how many seeds would be needed for a decision on a claim.

    Each sentence is about one decision, such as supported. It assumes the true effect for which the
    study was planned, and names the number of seeds with which the decision has power 0.8. If the
    study has this number of seeds already, the sentence is left out.
    """
    sentences = []
    for side, plan in (claim["seeds_needed"] or {}).items():
        condition, seeds = _if_true(claim, plan["effect"]), plan["seeds"]
        if not seeds:
            most = KINDS[claim["kind"]].most_seeds
            sentences.append(
                f"More than {most:,} seeds would show that the claim is {side}, if {condition}."
            )
        elif seeds > claim["pairs"]:
            sentences.append(
                f"{seeds:,} seeds in all would show that the claim is {side}, if {condition}."
            )
    return sentences


def _if_true(claim: Answered, effect: float) -> str:
    metric = metric_of(claim["metric"])
    if (unit := unit_of(claim)) == EXPONENT and effect:
        return f"the true exponent is {unit.say(effect)}"
    size = f"the true effect is {metric.say(effect)} {metric.name}"
    return size if effect else "there is no difference"
