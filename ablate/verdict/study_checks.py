"""Check that a study can be judged: before its runs, and when its evidence is loaded."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from ablate.config.study import Levels, Study
from ablate.errors import UserError, likely
from ablate.evidence.checks import ABOUT, check_kept
from ablate.evidence.folder import Evidence
from ablate.phrases import listed, name_of
from ablate.verdict.kinds import KINDS, kind_of

NO_ARMS = ("exact", "trend")  # kinds that do not compare the means of two arms
CONTROLLED = tuple(name for name, kind in KINDS.items() if kind.controlled)
# keys of a claim, and the kinds that use them
USES = {
    "loses": CONTROLLED,
    "cannot": ("superiority", "exact"),  # a claim that an arm cannot do something
    "minus": tuple(name for name in KINDS if name not in ("exact", "stability")),
    "predicted": ("equivalence", "superiority"),
}
LAYER = "layer"  # axis of a figure of gradient norms
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
        levels = {figure["over"], *figure["where"]} - {LAYER}
        yield from (f".figures, number {number}{x}" for x in _levels(levels, factors))
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
    for key, kinds in USES.items():
        if claim.get(key) and kind not in kinds:
            which = f"the key `{key}`, which is for {listed([*kinds])}"
            yield f"kind={kind} does not use {which}: remove it"
    yield from kind_of(claim).problems(claim, factors)


def _of_design(study: Any) -> Iterator[str]:
    """Yield what is wrong with a study of combinations, whose claims compare two levels of a
    factor, over all recipes.
    """
    if not study.get("design"):
        return
    yield from (
        f"{key} has no meaning for design=combinations; remove it"
        for key in ("tune", "match", "screen")
        if study.get(key)
    )
    for claim in study["claims"]:
        keys = [key for key in ("where", "minus", "over", "loses") if claim.get(key)]
        factors = {*claim["treatment"], *claim["baseline"]}
        compares = len(factors) == 1 and factors <= {*study["levels"]}
        if keys or not compares or claim["kind"] in NO_ARMS:
            yield (
                f"claims, {claim['id']}: with design=combinations a claim compares two levels of "
                f"one of {', '.join(study['levels'])} over all recipes; it is no trend, not exact, "
                "and has no where, minus, over or loses"
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


def match_problems(study: Study) -> Iterator[str]:
    """Yield what is wrong with the key `match` of a study: it must name the arm to which all other
    arms are matched, and the key that it changes must not be a factor of the study.
    """
    match, factors = study.get("match"), study["factors"]
    if match is None:
        return
    if not match["to"] or not match["to"].keys() <= set(factors):
        yield f"to={match['to']}; it must give levels of factors: {', '.join(factors)}"
    if (key := match["key"]) in factors:
        yield f"{key} is a factor, so it cannot be set by the match; choose another key"
