"""Keep the analysis log, which lists every sweep that was started and every analysis of its runs.

results/book.jsonl gets a line when a sweep starts: its questions (which arms are compared in which
metric, see ablate.evidence.questions), the rule that decides each claim, all settings except the
varied factors, and the seeds. The file gets another line for every analysis, with the seeds that
were analysed and the seeds that failed. Lines are only appended. Each line is sealed with a digest.

experiments/NAME/book.jsonl is a copy of the lines about the evidence in that folder. The copy
documents the committed verdict. It does not affect other sweeps, because an analysis by another
person spends no alpha of this user. A question is asked in one setting (data, size, budget,
device). The same question in other settings is counted and reported beside the verdict. Questions
about the same contrast in another metric, or in a study file with more factors, form a family.
Exact claims involve no chance and are not logged.

The order of lines determines how much alpha a verdict spends, so a new line never gets an earlier
time than existing lines, whatever the clock shows. If a damaged log has lost lines, they are
restored from the copies that sweeps keep beside their verdicts.
"""

import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from filelock import FileLock

from ablate.errors import UserError
from ablate.evidence.questions import Change, Rule, differences
from ablate.evidence.types import Registration, Run
from ablate.record.files import SEAL, append_line, check_seal, read_log, seal, write_text, writing

ANALYSIS_LOG = "book.jsonl"
BESIDE = ("metric", "measure")  # settings that say what is measured, not how the runs are made
Seed = tuple[int, int]  # replicate and seed
# with several replicates, seed 3 of replicate 2 gets the number 2,000,003
PER_REPLICATE = 1_000_000


@dataclass(frozen=True)
class Sweep:
    """A line of the analysis log: a sweep that was started, with its questions, settings and seeds.

    `folder` is relative to the folder of all results.
    """

    name: str
    time: float
    folder: str
    study: str  # hash of the study
    regime: dict[str, object]  # setting, without keys that change results only by rounding
    settings: dict[str, object]
    replicate: int
    seeds: list[int]
    questions: dict[str, list[Rule]]
    contest: bool = False  # a replication: new seeds for an existing verdict, judged separately
    levels: dict[str, dict[str, object]] = field(
        default_factory=dict
    )  # settings of each `factor=level`
    # config keys that `settings` leaves out: factors and the tuned parameter
    free: list[str] = field(default_factory=list)
    code: str = ""  # digest of the source; another version may have other config keys
    claims: list[list[str]] = field(default_factory=list)  # id and reading of each claim
    components: dict[str, str] = field(default_factory=dict)  # options that all arms share

    def sets(self, where: Mapping[str, object]) -> dict[str, object]:
        """Return the settings of a combination of levels, by dotted config key.

        Args:
            where: level by factor, such as {"norm": "pre"}.
        """
        parts = [self.levels.get(f"{key}={level}", {key: level}) for key, level in where.items()]
        return {key: value for settings in parts for key, value in settings.items()}

    @property
    def planned(self) -> set[Seed]:
        """The seeds with which the sweep was started, as (replicate, seed) pairs.

        A replicate is a numbered set of seeds: equal seeds of two replicates give different runs.
        """
        return {(self.replicate, seed) for seed in self.seeds}

    def same(self, other: "Sweep") -> bool:
        """Return whether another sweep has the same settings and the same planned seeds."""
        return not self.changes(other, self.levels) and self.planned == other.planned

    def changes(self, now: "Sweep", levels: Iterable[str]) -> list[Change]:
        """Return the settings that differ in a later sweep.

        Args:
            now: the later sweep.
            levels: levels, as `factor=level`, whose settings are compared in addition to the
                settings that all arms share.
        """
        apart = (*self.free, *now.free, *BESIDE) if self.code == now.code != "" else None
        changes = differences(self.settings, now.settings, apart)
        for level in levels:
            if level in self.levels and level in now.levels:
                changed = differences(self.levels[level], now.levels[level], () if apart else None)
                changes += [(f"{key} in {level}", *values) for key, *values in changed]
        return changes


@dataclass(frozen=True)
class Analysis:
    """A line of the analysis log: an analysis of a sweep.

    `folder` is the folder of the sweep. `seeds` has the seeds whose runs all have a result, and
    `failed` has the seeds with a failed run.
    """

    folder: str
    time: float
    seeds: list[Seed]
    failed: list[Seed]


Line = Sweep | Analysis


