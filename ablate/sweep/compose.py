"""Compose the configs of many runs without repeating the work that they share.

Hydra reads and parses about 40 files for each config, and the study of a sweep takes longer to
compose than everything else in a config. The runs of a sweep differ in a few overrides, so this
module saves work as follows:

- Each arm is composed once. The runs with its other seeds, and with other values of a tuned
  parameter, copy its config (`Cell.config`).
- Each file is parsed once (`CachedFiles`).
- The study is composed once, for the sweep. Each config receives a copy.

The resulting configs are equal to the configs that Hydra composes (tests/sweep/test_compose.py).
"""

import copy
import pickle
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from hydra.core.utils import setup_globals
from hydra.types import HydraContext
from omegaconf import DictConfig, OmegaConf, flag_override, open_dict, read_write

from ablate.config.settle import settle
from ablate.sweep.cell import SEED, Cell, Overrides
from ablate.sweep.separable import composer

# beginnings of config keys on which other settings or the corpus depend
SETTLED = ("budget.", "schedule.", "trainer.", "study.", "batch.", "data.", "tokenizer.", "task.")


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
    setup_globals()
    loader: Any = copy.copy(context.config_loader)
    loader.repository = CachedFiles(loader.repository)
    study = pickle.dumps(OmegaConf.masked_copy(config, "study"))
    cells: list[Cell] = []
    arms: dict[Overrides, DictConfig] = {}
    shared = set(job_overrides[0]).intersection(*job_overrides) if job_overrides else set()
    by_arm = {_without_values(tuple(words), varied): words for words in reversed(job_overrides)}
    load = composer(
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
        other = CachedFiles(copy.deepcopy(self._repository, memo))
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
