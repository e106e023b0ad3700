"""Keep the log of the questions that were asked in a results folder, and judge a sweep by it.

results/book.jsonl gets a line when a sweep starts: its questions and rules
(ablate.evidence.registration), all settings except the varied factors, the seeds and the time. It
gets another line whenever the runs of a sweep are analysed, with the seeds that were analysed and
the seeds that failed. Lines are only appended, and each is sealed with a digest. A copy of the
lines about the questions of a sweep lies beside its evidence. Lines that a log has lost are read
from the copies in the folders of sweeps. Committed copies affect no other sweep, because an
analysis by another person spends no alpha of this user.

An earlier analysis of some of the seeds spends alpha (ablate.stats.corrections). A claim is
exploratory if its question was asked before with other settings or under another rule, if earlier
analyses spent all of alpha, or if seeds that were started or analysed are left out.

Folders with runs of one question, such as parts of a study that several machines ran, can be
joined. They must have the same registered study and setting, and no run in common. All runs of an
arm must come from the same code, which a digest in every run shows. Folders without a common arm
must come from the same source. The results of every part were seen, so each is an interim analysis
of the joined study.
"""

import itertools
import json
import math
import os
import shlex
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from filelock import FileLock

from ablate.config import SMOKE
from ablate.config.study import Claim
from ablate.errors import UserError
from ablate.evidence.checks import ANALYSIS_LOG, History, Record, Registration, read_sealed_records
from ablate.evidence.folder import Evidence
from ablate.evidence.outcome import Reason, Run, by_arm, differ_in_code, involves_chance, reason
from ablate.evidence.registration import (
    Change,
    Rule,
    concerns,
    departures,
    differences,
    lacks_runs,
    question_keys,
    rule,
    settings,
    shared_seeds,
)
from ablate.phrases import claim_name
from ablate.record.files import SEAL, append_line, seal, write_text
from ablate.record.results import run_key

BESIDE = ("metric", "measure")  # settings that say what is measured, not how the runs are made
NEAR = 2  # ratio of sizes or budgets from which on a setting is another one
OF_ONE_PART = ("seed=", "variant=", "n_jobs=", "study.third=")  # overrides in which parts differ
Seed = tuple[int, int]  # replicate and seed
Lines = list[Record]


@dataclass(frozen=True)
class Sweep:
    """A sweep that was started, with its questions, settings and seeds, and with the seeds of each
    analysis of its runs.

    `folder` is relative to the folder of all results.
    """

    name: str
    time: float
    folder: str
    study: str  # hash of the study
    regime: dict[str, Any]  # setting, without keys that change results only by rounding
    settings: dict[str, object]
    replicate: int
    seeds: list[int]
    questions: dict[str, list[Rule]]
    contest: bool = False  # a replication: new seeds for an existing verdict, judged separately
    levels: dict[str, dict[str, object]] = field(default_factory=dict)  # of each `factor=level`
    free: list[str] = field(default_factory=list)  # keys that `settings` leaves out, as they vary
    code: str = ""  # digest of the source; another version may have other config keys
    looks: list[frozenset[Seed]] = field(default_factory=list)

    @property
    def planned(self) -> set[Seed]:
        """The seeds with which the sweep was started; equal seeds of two replicates differ."""
        return {(self.replicate, seed) for seed in self.seeds}

    def is_in_setting_of(self, other: "Sweep") -> bool:
        """Return whether two sweeps have the same setting: data, device, precision and the settings
        of the model are the same, and sizes and budgets differ by less than a factor of two.

        Names of options do not matter if the settings behind them are the same.
        """
        mine, yours = self.regime, other.regime
        if (mine.get("scale") == SMOKE) != (yours.get("scale") == SMOKE):
            return False
        changed = [key for key, *_ in differences(self.settings, other.settings)]
        if mine.get("model") != yours.get("model") and any(x.startswith("model.") for x in changed):
            return False
        keys = (mine.keys() | yours.keys()) - {"scale", "model", "short"}
        return all(_is_near(mine.get(key), yours.get(key)) for key in keys)

    def changes(self, now: "Sweep", levels: Iterable[str]) -> list[Change]:
        """Return the settings that differ in a later sweep: settings that all arms share, and
        settings of the given levels (`factor=level`).
        """
        apart = (*self.free, *now.free, *BESIDE) if self.code == now.code else None
        changes = differences(self.settings, now.settings, apart)
        for level in (x for x in levels if x in self.levels and x in now.levels):
            changed = differences(self.levels[level], now.levels[level], apart and ())
            changes += [(f"{key} in {level}", *values) for key, *values in changed]
        return changes

    def asks(self, claim: Claim, where: Mapping[str, object], now: "Sweep") -> list[Rule]:
        """Return the rules by which this sweep decided the question of a claim of the sweep `now`.

        Both contrasts must have been measured under the same conditions: the levels that either
        rule names are the same by name, or by their settings, including defaults.
        """

        def same(earlier: Mapping[str, object]) -> bool:
            sides = ((self, settings(earlier, self.levels)), (now, settings(where, now.levels)))
            then, after = ({**sweep.settings, **sets} for sweep, sets in sides)
            named = {key for _, sets in sides for key in sets}
            return earlier == where or all(then.get(key) == after.get(key) for key in named)

        rules = [x for key in question_keys(claim, now.levels) for x in self.questions.get(key, [])]
        return [each for each in rules if same(each["where"])]


