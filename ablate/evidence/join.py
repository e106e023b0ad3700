"""Join evidence of one registered study whose runs were made on separate machines.

A piece is the folder of a finished sweep, or a folder of evidence, with some of the study's runs.
No run may be in two pieces, and all runs of an arm must come from the same code. To check this,
every run has a digest (`code`) of the source of all executed modules, the data, the libraries and
the kind of device, which is equal for all seeds of an arm. Pieces without a common arm cannot be
compared by this digest. They must have the same versions, and the same source when they began.

A part of a study (`part=true`) has no verdict, so its runs have not been analysed. A piece with a
verdict was an interim analysis, which spends alpha. Joined pieces without all planned seeds form a
part again, unless they match a planned interim analysis (`study.looks`).
"""

import itertools
import json
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ablate.errors import UserError
from ablate.evidence.analysis_log import (
    ANALYSIS_LOG,
    AnalysisLog,
    Seed,
    Sweep,
)
from ablate.evidence.earlier_sweeps import spent
from ablate.evidence.folder import Evidence
from ablate.evidence.looks import (
    by_arm,
    differ_in_code,
    matches_planned_analysis,
    seeds_of,
    split_claims,
)
from ablate.evidence.outcome import involves_chance
from ablate.evidence.registration import departures
from ablate.evidence.seal import RUNS, file_of_runs
from ablate.evidence.types import Asked, Registration, Run
from ablate.phrases import listed, name_of
from ablate.record.label import run_key

# overrides in which pieces differ
OF_ONE_PART = ("seed=", "variant=", "part=", "without_runs=", "n_jobs=")


@dataclass(frozen=True)
class Piece:
    """A part of a study: a folder with the evidence (runs and metrics) of some of the study's runs.

    `log` is the analysis log in this folder, which lists sweeps and analyses.
    """

    folder: Path
    evidence: Evidence
    log: AnalysisLog
    sweep: Sweep  # the sweep that made these runs; the last sweep if there are several

    @classmethod
    def read(cls, folder: Path) -> "Piece":
        """Read the evidence in a folder, that is, the results of a sweep, and check the stored
        digests of all runs and files (the seal).

        Raises:
            UserError: the folder does not exist or has no finished sweep, a file is damaged, or the
                study differs from the registered one.
        """
        if not folder.is_dir():
            raise UserError(f"there is no folder {folder}: give the folder of a finished sweep")
        if not file_of_runs(folder).exists():
            raise UserError(f"{folder} has no {RUNS}: give the folder of a finished sweep")
        evidence = Evidence.load(folder)
        log = AnalysisLog.read(folder)
        departed = departures(
            evidence.study, evidence.registration, evidence.registered, evidence.runs
        )
        if departed:
            raise UserError(
                f"{folder}: the study is not the one that was registered: `ablate judge {folder}` "
                "prints the differences"
            )
        if any("replicate" in run for run in evidence.runs):
            raise UserError(
                f"{folder} has runs with several values of `replicate`, so it cannot be joined: "
                "run the whole study in one sweep"
            )
        study_hash, place = evidence.registration["hash"], evidence.registration.get("sweep", "")
        own_sweeps = [s for s in log.sweeps if (s.study, s.folder) == (study_hash, place)]
        if not own_sweeps:
            raise UserError(
                f"{folder / ANALYSIS_LOG} has no line for the sweep that made the runs of this "
                "folder: restore it, or run the sweep again"
            )
        return cls(folder, evidence, log, own_sweeps[-1])

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
        return {_key(run): run for run in self.evidence.runs if run["status"] != "failed"}


def _key(run: Run) -> str:
    """Return a text that identifies a run of a study, by the levels of its arm and by its seed."""
    return run_key(run["levels"], run["seed"])


def join(pieces: Sequence[Piece]) -> tuple[Evidence, AnalysisLog]:
    """Return the joined evidence of all pieces, and their joined analysis log.

    A piece is evidence with some of the runs of a study, such as the runs of one machine.

    Raises:
        UserError: pieces overlap; differ in study, setting, code or data; or have more seeds than
            the study plans.
    """
    first = pieces[0]
    for piece in pieces[1:]:
        _check_study(first, piece)
    for pair in itertools.combinations(pieces, 2):
        _check_disjoint(*pair)
        _check_code(*pair)
        _check_groups(*pair)
    runs = _numbered(_without_repeated_failures(pieces), 0)
    screening = _numbered(_screening(pieces), len(runs))
    planned = first.evidence.study["seeds"]
    several = len({run["seed"] for run in runs})
    if several > planned:
        raise UserError(
            f"the folders have {several} seeds together, but the study plans {planned}: leave out "
            "the folders with the other seeds"
        )
    every = AnalysisLog.of_lines(line for piece in pieces for line in piece.log.lines)
    log = every.without_repeated_sweeps(first.sweep.folder)
    whole = matches_planned_analysis(runs, first.evidence.study)
    joined = replace(
        first.evidence,
        regime={**first.evidence.regime, "test_sentences": _sentences(pieces)},
        registration=_registration(pieces, log, runs, whole),
        runs=runs,
        screening=screening,
        statistics={k: x for piece in pieces for k, x in piece.evidence.statistics.items()},
        groups={k: x for piece in pieces for k, x in piece.evidence.groups.items()},
    )
    return joined, log


