"""Whether a study is still the one that was registered before its runs.

A registration covers what decides a verdict: the arms by what they set, the metrics, kinds,
margins and alpha of the claims, and the planned seeds. It leaves out wording (statements, sources,
reasons), names of claims and levels, and the modules of classes, so that a better sentence or
another folder makes no verdict exploratory. A study that decides otherwise than the registered one
does, and so do runs that were there before it. When each form was first begun is in the book
(ablate.evidence.analysis_log).

`registered.json` keeps the form. Evidence of before has the whole study there, under another hash.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypedDict

from ablate.config.leaves import leaves
from ablate.config.study import USUAL, Claim, Match, Tune
from ablate.evidence.types import Registration, Study
from ablate.phrases import listed, name_of

# Of a claim, of what is tuned and of what is matched: what decides, and what it is by default.
DECIDES = (
    *("kind", "metric", "better", "margin", "alpha", "treatment", "baseline", "where", "minus"),
    *("loses", "over", "scale", "tolerance", "control"),
)
OF_CLAIM = {key: USUAL[Claim].get(key, "") for key in DECIDES}
OF_TUNE = {"key": "", "values": [], "seeds": [], **USUAL[Tune]}
OF_MATCH = {"by": "", "to": {}, **USUAL[Match]}
ARMS = {"treatment", "baseline", "where", "minus", "loses", "to"}
WITHHOLDS = "cannot"  # of a claim: it can come after the runs, as it only takes a verdict away
TARGET = "_target_"
OURS = "ablate."
Sets = Mapping[str, object]  # what a level sets, by dotted key
NO_LEVELS: Mapping[str, str] = {}


class Deciding(TypedDict):
    """What decides the verdicts of a study."""

    factors: list[str]
    seeds: int | None
    tune: dict[str, object] | None
    match: dict[str, object] | None
    claims: list[dict[str, object]]


class Form(TypedDict):
    """What is registered of a study before its runs.

    `levels` has a digest of what each `factor=level` sets, and `arms` one of each arm with all of
    its settings.
    """

    study: Deciding
    levels: Mapping[str, str]
    arms: list[str]


def deciding(study: Mapping[str, Any], levels: Mapping[str, str] = NO_LEVELS) -> Deciding:
    """Return what decides the verdicts of a study, with all defaults.

    A level that `levels` has (by `factor=level`) is replaced by the digest of what it sets.
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
    """Return 16 hexadecimal digits over what decides a study, its levels by their names."""
    return digest(deciding(study))


def form(study: Study, levels: Mapping[str, Sets], arms: Iterable[Sets]) -> Form:
    """Return what is to be registered; `levels` and `arms` are what these set."""
    strict = [bool(claim.get(WITHHOLDS)) for claim in study["claims"]]
    decides = deciding(study)
    for claim, withholds in zip(decides["claims"], strict, strict=True):
        claim |= {WITHHOLDS: True} if withholds else {}
    return {
        "study": decides,
        "levels": {name: digest(portable(sets)) for name, sets in levels.items()},
        "arms": sorted(digest(portable(sets)) for sets in arms),
    }


def registration_hash(registered: Mapping[str, Any]) -> str:
    """Return 16 hexadecimal digits over a registered form, whatever its levels are called."""
    if "arms" not in registered:
        return _former_hash(registered)
    return digest([deciding(registered["study"], registered["levels"]), registered["arms"]])


def _former_hash(study: Mapping[str, Any]) -> str:
    """Return the hash of a form that was registered as the whole study, wording and all.

    Committed evidence names it. It says that registered.json is as it was before the runs.
    """
    claims = [{k: v for k, v in claim.items() if k != WITHHOLDS} for claim in study["claims"]]
    return digest({**study, "claims": claims})


def portable(sets: Sets) -> dict[str, object]:
    """Return what a level sets, with classes of this package by their name alone."""
    return {key: class_name(key, value) for key, value in sets.items()}


def class_name(key: str, value: Any) -> Any:
    """Return the value of a key; of a class of this package its name without its module."""
    ours = key.rpartition(".")[2] == TARGET and str(value).startswith(OURS)
    return value.rpartition(".")[2] if ours else value


def departures(
    study: Study, registration: Registration, registered: Mapping[str, object], runs: list[Any]
) -> list[str]:
    """Sentences on how a study is not the registered one; each makes its verdicts exploratory.

    `registered` is the registered form, empty where it is not kept: then nothing says whether the
    study is still that one. A run says below `study` the hash of the form that it was started
    under, unless it is older than that.
    """
    known = registration.get("hash")
    before = _checked(registered, known)
    if not known:
        found = ["The study was not registered before its runs"]
    elif not before:
        what = "is not the one that was registered" if registered else "is not kept"
        found = [f"The form in registered.json {what} (hash {known})"]
    else:
        found = [f"{WITHHOLDS} was taken from {name}" for name in _taken(before, study)]
        if changed := _differences(before, study):
            said = f"The study is not the one that was registered (hash {known})"
            found.append(f"{said}: {listed(changed)}")
    begun = {known, study_hash(before)}
    others = [run["cell"] for run in runs if known and run.get("study", known) not in begun]
    if others:
        many = "s" * (len(others) > 1)
        found.append(
            f"Another form of the study was in force when {len(others)} run{many} began "
            f"(cell{many} {listed(others)})"
        )
    return [f"{sentence}; that makes its verdicts exploratory." for sentence in found]


def _checked(registered: Mapping[str, object], known: str | None) -> Mapping[str, Any]:
    """Return the study of a registered form; {} where that is not the one with this hash."""
    study: Any = registered.get("study", registered)
    try:
        same = registration_hash(registered) == known and bool(deciding(study))
    except (KeyError, TypeError, AttributeError):  # a form of another shape
        return {}
    return study if same else {}


def _taken(before: Mapping[str, Any], study: Study) -> list[str]:
    """Claims that were registered with what withholds their verdict, and have it no more."""
    pairs = zip(before.get("claims", []), study["claims"], strict=False)
    return [name_of(now) for then, now in pairs if then.get(WITHHOLDS) and not now.get(WITHHOLDS)]


def _differences(before: Mapping[str, Any], study: Study) -> list[str]:
    """What decides now and did not before, or otherwise; claims have their names of now."""
    names = [name_of(claim) for claim in study["claims"]]
    forms = [deciding(one) for one in (before, study)]
    if len(forms[0]["claims"]) != len(names):
        return [f"it had {len(forms[0]['claims'])} claims and has {len(names)}"]
    old, new = (
        leaves({"study": {**one, "claims": dict(zip(names, one["claims"], strict=True))}})
        for one in forms
    )
    return [
        f"{key} was {old.get(key, 'not there')} and is {new.get(key, 'not there')}"
        for key in dict.fromkeys([*old, *new])
        if key not in old or key not in new or old[key] != new[key]
    ]


def _given(
    node: Mapping[str, object], defaults: Mapping[str, object], levels: Mapping[str, str]
) -> dict[str, object]:
    """The values of some keys, numbers as floats, for 2 and 2.0 are one margin.

    An arm is given by what its levels set; a level that sets nothing stands for itself.
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
    """16 hexadecimal digits over plain data, whatever the order of its keys."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]
