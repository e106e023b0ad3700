"""Store a campaign in files: its rules, its table of runs, and a journal of its interim analyses.

    campaign.yaml           the rules, and the path of the table; written once
    campaign.journal.json   interim analyses and decisions; `decide` writes it atomically

New runs are appended to the table. One column of the table names the candidate (or the first
baseline) of a run. Runs that a decision has used must not change. If a candidate is kept, the runs
by which it was kept do not count for the new baseline, because the selection has biased them.
"""

import hashlib
import math
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock

from ablate.errors import UserError
from ablate.evidence.foreign import source
from ablate.evidence.foreign.reading import read_yaml
from ablate.evidence.foreign.table import Row, label_of, meant
from ablate.record.files import finite, seal, write_json
from ablate.record.sealed import read_sealed
from ablate.referee.campaign import DISCARD, KEEP, METHOD, MORE, Rules, Values, analyse
from ablate.stats.online import level, spent

PLACES = ("runs", "arm", "metric", "baseline", "name")
RULES = tuple(field.name for field in fields(Rules))
DEFAULTS = asdict(Rules("lower"))
WAIT = "wait for baseline"  # the answer if the baseline needs more runs first


@dataclass(frozen=True)
class Campaign:
    """The content of a campaign's YAML file.

    A campaign is a series of decisions on whether a candidate (such as another optimiser) replaces
    the current baseline.

    Args:
        rules: the rules of the decisions.
        runs: path of the table with a row per run.
        arm: column with the name of a run's candidate or baseline.
        metric: column with the result.
        baseline: name of the first baseline.
        journal: path of the file in which every interim analysis and decision is recorded.
    """

    rules: Rules
    runs: Path
    arm: str
    metric: str
    baseline: str
    journal: Path


def decide(path: Path, candidate: str | None = None) -> Row:
    """Decide on a candidate with the runs in the table, and write the decision to the journal.

    Args:
        path: path of campaign.yaml.
        candidate: name of the candidate; None for the latest in the table without a decision.

    Returns:
        The decision with its numbers, as plain data. A repeated call without new runs returns the
        same answer and spends no alpha.

    Raises:
        UserError: a file is missing, malformed or changed, or there is no such candidate.
    """
    campaign = read_campaign(path)
    with FileLock(campaign.journal.with_suffix(".lock")):
        state = _read_journal(campaign)
        values = _values(campaign)
        name = _name(campaign, state, values, candidate)
        answer, state = _decide(campaign, state, values, name)
        write_json(campaign.journal, seal(state))
    return answer


def read_campaign(path: Path) -> Campaign:
    """Return the content of a campaign's YAML file: its rules, and the columns of its table of
    runs.

    Raises:
        UserError: the file is missing or malformed, or a rule is not allowed.
    """
    given = read_yaml(path)
    if not isinstance(given, dict):
        raise UserError(
            f"{path} is not a campaign: write a mapping with keys such as runs, arm and baseline"
        )
    for key in given:
        if key not in (*PLACES, *RULES):
            raise UserError(f"{path}: unknown key {key}; {meant(str(key), [*PLACES, *RULES])}")
    for key in ("runs", "arm", "metric", "baseline", "better"):
        if given.get(key) in (None, ""):
            raise UserError(f"{path}: {key} is missing; add a line `{key}: ...`")
    rules = {key: value for key, value in given.items() if key in RULES}
    rules = {**DEFAULTS, **rules}
    _check(path, rules)
    return Campaign(
        Rules(**rules),
        path.parent / str(given["runs"]),
        str(given["arm"]),
        str(given["metric"]),
        label_of(given["baseline"]),
        path.with_suffix(".journal.json"),
    )


def _check(path: Path, rules: Row) -> None:
    """Raise UserError for a rule of the campaign that is not allowed.

    The values of `alpha` and `margin` are converted to float, in place.
    """
    if rules["better"] not in ("lower", "higher"):
        raise UserError(f"{path}: better={rules['better']}; it must be lower or higher")
    least = {"candidates": 1, "first": 2, "step": 1, "most": 2, "baseline_runs": 2}
    for key, lowest in least.items():
        value = rules[key]
        if not isinstance(value, int) or isinstance(value, bool) or value < lowest:
            raise UserError(f"{path}: {key}={value}; it must be a whole number of {lowest} or more")
    if rules["first"] > rules["most"]:
        raise UserError(
            f"{path}: first={rules['first']}, but a candidate has at most {rules['most']} runs"
        )
    for key, most in (("alpha", 0.5), ("margin", math.inf)):
        value = rules[key]
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < most:
            raise UserError(f"{path}: {key}={value}; it must be a number from 0 to {most:g}")
        rules[key] = float(value)


def _values(campaign: Campaign) -> dict[str, Values]:
    """Return the results of each candidate and baseline by name, in the order of first runs."""
    table = source.read(campaign.runs, [campaign.arm, campaign.metric])
    places, labels = table.column(campaign.arm, "arm").labels()
    results = table.numbers(campaign.metric, "metric")
    order = dict.fromkeys(places[places >= 0].tolist())
    return {labels[place]: results[places == place] for place in order}


def _name(campaign: Campaign, state: Row, values: dict[str, Values], given: str | None) -> str:
    decided = {name for name, entry in state["candidates"].items() if entry["decision"] != MORE}
    if given is not None:
        name = label_of(given)
        if name not in values or name == campaign.baseline:
            names = [entry for entry in values if entry != campaign.baseline]
            raise UserError(f"{campaign.runs} has no candidate {given}; {meant(name, names)}")
        return name
    open_ = [name for name in values if name != campaign.baseline and name not in decided]
    if not open_:
        raise UserError(
            f"{campaign.runs} has no candidate without a decision: add runs of a new candidate"
        )
    return open_[-1]


