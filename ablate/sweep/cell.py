"""A run of a sweep (a cell: one arm with one seed): its config, its execution in a new process
(`RunTask`), and the file of its outcome.

A run is done once the sweep has a file with its outcome. While a process executes a run, it holds
the lock of its training, so no other process, of this or another sweep, trains the same weights.
If the process dies, the operating system releases the lock.
"""

import json
import os
import pickle
import re
import signal
import sys
import time
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, cast

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.core.utils import run_job, setup_globals
from hydra.types import HydraContext
from omegaconf import DictConfig, OmegaConf, open_dict, read_write

from ablate.config.study import Levels, Study
from ablate.engine import (
    act_as_command,
    end_children,
    end_with_parent,
    limit_threads,
    run_in_child,
    write_output_to,
)
from ablate.evidence.gather import CONFIG_DIR
from ablate.evidence.registration import OF_DESIGN, study_hash
from ablate.metric import metric_of
from ablate.record import results
from ablate.record.files import digest, take
from ablate.record.identity import parts
from ablate.record.results import levels

SEED = re.compile(r"seed=\d+")
Overrides = tuple[str, ...]
HELD_SECONDS = 1.0  # interval for checking whether another process still executes a run
# Exit statuses of a run that was interrupted: it has saved its state, and did not fail.
# multiprocessing reports 255 if a signal to the whole group has ended the server of the processes.
INTERRUPTED = {255, *(end for n in (signal.SIGTERM, signal.SIGINT) for end in (128 + n, -n))}
# keys of a study that are dropped if unused
UNUSED = ("baseline_seeds", "match", "figures", "screen", "exploratory", *OF_DESIGN)
# keys of a claim that are dropped if unused, so that the hash of older studies is unchanged
OPTIONAL = (
    *("loses", "cannot", "plan_for", "predicted", "reading", "measures", "control_measures"),
)


@dataclass(frozen=True)
class Cell:
    """One run of a sweep: an arm with a seed, and its config.

    `overrides` are all overrides of this run. `label` contains the overrides that not all runs of
    the sweep share. `arm` is the config of the first cell of the same arm, including Hydra's node:
    a sweep stores one config per arm, not per seed or per value of a tuned nuisance parameter.
    """

    number: int
    label: str
    overrides: tuple[str, ...]
    arm: DictConfig

    @property
    def config(self) -> DictConfig:
        """A new copy of the config of this run, with Hydra's node."""
        return self._copy()

    @property
    def seed(self) -> int:
        """The seed of the run."""
        seeds = [word for word in self.overrides if SEED.fullmatch(word)]
        return int(seeds[-1].removeprefix("seed=") if seeds else self.arm.seed)

    @property
    def outcome_path(self) -> Path:
        """The file in the sweep's folder that stores the outcome of the run."""
        return results.outcome_path(Path(self.arm.hydra.sweep.dir), self.number)

    def task_config(self) -> DictConfig:
        """Return the config of the run without Hydra's node, as the function that trains receives
        it.
        """
        config = self._copy()
        OmegaConf.set_readonly(config, False)
        with open_dict(config):
            del config["hydra"]
        return config

    def run_config(self) -> DictConfig:
        """Return the config for the checks of a single run: without Hydra's node, and with a study
        that has no claims, no nuisance parameters, and only the variant of this run.

        The study of a screen has a claim and a variant for each arm. Checking all of them once per
        arm took most of the time before the first run. Claims with interpolations stay, because
        their values are checked for every run.
        """
        config = self.task_config()
        study = config.get("study")
        if study is not None and "${" not in f"{study.claims} {study.screen}":
            study.claims, study.nuisance = [], []
            if study.screen is not None:
                variant = OmegaConf.masked_copy(study.screen.variants, str(config.variant))
                study.screen.claims, study.screen.variants = {}, variant
        return config

    def bare_config(self) -> DictConfig:
        """Return the config without the study and Hydra's node, which do not affect the results of
        the run.
        """
        config = self.task_config()
        config.study = None
        return config

    def _copy(self) -> DictConfig:
        """Return a copy of the arm's config with the number and the overrides of this run."""
        config: DictConfig = pickle.loads(pickle.dumps(self.arm))  # faster than copy.deepcopy
        node = config.hydra  # Hydra makes this node read-only once a run of the arm has started
        parsed = [_parse(word) for word in self.overrides]
        differing = {*self.overrides}.symmetric_difference(node.overrides.task)
        keys = {word.partition("=")[0] for word in differing}
        with read_write(config), read_write(node), open_dict(node):
            for override in parsed:  # of a key with several values, the last one counts
                if override.key_or_group in keys:
                    OmegaConf.update(config, override.key_or_group, override.value())
            node.overrides.task = [*self.overrides]
            node.job.id, node.job.num = str(self.number), self.number
            form = node.job.config.override_dirname  # Hydra 1.4 has no function for it
            kept = sorted(
                str(x.input_line) for x in parsed if x.key_or_group not in form.exclude_keys
            )
            node.job.override_dirname = form.item_sep.join(kept).replace("=", form.kv_sep)
        return config

    @cached_property
    def levels(self) -> Levels:
        """The level (option or value) of each factor of the study in this run, by config key."""
        return levels(self.arm)

    @property
    def argv(self) -> list[str]:
        """The command line of this run, with which DDP starts its other processes.

        The command line contains the precision, because other processes must not resolve `auto`
        again.
        """
        folders = config_dirs(self.arm)
        flags = [argument for folder in folders for argument in (CONFIG_DIR, folder)]
        precision = json.dumps(self.arm.trainer.precision)
        return [*flags, *self.overrides, f"trainer.precision={precision}"]

    @cached_property
    def training_hash(self) -> str:
        """A hash that is equal for runs that train the same weights, such as runs that differ only
        in how the trained model is tested.

        The name of the lock for this training contains the hash. The hash does not cover the data,
        so it is not the identity of the stored training.
        """
        from ablate.initial import weights_fingerprint  # imports torch

        config = self.task_config()
        return digest(parts(config, "", weights_fingerprint(config)))