def _is_near(first: object, second: object) -> bool:
    numbers = [x for x in (first, second) if isinstance(x, int | float) and x > 0]
    return first == second or (len(numbers) == 2 and max(numbers) < NEAR * min(numbers))


def read_log(folder: Path) -> Lines:
    """Return the lines of the log in a folder, and of the copies in the sweeps of a results folder.

    Raises:
        UserError: a line was changed after it was written.
    """
    logs = [folder / ANALYSIS_LOG, *folder.glob(f"sweeps/*/*/{ANALYSIS_LOG}")]
    return distinct(line for log in logs for line in read_sealed_records(log))


def distinct(lines: Iterable[Record]) -> Lines:
    """Return the distinct lines among lines of logs, ordered by time."""
    return sorted({line[SEAL]: line for line in lines}.values(), key=lambda line: line["time"])


def save(lines: Lines, folder: Path) -> None:
    """Write lines to the file of the log in a folder."""
    write_text(folder / ANALYSIS_LOG, "".join(f"{json.dumps(line)}\n" for line in lines))


def sweeps_of(lines: Lines) -> list[Sweep]:
    """Return the sweeps in the lines of a log, ordered by time; fields of other versions are
    ignored.
    """
    names = {each.name for each in fields(Sweep)}
    looks: dict[str, list[frozenset[Seed]]] = {line["folder"]: [] for line in lines}
    for line in lines:
        if line["what"] == "look":
            looks[line["folder"]].append(frozenset((number, x) for number, x in line["seeds"]))
    begun = ({k: line[k] for k in names & line.keys()} for line in lines if line["what"] == "sweep")
    return [Sweep(**each, looks=looks[each["folder"]]) for each in begun]


def sweep_in(folder: str, sweeps: Iterable[Sweep]) -> Sweep:
    """Return the last sweep that was started in a folder.

    Raises:
        UserError: the log has no line for this folder.
    """
    if begun := [sweep for sweep in sweeps if sweep.folder == folder]:
        return begun[-1]
    raise UserError(f"{ANALYSIS_LOG} has lost the line of {folder}: start the sweep again")


def register(results: Path, sweep: Sweep) -> Registration:
    """Write a line for a sweep that starts, and return the registration of its study."""
    line = {"what": "sweep", **asdict(sweep)}
    del line["looks"]
    _append(results, line)
    return registration(sweep, sweeps_of(read_log(results)))


def _append(results: Path, line: Record) -> None:
    """Append a line to the log of a results folder, with a later time than all other lines.

    The order of lines determines how much alpha a verdict spends, whatever the clock shows.
    """
    with FileLock(results / "locks" / "book.lock"):
        latest = max((x["time"] for x in read_log(results)), default=0.0)
        later = max(line["time"], math.nextafter(latest, math.inf))
        append_line(results / ANALYSIS_LOG, json.dumps(seal({**line, "time": later})))


def registration(current: Sweep, sweeps: Iterable[Sweep]) -> Registration:
    """Return the registration of a sweep's study: its hash, the time when it was first started
    (even under another name), and the hashes of earlier forms of the study.
    """
    forms: dict[str, float] = {}
    for sweep in sweeps:
        related = sweep.questions.keys() & current.questions.keys()
        if (related or sweep.name == current.name) and sweep.is_in_setting_of(current):
            forms.setdefault(sweep.study, sweep.time)
    first = forms[current.study]
    return {
        "hash": current.study,
        "time": first,
        "earlier": [form for form, when in forms.items() if when < first],
        "looks": 0,
        "sweep": current.folder,
    }


