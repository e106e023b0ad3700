"""Whether a study can be judged at all, checked before its runs."""

from collections.abc import Callable
from typing import Any

from ablate.errors import UserError

ALLOWED = {
    "kind": ("exact", "superiority", "equivalence", "stability", "trend"),
    "better": ("higher", "lower"),
    "scale": ("linear", "log", "log_log"),
}
INSTABILITIES = ("diverged", "collapsed", "unstable")  # metrics of a stability claim
Claim = dict[str, Any]


def check_study(study: dict[str, Any]) -> None:
    """Raise UserError for a claim that no rule could decide, naming what is allowed."""
    if study["expect"] not in ("different", "identical"):
        raise UserError(f"study.expect={study['expect']}: allowed is different or identical")
    _check_tune(study)
    ids = [claim["id"] for claim in study["claims"]]
    for claim in study["claims"]:
        name = f"study.claims, {claim['id']}"
        if ids.count(claim["id"]) > 1:
            raise UserError(f"{name}: two claims have this id")
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
    for part in ("where", "treatment", "baseline", "minus"):
        _check_levels(f"{name}: {part}", claim[part], factors)
    if claim["minus"] and claim["kind"] in ("exact", "stability"):
        raise UserError(f"{name}: minus has no meaning for kind={claim['kind']}")
    CHECKS[claim["kind"]](name, claim, factors)


def _check_levels(name: str, levels: dict[str, Any], factors: list[str]) -> None:
    for key in levels:
        if key not in factors:
            raise UserError(
                f"{name} names {key}, which is not a factor of the study; "
                f"allowed is {', '.join(factors)}"
            )


def _check_exact(name: str, claim: Claim, factors: list[str]) -> None:
    if bool(claim["treatment"]) != bool(claim["baseline"]):
        raise UserError(f"{name}: an exact claim has both a treatment and a baseline, or neither")
    if claim["treatment"]:
        _check_arms(name, claim, factors)
    if claim["margin"] and claim["tolerance"]:
        raise UserError(
            f"{name}: tolerance={claim['tolerance']} and margin={claim['margin']}; an exact claim "
            "has a tolerance, to be near 0, or a margin, to be away from it"
        )


def _check_arms(name: str, claim: Claim, factors: list[str]) -> None:
    if not claim["treatment"] or claim["treatment"] == claim["baseline"]:
        raise UserError(f"{name}: {claim['kind']} compares a treatment with another baseline")


def _check_equivalence(name: str, claim: Claim, factors: list[str]) -> None:
    _check_arms(name, claim, factors)
    if claim["margin"] == 0:
        raise UserError(f"{name}: margin=0; equivalence needs one above 0")


def _check_stability(name: str, claim: Claim, factors: list[str]) -> None:
    _check_arms(name, claim, factors)
    if claim["metric"] not in INSTABILITIES:
        raise UserError(
            f"{name}: metric={claim['metric']}; stability counts {' or '.join(INSTABILITIES)}"
        )


def _check_trend(name: str, claim: Claim, factors: list[str]) -> None:
    if claim["over"] not in factors:
        raise UserError(
            f"{name}: over={claim['over'] or 'nothing'}; a trend runs over a factor of the study: "
            f"{', '.join(factors)}"
        )


CHECKS: dict[str, Callable[[str, Claim, list[str]], None]] = {
    "exact": _check_exact,
    "superiority": _check_arms,
    "equivalence": _check_equivalence,
    "stability": _check_stability,
    "trend": _check_trend,
}


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