def _check_study(first: Piece, other: Piece) -> None:
    if other.hash != first.hash:
        raise UserError(
            f"{other.folder} belongs to another study than {first.folder}: its registration is "
            f"{other.hash}, and not {first.hash}"
        )
    regimes = [{**piece.evidence.regime, "test_sentences": {}} for piece in (first, other)]
    for key in regimes[0] | regimes[1]:
        values = [regime.get(key) for regime in regimes]
        if values[0] != values[1]:
            raise UserError(
                f"{other.folder} has another setting than {first.folder}: {key} is {values[1]}, "
                f"and not {values[0]}"
            )
    if len({(piece.sweep.replicate, piece.sweep.contest) for piece in (first, other)}) > 1:
        raise UserError(
            f"{other.folder} has replicate={other.sweep.replicate} contest={other.sweep.contest}, "
            f"but {first.folder} has replicate={first.sweep.replicate} "
            f"contest={first.sweep.contest}: join only sweeps with the same values"
        )


def _check_disjoint(first: Piece, other: Piece) -> None:
    shared = [run for key, run in first.runs.items() if key in other.runs]
    if shared:
        arm, seed, many = shared[0]["arm"], shared[0]["seed"], len(shared)
        raise UserError(
            f"{first.folder} and {other.folder} overlap in {many} run{'s' * (many > 1)}, such as "
            f"{arm} with seed {seed}: join only folders that have no run in common"
        )


def _check_code(first: Piece, other: Piece) -> None:
    """Raise UserError unless two parts of a study were made by the same code, data and libraries,
    so that a run gives the same results in both.
    """
    for piece in (first, other):
        if not all(run.get("code") for run in piece.runs.values()):
            raise UserError(
                f"{piece.folder} does not record the code of its runs: an older version of ablate "
                "made it, so it cannot be joined"
            )
    for kind in ("runs", "screening"):
        runs = [run for piece in (first, other) for run in getattr(piece.evidence, kind)]
        for arm, members in by_arm(runs).items():
            if differ_in_code(members):
                raise UserError(
                    f"{first.folder} and {other.folder} were made by different code, libraries, "
                    f"data or devices: those of the arm {arm} differ "
                    f"({_origin(first)}; {_origin(other)})"
                )
    arms = [by_arm(piece.runs.values()) for piece in (first, other)]
    if not arms[0].keys() & arms[1].keys() and not _same_source(first, other):
        raise UserError(
            f"{first.folder} and {other.folder} have no arm in common and were not made from the "
            "same source and versions, so nothing shows that their code is the same "
            f"({_origin(first)}; {_origin(other)}): run one again with the code of the other"
        )


def _same_source(first: Piece, other: Piece) -> bool:
    """Return whether two parts of a study come from the same versions and source."""
    runs = (*first.runs.values(), *other.runs.values())
    versions = {json.dumps(run["versions"], sort_keys=True) for run in runs}
    return len(versions) == 1 and first.sweep.code == other.sweep.code != ""


def _origin(piece: Piece) -> str:
    commits = sorted({run.get("commit") or "commit not recorded" for run in piece.runs.values()})
    return f"{piece.folder.name}: {listed(commits)}"


def _check_groups(first: Piece, other: Piece) -> None:
    groups = [piece.evidence.groups for piece in (first, other)]
    for split in groups[0].keys() & groups[1].keys():
        if not np.array_equal(groups[0][split], groups[1][split]):
            raise UserError(
                f"{first.folder} and {other.folder} divide the sentences of {split} into different "
                "groups: join only pieces with the same test.groups"
            )


def _without_repeated_failures(pieces: Sequence[Piece]) -> Iterator[Run]:
    """Yield the runs of all parts of a study, without failed runs that were repeated.

    A failed run is left out if another part has the same run with a result. Of several failed runs
    with the same arm and seed, only the first is yielded.
    """
    seen = {key for piece in pieces for key in piece.runs}
    for run in (run for piece in pieces for run in piece.evidence.runs):
        if run["status"] != "failed" or _key(run) not in seen:
            seen.add(_key(run))
            yield run


def _screening(pieces: Sequence[Piece]) -> Iterator[Run]:
    """Yield the runs that tuned a nuisance parameter, without duplicates."""
    by_cell: dict[str, Run] = {}
    for run in (run for piece in pieces for run in piece.evidence.screening):
        by_cell.setdefault(json.dumps([_key(run), run.get("tuned", {}).get("value")]), run)
    return iter(by_cell.values())


