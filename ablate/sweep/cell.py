"""Compose the configs of the cells of a sweep, each a run of one arm with one seed."""

import copy
import json
import re
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, cast

from hydra.core.utils import setup_globals
from hydra.types import HydraContext
from omegaconf import DictConfig, ListConfig, OmegaConf, open_dict, read_write

from ablate.evidence.command import CONFIG_DIR
from ablate.evidence.registration import study_hash
from ablate.evidence.types import Study
from ablate.record.arm import levels
from ablate.record.files import seal, write_json
from ablate.record.links import link_path
from ablate.record.types import Cell as Place
from ablate.record.types import Levels, OutcomeBase
from ablate.sweep.reuse import Settler, adds_values, derived, set_values, with_cached_files
from ablate.verdict.study_checks import matched_keys

SEEDS = ("seed", "replicate")  # keys that distinguish runs of an arm rather than arms
SEED = re.compile(r"seed=\d+")
# beginnings of config keys on which other settings or the corpus depend
SETTLED = ("budget.", "schedule.", "trainer.", "study.", "batch.", "data.", "tokenizer.", "task.")
Overrides = tuple[str, ...]
UNUSED = ("match", "figures", "screen")  # keys of a study that are dropped if unused
# keys of a claim that are dropped if unused, so that the hash of older studies is unchanged
OPTIONAL = ("loses", "cannot", "plan_for", "reading", "measures", "control_measures")


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
    first: bool = True  # whether this is the first cell of its arm
    shortened: bool = False  # whether the warm-up was shortened, because it was longer than the run
    plain: bool = False  # whether the claims of the study have no interpolations

    @property
    def config(self) -> DictConfig:
        """The config of this run with Hydra's node: `arm` itself for the first cell of the arm,
        else a new copy on each access.
        """
        return self.arm if self.first else _changed(self.arm, self.overrides, self.number, {})

    @property
    def seed(self) -> int:
        """The seed of the run."""
        seeds = [word for word in self.overrides if SEED.fullmatch(word)]
        return int(self.arm.seed if self.first or not seeds else seeds[-1].removeprefix("seed="))

    @property
    def link(self) -> Path:
        """The file in the sweep's folder that stores the outcome of the run."""
        return link_path(Path(self.arm.hydra.sweep.dir), self.number)

    def task_config(self) -> DictConfig:
        """Return the config of the run without Hydra's node, as the function that trains receives
        it.
        """
        return self._without_hydra({})

    def run_config(self) -> DictConfig:
        """Return the config for the checks of a single run: without Hydra's node, and with a study
        that has no claims, no nuisance parameters, and only the variant of this run.

        The study of a screen has a claim and a variant for each arm. Copying and checking all of
        them once per arm took most of the time before the first run.
        """
        return self._without_hydra(self._small_study())

    def bare_config(self) -> DictConfig:
        """Return the config without the study and Hydra's node, which do not affect the results of
        the run.
        """
        study = self.arm.get("study")
        if study is None:
            return self._without_hydra({})
        config = self._without_hydra({id(study): OmegaConf.create()})
        config.study = None
        return config

    def _without_hydra(self, replaced: dict[int, DictConfig | ListConfig]) -> DictConfig:
        """Return a copy of the config without Hydra's node.

        Args:
            replaced: nodes that take the place of other nodes, by the id of the other node.
        """
        if self.first:
            # `copy.deepcopy` takes a node from this argument rather than copying it
            config = copy.deepcopy(self.arm, {**replaced, id(self.arm.hydra): OmegaConf.create()})
        else:
            config = _changed(self.arm, self.overrides, self.number, replaced)
        OmegaConf.set_readonly(config, False)
        with open_dict(config):
            del config["hydra"]
        return config

    def _small_study(self) -> dict[int, DictConfig | ListConfig]:
        """Return replacements for the nodes of the study that a single run does not need, by the id
        of the node.

        Claims with interpolations are not replaced, because their values are checked for every run.
        """
        study = self.arm.get("study")
        if study is None or not self.plain:
            return {}
        small: dict[int, DictConfig | ListConfig] = {
            id(study.claims): OmegaConf.create([]),
            id(study.nuisance): OmegaConf.create([]),
        }
        if study.screen is not None:
            variants, name = study.screen.variants, str(self.arm.variant)
            variant = {name: copy.deepcopy(variants[name])} if name in variants else {}
            small |= {
                id(study.screen.claims): OmegaConf.create(),
                id(variants): OmegaConf.create(variant),
            }
        return small

    @cached_property
    def levels(self) -> Levels:
        """The level (option or value) of each factor of the study in this run, by config key."""
        return levels(self.arm, self.arm.hydra)

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
    def training(self) -> str:
        """A hash that is equal for runs that train the same weights, such as runs that differ only
        in how the trained model is tested.

        The name of the lock for this training contains the hash. The hash does not cover the data,
        so it is not the identity of the stored training.
        """
        # imports torch, which --help does not need
        from ablate.initial.base import weights_fingerprint
        from ablate.record.identity import digest, parts

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


