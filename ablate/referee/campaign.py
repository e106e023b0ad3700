"""Run a campaign: compare candidates, one after the other, with a baseline.

A candidate that is kept becomes the new baseline.

Each candidate has a part of the campaign's error budget (ablate.stats.online). The interim analyses
of a candidate share this part as in a sweep (ablate.stats.spending). A candidate is kept if the
repeated p-value of the hypothesis "the candidate is better by at most the margin" reaches its
significance level. A candidate is discarded if it has used all of its runs without being kept, or
if it is unlikely to be kept. The variance of a candidate's runs is pooled with that of the
baseline, because four runs alone estimate a standard deviation badly.

A campaign is stored in files:

    campaign.yaml           the rules, and the path of the table; written once
    campaign.journal.json   interim analyses and decisions; `decide` writes it atomically

New runs are appended to the table. One column of the table names the candidate (or the first
baseline) of a run. Runs that a decision has used must not change. If a candidate is kept, the runs
by which it was kept do not count for the new baseline, because the selection has biased them.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import numpy as np
from filelock import FileLock
from jaxtyping import Float

from ablate.errors import UserError
from ablate.evidence.foreign import source
from ablate.evidence.foreign.table import Row, label_among, label_of, meant
from ablate.record.files import finite, seal, write_json
from ablate.record.sealed import read_sealed
from ablate.referee.reading import RULES, check_keys, checked, read_mapping, whole
from ablate.stats.means import MeanDifference, contrast, pooled
from ablate.stats.online import level, spent
from ablate.stats.spending import nominal, repeated
from ablate.verdict.stages import conditional_power

KEEP, DISCARD, MORE = "keep", "discard", "more"
FUTILE = 0.1  # chance of being kept, given the trend so far, below which a candidate is discarded
METHOD = "pooled t, repeated (O'Brien-Fleming), online alpha spending"
Values = Float[np.ndarray, " _"]  # the results of an arm; arms may differ in their numbers of runs
NEEDED = ("runs", "arm", "metric", "baseline", "better")
LEAST = {"candidates": 1, "first": 2, "step": 1, "most": 2, "baseline_runs": 2}
CHECKS = {
    **{key: RULES[key] for key in ("better", "alpha", "margin")},
    **{key: whole(least) for key, least in LEAST.items()},
}
WAIT = "wait for baseline"  # the answer if the baseline needs more runs first


@dataclass(frozen=True)
class Rules:
    """The rules of a campaign, fixed before its first candidate.

    Args:
        better: lower | higher.
        alpha: probability that any candidate is wrongly kept.
        candidates: planned number of candidates; more candidates are allowed, at smaller
            significance levels.
        first: runs of a candidate at its first interim analysis.
        step: runs between two interim analyses.
        most: largest number of runs of a candidate.
        baseline_runs: runs of a baseline; a candidate that was kept needs this number of new runs.
        margin: amount by which a candidate must be better.
    """

    better: str
    alpha: float = 0.05
    candidates: int = 100
    first: int = 4
    step: int = 2
    most: int = 10
    baseline_runs: int = 32
    margin: float = 0.0


@dataclass(frozen=True)
class InterimAnalysis:
    """The result of an interim analysis of a candidate.

    Args:
        decision: keep | discard | more (runs).
        effect: candidate minus baseline, positive if the candidate is better.
        interval: confidence interval at the level of this candidate and analysis.
        p: repeated p-value, to be compared with `level`.
        level: significance level of this candidate, its part of the error budget.
        wanted: further runs of the candidate before the next interim analysis.
    """

    decision: str
    effect: float
    interval: tuple[float, float]
    p: float
    level: float
    wanted: int


def analyse(
    rules: Rules, number: int, baseline: Values, candidate: Values, looks: Sequence[int]
) -> InterimAnalysis:
    """Return the result of an interim analysis of a candidate.

    Args:
        rules: the rules of the campaign.
        number: number of the candidate in the campaign, from 1.
        baseline: results of the baseline's runs.
        candidate: results of the candidate's runs.
        looks: number of the candidate's runs at each interim analysis, including this one.
    """
    share = level(number, rules.candidates, rules.alpha)
    fractions = tuple(count / rules.most for count in looks)
    mean_difference = difference(rules, baseline, candidate)
    alone = mean_difference.p_at_most(rules.margin)
    p = repeated(alone, fractions)
    interval = mean_difference.interval(1 - 2 * nominal(share, fractions))
    done = len(candidate) >= rules.most
    decision = KEEP if p <= share else DISCARD if done else MORE
    if decision == MORE and conditional_power(alone, fractions[-1], share) < FUTILE:
        decision = DISCARD
    wanted = min(rules.step, rules.most - len(candidate)) if decision == MORE else 0
    return InterimAnalysis(decision, mean_difference.effect, interval, p, share, wanted)


def difference(rules: Rules, baseline: Values, candidate: Values) -> MeanDifference:
    """Return the mean difference of candidate and baseline, positive if the candidate is better."""
    sign = 1.0 if rules.better == "higher" else -1.0
    arms = [candidate, baseline]
    return contrast(arms, [sign, -sign], [pooled(arms)] * 2, METHOD)


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
        journal = Journal(campaign)
        answer = journal.decide(candidate)
        write_json(campaign.journal, seal(journal.state))
    return answer


def read_campaign(path: Path) -> Campaign:
    """Return the content of a campaign's YAML file: its rules, and the columns of its table of
    runs.

    Raises:
        UserError: the file is missing or malformed, or a rule is not allowed.
    """
    given = read_mapping(path, "campaign", "runs, arm and baseline")
    names = [field.name for field in fields(Rules)]
    try:
        check_keys("", given, [*NEEDED[:-1], "name", *names])
        for key in NEEDED:
            if given.get(key) in (None, ""):
                raise UserError(f"{key} is missing; add a line `{key}: ...`")
        given = checked(given, CHECKS)
        rules = Rules(**{key: given[key] for key in names if key in given})
        if rules.first > rules.most:
            most = f"a candidate has at most {rules.most} runs (most)"
            raise UserError(f"first={rules.first}, but {most}; lower first or raise most")
    except UserError as error:
        raise UserError(f"{path}: {error}") from None
    return Campaign(
        rules,
        path.parent / str(given["runs"]),
        str(given["arm"]),
        str(given["metric"]),
        label_of(given["baseline"]),
        path.with_suffix(".journal.json"),
    )


class Journal:
    """The interim analyses and decisions of a campaign, and the results in its table of runs.

    `state` is the content of the journal file. `values` has the results of each candidate and
    baseline by name, in the order of first runs.

    Raises:
        UserError: the table or the journal is missing or damaged, or the campaign was begun with
            other rules.
    """

    def __init__(self, campaign: Campaign) -> None:
        self.campaign, self.rules = campaign, campaign.rules
        self.state = _read_journal(campaign)
        table = source.read(campaign.runs, [campaign.arm, campaign.metric])
        table = table.with_names([campaign.arm])
        places, labels = table.column(campaign.arm, "arm").labels()
        results = table.numbers(campaign.metric, "metric")
        order = dict.fromkeys(places[places >= 0].tolist())
        self.values = {labels[place]: results[places == place] for place in order}

    def decide(self, candidate: str | None) -> Row:
        """Return the decision on a candidate, and enter it into `state`.

        Raises:
            UserError: there is no such candidate, or runs that were judged have changed.
        """
        name, rules, state = self._name(candidate), self.rules, self.state
        past = state["candidates"].get(name, {"number": None, "looks": [], "decision": MORE})
        if past["decision"] != MORE:
            answer: Row = past["answer"]
            return answer
        baseline = self._baseline()
        if wanted := rules.baseline_runs - len(baseline):
            return self._answer(WAIT, name, _runs_wanted(state["baseline"]["arm"], wanted))
        results = self.values[name][: rules.most]
        if past["looks"] and _digest(results[: past["looks"][-1]]) != past["digest"]:
            raise UserError(
                f"{self.campaign.runs}: the runs of {name} that were judged have changed; add runs "
                "at the end, and leave earlier ones as they are"
            )
        least = past["looks"][-1] + 1 if past["looks"] else rules.first
        if len(results) < least:
            missing = max(1, (past.get("next") or rules.first) - len(results))
            return past.get("answer") or self._answer(MORE, name, _runs_wanted(name, missing))
        return self._analyse(name, past, results, baseline)

    def _name(self, given: str | None) -> str:
        """Return the name of a candidate; without a name, that of the latest in the table without a
        decision.
        """
        names = [name for name in self.values if name != self.campaign.baseline]
        if given is not None:
            name = label_among(given, names)
            if name in names:
                return name
            raise UserError(f"{self.campaign.runs} has no candidate {given}; {meant(name, names)}")
        entries = self.state["candidates"]
        open_ = [name for name in names if entries.get(name, {}).get("decision", MORE) == MORE]
        if not open_:
            raise UserError(
                f"{self.campaign.runs} has no candidate without a decision: add runs of a new "
                "candidate"
            )
        return open_[-1]

    def _baseline(self) -> Values:
        """Return the results of the current baseline.

        They are its first finite results, as many as the campaign's rules ask for. Candidates are
        compared with them. Runs by which the baseline was chosen when it was a candidate are left
        out.
        """
        kept = self.state["baseline"]
        every = self.values.get(kept["arm"], np.empty(0))[kept["skip"] :]
        return every[np.isfinite(every)][: self.rules.baseline_runs]

    def _analyse(self, name: str, past: Row, results: Values, baseline: Values) -> Row:
        """Make an interim analysis of a candidate, enter it into `state`, and return the answer to
        the user. A candidate is discarded if a run has no finite result.

        Args:
            name: name of the candidate.
            past: the earlier interim analyses of the candidate.
            results: results of the candidate's runs.
            baseline: results of the baseline's runs.
        """
        rules, candidates = self.rules, self.state["candidates"]
        number = past["number"] or len(candidates) + 1
        looks = [*past["looks"], len(results)]
        entry: Row = {"number": number, "looks": looks, "digest": _digest(results)}
        if not np.isfinite(results).all():
            entry |= {"decision": DISCARD}
            more: Row = {"reason": "a run has no finite value"}
        else:
            analysis = analyse(rules, number, baseline, results, looks)
            entry |= {"decision": analysis.decision, "next": len(results) + analysis.wanted}
            more = {key: vars(analysis)[key] for key in ("effect", "interval", "p", "level")}
            more |= {"runs": len(results), **_runs_wanted(name, analysis.wanted)}
        candidates[name] = entry
        if entry["decision"] == KEEP:
            self.state["baseline"] = {"arm": name, "skip": len(results)}
            more |= _runs_wanted(name, rules.baseline_runs)
        entry["answer"] = self._answer(entry["decision"], name, more)
        return entry["answer"]

    def _answer(self, decision: str, name: str, more: Row) -> Row:
        rules, tried = self.rules, len(self.state["candidates"])
        used = spent(tried, rules.candidates, rules.alpha)
        plain: Row = finite(
            {
                "decision": decision,
                "candidate": name,
                "baseline": self.state["baseline"]["arm"],
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


def _runs_wanted(arm: str, runs: int) -> Row:
    return {"runs_wanted": {"arm": arm, "runs": runs} if runs else None}


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
