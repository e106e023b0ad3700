"""Compose the configs of many runs without repeating the work that they share.

Hydra reads and parses about 40 files for each config, and the study of a sweep takes longer to
compose than everything else in a config. The runs of a sweep differ in a few overrides, so this
module saves work as follows:

- Each arm is composed once. The runs with its other seeds, and with other values of a tuned
  parameter, copy its config (`Cell.config`).
- Each file is parsed once (`CachedFiles`).
- The study is composed once, for the sweep. Each config receives a copy.
- Arms that combine the same changes share the changes (`_composer`).

The resulting configs are equal to the configs that Hydra composes (tests/sweep/test_compose.py).
`check_apart` makes sure that no two arms are mistaken for one another.
"""

import copy
import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.utils import setup_globals
from hydra.types import HydraContext
from omegaconf import DictConfig, OmegaConf, flag_override, open_dict, read_write

from ablate.config import leaves
from ablate.config.settle import settle
from ablate.config.study import Study, Tune
from ablate.errors import UserError
from ablate.evidence.registration import arms_of, planned_looks, shared_seeds
from ablate.record.results import Fingerprints, makes_arms, say, value_text
from ablate.record.results import key as text_key
from ablate.sweep.cell import SEED, Cell, Overrides, first_of_each, without_seed

if TYPE_CHECKING:  # torch, which --help does not need
    from ablate.train.job import Job

Words = Sequence[str]
Load = Callable[[list[str]], DictConfig]
Keys = tuple[str, ...]  # the keys on the way from the root of a config to a node

# beginnings of config keys on which other settings or the corpus depend
SETTLED = ("budget.", "schedule.", "trainer.", "study.", "batch.", "data.", "tokenizer.", "task.")
# nodes with the overrides of a run, which are set for each run
OF_RUN = {("hydra", "overrides"), ("hydra", "job", "override_dirname")}
CHOICES = ("hydra", "runtime", "choices")
MOST = 3  # maximum number of keys named in a message
NONE = "no such key"
SEVERAL = 4  # arms for each chosen option, from which changes are composed once


def compose(
    context: HydraContext,
    config: DictConfig,
    job_overrides: Sequence[Sequence[str]],
    numbers: Iterable[int],
    sweep: Path,
    varied: str = "",
) -> list[Cell]:
    """Return the cells (runs) of a sweep: one for each Hydra job, with its composed config.

    Each arm is composed once, for its first seed and for the first value of the key `varied`,
    because Hydra takes a fifth of a second per config.

    Args:
        context: Hydra's context.
        config: the config of the sweep.
        job_overrides: the overrides of each job.
        numbers: the number of each cell.
        sweep: the folder in which outcomes are stored.
        varied: a config key whose value differs within an arm, such as a tuned parameter.
    """
    if not job_overrides:
        return []
    setup_globals()
    loader: Any = copy.copy(context.config_loader)
    loader.repository = CachedFiles(loader.repository)
    study = pickle.dumps(OmegaConf.masked_copy(config, "study"))
    cells: list[Cell] = []
    arms: dict[Overrides, DictConfig] = {}
    tuned = f"{OmegaConf.select(config, 'study.tune.key')}="  # named, even if all runs share it
    shared = {o for o in job_overrides[0] if not o.startswith(tuned)}.intersection(*job_overrides)
    by_arm = {_without_values(tuple(words), varied): words for words in reversed(job_overrides)}
    load = _composer(
        lambda words: loader.load_sweep_config(config, words),
        loader.repository.group_exists,
        [_without_study(words) for words in by_arm.values()],
    )
    for number, overrides in zip(numbers, map(tuple, job_overrides), strict=False):
        arm = _without_values(overrides, varied)
        if arm not in arms:
            composed = load(_without_study(overrides))
            with read_write(composed), flag_override(composed, "no_deepcopy_set_nodes", True):
                composed.name = config.name
                composed.study = pickle.loads(study).study  # the fastest copy
                composed.hydra.overrides.task = [*overrides]
            settle(composed)
            with open_dict(composed):
                composed.hydra.sweep.dir = str(sweep)  # the cells share the time stamp of the sweep
            arms[arm] = composed
        label = " ".join(o for o in overrides if o not in shared) or "the only cell"
        cells.append(Cell(number, label, overrides, arms[arm]))
    return cells


def _without_study(overrides: Sequence[str]) -> list[str]:
    return [word for word in overrides if not word.lstrip("+~").startswith("study.")]


def _without_values(overrides: Overrides, varied: str) -> Overrides:
    """Return the overrides of a run without the value of the seed and, where possible, without the
    value of the key `varied`.

    Runs of the same arm have the same result. The value of `varied` stays if other settings may
    depend on the key: if the key is a config group or at the top of the config, or if it is in a
    node that `SETTLED` names, such as `schedule`.
    """
    free = "." in varied and "/" not in varied and not varied.startswith(SETTLED)
    return tuple(
        word.partition("=")[0]
        if SEED.fullmatch(word) or (free and word.startswith(f"{varied}="))
        else word
        for word in overrides
    )