def _numbered(runs: Iterator[Run], first: int) -> list[Run]:
    """Return runs ordered by arm and seed, with cell numbers that start at `first`."""
    arms = by_arm(runs).values()
    ordered = (run for arm in arms for run in sorted(arm, key=lambda run: run["seed"]))
    return [{**run, "cell": number} for number, run in enumerate(ordered, first)]


def _sentences(pieces: Sequence[Piece]) -> dict[str, int]:
    counts = [piece.evidence.regime.get("test_sentences", {}) for piece in pieces]
    splits = dict.fromkeys(split for count in counts for split in count)
    return {split: max(count.get(split, 0) for count in counts) for split in splits}


def _registration(
    pieces: Sequence[Piece], log: AnalysisLog, runs: Sequence[Run], whole: bool
) -> Registration:
    """Return the registration of the joined study: the time of the earliest registration, and the
    earlier analyses of each claim in all parts.

    Args:
        pieces: the parts of the study, such as one part per machine.
        log: the joined analysis log of all parts.
        runs: the joined runs of all parts.
        whole: whether the joined runs get a verdict. If not, they are one larger part of the study,
            and may lack seeds that are joined later.
    """
    all_of = [piece.evidence.registration for piece in pieces]
    asked = _asked(pieces, log, runs, whole)
    combined: Registration = {
        "hash": all_of[0]["hash"],  # that of all pieces
        "time": min(registration["time"] for registration in all_of),
        "earlier": [*dict.fromkeys(form for each in all_of for form in each["earlier"])],
        "looks": max((len(history["looks"]) for history in asked.values()), default=0),
        "sweep": all_of[0].get("sweep", ""),
        "components": all_of[0].get("components", {}),
        "command": _whole_command(all_of[0].get("command", "")),
        "labels": all_of[0].get("labels", {}),
        "asked": asked,
    }
    if not whole:
        combined["part"] = True
    return combined


def _asked(
    pieces: Sequence[Piece], log: AnalysisLog, runs: Sequence[Run], whole: bool
) -> dict[str, Asked]:
    """Return the history of every statistical claim, by name of the claim.

    The history lists the earlier analyses, and reasons why the claim is exploratory.

    Args:
        pieces: the parts of the study, each with its own history.
        log: the joined analysis log of all parts.
        runs: the joined runs of all parts.
        whole: whether the joined runs get a verdict, so that missing seeds are a reason.
    """
    study, replicate = pieces[0].evidence.study, pieces[0].sweep.replicate
    claims = [claim for claim in study["claims"] if involves_chance(claim)]
    histories = {name_of(claim): Asked(looks=[], tried=[], regimes=0) for claim in claims}
    for piece in pieces:
        of_piece = [*piece.evidence.registration.get("asked", {}).values()]
        judged = _judged_seeds(piece)
        for (name, history), more in zip(histories.items(), of_piece, strict=False):
            looks = [*more["looks"], *([judged[name]] if name in judged else [])]
            history["looks"] += [seen for seen in looks if seen not in history["looks"]]
            history["tried"] += [other for other in more["tried"] if other not in history["tried"]]
            history["regimes"] = max(history["regimes"], more["regimes"])
    if not whole:
        return histories
    seeds = {(replicate, run["seed"]) for run in runs}
    for history in histories.values():
        seen = [{(replicate, seed) for seed in look} for look in history["looks"]]
        history["tried"] += spent(study["seeds"], seen, seeds, _begun(pieces[0].sweep, log))
    return histories


def _judged_seeds(piece: Piece) -> dict[str, list[int]]:
    """Return the seeds of the verdict on each claim, by name of the claim; {} for a part of a
    study, which has no verdict.
    """
    if piece.evidence.is_part:
        return {}
    runs = [*piece.runs.values()]
    judged, _ = split_claims(runs, piece.evidence.study)
    return {name_of(claim): sorted(seeds_of(runs, claim)) for claim in judged}


def _begun(current: Sweep, log: AnalysisLog) -> set[Seed]:
    """Return all seeds with which the study of a sweep was started, as (replicate, seed) pairs.

    Sweeps with another replicate number, or another value of `contest` (whether the sweep is a
    replication), do not count.

    Args:
        current: a sweep of the study.
        log: the joined analysis log of all parts.
    """
    kind = (current.study, current.replicate, current.contest)
    begun = [s for s in log.sweeps if (s.study, s.replicate, s.contest) == kind]
    return {seed for sweep in begun for seed in sweep.planned}


def _whole_command(command: str) -> str:
    """Return the command of the whole study: the command that made a part of the study, without the
    overrides that select the runs of the part.
    """
    words = [word for word in shlex.split(command) if not word.startswith(OF_ONE_PART)]
    return shlex.join(words)