def compose(
    context: HydraContext,
    config: DictConfig,
    job_overrides: Sequence[Sequence[str]],
    numbers: Iterable[int],
    sweep: Path,
    varied: str = "",
    like: Sequence[Cell] = (),
) -> list[Cell]:
    """Return the cells (runs) of a sweep: one for each Hydra job, with its composed config.

    Each arm is composed once, for its first seed and for the first value of the key `varied`,
    because Hydra takes a third of a second per config. If the overrides of an arm are the overrides
    of a run in `like` and further values, a copy of the config of this run is changed instead
    (`ablate.sweep.reuse`).

    Args:
        context: Hydra's context.
        config: the config of the sweep.
        job_overrides: the overrides of each job.
        numbers: the number of each cell.
        sweep: the folder in which outcomes are stored.
        varied: a config key whose value differs within an arm, such as a tuned parameter.
        like: runs that have been composed before for the same sweep, and have not started.
    """
    setup_globals()
    loader, settle = with_cached_files(context.config_loader), Settler()
    cells: list[Cell] = []
    arms: dict[Overrides, Cell] = {}
    shared = set(job_overrides[0]).intersection(*job_overrides) if job_overrides else set()
    for number, overrides in zip(numbers, map(tuple, job_overrides), strict=False):
        arm = _without(overrides, varied)
        label = " ".join(o for o in overrides if o not in shared) or "the only cell"
        if arm in arms and _differ_in_values(overrides, arms[arm].overrides):
            base = arms[arm]
            cells.append(Cell(number, label, overrides, base.arm, first=False, plain=base.plain))
            continue
        composed = _derived(overrides, like)
        if composed is None:
            composed = loader.load_sweep_config(config, list(overrides))
        settled = settle(composed)
        with open_dict(composed):
            composed.hydra.sweep.dir = str(sweep)  # the cells share the time stamp of the sweep
            composed.hydra.job.id = str(number)
            composed.hydra.job.num = number
        cells.append(Cell(number, label, overrides, composed, **settled._asdict()))
        arms.setdefault(arm, cells[-1])
    return cells


def _derived(overrides: Overrides, like: Sequence[Cell]) -> DictConfig | None:
    """Return the config of a run whose overrides are the overrides of a run in `like` and further
    values; None if there is no such run in `like`.

    A run with a shortened warm-up is not used, because another number of steps may shorten the
    warm-up to another value.
    """
    bases = (c for c in like if c.first and not c.shortened and adds_values(overrides, c.overrides))
    base = max(bases, key=lambda cell: len(cell.overrides), default=None)
    return None if base is None else derived(base.arm, overrides)


def first_of_each(cells: Iterable[Cell], group: Callable[[Cell], Hashable]) -> list[Cell]:
    """Return the first run of every group of runs for which `group` returns equal values."""
    first: dict[Hashable, Cell] = {}
    for cell in cells:
        first.setdefault(group(cell), cell)
    return list(first.values())


