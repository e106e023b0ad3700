"""Check and describe matched arms: models whose width or budget is chosen so that costs are
equal.
"""

from collections.abc import Iterator

from ablate.config.hints import likely
from ablate.config.labels import arm_label
from ablate.errors import UserError
from ablate.evidence.folder import Evidence
from ablate.evidence.table import by_label
from ablate.evidence.types import Match, Study
from ablate.phrases import quoted

COUNTED = {"parameters": "parameters", "flops": "floating-point operations"}
BY = tuple(COUNTED)
BUDGET = ("budget.steps", "budget.short")


def keys(match: Match) -> tuple[str, ...]:
    """Return the config keys that a match sets to make the arms equal in cost.

    Their values may differ between arms.
    """
    return BUDGET if match["by"] == "flops" else (match["key"],)


def check_match(study: Study) -> None:
    """Raise UserError if the key `match` of a study is wrong.

    A match chooses the width or the budget of each arm so that all arms have equal costs. It must
    name a known cost, and the arm to whose cost all other arms are matched. The key that it changes
    must not be a factor of the study.
    """
    match = study.get("match")
    if match is None:
        return
    factors = study["factors"]
    if match["by"] not in BY:
        raise UserError(f"study.match: by={match['by']}; {likely(match['by'], BY)}")
    if not match["to"] or not match["to"].keys() <= set(factors):
        raise UserError(
            f"study.match: to={match['to']}; it must give levels of factors: {', '.join(factors)}"
        )
    for key in keys(match):
        if key in factors:
            raise UserError(
                f"study.match: {key} is a factor, so it cannot be set by the match; choose "
                "another key"
            )


def describe(evidence: Evidence) -> Iterator[str]:
    """Yield a sentence on the settings that were adjusted to make all arms equal in cost.

    Yield nothing for a study without a match.
    """
    match = evidence.study.get("match")
    if not match:
        return
    arms = by_label([run for run in evidence.runs if "matched" in run]).items()
    sizes = [f"{arm_label(runs[0]['matched'])} with {quoted(arm)}" for arm, runs in arms]
    yield (
        f"All arms have about as many {COUNTED[match['by']]} as the arm with "
        f"{quoted(arm_label(match['to']))}, because these settings were adjusted: "
        f"{'; '.join(sizes)}."
    )
