"""Keep the analysis log, which lists every sweep that was started and every analysis of its runs.

results/book.jsonl is the append-only log of a results folder. It gets a line when a sweep starts:
its questions and rules (ablate.evidence.registration), all settings except the varied factors, the
seeds, the time and the commit. It gets another line whenever the runs of a sweep are analysed, with
the seeds that were analysed and the seeds that failed. Each line is sealed with a digest. A copy of
the lines about the questions of a sweep lies beside its evidence. Lines that a log has lost are
read from the copies in the folders of sweeps. Committed copies affect no other sweep, because an
analysis by another person spends no alpha of this user.

The order of lines determines how much alpha a verdict spends, so a new line never gets an earlier
time than existing lines, whatever the clock shows.
"""

import json
import math
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from filelock import FileLock

from ablate.config.smoke import SMOKE
from ablate.errors import UserError
from ablate.evidence.digest import sealed_lines
from ablate.evidence.registration import Change, Rule, differences
from ablate.evidence.types import Registration, Run
from ablate.record.files import append_line, seal, write_text, writing

ANALYSIS_LOG = "book.jsonl"
BESIDE = ("metric", "measure")  # settings that say what is measured, not how the runs are made
NEAR = 2  # ratio of sizes or budgets from which on a setting is another one
PER_REPLICATE = 1_000_000  # with several replicates, seed 3 of replicate 2 gets number 2,000,003
Seed = tuple[int, int]  # replicate and seed


@dataclass(frozen=True)
class Sweep:
    """A line of the log: a sweep that was started, with its questions, settings and seeds.

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
    claims: list[list[str]] = field(default_factory=list)  # id and reading of each claim
    components: dict[str, str] = field(default_factory=dict)  # options that all arms share
    commit: str = ""

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
        apart = (*self.free, *now.free, *BESIDE) if self.code == now.code != "" else None
        changes = differences(self.settings, now.settings, apart)
        for level in (x for x in levels if x in self.levels and x in now.levels):
            changed = differences(self.levels[level], now.levels[level], apart and ())
            changes += [(f"{key} in {level}", *values) for key, *values in changed]
        return changes


def _is_near(first: object, second: object) -> bool:
    numbers = [x for x in (first, second) if isinstance(x, int | float) and x > 0]
    return first == second or (len(numbers) == 2 and max(numbers) < NEAR * min(numbers))


@dataclass(frozen=True)
class Analysis:
    """A line of the log: an analysis of the sweep in `folder`.

    `seeds` has the seeds whose runs all have a result, `failed` the seeds with a failed run.
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
    def read(cls, folder: Path) -> "AnalysisLog":
        """Read the log in a folder, and the copies in the sweeps of a results folder.

        Raises:
            UserError: a line was changed after it was written.
        """
        logs = [folder / ANALYSIS_LOG, *sorted(folder.glob(f"sweeps/*/*/{ANALYSIS_LOG}"))]
        return cls.of_lines(line for log in logs for line in _read_lines(log))

    @classmethod
    def of_lines(cls, lines: Iterable[Line]) -> "AnalysisLog":
        """Return the log with the distinct lines among lines of logs."""
        ordered = sorted({_text(x): x for x in lines}.values(), key=lambda line: line.time)
        sweeps = [line for line in ordered if isinstance(line, Sweep)]
        return cls(sweeps, [line for line in ordered if isinstance(line, Analysis)])

    @property
    def lines(self) -> list[Line]:
        """All lines, ordered by time."""
        return sorted([*self.sweeps, *self.looks], key=lambda line: line.time)

    def save(self, folder: Path) -> None:
        """Write the lines to the file of the log in a folder."""
        write_text(folder / ANALYSIS_LOG, "".join(f"{_text(line)}\n" for line in self.lines))

    def of(self, folder: str) -> Sweep:
        """Return the last sweep that was started in a folder.

        Raises:
            UserError: the log has no line for this folder.
        """
        begun = [sweep for sweep in self.sweeps if sweep.folder == folder]
        if not begun:
            raise UserError(f"{ANALYSIS_LOG} has lost the line of {folder}: start the sweep again")
        return begun[-1]

    def asking(self, asked: Iterable[str], current: Sweep) -> list[Sweep]:
        """Return all sweeps that ask one of some questions in the setting of the sweep `current`;
        replications (`contest`) if `current` is one, else no replications.
        """
        keys = {*asked}
        alike = (
            s for s in self.sweeps if keys & s.questions.keys() and s.contest == current.contest
        )
        return [sweep for sweep in alike if sweep.is_in_setting_of(current)]

    def seen(self, sweeps: Iterable[Sweep]) -> list[set[Seed]]:
        """Return the distinct sets of seeds that were analysed in the given sweeps, by time."""
        folders = {sweep.folder for sweep in sweeps}
        seed_sets = [set(look.seeds) for look in self.looks if look.folder in folders]
        return [seeds for i, seeds in enumerate(seed_sets) if seeds not in seed_sets[:i]]

    def registration(self, current: Sweep) -> Registration:
        """Return the registration of a sweep's study: its hash, the time when it was first started
        (even under another name), and the hashes of earlier forms of the study.
        """
        forms: dict[str, float] = {}
        for sweep in self.sweeps:
            related = sweep.questions.keys() & current.questions.keys()
            if (related or sweep.name == current.name) and sweep.is_in_setting_of(current):
                forms.setdefault(sweep.study, sweep.time)
        first = forms[current.study]
        return {
            "hash": current.study,
            "time": first,
            "commit": current.commit,
            "earlier": [form for form, when in forms.items() if when < first],
            "looks": 0,
            "sweep": current.folder,
            "components": current.components,
        }

    def about(self, current: Sweep) -> "AnalysisLog":
        """Return the log of all sweeps that share a question with `current`, in every setting."""
        asked = current.questions.keys()
        sweeps = [s for s in self.sweeps if s.questions.keys() & asked] or [current]
        folders = {sweep.folder for sweep in sweeps}
        return AnalysisLog(sweeps, [look for look in self.looks if look.folder in folders])


