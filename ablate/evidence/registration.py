"""Compute hashes of a study and of its questions, compare a study with the registered one, and
compute what it plans: the seeds of interim analyses and of tuning.

The hash of a study covers everything that decides its verdicts: the settings of the arms, the
metrics, kinds, margins and alpha of the claims, the planned seeds, and what is tuned or matched.
Wording, names of claims and levels, and modules of classes are not covered, because a better
sentence or another folder does not make a verdict exploratory.

registered.json has these parts as they were registered before the first run. Older evidence stores
the whole study in this file, and its hash is computed in another way.

A question is a contrast: the levels in which two arms differ. Two claims ask the same question even
in different study files. Its rule says in which metric and how a claim decides the question.

A sweep with some of the seeds or variants is a part of the study, without a verdict. In evidence of
earlier versions, claims of a screen may wait for the runs of an arm.
"""

import itertools
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ablate.config import leaves, place
from ablate.config.screen import BASELINE, FACTOR
from ablate.config.study import USUAL, Claim, Levels, Match, Question, Study, Tune
from ablate.evidence.checks import Registration
from ablate.evidence.outcome import Reason, Run, involves_chance, reason
from ablate.phrases import claim_name
from ablate.record.files import digest

if TYPE_CHECKING:
    from ablate.evidence.folder import Evidence  # imports this module


# keys of a claim, of tuning and of matching that decide a verdict, with their defaults
CLAIM = (
    *("kind", "metric", "better", "margin", "alpha", "treatment", "baseline", "where"),
    *("minus", "loses", "over", "scale", "tolerance", "control"),
)
OF_CLAIM = {key: USUAL[Claim].get(key, "") for key in CLAIM}
OF_TUNE = {"key": "", "values": [], "seeds": [], **USUAL[Tune]}
OF_MATCH = {"by": "", "to": {}, **USUAL[Match]}
# keys of a study of combinations
OF_DESIGN = ("design", "recipes", "repeated", "drawn_with", "levels", "rate", "excluded")
ARMS = {"treatment", "baseline", "where", "minus", "loses", "to"}
# key of a claim; it may be added after the runs, because it can only withhold a verdict
WITHHOLDS = "cannot"
RULE = ("metric", "kind", "margin", "alpha", "better", "scale", "treatment")
Sets = Mapping[str, object]  # settings by dotted config key
Contents = Mapping[str, Sets]  # settings of each `factor=level`
Rule = dict[str, Any]
Change = tuple[str, Any, Any]  # a key, and its value before and now; None: not given
Form = Mapping[str, Any]  # a study, or the parts of it that decide its verdicts
NONE: Form = {}
ENOUGH = 10  # minimum number of seeds for interim analyses
USUAL_LOOKS = 3  # number of analyses if a study with enough seeds does not set `looks`


def deciding(study: Form, levels: Mapping[str, str] = NONE) -> Form:
    """Return the values of a study that decide its verdicts, including all defaults.

    Args:
        study: the study.
        levels: digest of the settings of each `factor=level`, which replaces the name of the level.
    """
    tune, match = study.get("tune"), study.get("match")
    return {
        **{key: _number(study[key]) for key in OF_DESIGN if study.get("design") and study.get(key)},
        **({"baseline_seeds": more} if (more := study.get("baseline_seeds")) else {}),
        "factors": sorted(study.get("factors", [])),
        "seeds": study.get("seeds"),
        "tune": tune and _normalised(tune, OF_TUNE, levels),
        "match": match and _normalised(match, OF_MATCH, levels),
        "claims": [_normalised(claim, OF_CLAIM, levels) for claim in study.get("claims", [])],
    }


def _normalised(node: Sets, defaults: Sets, levels: Mapping[str, str]) -> Form:
    """Return the values of some keys of a study file, with their defaults, and with numbers as
    floats, so that 2 and 2.0 are equal. Levels are replaced by the digest of their settings.
    """
    values: Rule = _number({key: node.get(key, usual) for key, usual in defaults.items()})
    for name in values.keys() & ARMS:
        arm = values[name].items()
        values[name] = {key: levels.get(f"{key}={level}", level) for key, level in arm}
    if predicted := node.get("predicted"):
        values["predicted"] = _number(predicted)
    return values


def _number(value: object) -> Any:
    """Return JSON data with every number as a float."""
    return json.loads(json.dumps(value), parse_int=float)


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
    digests = {name: digest(sets) for name, sets in levels.items()}
    return {"study": decides, "levels": digests, "arms": sorted(map(digest, arms))}


def registration_hash(registered: Form) -> str:
    """Return the hash of the content of registered.json, with arms by their settings."""
    if "arms" in registered:
        return digest([deciding(registered["study"], registered["levels"]), registered["arms"]])
    # an older version registered the whole study
    claims = [{k: v for k, v in claim.items() if k != WITHHOLDS} for claim in registered["claims"]]
    return digest({**registered, "claims": claims})