@dataclass(frozen=True)
class AnalysisLog:
    """The sweeps and analyses in the log of one results folder, each ordered by time."""

    sweeps: list[Sweep]
    looks: list[Analysis]

    @classmethod
    def read(cls, results: Path) -> "AnalysisLog":
        """Read the analysis log of a results folder.

        Raises:
            UserError: a line was changed after it was written.
        """
        return cls.of_lines(_read_lines(results / ANALYSIS_LOG))

    @classmethod
    def of_lines(cls, lines: Iterable[Line]) -> "AnalysisLog":
        """Return the log with the distinct lines among lines of analysis logs."""
        distinct = {_line(line): line for line in lines}.values()
        ordered = sorted(distinct, key=lambda line: line.time)
        return cls(
            [line for line in ordered if isinstance(line, Sweep)],
            [line for line in ordered if isinstance(line, Analysis)],
        )

    @classmethod
    def with_copies(cls, results: Path) -> "AnalysisLog":
        """Read the analysis log of a results folder, and the copies of its lines that sweeps keep
        beside their verdicts.

        Raises:
            UserError: a line was changed after it was written.
        """
        logs = [results / ANALYSIS_LOG, *sorted(results.glob(f"sweeps/*/*/{ANALYSIS_LOG}"))]
        return cls.of_lines(line for log in logs for line in _read_lines(log))

    @property
    def lines(self) -> list[Line]:
        """All lines, ordered by time."""
        return sorted([*self.sweeps, *self.looks], key=lambda line: line.time)

    def save(self, folder: Path) -> None:
        """Write the lines to the file of the analysis log in a folder."""
        write_text(folder / ANALYSIS_LOG, "".join(f"{_line(line)}\n" for line in self.lines))

    def of(self, folder: str) -> Sweep:
        """Return the last sweep that was started in a folder.

        Raises:
            UserError: the log has no line for this folder.
        """
        begun = [sweep for sweep in self.sweeps if sweep.folder == folder]
        if not begun:
            raise UserError(
                f"{ANALYSIS_LOG} has lost the line of {folder}: restore it, or remove that folder "
                "and start the sweep again"
            )
        return begun[-1]

    def asking(self, question: str, current: Sweep) -> list[Sweep]:
        """Return all logged sweeps that ask a question in the same setting as the sweep `current`.

        If `current` is a replication (`contest`), only replications are returned. Otherwise no
        replication is returned.

        Args:
            question: key of a question: which arms are compared in which metric.
            current: a sweep.
        """
        alike = [
            s for s in self.sweeps if (s.regime, s.contest) == (current.regime, current.contest)
        ]
        return [sweep for sweep in alike if question in sweep.questions]

    def before(self, current: Sweep, question: str, rule: Rule) -> list[Sweep]:
        """Return the sweeps in the same setting that asked a question before `current` first asked
        the question.

        A repetition of `current` with the same settings, seeds and decision rule counts as
        `current`.

        Args:
            current: a sweep that asks the question.
            question: key of the question: which arms are compared in which metric.
            rule: rule by which `current` decides the claim.
        """
        asked = self.asking(question, current)
        first = min(s.time for s in asked if s.same(current) and rule in s.questions[question])
        return [s for s in asked if s.time < first]

    def seen(self, sweeps: Iterable[Sweep]) -> list[set[Seed]]:
        """Return the distinct sets of seeds that were analysed in the given sweeps, ordered by
        time.
        """
        folders = {sweep.folder for sweep in sweeps}
        seed_sets = [set(look.seeds) for look in self.looks if look.folder in folders]
        return [seeds for i, seeds in enumerate(seed_sets) if seeds not in seed_sets[:i]]

    def registration(self, current: Sweep) -> Registration:
        """Return the registration of a sweep's study: its hash, the time when it was first started,
        and the hashes of earlier forms.

        A form of a study is a version of the parts that decide its verdicts, identified by a hash.
        The time is the start of the first sweep with the same form, even under another name.
        `earlier` lists the hashes of forms that were started before, and have the same name or
        share a question. Only sweeps in the same setting count.
        """
        forms: dict[str, float] = {}
        for sweep in self.sweeps:
            related = (
                sweep.name == current.name or sweep.questions.keys() & current.questions.keys()
            )
            if sweep.regime == current.regime and related:
                forms.setdefault(sweep.study, sweep.time)
        first = forms[current.study]
        earlier = [form for form, when in forms.items() if when < first]
        return {
            "hash": current.study,
            "time": first,
            "earlier": earlier,
            "looks": 0,
            "sweep": current.folder,
            "components": current.components,
        }

    def about(self, current: Sweep) -> "AnalysisLog":
        """Return the log of all sweeps that share a question with `current`, in every setting."""
        related = [s for s in self.sweeps if s.questions.keys() & current.questions.keys()]
        sweeps = related or [current]
        folders = {sweep.folder for sweep in sweeps}
        return AnalysisLog(sweeps, [look for look in self.looks if look.folder in folders])

    def without_repeated_sweeps(self, needed: str) -> "AnalysisLog":
        """Return the log with one line for all sweeps whose lines differ only in folder and time.

        Such sweeps are parts of one study that share their seeds. Their arms may differ, because a
        line does not say which arms a part trained. The lines of analysed sweeps are kept.

        Args:
            needed: folder of another sweep whose line must be kept.
        """
        folders = {needed, *(look.folder for look in self.looks)}
        kept = [sweep for sweep in self.sweeps if sweep.folder in folders]
        contents = {_content(sweep) for sweep in kept}
        for sweep in self.sweeps:
            if sweep not in kept and _content(sweep) not in contents:
                contents.add(_content(sweep))
                kept.append(sweep)
        return AnalysisLog.of_lines([*kept, *self.looks])


