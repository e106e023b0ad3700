"""Check whether a study is still the study that was registered before its runs.

A registration covers everything that decides a verdict: the settings of the arms, the metrics,
kinds, margins and alpha of the claims, and the planned seeds. A registration does not cover wording
(statements, sources, reasons), names of claims and levels, and the modules of classes, because a
better sentence or another folder does not make a verdict exploratory. A study is exploratory if its
decision rule differs from the registered rule, or if it had earlier runs. The analysis log records
when each form of a study was first started (ablate.evidence.analysis_log).

The file registered.json has the study as it was registered: everything that decides a verdict, and
nothing else. Older evidence stores the whole study in this file, and its hash is computed in
another way.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypedDict

from ablate.config.catalogue import catalogue
from ablate.config.leaves import leaves
from ablate.config.study import USUAL, Claim, Match, Tune
from ablate.evidence.types import Reason, Registration, Study, reason
from ablate.phrases import name_of

# Keys of a claim, of tuning and of matching that affect the decision, with their defaults.
DECIDES = (
    *("kind", "metric", "better", "margin", "alpha", "treatment", "baseline", "where", "minus"),
    *("loses", "over", "scale", "tolerance", "control"),
)
OF_CLAIM = {key: USUAL[Claim].get(key, "") for key in DECIDES}
OF_TUNE = {"key": "", "values": [], "seeds": [], **USUAL[Tune]}
OF_MATCH = {"by": "", "to": {}, **USUAL[Match]}
ARMS = {"treatment", "baseline", "where", "minus", "loses", "to"}
# key of a claim; it may be added after the runs, because it can only withhold a verdict
WITHHOLDS = "cannot"
TARGET = "_target_"
Sets = Mapping[str, object]  # settings of a level, by dotted key
NO_LEVELS: Mapping[str, str] = {}


class Deciding(TypedDict):
    """The values in a study file that decide its verdicts: factors, planned seeds, tuning,
    matching, and for each claim the compared arms, the metric, the margin and so on.
    """

    factors: list[str]
    seeds: int | None
    tune: dict[str, object] | None
    match: dict[str, object] | None
    claims: list[dict[str, object]]


class Form(TypedDict):
    """The form of a study: everything that decides its verdicts. The form is stored in
    registered.json before the runs, so that later changes of the study can be detected.

    `study` has the values in the study file that decide verdicts. `levels` has a digest of the
    settings of each `factor=level`. `arms` has a digest of all settings of each arm.
    """

    study: Deciding
    levels: Mapping[str, str]
    arms: list[str]


def deciding(study: Mapping[str, Any], levels: Mapping[str, str] = NO_LEVELS) -> Deciding:
    """Return the values of a study that decide its verdicts, including all defaults.

    Args:
        study: the study.
        levels: digest of the settings of each `factor=level`, which replaces the name of the level.
    """

    tune, match = study.get("tune"), study.get("match")
    return {
        "factors": sorted(study.get("factors", [])),
        "seeds": study.get("seeds"),
        "tune": tune and _given(tune, OF_TUNE, levels),
        "match": match and _given(match, OF_MATCH, levels),
        "claims": [_given(claim, OF_CLAIM, levels) for claim in study.get("claims", [])],
    }


def study_hash(study: Mapping[str, object]) -> str:
    """Return a hash of 16 hexadecimal digits of the values that decide a study's verdicts.

    The hash depends on the names of the levels, but not on the settings behind the names.
    """
    return digest(deciding(study))


def form(study: Study, levels: Mapping[str, Sets], arms: Iterable[Sets]) -> Form:
    """Return the form of a study, that is, everything that decides its verdicts, such as the
    compared arms, margins and seeds, but not its wording.

    The form is stored (registered) before the runs, so that later changes of the study can be
    detected.

    Args:
        study: the study.
        levels: settings of each `factor=level`, by dotted config key.
        arms: all settings of each arm, by dotted config key.
    """
    decides = deciding(study)
    for claim, decided in zip(study["claims"], decides["claims"], strict=True):
        if claim.get(WITHHOLDS):
            decided[WITHHOLDS] = True
    return {
        "study": decides,
        "levels": {name: digest(portable(sets)) for name, sets in levels.items()},
        "arms": sorted(digest(portable(sets)) for sets in arms),
    }


def registration_hash(registered: Mapping[str, Any]) -> str:
    """Return a hash that identifies a study as it was registered before its runs: 16 hexadecimal
    digits.

    The names of levels (values of the compared factors) do not change the hash. The settings behind
    the names do.

    Args:
        registered: the content of registered.json.
    """
    if "arms" not in registered:
        return _former_hash(registered)
    return digest([deciding(registered["study"], registered["levels"]), registered["arms"]])


def _former_hash(study: Mapping[str, Any]) -> str:
    """Return the hash of a study that an older version of ablate registered.

    Such a version stored the whole study in registered.json, including its wording, and the hash in
    study.json. If both hashes agree, registered.json has not changed since the registration.
    """
    claims = [{k: v for k, v in claim.items() if k != WITHHOLDS} for claim in study["claims"]]
    return digest({**study, "claims": claims})


def portable(sets: Sets) -> dict[str, object]:
    """Return settings in which each class of this package or of the catalogue is named without its
    module, so that a moved class does not change a digest.

    Args:
        sets: settings by dotted config key.
    """
    return {key: class_name(key, value) for key, value in sets.items()}


def class_name(key: str, value: Any) -> Any:
    """Return the value of a config key. If the value is the import path of a class of this package
    or of the catalogue, return only the name of the class.
    """
    home = catalogue()
    packages = ("ablate", home.name if home else "ablate")
    ours = key.rpartition(".")[2] == TARGET and str(value).partition(".")[0] in packages
    return value.rpartition(".")[2] if ours else value


def departures(
    study: Study, registration: Registration, registered: Mapping[str, object], runs: list[Any]
) -> list[Reason]:
    """Return how a study differs from the registered study, as data.

    Each difference makes the verdicts of the study exploratory.

    Args:
        study: the present study.
        registration: the entry of study.json on the registration, with the hash of the registered
            study.
        registered: the content of registered.json, that is, the study as it was registered before
            its runs; if it is empty, the study cannot be compared.
        runs: the runs. Each stores the hash of the form under which it was started (key `study`),
            except runs of older versions.
    """
    registered_hash = registration.get("hash")
    before = _checked(registered, registered_hash)
    if not registered_hash:
        reasons = [reason("not_registered")]
    elif not before:
        code = "registration_changed" if registered else "registration_missing"
        reasons = [reason(code, hash=registered_hash)]
    else:
        reasons = [reason("key_removed", claim=name) for name in _without_cannot(before, study)]
        if changed := _differences(before, study):
            reasons.append(reason("study_changed", hash=registered_hash, changes=changed))
    begun = {registered_hash, study_hash(before)}
    other_cells = [
        run["cell"]
        for run in runs
        if registered_hash and run.get("study", registered_hash) not in begun
    ]
    if other_cells:
        reasons.append(reason("runs_of_other_study", cells=other_cells))
    return reasons


def _checked(registered: Mapping[str, object], expected_hash: str | None) -> Mapping[str, Any]:
    """Return the registered study if its hash is `expected_hash`, else {}.

    Args:
        registered: the content of registered.json, which describes the study as it was registered
            before its runs.
        expected_hash: the hash in study.json; None if the study was not registered.
    """
    study: Any = registered.get("study", registered)
    try:
        same = registration_hash(registered) == expected_hash and bool(deciding(study))
    except (KeyError, TypeError, AttributeError):  # the form has an older structure
        return {}
    return study if same else {}


def _without_cannot(before: Mapping[str, Any], study: Study) -> list[str]:
    """Return the names of the claims from which the key `cannot` was removed after the
    registration.

    The key marks a claim which says that an arm cannot learn. The decision rule of such a claim is
    stricter, so the key must stay.

    Args:
        before: the registered study.
        study: the present study.
    """
    pairs = zip(before.get("claims", []), study["claims"], strict=False)
    return [name_of(now) for then, now in pairs if then.get(WITHHOLDS) and not now.get(WITHHOLDS)]


def _differences(before: Mapping[str, Any], study: Study) -> list[list[Any]]:
    """Return the changes of keys that affect a verdict, as lists of key, old and new value; claims
    have their present names. The value of a missing key is None.

    Args:
        before: the registered study.
        study: the present study.
    """
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


def _given(
    node: Mapping[str, object], defaults: Mapping[str, object], levels: Mapping[str, str]
) -> dict[str, object]:
    """Return the values of some keys, with numbers as floats, so that 2 and 2.0 are equal.

    Levels of an arm are replaced by the digest of their settings, if `levels` has one.

    Args:
        node: a mapping from a study file, such as a claim.
        defaults: the keys to return, with their defaults.
        levels: digest of the settings of each `factor=level`.
    """
    values = {key: _number(node.get(key, usual)) for key, usual in defaults.items()}
    for name in values.keys() & ARMS:
        arm = values[name].items()
        values[name] = {key: levels.get(f"{key}={level}", level) for key, level in arm}
    return values


def _number(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _number(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_number(item) for item in value]
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def digest(value: Any) -> str:
    """Return a hash of 16 hexadecimal digits of JSON data, independent of the order of keys."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]
