"""Join folders with runs of one question, such as parts of a study that several machines ran.

The folders must have the same registered study and setting, and no run in common. All runs of an
arm must come from the same code, which a digest in every run shows. Folders without a common arm
must come from the same source. The results of every part were seen, so each is an interim analysis
of the joined study.
"""

import itertools
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from ablate.errors import UserError
from ablate.evidence.folder import Evidence
from ablate.evidence.log import (
    Lines,
    Sweep,
    distinct,
    read_log,
    registration,
    sweep_in,
    sweeps_of,
    with_history,
)
from ablate.evidence.looks import lacks_runs
from ablate.evidence.registration import departures
from ablate.evidence.table import by_arm, differ_in_code
from ablate.evidence.types import Run
from ablate.record.label import run_key

OF_ONE_PART = ("seed=", "variant=", "n_jobs=", "study.third=")  # overrides in which parts differ


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
