"""The verdicts of a study at its two budgets, side by side.

The verdict of a claim is that of the long budget, with whether learning was flat there; the other
one stands below `short`, with how long the baseline takes to get where the treatment is then. Each
is judged as it would be alone: they share runs, and answer two questions.
"""

from typing import cast

from ablate.evidence.folder import Evidence
from ablate.evidence.types import Claim, Entry, Short
from ablate.verdict import learning, target
from ablate.verdict.decision import SUPPORTED
from ablate.verdict.judge import ASKED


def both(long: list[Entry], early: list[Entry], evidence: Evidence, short: Evidence) -> list[Entry]:
    """The entries of the long budget, each with that of the short one, made from `short`."""
    asked = list(zip(evidence.study["claims"], long, early, strict=True))
    held = [_held(claim, one, other) for claim, one, other in asked]
    return [
        {**_late(claim, one, evidence), "short": _early(one, other, evidence, short)}
        for (claim, one, _), other in zip(asked, held, strict=True)
    ]


def _held(claim: Claim, late: Entry, early: Entry) -> Entry:
    """The early entry; a plateau on the way to where an arm can shows nothing of what it cannot."""
    if late["verdict"] == SUPPORTED:
        return early
    return learning.withhold(claim, early, "longer training does not confirm it")


def _late(claim: Claim, entry: Entry, evidence: Evidence) -> Entry:
    gained = learning.learning(claim, evidence)
    return {**entry, "steps": evidence.regime["steps"], "learning": gained}


def _early(late: Entry, entry: Entry, evidence: Evidence, short: Evidence) -> Short:
    answer = {k: value for k, value in entry.items() if k not in (*ASKED, "primary", "arms")}
    steps, needed = short.regime["steps"], target.time_to_target(late, evidence, short)
    return cast(Short, answer | {"steps": steps, "time_to_target": needed})