def add_analysis(results: Path, folder: Path, evidence: Evidence) -> Evidence:
    """Add an analysis of a sweep to the log in the folder of all results, copy the lines about
    the questions of the sweep into its folder, and return the evidence with the history of each
    claim.
    """
    sweeps = sweeps_of(read_log(results))
    current = sweep_in(os.path.relpath(folder, results), sweeps)
    seeds, failed = (sorted(each) for each in analysed_seeds(evidence, current))
    look = {"what": "look", "folder": current.folder, "seeds": seeds, "failed": failed}
    _append(results, {**look, "time": time.time()})
    related = {s.folder for s in sweeps if s.questions.keys() & current.questions.keys()}
    kept = {current.folder, *related}
    save([line for line in read_log(results) if line["folder"] in kept], folder)
    return with_history(evidence, current, sweeps)


def analysed_seeds(evidence: Evidence, sweep: Sweep) -> tuple[set[Seed], set[Seed]]:
    """Return the seeds of a sweep whose runs all have a result, and the seeds with a failed run."""
    shared = shared_seeds(((x["levels"], x["seed"]) for x in evidence.runs), evidence.study)
    failed = {run["seed"] for run in evidence.runs if run["status"] == "failed"} & shared
    numbered = ({(sweep.replicate, x) for x in seeds} for seeds in (shared - failed, failed))
    return next(numbered), next(numbered)


def with_history(evidence: Evidence, current: Sweep, sweeps: list[Sweep]) -> Evidence:
    """Return the evidence of a sweep with the history of each claim in its registration, from all
    sweeps of the log with their analyses.
    """
    claims = [claim for claim in evidence.study["claims"] if involves_chance(claim)]
    asked = {claim_name(claim): history(claim, evidence, current, sweeps) for claim in claims}
    looks = max((len(each["looks"]) for each in asked.values()), default=0)
    more: Any = {"looks": looks, "asked": asked}
    return replace(evidence, registration={**evidence.registration, **more})


def history(claim: Claim, evidence: Evidence, current: Sweep, sweeps: list[Sweep]) -> History:
    """Return the history of a claim: the seeds of each earlier analysis, the reasons why the claim
    is exploratory, and the number of other settings in which it was asked.

    A sweep counts that asked the question before the current one, or before one with the same study
    and seeds. For a replication, only other replications count, and else none of them.
    """
    same, tried, settings_elsewhere = _earlier(claim, evidence, current, sweeps)
    planned, (seeds, failed) = evidence.study["seeds"], analysed_seeds(evidence, current)
    looks = [*dict.fromkeys(look for s in same for look in s.looks if look != seeds)]
    if any(len(look) >= planned and seeds - look for look in looks):
        tried.append(reason("alpha_spent", planned=planned))
    started = {seed for sweep in same for seed in sweep.planned} - current.planned - failed
    if gone := started.union(*looks) - seeds:
        tried.append(reason("seeds_left_out", seeds=len(gone)))
    numbers = [[x for number, x in sorted(look) if number == current.replicate] for look in looks]
    return {"looks": numbers, "tried": tried, "regimes": settings_elsewhere}


def _earlier(
    claim: Claim, evidence: Evidence, current: Sweep, sweeps: list[Sweep]
) -> tuple[list[Sweep], list[Reason], int]:
    """Return the sweeps that asked the question of a claim in the same way, apart from their seeds;
    a reason for each sweep that asked it in another way; and the number of other settings in which
    it was asked.
    """
    now = rule(claim, evidence.study)
    same = [s for s in sweeps if (s.study, s.planned) == (current.study, current.planned)]
    first = min(sweep.time for sweep in same)
    tried: list[Reason] = []
    regimes: set[str] = set()
    for sweep in sweeps:
        rules = sweep.asks(claim, now["where"], current)
        if rules and not sweep.is_in_setting_of(current):
            smoke = sweep.regime.get("scale") == SMOKE
            regimes |= set() if smoke else {json.dumps(sweep.regime, sort_keys=True)}
        elif rules and sweep.time < first and sweep.contest == current.contest:
            levels = [level for level in sweep.levels if concerns(claim, level)]
            of_rules = ([x for x in differences(y, now) if x[0] != "where"] for y in rules)
            changes = sweep.changes(current, levels) + min(of_rules, key=len)
            if changes or current.contest:
                tried.append(_asked_before(sweep, [[*x] for x in changes], current))
            else:
                same.append(sweep)
    return same, tried, len(regimes)


