"""The config of a run in a sweep (a cell: one arm with one seed), and the file of its outcome.

`check_apart` makes sure that no two arms are mistaken for one another.
"""

import copy
import json
import re
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, cast

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from omegaconf import Container, DictConfig, OmegaConf, open_dict, read_write

from ablate.config import leaves
from ablate.errors import UserError
from ablate.evidence.gather import CONFIG_DIR
from ablate.evidence.registration import OF_DESIGN, study_hash
from ablate.evidence.types import Levels, Study
from ablate.metric import metric_of
from ablate.record import results
from ablate.record.files import digest
from ablate.record.identity import parts
from ablate.record.label import key, levels, makes_arms, say, value_text

SEED = re.compile(r"seed=\d+")
MOST = 3  # maximum number of keys named in a message
NONE = "no such key"
Overrides = tuple[str, ...]
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
        return self._copy({})

    @property
    def seed(self) -> int:
        """The seed of the run."""
        seeds = [word for word in self.overrides if SEED.fullmatch(word)]
        return int(seeds[-1].removeprefix("seed=") if seeds else self.arm.seed)

    @property
    def link(self) -> Path:
        """The file in the sweep's folder that stores the outcome of the run."""
        return results.link_path(Path(self.arm.hydra.sweep.dir), self.number)

    def task_config(self) -> DictConfig:
        """Return the config of the run without Hydra's node, as the function that trains receives
        it.
        """
        return self._without_hydra({})

    def run_config(self) -> DictConfig:
        """Return the config for the checks of a single run: without Hydra's node, and with a study
        that has no claims, no nuisance parameters, and only the variant of this run.

        The study of a screen has a claim and a variant for each arm. Copying and checking all of
        them once per arm took most of the time before the first run. Claims with interpolations
        stay, because their values are checked for every run.
        """
        study = self.arm.get("study")
        if study is None or "${" in f"{study.claims} {study.screen}":
            return self.task_config()
        empty = OmegaConf.create
        replaced: dict[int, Container] = {
            id(study.claims): empty([]),
            id(study.nuisance): empty([]),
        }
        if study.screen is not None:
            variants, name = study.screen.variants, str(self.arm.variant)
            variant = {name: copy.deepcopy(variants[name])} if name in variants else {}
            replaced |= {id(study.screen.claims): empty(), id(variants): empty(variant)}
        return self._without_hydra(replaced)

    def bare_config(self) -> DictConfig:
        """Return the config without the study and Hydra's node, which do not affect the results of
        the run.
        """
        study = self.arm.get("study")
        config = self._without_hydra({id(study): OmegaConf.create()} if study is not None else {})
        config.study = None
        return config

    def _without_hydra(self, replaced: dict[int, Container]) -> DictConfig:
        config = self._copy(replaced)
        OmegaConf.set_readonly(config, False)
        with open_dict(config):
            del config["hydra"]
        return config

    def _copy(self, replaced: dict[int, Container]) -> DictConfig:
        """Return a copy of the arm's config with the number and the overrides of this run.

        Args:
            replaced: nodes that take the place of other nodes, by the id of the other node.
        """
        # `copy.deepcopy` takes a node from this argument rather than copying it
        config = copy.deepcopy(self.arm, {**replaced})
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
            form = node.job.config.override_dirname
            kept = sorted(
                str(x.input_line) for x in parsed if x.key_or_group not in form.exclude_keys
            )
            node.job.override_dirname = form.item_sep.join(kept).replace("=", form.kv_sep)
        return config

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


def check_apart(cells: Sequence[Cell]) -> None:
    """Check that runs with equal levels differ only in their seeds.

    Raises:
        UserError: two runs of an arm differ in a config key other than the seed; an arm has the
            same seed twice; or two levels are equal in Python but differ in type.
    """
    arms: dict[str, Cell] = {}
    for cell in first_of_each(cells, lambda cell: without_seed(cell.overrides)):
        other = arms.setdefault(key(cell.levels), cell)
        if other is not cell:
            _check_alike(other, cell)
    _check_once(cells)
    if cells and cells[0].arm.study is not None:
        _check_unequal(list(arms.values()))


