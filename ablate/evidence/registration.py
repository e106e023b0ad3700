"""Compute hashes of a study and of its questions, and compare a study with the registered one.

The hash of a study covers everything that decides its verdicts: the settings of the arms, the
metrics, kinds, margins and alpha of the claims, the planned seeds, and what is tuned or matched.
Wording, names of claims and levels, and modules of classes are not covered, because a better
sentence or another folder does not make a verdict exploratory.

registered.json has these parts as they were registered before the first run. Older evidence stores
the whole study in this file, and its hash is computed in another way.

A question is a contrast: the levels in which two arms differ. Two claims ask the same question even
in different study files. Its rule says in which metric and how a claim decides the question.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ablate.config.catalogue import catalogue
from ablate.config.leaves import leaves
from ablate.config.study import USUAL, Claim, Match, Tune
from ablate.evidence.outcome import involves_chance
from ablate.evidence.types import Claim as AClaim
from ablate.evidence.types import Levels, Question, Reason, Registration, Study, reason
from ablate.phrases import name_of
from ablate.record.label import place

# keys of a claim, of tuning and of matching that decide a verdict, with their defaults
OF_CLAIM = {
    key: USUAL[Claim].get(key, "")
    for key in (
        *("kind", "metric", "better", "margin", "alpha", "treatment", "baseline", "where"),
        *("minus", "loses", "over", "scale", "tolerance", "control"),
    )
}
OF_TUNE = {"key": "", "values": [], "seeds": [], **USUAL[Tune]}
OF_MATCH = {"by": "", "to": {}, **USUAL[Match]}
# keys of a study of combinations
OF_DESIGN = ("design", "recipes", "repeated", "drawn_with", "levels", "rate", "excluded")
ARMS = {"treatment", "baseline", "where", "minus", "loses", "to"}
# key of a claim; it may be added after the runs, because it can only withhold a verdict
WITHHOLDS = "cannot"
RULE = ("metric", "kind", "margin", "alpha", "better", "scale", "treatment")
NOT_GIVEN = "not given"
Sets = Mapping[str, object]  # settings by dotted config key
Contents = Mapping[str, Sets]  # settings of each `factor=level`
Rule = dict[str, object]
Change = tuple[str, Any, Any]  # a key, and its value before and now; None: not given
Form = Mapping[str, Any]  # a study, or the parts of it that decide its verdicts
NONE: Form = {}


def digest(value: Any) -> str:
    """Return a hash of 16 hexadecimal digits of JSON data, independent of the order of keys."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]


def deciding(study: Form, levels: Mapping[str, str] = NONE) -> Form:
    """Return the values of a study that decide its verdicts, including all defaults.

    Args:
        study: the study.
        levels: digest of the settings of each `factor=level`, which replaces the name of the level.
    """
    tune, match = study.get("tune"), study.get("match")
    return {
        **{key: _number(study[key]) for key in OF_DESIGN if study.get("design") and study.get(key)},
        "factors": sorted(study.get("factors", [])),
        "seeds": study.get("seeds"),
        "tune": tune and _given(tune, OF_TUNE, levels),
        "match": match and _given(match, OF_MATCH, levels),
        "claims": [_given(claim, OF_CLAIM, levels) for claim in study.get("claims", [])],
    }


def _given(node: Sets, defaults: Sets, levels: Mapping[str, str]) -> Form:
    """Return the values of some keys of a study file, with their defaults, and with numbers as
    floats, so that 2 and 2.0 are equal. Levels are replaced by the digest of their settings.
    """
    values = {key: _number(node.get(key, usual)) for key, usual in defaults.items()}
    for name in values.keys() & ARMS:
        arm = values[name].items()
        values[name] = {key: levels.get(f"{key}={level}", level) for key, level in arm}
    if predicted := node.get("predicted"):
        values["predicted"] = _number(predicted)
    return values


