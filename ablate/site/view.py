"""Describe a verdict of an experiment as pages show it: its effect in a forest plot, the verdicts
that other margins would give, and sentences on what would change the verdict.

The sentence of the verdict itself comes from ablate.words.
"""

from dataclasses import dataclass
from functools import cached_property

from ablate.evidence.types import Entry as Answered
from ablate.ledger.entries import Entry
from ablate.ledger.headline import MIXED
from ablate.ledger.verdicts import Finding
from ablate.metric.table import metric_of
from ablate.phrases import counted, listed, name_of, number_of
from ablate.report.details import details
from ablate.site.forest import Forest, Margins, Row, forests, margins, row
from ablate.site.model import Site
from ablate.site.source import Source
from ablate.verdict.decision import INCONCLUSIVE, REFUTED, SUPPORTED, is_exact, was_trained
from ablate.verdict.kind import KINDS
from ablate.words.answer import evidence_line, opening
from ablate.words.effect import is_exponent, unit_of
from ablate.words.reasons import sentence

OTHER_VARIANTS = "No number of seeds would decide the claim: other variants or settings are needed."
MINUTE, HOUR = 60, 3600


@dataclass(frozen=True)
class View:
    """A verdict of an experiment, as the page of its claim shows it."""

    finding: Finding
    source: Source
    claim: Answered | None
    page: str  # name of the experiment's page
    key: str  # id of the verdict on the page, with which the margin slider finds the drawn effect
    decides: bool = True  # whether the verdict determines the headline of the claim

    @cached_property
    def row(self) -> Row | None:
        """The effect to draw; None if the verdict has no effect."""
        return row(self.claim) if self.claim else None

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
        return opening(self.claim, self.claim) if self.claim else word.capitalize()

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

    @property
    def sentence(self) -> str:
        """The line of evidence of this verdict; "" if the verdict cannot be read."""
        return evidence_line(self.claim, self.claim) if self.claim else ""

    @property
    def details(self) -> dict[str, str]:
        """The numbers of this verdict as text, by name."""
        return details(self.claim, self.claim) if self.claim else {}

    @cached_property
    def caveats(self) -> list[str]:
        """Sentences on the limits of this verdict."""
        if self.claim is None:
            return self.source.caveats
        number = number_of(self.source.entries)[name_of(self.claim)]
        caveats = self.source.verdict["caveats"]
        return [sentence(each) for each in caveats if number in (each["claims"] or [number])]

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
            site.sources[finding.folder],
            site.answer(finding),
            site.experiments[finding.folder],
            f"v{number}",
            finding in deciding,
        )
        for number, finding in enumerate(ordered, 1)
    ]


def drawn(views: list[View]) -> list[Forest[View]]:
    """Return forest plots of the effects of verdicts, as few as possible, each with its verdicts.

    The effects in a plot share a horizontal axis. Plots come first if they have a verdict that
    decides the claim's headline, the word that combines all verdicts on the claim.
    """
    plots = forests((view.row, view) for view in views)
    return sorted(plots, key=lambda plot: not any(view.decides for _, view in plot.rows))


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


def duration(seconds: float) -> str:
    """Return a time in words, such as minutes or hours."""
    if seconds < MINUTE:
        return "less than a minute"
    if seconds < 2 * HOUR:
        return f"{seconds / MINUTE:.0f} minutes"
    return f"{seconds / HOUR:.1f} hours"


def changes(claim: Answered, per_seed: float) -> list[str]:
    """Return sentences on what would change the verdict on a claim, such as more seeds.

    Args:
        claim: the claim with its verdict.
        per_seed: computing time of a seed in seconds; with 0, the sentences name no time.
    """
    sentences = _more_seeds(claim, per_seed)
    if claim.get("cannot") and claim["verdict"] == INCONCLUSIVE:
        sentences.append("If an arm is still learning, longer training is needed, not more seeds.")
    if claim["verdict"] == INCONCLUSIVE and not sentences:  # no number of seeds was computed
        if not claim["sensitivity"]:
            sentences.append(OTHER_VARIANTS)
        elif not is_exact(claim):
            sentences.append("Each further seed makes the interval narrower.")
    if is_exact(claim):
        sentences.append("A single further case in which the claim does not hold would refute it.")
    return sentences


def _more_seeds(claim: Answered, per_seed: float) -> list[str]:
    """Return sentences on how many seeds would be needed for a decision on a claim.

    Each sentence is about one decision, such as supported. It assumes the true effect for which the
    study was planned, and names the number of seeds with which the decision has power 0.8. If the
    study has this number of seeds already, the sentence is left out.

    Args:
        claim: the claim with its verdict.
        per_seed: computing time of a seed in seconds; with 0, the sentences name no time.
    """
    sentences = []
    for side, plan in (claim["seeds_needed"] or {}).items():
        condition, seeds = _if_true(claim, plan["effect"]), plan["seeds"]
        if not seeds:
            reason = KINDS[claim["kind"]].beyond_most_seeds
            sentences.append(f"To show that the claim is {side} if {condition}, {reason}.")
        elif seeds > claim["pairs"]:
            number = _how_many(seeds, claim["pairs"], per_seed)
            sentences.append(f"{number} would show that the claim is {side}, if {condition}.")
    return sentences


def _if_true(claim: Answered, effect: float) -> str:
    metric = metric_of(claim["metric"])
    if is_exponent(claim) and effect:
        return f"the true exponent is {unit_of(claim).say(effect)}"
    size = f"the true effect is {metric.say(effect)} {metric.name}"
    return size if effect else "there is no difference"


def _how_many(seeds: int, present: int, per_seed: float) -> str:
    """Return text such as "12 seeds in all (3 hours more on one processor core)".

    Args:
        seeds: the required number of seeds.
        present: the number of seeds so far.
        per_seed: time of a seed in seconds; with 0, the text has no time.
    """
    more = duration((seeds - present) * per_seed)
    return f"{seeds:,} seeds in all" + (f" ({more} more on one processor core)" if per_seed else "")
