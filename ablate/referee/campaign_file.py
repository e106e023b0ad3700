"""A campaign as files: the rules, the table of runs, and a journal of all looks.

    campaign.yaml           the rules, and where the runs are; the loop writes it once
    campaign.journal.json   looks and decisions; `decide` writes it, whole or not at all

The table grows at its end: a column says which candidate (or the first baseline) a run is of. Runs
that a decision has used must stay as they are. The runs with which a candidate was kept are not
part of the new baseline, as they hold the luck by which it was kept.
"""

import hashlib
import json
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
from ablate.record.files import check_seal, finite, seal, write_json
from ablate.referee.campaign import DISCARD, KEEP, METHOD, MORE, Rules, Values, look
from ablate.stats.online import level, spent

PLACES = ("runs", "arm", "metric", "baseline", "name")
RULES = tuple(field.name for field in fields(Rules))
DEFAULTS = asdict(Rules("lower"))
WAIT = "wait for baseline"  # a decision that takes more runs of the baseline first


@dataclass(frozen=True)
class Campaign:
    """A campaign's file: its rules, and the columns of its table.

    Args:
        runs: the table.
        arm: its column with the name of a run's candidate or baseline.
        metric: its column with the result.
        baseline: the name of the first baseline.
    """

    rules: Rules
    runs: Path
    arm: str
    metric: str
    baseline: str
    journal: Path


def decide(path: Path, candidate: str | None = None) -> Row:
    """Judge a candidate by the runs that are there, and record the decision.

    Without a name it is the latest candidate in the table that is not decided. To ask again without
    new runs gives the same answer and spends nothing.

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
    """Return the campaign of a YAML file.

    Raises:
        UserError: it is missing or malformed, or a rule is not allowed.
    """
    given = read_yaml(path)
    if not isinstance(given, dict):
        raise UserError(f"{path} holds no campaign: it has keys such as runs, arm and baseline")
    for key in given:
        if key not in (*PLACES, *RULES):
            raise UserError(f"{path}: unknown key {key}; {meant(str(key), [*PLACES, *RULES])}")
    for key in ("runs", "arm", "metric", "baseline", "better"):
        if given.get(key) in (None, ""):
            raise UserError(f"{path}: {key} is missing")
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
    """Raise UserError for a rule that is not allowed."""
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
    """Return the results of each candidate and baseline, in the order of the table."""
    table = source.read(campaign.runs, [campaign.arm, campaign.metric])
    places, labels = table.column(campaign.arm, "arm").labels()
    results = table.numbers(campaign.metric, "metric")
    return {label: results[places == place] for place, label in enumerate(labels)}


def _name(campaign: Campaign, state: Row, values: dict[str, Values], given: str | None) -> str:
    decided = {name for name, one in state["candidates"].items() if one["decision"] != MORE}
    if given is not None:
        name = label_of(given)
        if name not in values or name == campaign.baseline:
            names = [one for one in values if one != campaign.baseline]
            raise UserError(f"{campaign.runs} has no candidate {given}; {meant(name, names)}")
        return name
    open_ = [name for name in values if name != campaign.baseline and name not in decided]
    if not open_:
        raise UserError(f"{campaign.runs} has no candidate that is not decided: run one first")
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
    found = values[name][: rules.most]
    _check_used(campaign, name, past, found)
    least = past["looks"][-1] + 1 if past["looks"] else rules.first
    if len(found) < least:
        missing = (past.get("next") or rules.first) - len(found)
        wanted_here = {"arm": name, "runs": max(1, missing)}
        return past.get("answer") or _answer(
            MORE, name, state, rules, runs_wanted=wanted_here
        ), state
    if not np.isfinite(found).all():
        return _record(campaign, state, name, past, found, None)
    return _record(campaign, state, name, past, found, baseline)


def _record(
    campaign: Campaign,
    state: Row,
    name: str,
    past: Row,
    found: Values,
    baseline: Values | None,
) -> tuple[Row, Row]:
    """Take a look, and return the answer and the journal with it; a failed run discards."""
    rules, candidates = campaign.rules, dict(state["candidates"])
    number = past["number"] or len(candidates) + 1
    looks = [*past["looks"], len(found)]
    entry: Row = {"number": number, "looks": looks, "digest": _digest(found)}
    if baseline is None:
        entry |= {"decision": DISCARD}
        more: Row = {"reason": "a run has no finite value"}
    else:
        seen = look(rules, number, baseline, found, looks)
        entry |= {"decision": seen.decision, "next": len(found) + seen.wanted}
        more = {
            "effect": seen.effect,
            "interval": list(seen.interval),
            "p": seen.p,
            "level": seen.level,
            "runs": len(found),
            "runs_wanted": {"arm": name, "runs": seen.wanted} if seen.wanted else None,
        }
    candidates[name] = entry
    state = {**state, "candidates": candidates}
    if entry["decision"] == KEEP:
        used = len(found)
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
    """Return the baseline's runs that count, and how many are missing."""
    kept = state["baseline"]
    every = values.get(kept["arm"], np.empty(0))[kept["skip"] :]
    found = every[np.isfinite(every)][: campaign.rules.baseline_runs]
    return found, campaign.rules.baseline_runs - len(found)


def _check_used(campaign: Campaign, name: str, past: Row, found: Values) -> None:
    """Raise UserError where runs that a look has used are not there as they were."""
    if past["looks"] and _digest(found[: past["looks"][-1]]) != past["digest"]:
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
    try:
        state = json.loads(campaign.journal.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UserError(f"{campaign.journal} cannot be read: {error}") from None
    if not check_seal(state):
        raise UserError(f"{campaign.journal} was changed since it was written: restore it")
    del state["seal"]
    if state["rules"] != rules or state["first"] != campaign.baseline:
        raise UserError(
            f"{campaign.journal} was begun under other rules: restore the campaign's file, or "
            "begin a new one"
        )
    return dict(state)