def _number(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _number(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_number(item) for item in value]
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def study_hash(study: Mapping[str, object]) -> str:
    """Return a hash of the values that decide a study's verdicts, with arms by their names."""
    return digest(deciding(study))


def form(study: Study, levels: Contents, arms: Iterable[Sets]) -> Form:
    """Return the content of registered.json: everything that decides the verdicts of a study.

    Args:
        study: the study.
        levels: settings of each `factor=level`, by dotted config key.
        arms: all settings of each arm, by dotted config key.
    """
    decides = deciding(study)
    for claim, decided in zip(study["claims"], decides["claims"], strict=True):
        decided |= {WITHHOLDS: True} if claim.get(WITHHOLDS) else {}
    digests = {name: digest(portable(sets)) for name, sets in levels.items()}
    return {"study": decides, "levels": digests, "arms": sorted(digest(portable(x)) for x in arms)}


def registration_hash(registered: Form) -> str:
    """Return the hash of the content of registered.json, with arms by their settings."""
    if "arms" in registered:
        return digest([deciding(registered["study"], registered["levels"]), registered["arms"]])
    # an older version registered the whole study
    claims = [{k: v for k, v in claim.items() if k != WITHHOLDS} for claim in registered["claims"]]
    return digest({**registered, "claims": claims})


def portable(sets: Sets) -> dict[str, object]:
    """Return settings in which each class of this package or of the catalogue is named without its
    module, so that a moved class does not change a digest.
    """
    return {key: class_name(key, value) for key, value in sets.items()}


def class_name(key: str, value: Any) -> Any:
    """Return the value of a config key; of the import path of a class of this package or of the
    catalogue, only the name of the class.
    """
    home = catalogue()
    packages = ("ablate", home.name if home else "ablate")
    ours = key.rpartition(".")[2] == "_target_" and str(value).partition(".")[0] in packages
    return value.rpartition(".")[2] if ours else value


def departures(
    study: Study, registration: Registration, registered: Mapping[str, object], runs: list[Any]
) -> list[Reason]:
    """Return how a study differs from the registered study; each difference makes its verdicts
    exploratory.

    Args:
        study: the present study.
        registration: the registration in study.json, with the hash of the registered study.
        registered: the content of registered.json; if it is empty, nothing can be compared.
        runs: the runs, each with the hash of the study under which it was started (key `study`).
    """
    own_hash = registration.get("hash")
    before = _checked(registered, own_hash)
    if not own_hash:
        return [reason("not_registered")]
    if not before:
        code = "registration_changed" if registered else "registration_missing"
        reasons = [reason(code, hash=own_hash)]
    else:
        pairs = zip(before.get("claims", []), study["claims"], strict=False)
        gone = [now for then, now in pairs if then.get(WITHHOLDS) and not now.get(WITHHOLDS)]
        reasons = [reason("key_removed", claim=name_of(claim)) for claim in gone]
        if changed := _differences(before, study):
            reasons.append(reason("study_changed", hash=own_hash, changes=changed))
    begun = {own_hash, study_hash(before)}
    if cells := [run["cell"] for run in runs if run.get("study", own_hash) not in begun]:
        reasons.append(reason("runs_of_other_study", cells=cells))
    return reasons


def _checked(registered: Mapping[str, object], own_hash: str | None) -> Form:
    """Return the registered study if it has this hash, else {}."""
    study: Any = registered.get("study", registered)
    try:
        same = registration_hash(registered) == own_hash and bool(deciding(study))
    except (KeyError, TypeError, AttributeError):  # the form has an older structure
        return {}
    return study if same else {}


def _differences(before: Form, study: Study) -> list[list[Any]]:
    """Return the changes of keys that decide a verdict, as lists of key, old and new value."""
    names = [name_of(claim) for claim in study["claims"]]
    forms = [deciding(part) for part in (before, study)]
    if len(forms[0]["claims"]) != len(names):
        return [["number of claims", len(forms[0]["claims"]), len(names)]]
    old, new = (
        leaves({"study": {**decides, "claims": dict(zip(names, decides["claims"], strict=True))}})
        for decides in forms
    )
    return [
        [key, old.get(key), new.get(key)]
        for key in dict.fromkeys([*old, *new])
        if key not in old or key not in new or old[key] != new[key]
    ]


def questions(study: Study, levels: Contents = NONE) -> dict[str, list[Rule]]:
    """Return the rules of the claims that involve chance, by the hashes of their contrasts."""
    rules: dict[str, list[Rule]] = {}
    for claim in filter(involves_chance, study["claims"]):
        for key in contrasts(claim, levels):
            rules.setdefault(key, []).append(rule(claim, study))
    return rules


def contrasts(claim: AClaim, levels: Contents = NONE) -> list[str]:
    """Return the hashes of what a claim compares, whichever arm is the treatment: by the names of
    the levels in which the arms differ, and by the settings of these levels.

    All claims with a common hash ask the same question, in any metric, setting or study file. A
    claim without arms asks about one arm and one metric.
    """
    arms = [claim["treatment"], claim["baseline"]]
    if not (any(arms) or claim["over"]):
        return [digest([claim["where"], claim["metric"]])]
    shared = shared_levels(claim)
    apart: list[Sets] = [{key: arm[key] for key in arm.keys() - shared} for arm in arms]
    sets = [portable(settings(arm, levels)) for arm in apart]
    by_sets = [{k: x for k, x in s.items() if any(o.get(k) != x for o in sets)} for s in sets]
    hashes = []
    for pair, more in ((apart, claim["minus"]), (by_sets, settings(claim["minus"], levels))):
        both = sorted(json.dumps(arm, sort_keys=True) for arm in pair)
        hashes.append(f"family {digest([both, more, claim['over']])}")
    return [*dict.fromkeys(hashes)]


def former_question(claim: AClaim) -> str:
    """Return the hash of a claim's question in logs of earlier versions."""
    asked: Mapping[str, object] = claim
    arms = sorted(json.dumps(asked[arm], sort_keys=True) for arm in ("treatment", "baseline"))
    return digest([arms, claim["metric"], *(asked[side] for side in ("where", "minus", "over"))])


def settings(where: Sets, levels: Contents) -> dict[str, object]:
    """Return the settings of a combination of levels, by dotted config key."""
    parts = [levels.get(f"{key}={level}", {place(key): level}) for key, level in where.items()]
    return {key: value for part in parts for key, value in part.items()}


def shared_levels(claim: Question) -> Levels:
    """Return the levels that both arms of a claim have."""
    baseline = claim["baseline"]
    return {k: v for k, v in claim["treatment"].items() if k in baseline and baseline[k] == v}


def concerns(claim: AClaim, level: str) -> bool:
    """Return whether a claim uses a level, given as `factor=level`: an arm of the claim or its
    control names the level, or no arm names the factor.
    """
    asked: Form = claim
    factor, _, name = level.partition("=")
    arms = [asked.get(key) or {} for key in ("treatment", "baseline", "where", "minus", "loses")]
    named = [str(arm[factor]) for arm in arms if factor in arm]
    return name in named or not any(factor in arm for arm in arms[:-1])


def rule(claim: AClaim, study: Study) -> Rule:
    """Return what decides a claim, such as metric and margin, and the levels that both of its arms
    share, under the key `where`.
    """
    asked: Mapping[str, object] = claim
    where = claim["where"] | shared_levels(claim)
    more = {"seeds": study["seeds"], "tune": study["tune"], "where": where}
    return {key: asked[key] for key in RULE} | more | {WITHHOLDS: bool(asked.get(WITHHOLDS))}


def differences(before: Sets, now: Sets, apart: Iterable[str] | None = None) -> list[Change]:
    """Return the differences between settings by dotted config key.

    A key that only one side has counts unless it is at or below one of the nodes in `apart`. If
    `apart` is None, such a key does not count, because it comes from another version of the code.
    """

    def counts(key: str) -> bool:
        inside = any(f"{key}.".startswith(f"{node}.") for node in apart or ())
        return (key in before and key in now) or (apart is not None and not inside)

    both = {
        key: [class_name(key, x.get(key, NOT_GIVEN)) for x in (before, now)]
        for key in {**before, **now}
    }
    changed = [key for key, (old, new) in both.items() if old != new and counts(key)]
    return [(key, before.get(key), now.get(key)) for key in changed]