class Checked(NamedTuple):
    """The result of the checks before a sweep.

    Args:
        data: hashes of the data, by the key that `data_key` returns for a config.
        jobs: the job of the first run of every arm, by the number of this run.
    """

    data: dict[str, Fingerprints]
    jobs: "Mapping[int, Job]"


@dataclass(frozen=True)
class PlannedSweep:
    """The composed runs of a sweep, and the result of their checks.

    Args:
        context: Hydra's context.
        config: the config of the sweep, with Hydra's node.
        study: the study in this config; None without a study.
        composed: the runs of the command, including runs that exist elsewhere, before arms are
            matched.
        cells: the runs for the verdict.
        screening: the runs that tune a nuisance parameter.
        seeds: maps each seed of the verdict to the seed of its tuning runs; empty if nothing is
            tuned.
        checked: the result of the checks; empty before they are made.
    """

    context: HydraContext
    config: DictConfig
    study: Study | None
    composed: list[Cell]
    cells: list[Cell]
    screening: list[Cell]
    seeds: dict[int, int]
    checked: Checked = Checked({}, {})

    @property
    def tune(self) -> Tune | None:
        """The study's settings for tuning a nuisance parameter; None if nothing is tuned."""
        return self.study.get("tune") if self.study else None

    @property
    def is_part(self) -> bool:
        """Whether the sweep has only some of the seeds or arms of its study."""
        if self.study is None:
            return False
        arms = [arm.items() for claim in self.study["claims"] for arm in arms_of(claim)]
        levels = [cell.levels.items() for cell in self.composed]
        left_out = any(not any(of_cell >= arm for of_cell in levels) for arm in arms)
        return left_out or len({cell.seed for cell in self.composed}) < self.study["seeds"]

    @property
    def folder(self) -> Path:
        """The folder with the outcomes of the runs."""
        return Path(self.config.hydra.sweep.dir)


