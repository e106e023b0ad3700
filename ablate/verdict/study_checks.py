"""Check that a study can be judged: before its runs, and when its evidence is loaded."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ablate.errors import UserError, likely
from ablate.evidence.checks import ABOUT, check_kept
from ablate.evidence.folder import Evidence
from ablate.evidence.types import Claim, Levels, Shown, Study
from ablate.metric.table import METRICS
from ablate.phrases import listed, name_of
from ablate.verdict.kinds import KINDS, kind_of

BUDGET = ("budget.steps", "budget.short")
NO_ARMS = ("exact", "trend")  # kinds that do not compare the means of two arms
CONTROLLED = tuple(name for name, kind in KINDS.items() if kind.controlled)
# keys of a claim, and the kinds that use them
USES = {
    "loses": CONTROLLED,
    "cannot": ("superiority", "exact"),  # a claim that an arm cannot do something
    "minus": tuple(name for name in KINDS if name not in ("exact", "stability")),
    "predicted": ("equivalence", "superiority"),
}
# axis of a figure over layers, and its metrics
LAYER, GRADIENTS = "layer", ("gradient/first", "gradient/last")
# Pairs of levels that apply to the same run, so that they must not contradict each other.
TOGETHER = [(part, arm) for part in ("where", "minus") for arm in ("treatment", "baseline", "over")]


def load_evidence(folder: Path) -> Evidence:
    """Read the evidence of a study, and check that it is complete and can be judged.

    Raises:
        UserError: a file is missing, damaged or malformed, or was changed after its digest was
            stored in study.json (its seal); runs that the analysis log names are missing; or no
            rule can decide a claim. The message names the file.
    """
    evidence = Evidence.load(folder)
    check_kept(folder, evidence)
    try:
        check_study(evidence.study)
    except UserError as error:
        raise UserError(f"{folder / ABOUT}: {error}") from None
    return evidence


def check_study(study: Study) -> None:
    """Raise UserError for a study with an invalid value, or with a claim that no rule can
    decide.
    """
    for problem in _problems(study):
        raise UserError(f"study{problem}")


def _problems(study: Study) -> Iterator[str]:
    """Yield what is wrong with a study, after the path of the wrong part within the study."""
    lists = {"claims": study["claims"], "factors": study["factors"]}
    yield from (f".{key}=[]: it must not be empty" for key, items in lists.items() if not items)
    factors = study["factors"]
    for number, figure in enumerate(study.get("figures", []), start=1):
        yield from (f".figures, number {number}{x}" for x in _of_figure(figure, factors))
    yield from (f".match: {problem}" for problem in match_problems(study))
    names = [name_of(claim) for claim in study["claims"]]
    yield from (f".{problem}" for problem in _of_design(study))
    for claim, name in zip(study["claims"], names, strict=True):
        place = f".claims, {claim['id']}: "
        if names.count(name) > 1:
            reading = claim.get("reading", "")
            yield f"{place}two claims have this id and reading={reading!r}; change one of them"
        yield from (f"{place}{problem}" for problem in _of_claim(claim, factors))


def _of_claim(claim: Any, factors: list[str]) -> Iterator[str]:
    kind, margin = claim["kind"], claim["margin"]
    if not claim["source"]:
        yield "source is empty; name the document and its section, or the paper"
    if margin > 0 and not claim["margin_reason"]:
        yield f"margin={margin} has no margin_reason; state why smaller differences do not matter"
    for part in ("where", "treatment", "baseline", "minus", "loses"):
        yield from (f"{part}{problem}" for problem in _levels(claim.get(part, {}), factors))
    yield from _together(claim)
    yield from _range(claim)
    for key, kinds in USES.items():
        if claim.get(key) and kind not in kinds:
            which = f"the key `{key}`, which is for {listed([*kinds])}"
            yield f"kind={kind} does not use {which}: remove it"
    if (planned := claim.get("plan_for")) is not None:
        within = kind in CONTROLLED
        if not (-margin < planned < margin if within else planned >= margin):
            allowed = "an effect within" if within else "an effect of at least"
            yield f"plan_for={planned}; {kind} needs {allowed} the margin, {margin:g}"
    yield from kind_of(claim).problems(claim, factors)


def _of_design(study: Study) -> Iterator[str]:
    """Yield what is wrong with the claims of a study of combinations.

    They compare two levels of a factor, over all recipes.
    """
    for claim in study["claims"] if study.get("design") else ():
        given: Mapping[str, object] = claim
        for key in ("where", "minus", "over", "loses"):
            if given.get(key):
                yield (
                    f"claims, {claim['id']}: {key}={given[key]} has no meaning for "
                    "design=combinations, because every recipe has random levels of the other "
                    "factors; remove it"
                )
        factors = {*claim["treatment"], *claim["baseline"]}
        if len(factors) != 1 or not factors <= {*study["levels"]} or claim["kind"] in NO_ARMS:
            yield (
                f"claims, {claim['id']}: kind={claim['kind']}, treatment={claim['treatment']} and "
                f"baseline={claim['baseline']}; with design=combinations a claim compares two "
                f"levels of one of {', '.join(study['levels'])}, and is no trend and not exact"
            )
    for key in ("tune", "match", "screen"):
        if study.get("design") and study.get(key):
            yield f"{key} has no meaning for design=combinations; remove it"


def _range(claim: Claim) -> Iterator[str]:
    """Yield what is wrong with a margin that is as large as the whole range of the metric."""
    metric = METRICS.get(claim["metric"].rpartition("/")[2])
    if metric is None or metric.best is None or claim["kind"] in ("exact", "trend"):
        return
    if isinstance(metric.wrong, float) and claim["margin"] >= (
        whole := abs(metric.best - metric.wrong) * (2 if claim["minus"] else 1)
    ):
        yield (
            f"margin={claim['margin']:g}, but {metric.name} differs by at most {whole:g}, so that "
            "the claim could come out in one way only; allowed is a smaller margin"
        )


def _levels(levels: Iterable[str], factors: list[str]) -> Iterator[str]:
    """Yield what is wrong with the factors of some levels."""
    for key in levels:
        if key not in factors:
            yield f" names {key}, which is not a factor of the study; {likely(key, factors)}"


def _together(claim: Any) -> Iterator[str]:
    """Yield the contradictions between levels that apply to the same run."""
    over: Levels = {claim["over"]: "every level"} if claim["over"] else {}
    for part, other in TOGETHER:
        levels = over if other == "over" else claim[other]
        for key in claim[part].keys() & levels.keys():
            if claim[part][key] != levels[key]:
                yield (
                    f"{part} has {key}={claim[part][key]}, but {other} has {key}={levels[key]}; "
                    "remove the level from one of them"
                )
    if claim["minus"] and claim["minus"].items() <= claim["where"].items():
        yield (
            f"minus={claim['minus']} has only levels that are also in where={claim['where']}; give "
            "minus other levels"
        )


def _of_figure(figure: Shown, factors: list[str]) -> Iterator[str]:
    if figure["over"] == LAYER and figure["metric"] not in GRADIENTS:
        yield (
            f": metric={figure['metric']} cannot be drawn over={LAYER}; choose "
            f"metric={' or '.join(GRADIENTS)}, or another over"
        )
    over = {} if figure["over"] == LAYER else {figure["over"]: None}
    yield from _levels(over | figure["where"], factors)


def match_problems(study: Study) -> Iterator[str]:
    """Yield what is wrong with the key `match` of a study.

    A match chooses the width of each arm so that all arms have equally many parameters. It must
    name the arm to which all other arms are matched. The key that it changes must not be a factor
    of the study.
    """
    match, factors = study.get("match"), study["factors"]
    if match is None:
        return
    if not match["to"] or not match["to"].keys() <= set(factors):
        yield f"to={match['to']}; it must give levels of factors: {', '.join(factors)}"
    if (key := match["key"]) in factors:
        yield f"{key} is a factor, so it cannot be set by the match; choose another key"
