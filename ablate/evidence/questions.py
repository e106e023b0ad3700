"""Compute a key for the question that a claim asks, and the rule by which the claim is decided.

Two claims ask the same question if they compare the same arms in the same metric, even in different
study files. The analysis log counts how often a question was asked, and compares the
rules and the settings.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

from ablate.evidence.outcome import involves_chance
from ablate.evidence.registration import class_name, digest
from ablate.evidence.types import Claim, Levels, Question, Study

SIDES = ("where", "minus", "over")
ARMS = ("treatment", "baseline", "where", "minus")  # keys of a claim that name the compared levels
RULE = ("kind", "margin", "alpha", "better", "scale", "treatment")
OF_STUDY = ("seeds", "tune")
UNUSUAL = {"cannot": False}  # keys that few rules have, with the value for all other rules
NOT_GIVEN = "not given"
Rule = dict[str, object]
Change = tuple[str, Any, Any]  # a key, and its value before and now; None: not given


def questions(study: Study) -> dict[str, list[Rule]]:
    """Return the decision rules of a study's claims that involve chance, by the key of their
    question.

    A question is a comparison of certain arms in a certain metric, and its key is a hash.

    Returns:
        decision rules by the key of a question (`question`), and for each family of questions about
            the same contrast of levels (`family`), the metric and shared levels of each claim
            (`place`).
    """
    rules: dict[str, list[Rule]] = {}
    for claim in study["claims"]:
        if involves_chance(claim):
            rules.setdefault(question(claim), []).append(rule(claim, study))
            rules.setdefault(family(claim), []).append(place(claim))
    return rules


def question(claim: Claim) -> str:
    """Return the key of the question that a claim asks: which arms are compared in which metric.

    The key does not depend on which arm is the treatment.
    """
    asked: Mapping[str, object] = claim
    arms = sorted(json.dumps(asked[arm], sort_keys=True) for arm in ("treatment", "baseline"))
    return digest([arms, claim["metric"], *(asked[side] for side in SIDES)])


def family(claim: Claim) -> str:
    """Return a key that all questions about the same contrast share, in any metric and study file.

    A contrast is the pair of levels in which two arms differ. Levels that both arms share, and the
    levels in `where`, are the setting of the contrast. They are not part of the key.
    """
    arms = [claim["treatment"], claim["baseline"]]
    shared = shared_levels(claim)
    apart = [{key: arm[key] for key in arm.keys() - shared} for arm in arms]
    contrast = sorted(json.dumps(arm, sort_keys=True) for arm in apart)
    return f"family {digest([contrast, claim['minus'], claim['over']])}"


def place(claim: Claim) -> Rule:
    """Return the metric of a claim under the key `metric`, and the levels that both arms share
    under the key `where`.
    """
    return {"metric": claim["metric"], "where": claim["where"] | shared_levels(claim)}


def shared_levels(claim: Question) -> Levels:
    """Return the levels that both arms of a claim have."""
    baseline = claim["baseline"]
    return {k: v for k, v in claim["treatment"].items() if k in baseline and baseline[k] == v}


def concerns(claim: Claim, level: str) -> bool:
    """Return whether a claim uses a level, given as `factor=level`.

    The level may be named in a compared arm, or in the arm `loses` of a claim of equivalence, which
    should lose more than the margin. If the compared arms do not name the factor, the claim uses
    all levels of this factor.
    """
    asked = cast(Mapping[str, Levels], claim)
    factor, _, name = level.partition("=")
    named, control = (
        {str(asked[arm][factor]) for arm in arms if factor in (asked.get(arm) or {})}
        for arms in (ARMS, ("loses",))
    )
    return not named or name in named | control


def rule(claim: Claim, study: Study) -> Rule:
    """Return the fields of a claim and its study that decide the verdict, such as kind and
    margin.
    """
    claim_fields: Mapping[str, object] = claim
    common: Mapping[str, object] = study
    given = {key: claim_fields[key] for key in RULE} | {key: common[key] for key in OF_STUDY}
    return given | {key: True for key in UNUSUAL if claim_fields.get(key)}


def differences(
    before: dict[str, object], now: dict[str, object], apart: Sequence[str] | None = None
) -> list[Change]:
    """Return the differences between two sets of settings.

    Settings are values by dotted config key. If `apart` is None, a key that only one set has is
    ignored, because the key comes from a different version of the code. Otherwise such a key
    counts, unless it is at or below one of the config nodes in `apart`.
    """

    def counts(key: str) -> bool:
        if key in before and key in now:
            return True
        return apart is not None and not any(f"{key}.".startswith(f"{node}.") for node in apart)

    def named(settings: dict[str, object], key: str) -> Any:
        return class_name(key, settings.get(key, NOT_GIVEN))

    return [
        (key, before.get(key), now.get(key))
        for key in before | now
        if named(before, key) != named(now, key) and counts(key)
    ]