def departures(
    study: Study, registration: Registration, registered: Form, runs: Iterable[Any]
) -> list[Reason]:
    """Return how a study differs from the registered study; each difference makes its verdicts
    exploratory.

    Args:
        study: the present study.
        registration: the registration in study.json, with the hash of the registered study.
        registered: the content of registered.json; if it is empty, nothing can be compared.
        runs: the runs, each with the hash of the study under which it was started (key `study`).
    """
    own_hash, reasons = registration.get("hash"), []
    if not own_hash:
        return [reason("not_registered")]
    if not registered:
        return [reason("registration_missing", hash=own_hash)]
    before = registered.get("study", registered)
    try:
        intact = registration_hash(registered) == own_hash and bool(deciding(before))
    except (KeyError, TypeError, AttributeError):  # the form has an older structure
        intact = False
    if not intact:
        return [reason("registration_changed", hash=own_hash)]
    for then, claim in zip(before["claims"], study["claims"], strict=False):
        if then.get(WITHHOLDS) and not claim.get(WITHHOLDS):
            reasons.append(reason("key_removed", claim=claim_name(claim)))
    if changes := differences(_by_key(deciding(before)), _by_key(deciding(study)), apart=()):
        reasons.append(reason("study_changed", hash=own_hash, changes=[[*x] for x in changes]))
    begun = {own_hash, study_hash(before)}
    if cells := [run["cell"] for run in runs if run.get("study", own_hash) not in begun]:
        reasons.append(reason("runs_of_other_study", cells=cells))
    return reasons


def _by_key(decides: Form) -> Sets:
    """Return the values that decide a study's verdicts by dotted key, with numbered claims."""
    claims = {str(number): claim for number, claim in enumerate(decides["claims"], 1)}
    return leaves({"study": {**decides, "claims": claims}})


def questions(study: Study, levels: Contents = NONE) -> dict[str, list[Rule]]:
    """Return the rules of the claims that involve chance, by the hashes of their comparisons."""
    rules: dict[str, list[Rule]] = {}
    for claim in filter(involves_chance, study["claims"]):
        for key in question_keys(claim, levels):
            rules.setdefault(key, []).append(rule(claim, study))
    return rules


def question_keys(claim: Claim, levels: Contents = NONE) -> list[str]:
    """Return the hashes of the comparison that a claim makes: a hash of the names of the levels in
    which its arms differ, and a hash of the settings of these levels.

    The hashes do not depend on which arm is the treatment. Two claims with a common hash ask the
    same question, in any metric, setting or study file. A claim without arms has a hash of its one
    arm and its metric.
    """
    arms = [claim["treatment"], claim["baseline"]]
    if not (any(arms) or claim["over"]):
        return [digest([claim["where"], claim["metric"]])]
    shared = shared_levels(claim)
    apart: list[Sets] = [{key: arm[key] for key in arm.keys() - shared} for arm in arms]
    sets = [settings(arm, levels) for arm in apart]
    by_sets = [{k: x for k, x in s.items() if any(o.get(k) != x for o in sets)} for s in sets]
    hashes = []
    for pair, more in ((apart, claim["minus"]), (by_sets, settings(claim["minus"], levels))):
        both = sorted(json.dumps(arm, sort_keys=True) for arm in pair)
        hashes.append(f"family {digest([both, more, claim['over']])}")
    return [*dict.fromkeys(hashes)]


def settings(where: Sets, levels: Contents) -> dict[str, object]:
    """Return the settings of a combination of levels, by dotted config key."""
    parts = [levels.get(f"{key}={level}", {place(key): level}) for key, level in where.items()]
    return {key: value for part in parts for key, value in part.items()}


def shared_levels(claim: Question) -> Levels:
    """Return the levels that both arms of a claim have."""
    baseline = claim["baseline"]
    return {k: v for k, v in claim["treatment"].items() if k in baseline and baseline[k] == v}


def concerns(claim: Claim, level: str) -> bool:
    """Return whether a claim uses a level, given as `factor=level`: an arm of the claim or its
    control names the level, or no arm names the factor.
    """
    asked: Form = claim
    factor, _, name = level.partition("=")
    arms = [asked.get(key) or {} for key in ("loses", "treatment", "baseline", "where", "minus")]
    return any(str(arm.get(factor)) == name for arm in arms) or not any(
        factor in x for x in arms[1:]
    )


def rule(claim: Claim, study: Study) -> Rule:
    """Return what decides a claim, such as metric and margin, and the levels that both of its arms
    share, under the key `where`.
    """
    asked: Form = {**claim, "where": claim["where"] | shared_levels(claim)}
    more = {"seeds": study["seeds"], "tune": study["tune"], WITHHOLDS: bool(asked.get(WITHHOLDS))}
    return {key: asked[key] for key in (*RULE, "where")} | more


def differences(before: Sets, now: Sets, apart: Iterable[str] | None = None) -> list[Change]:
    """Return the differences between settings by dotted config key.

    A key that only one side has counts unless it is at or below one of the nodes in `apart`. If
    `apart` is None, such a key does not count, because it comes from another version of the code.
    """
    nodes = tuple(f"{node}." for node in apart or ())

    def counts(key: str) -> bool:
        if key in before and key in now:
            return before[key] != now[key]
        return apart is not None and not f"{key}.".startswith(nodes)

    return [(key, before.get(key), now.get(key)) for key in {**before, **now} if counts(key)]