def register(results: Path, sweep: Sweep) -> Registration:
    """Write a line for a sweep that starts, and return the registration of its study."""
    write(results, sweep)
    return AnalysisLog.read(results).registration(sweep)


def write(results: Path, line: Line) -> None:
    """Append a line to the log of a results folder, after removing an incomplete last line, which a
    killed process may leave.
    """
    path, locks = results / ANALYSIS_LOG, results / "locks"
    with writing(path):
        locks.mkdir(parents=True, exist_ok=True)
        with FileLock(locks / "book.lock"):
            if path.exists() and not (text := path.read_bytes()).endswith(b"\n"):
                os.truncate(path, text.rfind(b"\n") + 1)
            latest = max((x.time for x in AnalysisLog.read(results).lines), default=0.0)
            later = max(line.time, math.nextafter(latest, math.inf))
            append_line(path, _text(replace(line, time=later)))


def _text(line: Line) -> str:
    record = {"what": "sweep" if isinstance(line, Sweep) else "look", **asdict(line)}
    return json.dumps(seal(record), sort_keys=True)


def _read_lines(path: Path) -> Iterator[Line]:
    """Yield the lines of a log; lines of other versions are skipped.

    Raises:
        UserError: the file cannot be read, or a line was changed after it was written.
    """
    for record in sealed_lines(path):
        with suppress(ValueError, TypeError, KeyError):
            if record.pop("what") == "sweep":
                yield Sweep(**record)
            else:
                seeds = {x: [(r, s) for r, s in record[x]] for x in ("seeds", "failed")}
                yield Analysis(**{**record, **seeds})


def seed_of(run: Run, replicate: int) -> Seed:
    """Return the replicate number and the seed of a run, as before any renumbering.

    Args:
        run: the run, which has the key `replicate` if its seed was renumbered.
        replicate: replicate number of a run that was not renumbered.
    """
    number = run.get("replicate")
    return (
        (replicate, run["seed"])
        if number is None
        else (number, run["seed"] - PER_REPLICATE * number)
    )