def stages(cells: Sequence[Cell], study: Study | None) -> list[list[Cell]]:
    """Return the runs of each stage of a sweep, that is, the runs before each planned interim
    analysis.

    Every stage has some of the seeds, in ascending order, with all arms, and as large a part of the
    seeds that only the baseline has. Without a planned interim analysis there is one stage with all
    runs.
    """
    ends = planned_looks(study) if study else [0]
    seeds = sorted(shared_seeds(((cell.levels, cell.seed) for cell in cells), study))
    further = sorted({cell.seed for cell in cells}.difference(seeds))
    numbers = {seed: i * len(seeds) // len(further) for i, seed in enumerate(further)}
    numbers |= {seed: i for i, seed in enumerate(seeds)}
    place = {seed: sum(number >= end for end in ends[:-1]) for seed, number in numbers.items()}
    by_stage: list[list[Cell]] = [[] for _ in ends]
    for cell in cells:
        by_stage[place[cell.seed]].append(cell)
    return [stage for stage in by_stage if stage]


class CachedFiles:
    """A repository of config files for Hydra that parses each file once, and leaves out studies.

    Hydra copies its repository for every config that it composes. The copies of this repository
    share the parsed files, as long as they search the same folders.
    """

    def __init__(self, repository: Any) -> None:
        self._repository = repository
        self._by_folders: dict[str, dict[str, bytes]] = {}
        self._parsed = self._by_folders.setdefault("", {})

    def __deepcopy__(self, memo: dict[int, Any]) -> "CachedFiles":
        other = CachedFiles(copy.copy(self._repository))
        other._by_folders, other._parsed = self._by_folders, self._parsed
        return other

    def __getattr__(self, name: str) -> Any:
        return getattr(self._repository, name)

    def initialize_sources(self, config_search_path: Any) -> None:
        """Search other folders from now on (`hydra.searchpath`)."""
        self._repository.initialize_sources(config_search_path)
        folders = repr([(source.provider, source.path) for source in config_search_path.get_path()])
        self._parsed = self._by_folders.setdefault(folders, {})

    def load_config(self, config_path: str) -> Any:
        """Return a copy of a parsed file, because Hydra changes the parsed file."""
        if config_path not in self._parsed:
            file = self._repository.load_config(config_path)
            if file is not None and file.header.get("package") == "_global_":
                file.config.pop("study", None)
            self._parsed[config_path] = pickle.dumps(file)
        return pickle.loads(self._parsed[config_path])  # faster than copy.deepcopy


def _composer(load: Load, is_group: Callable[[str], bool], arms: Sequence[Words]) -> Load:
    """Return a function that composes the config of any of the arms, from shared changes if there
    are enough arms.

    In a study of combinations each arm is a random choice of a few changes, such as an option of
    model/norm, and Hydra takes a quarter of a second to compose a config. Here Hydra composes one
    config without changes, and one with each chosen option of a config group. The nodes in which
    both differ are the change. If the changes of an arm concern different nodes, its config is the
    config without changes, with the changed nodes. Values of single keys are set last, by a
    function of Hydra.

    The first and the last arm are also composed by Hydra; if a config differs, Hydra composes all.

    Args:
        load: lets Hydra compose a config with some overrides.
        is_group: returns whether a key is a config group.
        arms: the overrides of every arm.
    """
    words = {word for arm in arms for word in arm}
    parsed = {str(x.input_line): x for x in OverridesParser.create().parse_overrides([*words])}
    shared = [word for word in arms[0] if all(word in arm for arm in arms)]
    chosen = {word for word in words.difference(shared) if is_group(parsed[word].key_or_group)}
    if len(arms) < SEVERAL * len(chosen) or not chosen:
        return load
    first = load(shared)
    pickled = pickle.dumps(first)
    changes = {word: [*_differences(first, load([*shared, word]))] for word in chosen}

    def compose_arm(arm: list[str]) -> DictConfig:
        nodes = [node for word in arm for node in changes.get(word, [])]
        if any(_overlap(path, other) for (path, _), (other, _) in combinations(nodes, 2)):
            return load([*arm])
        config: DictConfig = pickle.loads(pickled)
        with flag_override(config, ["struct", "readonly"], False):
            for (*parents, key), node in nodes:
                parent: Any = config
                for name in parents:
                    parent = parent._get_node(name)
                parent[key] = node
        values = [parsed[word] for word in arm if word not in {*shared, *chosen}]
        ConfigLoaderImpl._apply_overrides_to_config(values, config)
        return config

    samples = [*arms[0]], [*arms[-1]]
    alike = not any(any(_differences(load(arm), compose_arm(arm))) for arm in samples)
    return compose_arm if alike else load


def _overlap(first: Keys, other: Keys) -> bool:
    size = min(len(first), len(other))
    return first[:size] == other[:size]


def _differences(first: Any, other: Any, path: Keys = ()) -> Iterator[tuple[Keys, Any]]:
    """Yield the nodes of the other config that differ, with their paths."""
    if path in OF_RUN:
        return
    nodes = (first, other)
    inside = all(isinstance(getattr(node, "_content", None), dict) for node in nodes)
    # an option may choose further options
    more_choices = inside and path == CHOICES and {*first} <= {*other}
    if inside and ([*first] == [*other] or more_choices):
        for key in other:
            yield from _differences(first._content.get(key), other._content[key], (*path, key))
    elif first is None or _text(first) != _text(other):
        yield path, other


def _text(node: Any) -> str:
    # unlike the values, the texts of 1, 1.0 and True differ
    return repr(OmegaConf.to_container(node) if OmegaConf.is_config(node) else node._value())


def check_apart(cells: Sequence[Cell]) -> None:
    """Check that runs with equal levels differ only in their seeds.

    Raises:
        UserError: two runs of an arm differ in a config key other than the seed; an arm has the
            same seed twice; or two levels are equal in Python but differ in type.
    """
    arms: dict[str, Cell] = {}
    for cell in first_of_each(cells, lambda cell: without_seed(cell.overrides)):
        other = arms.setdefault(text_key(cell.levels), cell)
        if other is not cell:
            _check_alike(other, cell)
    _check_duplicates(cells)
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


def _check_duplicates(cells: Iterable[Cell]) -> None:
    """Raise UserError if a sweep has the same arm with the same seed twice.

    Without a study, the same seed may occur once in each replicate (a numbered set of seeds).
    """
    first: dict[str, Cell] = {}
    for cell in cells:
        replicate = cell.arm.replicate if cell.arm.study is None else None
        other = first.setdefault(text_key({"a": cell.levels, "s": [cell.seed, replicate]}), cell)
        if other is not cell:
            raise UserError(
                f"cells {other.number} and {cell.number} are one arm with one seed "
                f"({' '.join(cell.overrides)}); a sweep has each arm with each seed once"
            )


def _check_unequal(arms: Sequence[Cell]) -> None:
    """Raise UserError for levels that are equal in Python (1, 1.0 and true) but differ in type."""
    for first, second in combinations(arms, 2):
        for factor, level in first.levels.items():
            rival = second.levels.get(factor)
            if rival == level and text_key({"": rival}) != text_key({"": level}):
                raise UserError(
                    f"{factor} has the levels {value_text(level)} and {value_text(rival)}, which "
                    "a claim cannot tell apart: give one of them another value"
                )