def _asked_before(sweep: Sweep, changes: list[list[Any]], current: Sweep) -> Reason:
    """Return the reason that an earlier sweep asked the question, with what has changed since."""
    code = "earlier_replication" if current.contest else "earlier_sweep"
    day = f"{datetime.fromtimestamp(sweep.time, UTC):%Y-%m-%d}"
    return reason(code, sweep=sweep.name, day=day, seeds=len(sweep.seeds), changes=changes)


class Part(NamedTuple):
    """A folder with some of the runs of a study, its analysis log, and the last of its sweeps."""

    folder: Path
    evidence: Evidence
    log: Lines
    sweep: Sweep

    @classmethod
    def read(cls, folder: Path) -> "Part":
        """Read a folder, and check its digests.

        Raises:
            UserError: the folder has no evidence of a sweep, it is damaged, or its study differs
                from the registered one.
        """
        evidence, log = Evidence.load(folder), read_log(folder)
        runs, registered = evidence.runs, evidence.registration
        if departures(evidence.study, registered, evidence.registered, runs):
            raise UserError(f"{folder}: the study is not the registered one: see `ablate judge`")
        if any("replicate" in run or not run.get("code") for run in runs):
            raise UserError(f"{folder} has runs of several replicates, or without a digest of code")
        return cls(folder, evidence, log, sweep_in(registered.get("sweep", ""), sweeps_of(log)))

    @property
    def question(self) -> dict[str, object]:
        """Everything in which parts must agree, by name."""
        sweep, regime = self.sweep, {**self.evidence.regime, "test_sentences": None}
        return {"study": sweep.study, "replicate": (sweep.replicate, sweep.contest), **regime}


def join(folders: Sequence[Path]) -> tuple[Evidence, Lines]:
    """Return the joined evidence of folders, and their joined analysis log.

    Raises:
        UserError: the folders overlap, or differ in study, setting or code.
    """
    parts = sorted((Part.read(folder) for folder in folders), key=lambda part: part.sweep.time)
    for pair in itertools.combinations(parts, 2):
        _check(*pair)
    evidence = [part.evidence for part in parts]
    first = evidence[0]
    # a run that failed in one part may have a result in another
    runs = sorted((run for x in evidence for run in x.runs), key=lambda x: x["status"] != "failed")
    runs = _numbered({run_key(run["levels"], run["seed"]): run for run in runs}.values(), 0)
    log, last = distinct(line for part in parts for line in part.log), parts[-1].sweep
    sweeps = sweeps_of(log)
    words = shlex.split(first.registration.get("command", ""))
    registered: Any = {
        **first.registration,
        **registration(last, sweeps),
        "command": shlex.join(word for word in words if not word.startswith(OF_ONE_PART)),
        "part": lacks_runs(runs, first.study),
    }
    joined = replace(
        first,
        registration=registered,
        runs=runs,
        screening=_numbered((run for x in evidence for run in x.screening), len(runs)),
        statistics={identity: rows for x in evidence for identity, rows in x.statistics.items()},
    )
    return with_history(joined, last, sweeps), log


def _check(first: Part, other: Part) -> None:
    """Raise UserError if two parts cannot be joined."""
    pair, names = (first.evidence, other.evidence), f"{first.folder} and {other.folder}"
    for key, value in first.question.items():
        if (given := other.question.get(key)) != value:
            raise UserError(f"{names} differ in {key}: {value} and {given}")
    ended = [[run for run in each.runs if run["status"] != "failed"] for each in pair]
    keys = [{run_key(run["levels"], run["seed"]) for run in runs} for runs in ended]
    if shared := keys[0] & keys[1]:
        raise UserError(f"{names} have {len(shared)} runs in common, such as {min(shared)}")
    for runs in (pair[0].runs + pair[1].runs, pair[0].screening + pair[1].screening):
        if mixed := [arm for arm, of_arm in by_arm(runs).items() if differ_in_code(of_arm)]:
            raise UserError(f"{names} differ in code, libraries, data or device of {mixed[0]}")
    if not {*by_arm(ended[0])} & {*by_arm(ended[1])} and first.sweep.code != other.sweep.code:
        raise UserError(f"{names} have no arm in common, and differ in their source")


def _numbered(runs: Iterable[Run], first: int) -> list[Run]:
    """Return runs ordered by arm and seed, with cell numbers that start at `first`."""
    arms = by_arm(runs).values()
    ordered = (run for arm in arms for run in sorted(arm, key=lambda run: run["seed"]))
    return [{**run, "cell": number} for number, run in enumerate(ordered, first)]