def config_dirs(config: DictConfig) -> list[str]:
    """Return the folders that --config-dir gave; `config` contains Hydra's node."""
    sources = config.hydra.runtime.config_sources
    return [
        source.path
        for source in sources
        if source.provider == "command-line" and source.schema == "file"
    ]


def first_of_each(cells: Iterable[Cell], group: Callable[[Cell], Hashable]) -> list[Cell]:
    """Return the first run of every group of runs for which `group` returns equal values."""
    first: dict[Hashable, Cell] = {}
    for cell in cells:
        first.setdefault(group(cell), cell)
    return list(first.values())


def without_seed(overrides: Overrides) -> Overrides:
    """Return the overrides without the override of the seed."""
    return tuple(o for o in overrides if not SEED.fullmatch(o))


@lru_cache(maxsize=4096)  # parsing takes a millisecond, and the runs of a sweep share most words
def _parse(word: str) -> Override:
    return OverridesParser.create().parse_override(word)


def plain_study(config: DictConfig) -> Study:
    """Return the study in a config as plain data, with all interpolations resolved, without its
    empty optional keys, and without the empty optional keys of its claims.
    """
    study: Any = OmegaConf.to_container(config.study, resolve=True)
    for claim in study["claims"]:
        exact = claim["kind"] == "exact"  # `better` says what its tolerance limits
        metric = "" if exact else claim["metric"]
        claim["better"] = claim["better"] or metric_of(metric).better or "higher"
        for key in OPTIONAL:
            if not claim[key]:
                del claim[key]
    for part in filter(None, (study["tune"], study["screen"])):
        part["better"] = part["better"] or metric_of(part["metric"]).better or "lower"
    # `third` is which runs to train, but not part of the question
    unused = {"third", *(() if study["design"] else OF_DESIGN)}
    used = {key: v for key, v in study.items() if key not in unused and (v or key not in UNUSED)}
    return cast(Study, used)


def write_outcome(cell: Cell, outcome: results.Result) -> None:
    """Write the file with the outcome of a run into the folder of its sweep."""
    config = cell.config
    about: Any = {
        "cell": cell.number,
        "seed": config.seed,
        "levels": levels(config),
        "overrides": list(cell.overrides),
    }
    if config.study is not None:
        study = plain_study(config)
        about["study"] = study_hash(study)
        if match := study.get("match"):
            about["matched"] = {match["key"]: OmegaConf.select(config, match["key"])}
        if tune := study.get("tune"):
            value = OmegaConf.select(config, tune["key"])
            about["tuned"] = {"key": tune["key"], "value": value}
    results.write_outcome(cell.outcome_path, about | outcome)


@dataclass(frozen=True)
class RunTask:
    """A function that trains one run of a sweep, and that an engine can call on any machine.

    `folder` is the working folder, and `path` the import path, of the process that made the task.
    """

    context: HydraContext
    cell: Cell
    folder: str = field(default_factory=os.getcwd)
    path: tuple[str, ...] = field(default_factory=lambda: tuple(sys.path))

    def __call__(self, use_devices: Callable[[], None] | None = None) -> bool:
        """Execute the run unless it is done, or another process executes it; return whether the run
        was executed.

        The process of the run calls `use_devices` first, which chooses its GPUs and cores.
        """
        os.chdir(self.folder)  # on another machine, the current folder may differ
        sys.path[:] = self.path
        limit_threads(self.cell.arm.threads)
        lock = take(Path(self.cell.arm.paths.results) / "locks" / f"{self.cell.training_hash}.lock")
        if lock is None:
            time.sleep(HELD_SECONDS)
            return False
        with lock:
            if self.cell.outcome_path.exists():
                return False
            status = run_in_child(execute, self.context, self.cell, use_devices)
            if status not in INTERRUPTED and not self.cell.outcome_path.exists():
                write_failure(self.cell, f"the process ended with status {status}")  # it was killed
            return True

    def checkpoint(self) -> Any:
        """End the run, and return the submission of a job that continues it.

        submitit calls this method before the time limit of a job, and when Slurm preempts the job.
        """
        import submitit

        end_children()
        return submitit.helpers.DelayedSubmission(self)


def write_failure(cell: Cell, error: str) -> None:
    """Store that a run failed."""
    write_outcome(cell, {"status": "failed", "error": error})


def execute(context: HydraContext, cell: Cell, use_devices: Callable[[], None] | None) -> None:
    """Execute a run with its output in a file; a failed run also raises its error.

    Args:
        context: Hydra's context.
        cell: the run.
        use_devices: chooses the GPUs and cores of this process; None for all.
    """
    if use_devices is not None:
        use_devices()
    log = Path(cell.arm.hydra.sweep.dir, "logs", f"{cell.number:04d}.log").resolve()
    log.parent.mkdir(parents=True, exist_ok=True)
    write_output_to(log)
    end_with_parent()
    setup_globals()
    act_as_command("ablate.__main__", cell.argv)
    from ablate.train.resolve import resolve
    from ablate.train.run import run

    done = run_job(
        task_function=lambda config: run(resolve(config)),
        config=cell.config,
        job_dir_key="hydra.sweep.dir",
        job_subdir_key="hydra.sweep.subdir",
        hydra_context=context,
    )
    try:
        write_outcome(cell, done.return_value)
    except Exception as error:
        write_failure(cell, f"{type(error).__name__}: {error}")
        raise