def _decide(
    campaign: Campaign, state: Row, values: dict[str, Values], name: str
) -> tuple[Row, Row]:
    rules = campaign.rules
    past = state["candidates"].get(name, {"number": None, "looks": [], "decision": MORE})
    if past["decision"] != MORE:
        return past["answer"], state
    baseline, wanted = _baseline(campaign, state, values)
    if wanted:
        runs_wanted = {"arm": state["baseline"]["arm"], "runs": wanted}
        return _answer(WAIT, name, state, rules, runs_wanted=runs_wanted), state
    results = values[name][: rules.most]
    _check_used(campaign, name, past, results)
    least = past["looks"][-1] + 1 if past["looks"] else rules.first
    if len(results) < least:
        missing = (past.get("next") or rules.first) - len(results)
        wanted_here = {"arm": name, "runs": max(1, missing)}
        return past.get("answer") or _answer(
            MORE, name, state, rules, runs_wanted=wanted_here
        ), state
    if not np.isfinite(results).all():
        return _record(campaign, state, name, past, results, None)
    return _record(campaign, state, name, past, results, baseline)


def _record(
    campaign: Campaign,
    state: Row,
    name: str,
    past: Row,
    results: Values,
    baseline: Values | None,
) -> tuple[Row, Row]:
    """Make an interim analysis of a candidate; return the answer to the user and the new journal.

    Args:
        campaign: the campaign.
        state: the journal so far.
        name: name of the candidate.
        past: the earlier interim analyses of the candidate.
        results: results of the candidate's runs.
        baseline: results of the baseline's runs; None to discard the candidate, because a run has
            no finite result.
    """
    rules, candidates = campaign.rules, dict(state["candidates"])
    number = past["number"] or len(candidates) + 1
    looks = [*past["looks"], len(results)]
    entry: Row = {"number": number, "looks": looks, "digest": _digest(results)}
    if baseline is None:
        entry |= {"decision": DISCARD}
        more: Row = {"reason": "a run has no finite value"}
    else:
        analysis = analyse(rules, number, baseline, results, looks)
        entry |= {"decision": analysis.decision, "next": len(results) + analysis.wanted}
        more = {
            "effect": analysis.effect,
            "interval": list(analysis.interval),
            "p": analysis.p,
            "level": analysis.level,
            "runs": len(results),
            "runs_wanted": {"arm": name, "runs": analysis.wanted} if analysis.wanted else None,
        }
    candidates[name] = entry
    state = {**state, "candidates": candidates}
    if entry["decision"] == KEEP:
        used = len(results)
        state["baseline"] = {"arm": name, "skip": used}
        more["runs_wanted"] = {"arm": name, "runs": rules.baseline_runs}
    answer = _answer(entry["decision"], name, state, rules, **more)
    entry["answer"] = answer
    return answer, state


def _answer(decision: str, name: str, state: Row, rules: Rules, **more: Any) -> Row:
    tried = len(state["candidates"])
    used = spent(tried, rules.candidates, rules.alpha)
    plain: Row = finite(
        {
            "decision": decision,
            "candidate": name,
            "baseline": state["baseline"]["arm"],
            **more,
            "error": {
                "budget": rules.alpha,
                "spent": used,
                "left": rules.alpha - used,
                "next_candidate": level(tried + 1, rules.candidates, rules.alpha),
                "candidates": tried,
            },
            "method": METHOD,
        }
    )
    return plain


def _baseline(campaign: Campaign, state: Row, values: dict[str, Values]) -> tuple[Values, int]:
    """Return the results of the current baseline, and the number of runs that it still needs.

    The results are the first finite results, as many as the campaign's rules ask for. Candidates
    are compared with them. Runs by which the baseline was chosen when it was a candidate are left
    out.
    """
    kept = state["baseline"]
    every = values.get(kept["arm"], np.empty(0))[kept["skip"] :]
    results = every[np.isfinite(every)][: campaign.rules.baseline_runs]
    return results, campaign.rules.baseline_runs - len(results)


def _check_used(campaign: Campaign, name: str, past: Row, results: Values) -> None:
    """Raise UserError if a result has changed since an interim analysis of the candidate used it.

    Args:
        campaign: the campaign.
        name: name of the candidate.
        past: the earlier interim analyses of the candidate.
        results: the present results of the candidate's runs.
    """
    if past["looks"] and _digest(results[: past["looks"][-1]]) != past["digest"]:
        raise UserError(
            f"{campaign.runs}: the runs of {name} that were judged have changed; add runs at the "
            "end, and leave earlier ones as they are"
        )


def _digest(values: Values) -> str:
    return hashlib.sha256(np.ascontiguousarray(values).tobytes()).hexdigest()[:16]


def _read_journal(campaign: Campaign) -> Row:
    rules = asdict(campaign.rules)
    if not campaign.journal.exists():
        first = {"arm": campaign.baseline, "skip": 0}
        return {"rules": rules, "first": campaign.baseline, "baseline": first, "candidates": {}}
    state: Row = read_sealed(campaign.journal, "restore it from a copy")
    begun = {**state["rules"], "baseline": state["first"]}
    now = {**rules, "baseline": campaign.baseline}
    if begun != now:
        changed = [f"{k}={begun.get(k)}" for k in begun | now if begun.get(k) != now.get(k)]
        raise UserError(
            f"{campaign.journal} was begun with {' '.join(changed)}: restore this in the campaign "
            "file, or begin a new campaign in a file of another name"
        )
    return state
