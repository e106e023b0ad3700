"""Whether a study can be judged at all, checked before its runs."""

from typing import Any

from ablate.errors import UserError
from ablate.study.kind import KINDS, kind_of
from ablate.words import listed

ALLOWED = {
    "kind": tuple(KINDS),
    "better": ("higher", "lower"),
    "scale": ("linear", "log", "log_log"),
}
Claim = dict[str, Any]


def check_study(study: dict[str, Any]) -> None:
    """Raise UserError for a claim that no rule could decide, naming what is allowed."""
    if study["expect"] not in ("different", "identical"):
        raise UserError(f"study.expect={study['expect']}: allowed is different or identical")
    _check_tune(study)
    ids = [(claim["id"], claim.get("reading", "")) for claim in study["claims"]]
    for claim in study["claims"]:
        name = f"study.claims, {claim['id']}"
        if ids.count((claim["id"], claim.get("reading", ""))) > 1:
            raise UserError(f"{name}: two claims have this id and no other reading")
        _check_claim(name, claim, study["factors"])


def _check_claim(name: str, claim: Claim, factors: list[str]) -> None:
    for key, allowed in ALLOWED.items():
        if claim[key] not in allowed:
            raise UserError(f"{name}: {key}={claim[key]}; allowed is {' or '.join(allowed)}")
    if not 0 < claim["alpha"] < 1:
        raise UserError(f"{name}: alpha={claim['alpha']}; it must lie between 0 and 1")
    if claim["margin"] < 0:
        raise UserError(f"{name}: margin={claim['margin']}; it must be at least 0")
    if claim["margin"] > 0 and not claim["margin_reason"]:
        raise UserError(f"{name}: margin={claim['margin']} has no margin_reason")
    for part in ("where", "treatment", "baseline", "minus", "loses"):
        _check_levels(f"{name}: {part}", claim.get(part, {}), factors)
    if claim["minus"] and claim["kind"] in ("exact", "stability"):
        raise UserError(f"{name}: minus has no meaning for kind={claim['kind']}")
    _check_loses(name, claim)
    _check_plan(name, claim)
    kind_of(claim).check(name, claim, factors)


def _check_loses(name: str, claim: Claim) -> None:
    """Only a claim that nothing is lost takes an arm that loses."""
    takers = [kind for kind in KINDS if KINDS[kind].controlled]
    if claim.get("loses") and claim["kind"] not in takers:
        raise UserError(
            f"{name}: loses has no meaning for kind={claim['kind']}; it is for {listed(takers)}"
        )


def _check_plan(name: str, claim: Claim) -> None:
    """Seeds are planned for an effect that the rule calls supported."""
    planned, margin = claim.get("plan_for"), claim["margin"]
    if planned is None:
        return
    same = kind_of(claim).controlled
    if not (-margin < planned < margin if same else planned >= margin):
        allowed = "one within the margin" if same else "one of at least the margin"
        raise UserError(f"{name}: plan_for={planned}; {claim['kind']} takes {allowed}, {margin:g}")


def _check_levels(name: str, levels: dict[str, Any], factors: list[str]) -> None:
    for key in levels:
        if key not in factors:
            raise UserError(
                f"{name} names {key}, which is not a factor of the study; "
                f"allowed is {', '.join(factors)}"
            )


def _check_tune(study: dict[str, Any]) -> None:
    tune = study["tune"]
    if tune is None:
        return
    if not tune["values"] or not tune["seeds"]:
        raise UserError("study.tune: values and seeds must not be empty")
    if tune["better"] not in ALLOWED["better"]:
        raise UserError(f"study.tune: better={tune['better']}; allowed is higher or lower")
    if tune["metric"].startswith("test"):
        raise UserError(
            f"study.tune: metric={tune['metric']}; a nuisance is chosen on validation, val/..."
        )
