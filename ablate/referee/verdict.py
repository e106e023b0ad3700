"""A verdict on foreign runs, to print, to read by programs, to draw, and to write to a folder."""

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ablate.evidence.foreign.table import Row
from ablate.phrases import listed
from ablate.referee import trust
from ablate.referee.decide import Judged
from ablate.referee.question import Question
from ablate.referee.registration import Registered
from ablate.referee.runs import Runs
from ablate.referee.wording import details, evidence, headline
from ablate.stats.means import MeanDifference, variance_of
from ablate.verdict.decision import INCONCLUSIVE

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame


@dataclass(frozen=True)
class ClaimVerdict:
    """The verdict on one claim.

    Args:
        headline: the answer, in at most 25 words.
        evidence: estimate, interval, runs and margin, in at most 40 words.
        details: what a reviewer asks for, a sentence each.
        trust: how far to trust it, a sentence each.
    """

    judged: Judged
    headline: str
    evidence: str
    details: list[str]
    trust: list[str]

    def __str__(self) -> str:
        return f"{self.headline}\n  {self.evidence}"

    def to_dict(self, better: str) -> Row:
        """Return the verdict as plain data; effects are positive where the treatment is better."""
        judged, measured = self.judged, self.judged.measured
        claim, effect = measured.claim, measured.effect
        sign = -1.0 if better == "lower" else 1.0
        ends = effect.interval(1 - claim.alpha)
        bounded = list(ends) if all(map(math.isfinite, ends)) else None
        found = None if math.isnan(effect.effect) else effect.effect
        told = {
            "id": claim.id,
            "group": measured.group,
            "kind": claim.kind,
            "verdict": judged.decision.status,
            "grade": judged.decision.grade,
            "headline": self.headline,
            "evidence": self.evidence,
            "effect": found,
            "interval": bounded,
            "difference": None if found is None else sign * found,
            "margin": claim.margin,
            "alpha": claim.alpha,
            "p": measured.p,
            "p_adjusted": judged.p_adjusted,
            "uncorrected": str(judged.alone),
            "method": effect.method,
            "decided_by_failures": measured.failures is not None,
            "arms": [self._arm(arm) for arm in measured.arms],
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
            told |= {"standard_error": effect.error, "degrees_of_freedom": df}
        if measured.spread is not None:
            told |= {"spread_between_datasets": measured.spread}
        return told

    @staticmethod
    def _arm(arm: Any) -> Row:
        variance = variance_of(arm.values)
        return {
            "arm": arm.label,
            "weight": arm.weight,
            "runs": arm.runs,
            "without_value": arm.without,
            "mean": float(arm.values.mean()) if len(arm.values) else None,
            "sd": math.sqrt(variance.value) if variance else None,
        }


@dataclass(frozen=True)
class Verdict:
    """The verdicts on all claims of a question about one table.

    `claims` holds them one by one; `trust` says how far to trust all of them.
    """

    question: Question
    runs: Runs
    claims: list[ClaimVerdict]
    trust: list[str]
    registered: Registered

    @property
    def headline(self) -> str:
        """The headline of the only claim, or how many claims came out which way."""
        if len(self.claims) == 1:
            return self.claims[0].headline
        counts = Counter(claim.judged.decision.status for claim in self.claims)
        words = {"supported": "supported", "refuted": "refuted", INCONCLUSIVE: "undecided"}
        said = [f"{counts[key]} {word}" for key, word in words.items() if counts[key]]
        return f"Of {len(self.claims)} claims {listed(said)}."

    @property
    def evidence(self) -> str:
        """The evidence of the only claim; of several, that of each on a line."""
        return "\n".join(claim.evidence for claim in self.claims)

    @property
    def details(self) -> list[str]:
        """All details of all claims."""
        return [sentence for claim in self.claims for sentence in claim.details]

    def __str__(self) -> str:
        lines = [str(claim) for claim in self.claims]
        if len(self.claims) > 1:
            lines.insert(0, self.headline)
        return "\n".join([*lines, *self._doubts()])

    def _doubts(self) -> Iterator[str]:
        """What stands beside every verdict, in short."""
        yield f"Trust: {self.registered.sentence}"
        shared = [sentence for sentence in self.trust if sentence != trust.UNKNOWN]
        for sentence in dict.fromkeys([*shared, *(s for c in self.claims for s in c.trust)]):
            yield f"  {sentence}"

    def to_dict(self) -> Row:
        """Return everything as plain data, as verdict.json has it."""
        design = self.question.design
        return {
            "study": design.name,
            "source": self.runs.table.source,
            "metric": design.metric,
            "better": design.better,
            "registered": self.registered.to_dict(),
            "headline": self.headline,
            "counts": dict(self.runs.counts),
            "trust": [self.registered.sentence, *self.trust],
            "claims": [claim.to_dict(design.better) for claim in self.claims],
        }

    def to_frame(self) -> "DataFrame":
        """Return a row per claim with its verdict, effect, interval and runs."""
        import pandas as pd

        flat = []
        for claim in self.to_dict()["claims"]:
            low, high = claim["interval"] or (None, None)
            keys = ("id", "group", "verdict", "grade", "effect", "difference", "margin", "method")
            row = {key: claim[key] for key in keys}
            runs = [arm["runs"] for arm in claim["arms"]]
            flat.append({**row, "low": low, "high": high, "runs": runs, **_p(claim)})
        return pd.DataFrame(flat)

    def plot(self) -> "Figure":
        """Return a figure: every run of every arm, and the effect of each claim."""
        from ablate.referee.draw import draw

        return draw(self)

    def write(self, folder: Path) -> None:
        """Write verdict.json, report.md, report.html and the figure into a folder.

        Raises:
            UserError: the folder cannot be written.
        """
        from ablate.referee.report import write

        write(self, folder)


def _p(claim: Row) -> dict[str, float]:
    return {f"p {side}": p for side, p in claim["p"].items()}


def verdict(
    question: Question, runs: Runs, judged: list[Judged], registered: Registered
) -> Verdict:
    """Return decisions with their words."""
    design = question.design
    claims = [
        ClaimVerdict(
            one,
            headline(one, design),
            evidence(one, design),
            list(details(one, design, len(judged))),
            list(trust.of_claim(one, runs)),
        )
        for one in judged
    ]
    return Verdict(question, runs, claims, list(trust.of_table(runs.table, runs)), registered)