def planned_looks(study: Study) -> list[int]:
    """Return the number of seeds at each planned analysis.

    The last number is the total number of seeds.
    """
    seeds = study["seeds"]
    chance = any(involves_chance(claim) for claim in study["claims"])
    looks = study.get("looks") or (USUAL_LOOKS if seeds >= ENOUGH and chance else 1)
    return [math.ceil(seeds * look / looks) for look in range(1, looks + 1)]


def shared_seeds(runs: Iterable[tuple[Levels, int]], study: Study | None) -> set[int]:
    """Return the seeds of runs, without those that only the baseline has, if a screen plans more
    seeds for its baseline than for its variants.

    Args:
        runs: levels and seed of each run.
        study: the study of the runs; None without a study.
    """
    pairs = [*runs]
    seeds = {seed for _, seed in pairs}
    if not study or not study.get("baseline_seeds"):
        return seeds
    return {seed for levels, seed in pairs if levels.get(FACTOR) != BASELINE} or seeds


def lacks_runs(runs: Sequence[Run], study: Study) -> bool:
    """Return whether a claim of a study lacks an arm, or an arm of a claim lacks planned seeds.

    Such runs are a part of the study, which has no verdict.
    """
    if study.get("design"):
        return len(runs) < study["seeds"]
    return any(len(seeds_of(runs, claim)) < study["seeds"] for claim in study["claims"])


def split_claims(runs: Sequence[Run], study: Study) -> tuple[list[Claim], list[Claim]]:
    """Return the claims that are judged, and the claims that wait for the runs of an arm.

    Only a screen of an earlier version has claims that wait. A claim of a screen that names no arm
    is about all arms, so it waits for the arms of all claims.
    """
    if not study.get("screen"):
        return study["claims"], []
    lacking = [claim for claim in study["claims"] if arms_of(claim) and not seeds_of(runs, claim)]
    judged, waiting = list[Claim](), list[Claim]()
    for claim in study["claims"]:
        waits = claim in lacking or (bool(lacking) and not arms_of(claim))
        (waiting if waits else judged).append(claim)
    return judged, waiting


def seeds_of(runs: Iterable[Run], claim: Claim) -> set[int]:
    """Return the seeds for which every arm of a claim has a run.

    If the claim names no arm, all seeds of the runs are returned.
    """
    by_run = [(run["levels"], run["seed"]) for run in runs]
    seeds = {seed for _, seed in by_run}
    for arm in arms_of(claim):
        seeds &= {seed for levels, seed in by_run if levels.items() >= arm.items()}
    return seeds


def arms_of(claim: Claim) -> list[dict[str, object]]:
    """Return the levels of each arm that a claim uses: its two sides; for an interaction, also the
    two sides that are subtracted; and the positive control, which is the baseline with the levels
    in `loses`.
    """
    sides = [claim["where"] | claim[side] for side in ("treatment", "baseline") if claim[side]]
    arms = sides + [arm | claim["minus"] for arm in sides if claim["minus"]]
    if loses := claim.get("loses"):
        arms.append(claim["where"] | claim["baseline"] | loses)
    return arms


def screening_seeds(replicates: Iterable[int], tune: Tune) -> dict[int, int]:
    """Return, for every seed of the study, the seed of its tuning runs.

    If `tune` lists fewer seeds than the study has, further tuning seeds are added: the largest
    listed seed plus 1, plus 2 and so on.

    Args:
        replicates: seeds of the study.
        tune: the study's settings for tuning.
    """
    given = dict.fromkeys(tune["seeds"])
    counted = itertools.count(max(given) + 1)
    return dict(zip(sorted({*replicates}), itertools.chain(given, counted), strict=False))


def has_order(values: Iterable[Any]) -> bool:
    """Return whether all values are numbers and not booleans, so that they have an order."""
    return all(isinstance(x, int | float) and not isinstance(x, bool) for x in values)


def tried_values(evidence: "Evidence") -> dict[int, list[Any]]:
    """Return, for every run, the values of the nuisance parameter that were tried to tune it.

    The keys are cell numbers; a cell is one run of a sweep, that is, one arm with one seed. If no
    tuning run is recorded for the arm and the seed, for example because the arm was tuned once for
    all seeds, the result has the values that the study lists.
    """
    tune = evidence.study.get("tune")
    assert tune is not None
    seeds = screening_seeds((run["seed"] for run in evidence.runs), tune)

    def values_of(run: Run) -> list[Any]:
        seed, levels = seeds[run["seed"]], run["levels"]
        screened = (x for x in evidence.screening if x["seed"] == seed and x["levels"] == levels)
        return [x["tuned"]["value"] for x in screened] or [*tune["values"]]

    return {run["cell"]: values_of(run) for run in evidence.runs}
