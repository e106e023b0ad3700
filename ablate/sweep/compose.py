"""Compose the configs of many runs without repeating the work that they share.

Hydra reads and parses about 40 files for each config, and a screen (a study that compares many
variants with one baseline) becomes a large study that takes longer to build than everything else in
the config. The runs of a sweep differ in a few overrides, so this module saves work as follows:

- Each arm is composed once. The runs with its other seeds copy its config (`Cell.config`).
- Each file is parsed once (`CachedFiles`).
- A screen is expanded once, and the other configs receive a copy of the study (`_settle`).

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

from ablate.config.screen import SHARED
from ablate.config.settle import settle
from ablate.sweep.cell import Cell, Overrides, without_seed

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
    expanded: dict[str, bytes] = {}
    cells: list[Cell] = []
    arms: dict[Overrides, Cell] = {}
    shared = set(job_overrides[0]).intersection(*job_overrides) if job_overrides else set()
    for number, overrides in zip(numbers, map(tuple, job_overrides), strict=False):
        arm = arms.get(_without(overrides, varied))
        if arm is not None and _differ_in_values(overrides, arm.overrides):
            composed = arm.arm
        else:
            composed = loader.load_sweep_config(config, list(overrides))
            share_question(config, composed)
            _settle(composed, expanded)
            with open_dict(composed):
                composed.hydra.sweep.dir = str(sweep)  # the cells share the time stamp of the sweep
        label = " ".join(o for o in overrides if o not in shared) or "the only cell"
        cells.append(Cell(number, label, overrides, composed))
        arms.setdefault(_without(overrides, varied), cells[-1])
    return cells


def share_question(config: DictConfig, composed: DictConfig) -> None:
    """Give the config of a run the name and the study of its sweep, if the sweep has made its study
    from the command (ablate.sweep.question).
    """
    if composed.study is None and config.study is not None:
        with read_write(composed):
            composed.name, composed.study = config.name, copy.deepcopy(config.study)


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


class CachedFiles:
    """A repository of config files for Hydra that parses each file once.

    Hydra copies its repository for every config that it composes. The copies of this repository
    share the parsed files, as long as they search the same folders.
    """

    def __init__(self, repository: Any) -> None:
        self._repository = repository
        self._by_folders: dict[str, dict[str, object]] = {}
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
            self._parsed[config_path] = self._repository.load_config(config_path)
        return copy.deepcopy(self._parsed[config_path])


def _settle(config: DictConfig, expanded: dict[str, bytes]) -> None:
    """Set the precision and the warm-up in a config and expand its screen, in place.

    Args:
        config: the config of a run.
        expanded: the pickled study of each screen that was expanded before; the study of this
            config is added.
    """
    screen = _screen_of(config)
    if screen in expanded:
        with read_write(config), flag_override(config, "no_deepcopy_set_nodes", True):
            config.study = pickle.loads(expanded[screen]).study  # the fastest copy
    settle(config)
    if screen and screen not in expanded:
        expanded[screen] = pickle.dumps(OmegaConf.masked_copy(config, "study"))


def _screen_of(config: DictConfig) -> str:
    """Return a text of all values on which the expansion of a config's screen depends; "" if the
    config has no screen, or a screen that has been expanded.
    """
    study = config.study
    if study is None or study.get("screen") is None or not OmegaConf.is_missing(study, "factors"):
        return ""
    whole = OmegaConf.to_container(study, resolve=False)
    # expansion resolves these settings, and keeps all other interpolations
    return repr((config.name, whole, [OmegaConf.select(study.screen, key) for key in SHARED]))
