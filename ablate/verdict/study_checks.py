"""Check that a study can be judged: before its runs, and when its evidence is loaded."""

import math
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, cast

from ablate.config.hints import likely
from ablate.errors import UserError
from ablate.evidence.folder import Evidence
from ablate.evidence.manifest import check_log, check_manifest
from ablate.evidence.seal import ABOUT
from ablate.evidence.types import Claim, Levels, Match, Study
from ablate.metric.table import METRICS
from ablate.phrases import listed
from ablate.verdict.kind import KINDS, kind_of

ALLOWED = {
    "kind": tuple(KINDS),
    "better": ("higher", "lower"),
    "scale": ("linear", "log", "log_log"),
}
EXPECT = ("different", "identical")
COUNTED = {"parameters": "parameters", "flops": "floating-point operations"}  # costs of a match
BUDGET = ("budget.steps", "budget.short")
CANNOT = ("superiority", "exact")  # kinds that may claim that an arm cannot do something
LAYER, GRADIENTS = (
    "layer",
    ("gradient/first", "gradient/last"),
)  # axis and metrics of a figure over layers
# Pairs of levels that apply to the same run, so that they must not contradict each other.
TOGETHER = (
    *(("where", "treatment"), ("where", "baseline")),
    *(("minus", "treatment"), ("minus", "baseline")),
)


class Rule(NamedTuple):
    """A condition on the value of one key in a study file, with the allowed values in words."""

    key: str
    holds: Callable[[Any], bool]
    allowed: str
    words: tuple[str, ...] = ()  # the allowed values, if they are words

    def explain(self, given: Any) -> str:
        """Return the end of an error message: which values are allowed, or a similar allowed
        word.
        """
        return likely(str(given), self.words) if self.words else f"allowed is {self.allowed}"


def _is_text(text: Any) -> bool:
    return isinstance(text, str) and bool(text.strip()) and text != "???"


def _at_least_0(number: float) -> bool:
    return 0 <= number < math.inf


OF_STUDY = (
    Rule("claims", lambda claims: isinstance(claims, list) and bool(claims), "at least one claim"),
    Rule("factors", lambda names: isinstance(names, list) and bool(names), "at least one factor"),
    Rule("seeds", lambda seeds: seeds >= 1, "a whole number of at least 1"),
    Rule("expect", EXPECT.__contains__, " or ".join(EXPECT), EXPECT),
)
OF_CLAIM = (
    *(Rule(key, _is_text, "text") for key in ("id", "statement", "source", "metric")),
    *(Rule(k, words.__contains__, " or ".join(words), words) for k, words in ALLOWED.items()),
    Rule("alpha", lambda alpha: 0 < alpha < 0.5, "a number between 0 and 0.5"),
    Rule("margin", _at_least_0, "a finite number of at least 0"),
    Rule("tolerance", _at_least_0, "a finite number of at least 0"),
)


def load_evidence(folder: Path) -> Evidence:
    """Read the evidence of a study, and check that it is complete and can be judged.

    Raises:
        UserError: a file is missing, damaged or malformed, or was changed after its digest was
            stored in study.json (its seal); runs that the analysis log names are missing; or no
            rule can decide a claim. The message names the file.
    """
    evidence = Evidence.load(folder)
    check_manifest(folder, evidence)
    check_log(folder, evidence)
    try:
        check_study(evidence.study)
    except UserError as error:
        raise UserError(f"{folder / ABOUT}: {error}") from None
    return evidence


def check_study(study: Study) -> None:
    """Raise UserError for a study with an invalid value, or with a claim that no rule can
    decide.
    """
    _check_values("study.", ": ", study, OF_STUDY)
    _check_tune(study)
    _check_figures(study)
    check_match(study)
    ids = [(claim["id"], claim.get("reading", "")) for claim in study["claims"]]
    for claim in study["claims"]:
        name = f"study.claims, {claim['id']}"
        if ids.count((claim["id"], claim.get("reading", ""))) > 1:
            raise UserError(
                f"{name}: two claims have this id and reading={claim.get('reading', '')!r}; change "
                "the id or the reading of one of them"
            )
        _check_claim(name, claim, study["factors"])


def _check_values(
    start: str, between: str, given: Mapping[str, object], rules: Iterable[Rule]
) -> None:
    """Raise UserError for the first value that a rule does not allow.

    Args:
        start: start of the message, before the key.
        between: text between the value and the explanation.
        given: the values by key.
        rules: the rules, each for a key.
    """
    for rule in rules:
        if not rule.holds(value := given[rule.key]):
            raise UserError(f"{start}{rule.key}={value}{between}{rule.explain(value)}")


def _check_claim(name: str, claim: Claim, factors: list[str]) -> None:
    given: Mapping[str, object] = claim
    _check_values(f"{name}: ", "; ", claim, OF_CLAIM)
    if claim["margin"] > 0 and not claim["margin_reason"]:
        raise UserError(
            f"{name}: margin={claim['margin']} has no margin_reason; state why smaller "
            "differences do not matter"
        )
    for part in ("where", "treatment", "baseline", "minus", "loses"):
        _check_levels(f"{name}: {part}", cast(Levels, given.get(part, {})), factors)
    _check_together(name, claim)
    if claim["minus"] and claim["kind"] in ("exact", "stability"):
        raise UserError(f"{name}: minus has no meaning for kind={claim['kind']}; remove it")
    _check_range(name, claim)
    _check_kind(name, claim)
    _check_plan(name, claim)
    kind_of(claim).check(name, claim, factors)


