"""Whether a study can be judged at all, checked before its runs."""

from typing import Any

from ablate.errors import UserError

KINDS = ("exact", "superiority")


def check_study(study: dict[str, Any]) -> None:
    """Raise UserError for a claim that no rule could decide, naming what is allowed."""
    for claim in study["claims"]:
        name = f"study.claims, {claim['id']}"
        if claim["kind"] not in KINDS:
            raise UserError(
                f"{name}: kind={claim['kind']} has no rule; allowed is {' or '.join(KINDS)}"
            )
        for part in ("where", "treatment", "baseline"):
            _check_levels(f"{name}: {part}", claim[part], study["factors"])
        if claim["kind"] == "superiority":
            _check_arms(name, claim)


def _check_levels(name: str, levels: dict[str, Any], factors: list[str]) -> None:
    for key in levels:
        if key not in factors:
            raise UserError(
                f"{name} names {key}, which is not a factor of the study; "
                f"allowed is {', '.join(factors)}"
            )


def _check_arms(name: str, claim: dict[str, Any]) -> None:
    if not claim["treatment"] or claim["treatment"] == claim["baseline"]:
        raise UserError(f"{name}: superiority compares a treatment with another baseline")
    if claim["better"] not in ("higher", "lower"):
        raise UserError(f"{name}: better={claim['better']}; allowed is higher or lower")
    if not 0 < claim["alpha"] < 1:
        raise UserError(f"{name}: alpha={claim['alpha']}; it must lie between 0 and 1")