def register(results: Path, sweep: Sweep) -> Registration:
    """Write a line for a sweep that starts, and return the registration of its study.

    If the log has lost lines, they are restored first.

    Raises:
        UserError: a line of the log was changed after it was written.
    """
    _restore(results)
    write(results, sweep)
    return AnalysisLog.read(results).registration(sweep)


def write(results: Path, line: Line) -> None:
    """Append a line to the analysis log in a results folder."""
    with _alone(results) as path:
        latest = max((other.time for other in _read_lines(path)), default=0.0)
        later = max(line.time, math.nextafter(latest, math.inf))
        append_line(path, _line(replace(line, time=later)))


def _restore(results: Path) -> None:
    """Append lines that the log has lost, from the copies that sweeps keep beside their
    verdicts.
    """
    present = {*map(_line, AnalysisLog.read(results).lines)}
    every = map(_line, AnalysisLog.with_copies(results).lines)
    if lost := [line for line in every if line not in present]:
        with _alone(results) as path:
            print(
                f"{path}: {len(lost)} lines were missing; they were restored from the copies in "
                "the folders of sweeps"
            )
            for line in lost:
                append_line(path, line)


@contextmanager
def _alone(results: Path) -> Iterator[Path]:
    """Lock the analysis log in a results folder, so that no other process writes to the log, and
    yield the path of the log.

    If the last line is incomplete, because a process was killed while writing, the line is removed.
    """
    path, locks = results / ANALYSIS_LOG, results / "locks"
    with writing(path):
        locks.mkdir(parents=True, exist_ok=True)
        with FileLock(locks / "book.lock"):
            if path.exists() and not (text := path.read_bytes()).endswith(b"\n"):
                os.truncate(path, text.rfind(b"\n") + 1)
            yield path


def _content(sweep: Sweep) -> str:
    """Return the line of a sweep without its folder and its time."""
    return _line(replace(sweep, folder="", time=0.0))


def _line(line: Line) -> str:
    record = {"what": "sweep" if isinstance(line, Sweep) else "look", **asdict(line)}
    return json.dumps(seal(record), sort_keys=True)


def _read_lines(path: Path) -> Iterator[Line]:
    """Yield the sweeps and analyses in a log file; yield nothing if the file does not exist.

    An incomplete last line, and lines of another version of the format, are skipped.

    Raises:
        UserError: the file cannot be read, or a line was changed after it was written.
    """
    for number, line in enumerate(read_log(path).split("\n")[:-1], 1):
        try:
            record = json.loads(line)
            damaged = SEAL in record and not check_seal(record)
        except (ValueError, TypeError, RecursionError):
            damaged = True
        if damaged:
            raise UserError(
                f"{path}: line {number} is damaged or was edited: restore it, or remove the line "
                "and the results of the sweep that it describes"
            )
        if parsed := _parsed(record):
            yield parsed


def _parsed(line: dict[str, Any]) -> Line | None:
    """Parse a line; return None for a line that another version of ablate wrote."""
    line.pop(SEAL, None)
    try:
        if line.pop("what") == "sweep":
            return Sweep(**line)
        line |= {key: [(r, s) for r, s in line[key]] for key in ("seeds", "failed")}
        return Analysis(**line)
    except (ValueError, TypeError, KeyError):
        return None


def seed_of(run: Run, replicate: int) -> Seed:
    """Return the replicate number and the seed of a run, with the seed as it was before
    renumbering.

    A replicate is a numbered set of seeds. If runs of several replicates are pooled, their seeds
    are renumbered so that they stay distinct.

    Args:
        run: the run, which has the key `replicate` if its seed was renumbered.
        replicate: replicate number of a run that was not renumbered.
    """
    if "replicate" not in run:
        return replicate, run["seed"]
    return run["replicate"], run["seed"] - PER_REPLICATE * run["replicate"]