def without_seed(overrides: Overrides) -> Overrides:
    """Return the overrides without the override of the seed."""
    return tuple(o for o in overrides if not SEED.fullmatch(o))


def _without(overrides: Overrides, varied: str) -> Overrides:
    """Return the overrides of a run without the override of the seed and, where possible, without
    the override of the key `varied`.

    Runs of the same arm have the same result. The override of `varied` stays if other settings may
    depend on the key: if the key is a config group or at the top of the config, or if it is in a
    node that `SETTLED` names, such as `schedule`.
    """
    arm = without_seed(overrides)
    if "." not in varied or "/" in varied or varied.startswith(SETTLED):
        return arm
    return tuple(word for word in arm if word.partition("=")[0] != varied)


def _differ_in_values(overrides: Overrides, other: Overrides) -> bool:
    """Return whether two lists of overrides set the same keys in the same order, but some keys to
    other values.

    The result is also False if a key with another value occurs several times, because the order of
    its values matters.
    """
    keys, other_keys = ([word.partition("=")[0] for word in words] for words in (overrides, other))
    if keys != other_keys or overrides == other:
        return False
    words = zip(keys, overrides, other, strict=True)
    return all(word == before or keys.count(key) == 1 for key, word, before in words)


def _changed(
    arm: DictConfig,
    overrides: Overrides,
    number: int,
    replaced: dict[int, DictConfig | ListConfig],
) -> DictConfig:
    """Return a copy of an arm's config for another run of the arm.

    Args:
        arm: config of the arm's first run.
        overrides: all overrides of the other run, which has the same keys.
        number: number of the other run.
        replaced: nodes that take the place of other nodes, by the id of the other node.
    """
    config = copy.deepcopy(arm, {**replaced})
    with read_write(config.hydra), open_dict(config):
        config.hydra.job.id = str(number)
        config.hydra.job.num = number
        set_values(config, overrides)
    return config


def plain_study(config: DictConfig) -> Study:
    """Return the study in a config as plain data, with all interpolations resolved."""
    whole: Any = OmegaConf.to_container(config, resolve=False)
    whole.pop("hydra", None)  # it has nodes that only a job can resolve
    tree: Any = OmegaConf.to_container(OmegaConf.create(whole), resolve=True)
    return used(tree["study"])


def used(study: dict[str, Any]) -> Study:
    """Return a study without its empty optional keys, and without the empty optional keys of its
    claims.
    """
    claims = [
        {key: value for key, value in claim.items() if value or key not in OPTIONAL}
        for claim in study["claims"]
        if isinstance(claim, dict)
    ]
    used_keys = {key: v for key, v in study.items() if v or key not in UNUSED}
    claims = claims if len(claims) == len(study["claims"]) else study["claims"]
    return cast(Study, {**used_keys, "claims": claims})


def write_link(sweep: Path, config: DictConfig, outcome: OutcomeBase) -> None:
    """Write the file with the outcome of a run into a sweep's folder.

    Args:
        sweep: the folder.
        config: the config of the run, with Hydra's node.
        outcome: the outcome.
    """
    overrides = list(config.hydra.overrides.task)
    about: Place = {
        "cell": int(config.hydra.job.num),
        "seed": config.seed,
        "levels": levels(config, config.hydra),
        "overrides": overrides,
    }
    if config.study is not None:
        about["study"] = study_hash(plain_study(config))
    match = config.study.match if config.study is not None else None
    if match:
        made = {key: OmegaConf.select(config, key) for key in matched_keys(match)}
        about["matched"] = {key: value for key, value in made.items() if value is not None}
    tune = config.study.tune if config.study is not None else None
    if tune:
        about["tuned"] = {"key": tune.key, "value": OmegaConf.select(config, tune.key)}
    write_json(link_path(sweep, about["cell"]), seal({**about, **outcome}))