def _check_range(name: str, claim: Claim) -> None:
    """Raise UserError for a margin as large as the whole range of the metric."""
    metric = METRICS.get(claim["metric"].rpartition("/")[2])
    if metric is None or metric.best is None or claim["kind"] in ("exact", "trend"):
        return
    if isinstance(metric.wrong, float) and claim["margin"] >= (
        whole := abs(metric.best - metric.wrong) * (2 if claim["minus"] else 1)
    ):
        raise UserError(
            f"{name}: margin={claim['margin']:g}, but {metric.name} differs by at most {whole:g}, "
            "so that the claim could come out in one way only; allowed is a smaller margin"
        )


def _check_kind(name: str, claim: Claim) -> None:
    """Raise UserError for a key that only other kinds of claims use.

    The keys are a positive control (`loses`), and `cannot` for claims that an arm cannot learn.
    """
    given: Mapping[str, object] = claim
    takers = [kind for kind in KINDS if KINDS[kind].controlled]
    for key, kinds in (("loses", takers), ("cannot", CANNOT)):
        if given.get(key) and claim["kind"] not in kinds:
            raise UserError(
                f"{name}: kind={claim['kind']} does not use the key `{key}`, which is for "
                f"{listed([*kinds])}: remove it"
            )


def _check_plan(name: str, claim: Claim) -> None:
    """Raise UserError for an effect `plan_for` with which the claim would not be supported."""
    planned, margin = claim.get("plan_for"), claim["margin"]
    if planned is None:
        return
    same = kind_of(claim).controlled
    if not (-margin < planned < margin if same else planned >= margin):
        allowed = "an effect within the margin" if same else "an effect of at least the margin"
        raise UserError(f"{name}: plan_for={planned}; {claim['kind']} needs {allowed}, {margin:g}")


def _check_levels(name: str, levels: Levels, factors: list[str]) -> None:
    for key in levels:
        if key not in factors:
            raise UserError(
                f"{name} names {key}, which is not a factor of the study; {likely(key, factors)}"
            )


def _check_together(name: str, claim: Claim) -> None:
    given = cast(Mapping[str, Levels], claim)
    pairs = [(part, other, given[other]) for part, other in TOGETHER]
    if claim["over"]:
        pairs += [(part, "over", {claim["over"]: "every level"}) for part in ("where", "minus")]
    for part, other, levels in pairs:
        for key in given[part].keys() & levels.keys():
            if given[part][key] != levels[key]:
                raise UserError(
                    f"{name}: {part} has {key}={given[part][key]}, but {other} has "
                    f"{key}={levels[key]}; remove the level from one of them"
                )
    if claim["minus"] and claim["minus"].items() <= claim["where"].items():
        raise UserError(
            f"{name}: minus={claim['minus']} has only levels that are also in "
            f"where={claim['where']}; give minus other levels"
        )


def _check_figures(study: Study) -> None:
    for number, figure in enumerate(study.get("figures", []), start=1):
        name = f"study.figures, number {number}"
        if figure["over"] == LAYER and figure["metric"] not in GRADIENTS:
            raise UserError(
                f"{name}: metric={figure['metric']} cannot be drawn over={LAYER}; choose "
                f"metric={' or '.join(GRADIENTS)}, or another over"
            )
        over = {} if figure["over"] == LAYER else {figure["over"]: None}
        _check_levels(name, over | figure["where"], study["factors"])
        if not figure["caption"].endswith((".", "?")):
            raise UserError(
                f"{name}: caption={figure['caption']}; it must be a sentence that ends in . or ?"
            )


def _check_tune(study: Study) -> None:
    tune = study.get("tune")
    if tune is None:
        return
    if not tune["values"] or not tune["seeds"]:
        raise UserError(
            f"study.tune: values={tune['values']} and seeds={tune['seeds']}; neither may be empty"
        )
    values = tune["values"]
    if any(isinstance(value, list | dict) or values.count(value) > 1 for value in values):
        raise UserError(f"study.tune: values={values}; list different numbers or words")
    _check_values("study.tune: ", "; ", tune, [rule for rule in OF_CLAIM if rule.key == "better"])
    if tune["metric"].startswith(("test", "measure/")):
        raise UserError(
            f"study.tune: metric={tune['metric']}; values are tuned on validation, so use val/..."
        )


def matched_keys(match: Match) -> tuple[str, ...]:
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
    if match["by"] not in COUNTED:
        raise UserError(f"study.match: by={match['by']}; {likely(match['by'], tuple(COUNTED))}")
    if not match["to"] or not match["to"].keys() <= set(factors):
        raise UserError(
            f"study.match: to={match['to']}; it must give levels of factors: {', '.join(factors)}"
        )
    for key in matched_keys(match):
        if key in factors:
            raise UserError(
                f"study.match: {key} is a factor, so it cannot be set by the match; choose "
                "another key"
            )
