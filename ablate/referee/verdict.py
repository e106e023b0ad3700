"""Define the verdict on runs that this package did not make.

A verdict can be printed, drawn, converted to plain data, and written to a folder.
"""

import json
import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ablate.evidence.foreign.table import Row
from ablate.phrases import listed
from ablate.record.files import finite
from ablate.referee import trust
from ablate.referee.decide import Judged
from ablate.referee.question import Design, Question
from ablate.referee.runs import Runs
from ablate.referee.wording import Wording, level_of
from ablate.stats.means import MeanDifference
from ablate.verdict.decision import INCONCLUSIVE, REFUTED, SUPPORTED
from ablate.verdict.exact import Exact

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame


class ClaimVerdict(Wording):
    """The verdict on one claim, with the sentences about it.

    Args:
        judged: the decision and its numbers.
        design: how the table of runs is read.
        claims: number of claims that are tested together.
        trust: sentences on how far to trust the verdict.
    """

    def __init__(self, judged: Judged, design: Design, claims: int, trust: list[str]) -> None:
        super().__init__(judged, design, claims)
        self.trust = trust

    def __str__(self) -> str:
        return f"{self.headline}\n  {self.evidence}"

    def to_dict(self) -> Row:
        """Return the verdict as plain data.

        "effect" is positive if the treatment is better. "difference" is positive if the treatment's
        number is higher.
        """
        judged, claim, effect = self.judged, self.claim, self.effect
        effect_value = None if math.isnan(effect.effect) else effect.effect
        data = {
            "id": claim.id,
            "group": judged.group,
            "kind": claim.kind,
            "verdict": self.status,
            "grade": self.grade,
            "headline": self.headline,
            "evidence": self.evidence,
            "effect": effect_value,
            "interval": _bounded(effect.interval(1 - claim.alpha)),
            "difference": None if effect_value is None else self.design.sign * effect_value,
            "margin": claim.margin,
            "alpha": claim.alpha,
            "p": judged.p,
            "p_adjusted": judged.p_adjusted,
            "p_textbook": judged.p_textbook,
            "p_corrected": judged.p_corrected,
            "uncorrected": str(judged.alone),
            "method": effect.method,
            "decided_by_failures": judged.failures is not None,
            "arms": [arm.to_dict() for arm in judged.arms],
            "sensitivity": [
                {"from": t.margin, "verdict": t.decision.status, "grade": t.decision.grade}
                for t in judged.turns
                if math.isfinite(t.margin)
            ],
            "detectable": judged.detectable,
            "runs_needed": {
                side: {"effect": plan.effect, "runs": plan.seeds}
                for side, plan in judged.plans.items()
            },
            "details": self.details,
            "trust": self.trust,
        }
        if isinstance(effect, MeanDifference) and effect.parts:
            df = effect.df if math.isfinite(effect.df) else None
            data |= {"standard_error": effect.error, "degrees_of_freedom": df}
        if level_of(claim) != 1 - claim.alpha:
            data |= {"interval_equivalence": _bounded(effect.interval(level_of(claim)))}
        if isinstance(effect, Exact):
            data |= {
                "tolerance": claim.tolerance,
                "cases": len(effect.counted),
                "broken": effect.broken,
            }
        return data


@dataclass(frozen=True)
class Verdict:
    """The verdicts on all claims of a question about one table of runs.

    `claims` has a verdict for each claim. `trust` has sentences on how far to trust the table, and
    so all verdicts.
    """

    question: Question
    runs: Runs
    claims: list[ClaimVerdict]
    trust: list[str]

    @property
    def headline(self) -> str:
        """The answer in a sentence; for several claims, the number of claims with each answer."""
        if len(self.claims) == 1:
            return self.claims[0].headline
        counts = Counter(claim.status for claim in self.claims)
        words = {SUPPORTED: SUPPORTED, REFUTED: REFUTED, INCONCLUSIVE: "undecided"}
        parts = [f"{counts[key]} {word}" for key, word in words.items() if counts[key]]
        return f"{len(self.claims)} claims: {listed(parts)}."

    @property
    def evidence(self) -> str:
        """The evidence for the answer to each claim, on a line each: estimate, interval, number of
        runs, margin.
        """
        return "\n".join(claim.evidence for claim in self.claims)

    @property
    def details(self) -> list[str]:
        """Sentences on the statistical details of all claims: decision rules, tests, runs that were
        left out.
        """
        return [sentence for claim in self.claims for sentence in claim.details]

    def __str__(self) -> str:
        lines = [str(claim) for claim in self.claims]
        if len(self.claims) > 1:
            lines.insert(0, self.headline)
        return "\n".join([*lines, *self._doubts()])

    def _doubts(self) -> Iterator[str]:
        """Yield the reasons to doubt the verdict that are printed with every verdict."""
        sentences = [*self.trust, *(s for claim in self.claims for s in claim.trust)]
        for sentence in dict.fromkeys(sentences):
            yield f"Trust: {sentence}" if sentence == sentences[0] else f"  {sentence}"

    def to_dict(self) -> Row:
        """Return the whole verdict as plain data, as in verdict.json."""
        design = self.question.design
        return {
            "study": design.name,
            "source": self.runs.table.source,
            "metric": design.metric,
            "better": design.better,
            "headline": self.headline,
            "counts": dict(self.runs.counts),
            "trust": self.trust,
            "claims": [claim.to_dict() for claim in self.claims],
        }

    def to_frame(self) -> "DataFrame":
        """Return a data frame with a row per claim: verdict, effect, interval and runs."""
        import pandas as pd

        keys = ("id", "group", "verdict", "grade", "effect", "difference", "margin", "method")
        rows = []
        for claim in self.to_dict()["claims"]:
            low, high = claim["interval"] or (None, None)
            runs = [arm["runs"] for arm in claim["arms"]]
            p = {f"p {side}": value for side, value in claim["p"].items()}
            row = {key: claim[key] for key in keys}
            rows.append({**row, "low": low, "high": high, "runs": runs, **p})
        return pd.DataFrame(rows)

    def plot(self) -> "Figure":
        """Return a figure with every run of every arm, and the effect of each claim."""
        from ablate.referee.report import draw

        return draw(self)

    def write(self, folder: Path) -> None:
        """Write verdict.json, report.md, report.html and the figure into a folder.

        Raises:
            UserError: the folder cannot be written.
        """
        from ablate.referee.report import write

        write(self, folder)

    def show(self, folder: Path | None, *, as_json: bool) -> None:
        """Print the verdict, as text or as JSON; if a folder is given, first write the report into
        it.

        Raises:
            UserError: the folder cannot be written.
        """
        if folder:
            self.write(folder)
        print(json.dumps(finite(self.to_dict()), indent=1) if as_json else self)
        if folder and not as_json:
            print(f"\nreport: {folder / 'report.md'}")


def _bounded(ends: tuple[float, float]) -> list[float] | None:
    return list(ends) if all(map(math.isfinite, ends)) else None


def verdict(question: Question, runs: Runs, judged: list[Judged]) -> Verdict:
    """Return the verdict: the decisions on all claims with their sentences.

    Args:
        question: the claims, and the design, that is, how the table of runs is read.
        runs: the runs of the table that the design selects, with one result each.
        judged: the decision on each claim.
    """
    claims = [
        ClaimVerdict(claim, question.design, len(judged), [*trust.of_claim(claim, runs)])
        for claim in judged
    ]
    return Verdict(question, runs, claims, list(trust.of_table(question, runs)))
