"""Combine the verdicts of a study whose runs are tested at two budgets of training steps.

The verdict of a claim is the verdict at the long budget, with a note whether learning had levelled
off. The verdict at the short budget is stored under the key `short`, with the number of steps that
the baseline needs to reach the treatment's score at the short budget. The claim is judged
separately at each budget: the two verdicts share runs, but answer different questions.
"""

from typing import cast

from ablate.evidence.folder import Evidence
from ablate.evidence.table import steps_of
from ablate.evidence.types import Claim, Entry, Short
from ablate.verdict import learning, target
from ablate.verdict.decision import SUPPORTED
from ablate.verdict.judge import ASKED
from ablate.verdict.sides import ContrastError, sides


def both(long: list[Entry], early: list[Entry], evidence: Evidence, short: Evidence) -> list[Entry]:
    """Return the claims of verdict.json with their results at the long and at the short budget.

    The result at the short budget (after the short number of training steps) is in the key `short`.

    Args:
        long: the judged claims after the full number of training steps.
        early: the judged claims after the short number of training steps.
        evidence: the runs after the full number of training steps.
        short: the runs after the short number of training steps.
    """
    asked = list(zip(evidence.study["claims"], long, early, strict=True))
    early_entries = [
        _confirmed(claim, late_entry, early_entry) for claim, late_entry, early_entry in asked
    ]
    return [
        {
            **_late(claim, late_entry, evidence),
            "short": _early(claim, late_entry, early_entry, evidence, short),
        }
        for (claim, late_entry, _), early_entry in zip(asked, early_entries, strict=True)
    ]


def _confirmed(claim: Claim, late: Entry, early: Entry) -> Entry:
    """Return the result of a claim after the short number of training steps, undecided if longer
    training does not confirm it.

    Only a supported claim that an arm cannot do something (key `cannot`) becomes undecided: the arm
    may only have been too slow.
    """
    if late["verdict"] == SUPPORTED:
        return early
    return learning.make_undecided(claim, early, "longer training does not confirm it")


def _late(claim: Claim, entry: Entry, evidence: Evidence) -> Entry:
    gained = learning.learning(claim, evidence)
    return {**entry, "steps": _steps(claim, evidence, "budget.steps"), "learning": gained}


def _early(claim: Claim, late: Entry, entry: Entry, evidence: Evidence, short: Evidence) -> Short:
    answer = {k: value for k, value in entry.items() if k not in (*ASKED, "primary", "arms")}
    steps = _steps(claim, short, "budget.short")
    needed = target.time_to_target(late, evidence, short)
    return cast(Short, answer | {"steps": steps, "time_to_target": needed})


def _steps(claim: Claim, evidence: Evidence, factor: str) -> int | str:
    """Return the number of training steps of a claim's runs, as text if the runs differ.

    Args:
        claim: the claim.
        evidence: the runs at one of the two budgets.
        factor: the config key of this budget, which may be a factor of the study.
    """
    steps = evidence.regime["steps"]
    try:
        arms = sides(claim, evidence)
    except ContrastError:
        return steps
    return steps_of((run for arm in arms for run in arm.every), factor, steps)