def _check_alike(first: Cell, second: Cell) -> None:
    """Raise UserError if two runs of the same arm have different configs, apart from the seed."""
    values, later = _values(first), _values(second)
    differing = [k for k in {**values, **later} if values.get(k) != later.get(k)]
    if differing:
        named = [f"{k} ({values.get(k, NONE)}, {later.get(k, NONE)})" for k in differing]
        more = f" and {len(named) - MOST} more keys" if len(named) > MOST else ""
        raise UserError(
            f"cells {first.number} and {second.number} would be pooled as one arm "
            f"({say(first.levels)}), but they differ in {', '.join(named[:MOST])}{more}: make "
            "one of these keys a factor, or run two sweeps"
        )


def _values(cell: Cell) -> dict[str, str]:
    """Return the config values that can change a result, without the seed, as text by dotted key.

    Interpolations are not resolved, because they may depend on the seed.
    """
    return {k: value_text(value) for k, value in leaves(cell.arm).items() if makes_arms(k)}


def _check_once(cells: Iterable[Cell]) -> None:
    """Raise UserError if a sweep has the same arm with the same seed twice.

    Without a study, the same seed may occur once in each replicate (a numbered set of seeds).
    """
    first: dict[str, Cell] = {}
    for cell in cells:
        replicate = cell.arm.replicate if cell.arm.study is None else None
        other = first.setdefault(key({"a": cell.levels, "s": [cell.seed, replicate]}), cell)
        if other is not cell:
            raise UserError(
                f"cells {other.number} and {cell.number} are one arm with one seed "
                f"({' '.join(cell.overrides)}); a sweep has each arm with each seed once"
            )


def _check_unequal(arms: Sequence[Cell]) -> None:
    """Raise UserError for levels that are equal in Python (1, 1.0 and true) but differ in type."""
    for number, cell in enumerate(arms):
        for other in arms[:number]:
            for factor, level in other.levels.items():
                rival = cell.levels.get(factor)
                if rival == level and key({"": rival}) != key({"": level}):
                    raise UserError(
                        f"{factor} has the levels {value_text(level)} and {value_text(rival)}, "
                        "which a claim cannot tell apart: give one of them another value"
                    )


def plain_study(config: DictConfig) -> Study:
    """Return the study in a config as plain data, with all interpolations resolved."""
    whole: Any = OmegaConf.to_container(config, resolve=False)
    whole.pop("hydra", None)  # it has nodes that only a job can resolve
    tree: Any = OmegaConf.to_container(OmegaConf.create(whole), resolve=True)
    study = tree["study"]
    for claim in filter(lambda claim: isinstance(claim, dict), study["claims"]):
        exact = claim["kind"] == "exact"  # `better` says what its tolerance limits
        claim["better"] = claim["better"] or _direction("" if exact else claim["metric"], "higher")
    if tune := study["tune"]:
        tune["better"] = tune["better"] or _direction(tune["metric"], "lower")
    return used(study)


def _direction(metric: str, unknown: str) -> str:
    """Return whether higher or lower values of a metric are better; `unknown` if neither are."""
    return metric_of(metric).better or unknown


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
    used_keys.pop("third", None)  # which runs to train, but not part of the question
    if not study.get("design"):
        used_keys = {key: v for key, v in used_keys.items() if key not in OF_DESIGN}
    claims = claims if len(claims) == len(study["claims"]) else study["claims"]
    return cast(Study, {**used_keys, "claims": claims})


def write_link(cell: Cell, outcome: results.Result) -> None:
    """Write the file with the outcome of a run into the folder of its sweep."""
    config = cell.config
    about: results.Cell = {
        "cell": cell.number,
        "seed": config.seed,
        "levels": levels(config, config.hydra),
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
    results.write_link(cell.link, cast(results.Link, {**about, **outcome}))
