"""A part of a study: the evidence of some of its runs, made on one machine."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ablate.errors import UserError
from ablate.evidence.analysis_log import ANALYSIS_LOG, Line, Sweep, read_lines
from ablate.evidence.folder import Evidence
from ablate.evidence.registration import departures
from ablate.evidence.seal import RUNS, file_of_runs
from ablate.evidence.types import Levels, Run


@dataclass(frozen=True)
class Piece:
    """A part of a study: a folder with the evidence (runs and metrics) of some of the study's runs.

    `lines` has the lines of the analysis log in this folder, which lists sweeps and analyses.
    """

    folder: Path
    evidence: Evidence
    lines: list[Line]
    sweep: Sweep  # the sweep that made these runs; the last sweep if there are several

    @classmethod
    def read(cls, folder: Path) -> "Piece":
        """Read the evidence in a folder, that is, the results of a sweep, and check the stored
        digests of all runs and files (the seal).

        Raises:
            UserError: the folder has no finished sweep, a file is damaged, or the study differs
                from the registered one.
        """
        if not file_of_runs(folder).exists():
            raise UserError(f"{folder} has no {RUNS}: give the folder of a finished sweep")
        evidence = Evidence.load(folder)
        lines = [*read_lines(folder / ANALYSIS_LOG)]
        departed = departures(
            evidence.study, evidence.registration, evidence.registered, evidence.runs
        )
        if departed:
            raise UserError(f"{folder}: {departed[0]}")
        if any("replicate" in run for run in evidence.runs):
            raise UserError(
                f"{folder} has runs with several values of `replicate`, so it cannot be joined: "
                "run the whole study in one sweep"
            )
        study_hash, place = evidence.registration["hash"], evidence.registration.get("sweep", "")
        sweeps = [line for line in lines if isinstance(line, Sweep) and line.study == study_hash]
        own_sweeps = [sweep for sweep in sweeps if sweep.folder == place]
        if not own_sweeps:
            raise UserError(
                f"{folder / ANALYSIS_LOG} has no line for the sweep that made the runs of this "
                "folder: restore it, or run the sweep again"
            )
        return cls(folder, evidence, lines, own_sweeps[-1])

    @property
    def hash(self) -> str:
        """The hash that identifies the study as it was registered before its runs."""
        return self.evidence.registration["hash"]

    @property
    def runs(self) -> dict[str, Run]:
        """The runs with a result, by arm and seed.

        Failed runs are left out, because they may have succeeded in another piece, that is, in the
        part of the study that ran on another machine.
        """
        return {key_of(run): run for run in self.evidence.runs if run["status"] != "failed"}


def replicate(levels: Levels, seed: int) -> str:
    """Return a text that identifies a run of a study by the levels of its arm and by its seed.

    By this text, the same run is recognised in several parts of the study.
    """
    return json.dumps([levels, seed], sort_keys=True, default=str)


def key_of(run: Run) -> str:
    """Return a text that identifies a run of a study, by the levels of its arm and by its seed."""
    return replicate(run["levels"], run["seed"])


def is_part(evidence: Evidence) -> bool:
    """Return whether evidence has only some of the runs of a study, and therefore no verdict."""
    return bool(evidence.registration.get("part"))


def seed_count_phrase(evidence: Evidence) -> str:
    """Return a phrase such as "8 of 12 planned seeds" for the seeds that every arm has."""
    return f"{len(_seeds(evidence.runs))} of {evidence.study['seeds']} planned seeds"


def _seeds(runs: Sequence[Run]) -> set[int]:
    """Return the seeds for which every arm has a run."""
    arms: dict[str, set[int]] = {}
    for run in runs:
        arms.setdefault(run["arm"], set()).add(run["seed"])
    return set.intersection(*arms.values()) if arms else set()
