"""The verdicts of a study at its two budgets, side by side.

The verdict of a claim is that of the long budget, with whether learning was flat there; the other
one stands below `short`. Each is judged as it would be alone: they share runs, and answer two
questions.
"""

from typing import Any

from ablate.study.evidence import Evidence
from ablate.study.judge import IF_USED, KEPT
from ablate.study.learning import learning, said

Entry = dict[str, Any]


def both(long: list[Entry], short: list[Entry], evidence: Evidence) -> list[Entry]:
    """The entries of the long budget, each with that of the short one."""
    pairs = zip(evidence.study["claims"], long, short, strict=True)
    return [_both(claim, one, other, evidence) for claim, one, other in pairs]


def _both(claim: Entry, long: Entry, short: Entry, evidence: Evidence) -> Entry:
    steps, least = evidence.regime["steps"], evidence.regime["short"]
    found = learning(claim, evidence)
    asked = (*KEPT, *IF_USED, "primary", "arms")
    early = {key: value for key, value in short.items() if key not in asked}
    early |= {"steps": least, "sentence": f"After {least:,} updates: {short['sentence']}"}
    sentence = f"After {steps:,} updates: {long['sentence']}{said(claim, found)}"
    return {**long, "steps": steps, "sentence": sentence, "learning": found, "short": early}
