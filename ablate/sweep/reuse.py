"""Compose the configs of many runs without repeating the work that they share.

Hydra reads and parses about 40 files for each config, and a screen (a study that compares many
variants with one baseline) becomes a large study that takes longer to build than everything else in
the config. The runs of a sweep differ in a few overrides, so this module saves work as follows:

- Each file is parsed once (`CachedFiles`).
- A screen is expanded once, and the other configs receive a copy of the study (`Settler`).
- If the overrides of a run are the overrides of another run and further values, its config is
  derived from the config of the other run (`derived`).

The resulting configs are equal to the configs that Hydra composes (tests/sweep/test_reuse.py).
"""

import copy
import pickle
from collections.abc import Sequence
from typing import Any, NamedTuple

from hydra.core.config_loader import ConfigLoader
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf, flag_override, read_write
from omegaconf.errors import OmegaConfBaseException

from ablate.config.screen import SHARED
from ablate.config.settle import settle
from ablate.config.warmup import KEY as WARMUP

TOP = ("seed", "test_splits")  # keys at the top of the config that have a value and no options


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


def with_cached_files(loader: ConfigLoader) -> ConfigLoader:
    """Return a copy of Hydra's config loader that parses each file once."""
    cached: Any = copy.copy(loader)
    cached.repository = CachedFiles(cached.repository)
    return cached


class Settled(NamedTuple):
    """The result of `Settler` for a config: whether its warm-up was shortened, and whether the
    claims of its study have no interpolations.
    """

    shortened: bool
    plain: bool


class Settler:
    """Applies `ablate.config.settle` to each config of a sweep, and builds the study of a screen
    once instead of once per config.

    If the screen of a config differs from that of the first config, its study is built separately.
    """

    def __init__(self) -> None:
        self._screen: object = None
        self._plain = False
        self._expanded = b""  # the expanded study as the only node of a config, pickled

    def __call__(self, config: DictConfig) -> Settled:
        """Set the precision and the warm-up in a config and expand its screen, in place."""
        screen = _screen_of(config)
        expanded = screen is not None and screen == self._screen
        if expanded:
            with read_write(config), flag_override(config, "no_deepcopy_set_nodes", True):
                config.study = pickle.loads(self._expanded).study  # the fastest copy
        given = OmegaConf.select(config, WARMUP)
        settle(config)
        plain = self._plain if expanded else _has_plain_claims(config.study)
        if screen is not None and self._screen is None:
            self._screen, self._plain = screen, plain
            self._expanded = pickle.dumps(OmegaConf.masked_copy(config, "study"))
        return Settled(bool(OmegaConf.select(config, WARMUP) != given), plain)


def _screen_of(config: DictConfig) -> object:
    """Return all values on which the expansion of a config's screen depends; None if the config has
    no screen, or a screen that has been expanded.
    """
    study = config.study
    if study is None or study.get("screen") is None or not OmegaConf.is_missing(study, "factors"):
        return None
    whole = OmegaConf.to_container(study, resolve=False)
    # expansion resolves these settings, and keeps all other interpolations
    return config.name, whole, [OmegaConf.select(study.screen, key) for key in SHARED]


def _has_plain_claims(study: DictConfig | None) -> bool:
    """Return whether neither the claims of a study nor its screen have interpolations."""
    nodes = [] if study is None else [study.claims, study.screen]
    trees = (OmegaConf.to_container(node, resolve=False) for node in nodes if node is not None)
    return not any(map(_has_interpolations, trees))


def _has_interpolations(tree: object) -> bool:
    """Return whether a nested mapping or list contains an interpolation (`${...}`)."""
    if isinstance(tree, dict):
        return any(map(_has_interpolations, tree.values()))
    if isinstance(tree, list):
        return any(map(_has_interpolations, tree))
    return isinstance(tree, str) and "${" in tree


def adds_values(overrides: Sequence[str], base: Sequence[str]) -> bool:
    """Return whether `overrides` are the overrides of `base`, followed only by values of keys, such
    as `optimizer.lr=0.1`, and not by options of config groups. The seeds may differ.
    """
    words, kept = ([word for word in given if _key(word) != "seed"] for given in (overrides, base))
    added = words[len(kept) :]
    return words[: len(kept)] == kept and all(map(_is_value, added))


def _is_value(word: str) -> bool:
    key = _key(word)
    plain = key.replace(".", "_").isidentifier() and not key.startswith("hydra.")
    return "=" in word and plain and ("." in key or key in TOP)


def _key(word: str) -> str:
    return word.partition("=")[0]


def derived(base: DictConfig, overrides: Sequence[str]) -> DictConfig | None:
    """Return the config of a run whose overrides are the overrides of another run and further
    values; None if a value does not fit the config.

    If the result is None, Hydra must compose the config: its error message names the override.

    Args:
        base: the config of the other run, with Hydra's node and with an unchanged warm-up.
        overrides: the overrides of the run, for which `adds_values` is true.
    """
    config = copy.deepcopy(base)
    try:
        set_values(config, overrides)
    except (OmegaConfBaseException, HydraException):
        return None
    return config


def set_values(config: DictConfig, overrides: Sequence[str]) -> None:
    """Turn the config of a run, in place, into the config of another run, whose overrides set some
    keys to other values, or add values of keys.

    Args:
        config: a config with Hydra's node.
        overrides: all overrides of the other run.
    """
    node = config.hydra  # Hydra makes this node read-only once a run of the arm has started
    before, form = {*node.overrides.task}, node.job.config.override_dirname
    changed = [word for word in overrides if word not in before]
    named = sorted(word for word in overrides if _plain_key(word) not in form.exclude_keys)
    with read_write(config), read_write(node):
        for override in OverridesParser.create().parse_overrides(changed):
            OmegaConf.update(config, override.key_or_group, override.value())
        node.overrides.task = [*overrides]
        node.job.override_dirname = form.item_sep.join(named).replace("=", form.kv_sep)


def _plain_key(word: str) -> str:
    """Return the key or the config group of an override, without its prefix and its package."""
    return _key(word).lstrip("+~").partition("@")[0]
