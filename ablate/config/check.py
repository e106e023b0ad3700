"""Checks of a composed config that Hydra's schema does not make.

Hydra's schema catches unknown keys of the typed part. It lets pass: keys added with `+`, misspelt
groups added with `+`, removed groups (`~data`), and wrong arguments of a component, which would
fail only when the component is called. `check` finds them all before any work.
"""

import dataclasses
import inspect
import math
import re
from functools import cache
from pathlib import Path
from typing import Any, get_origin

from hydra.utils import get_object
from omegaconf import DictConfig, ListConfig, OmegaConf
from omegaconf.errors import InterpolationResolutionError, InterpolationToMissingValueError

from ablate.config.arguments import parameters
from ablate.config.hints import ALIASES, chosen_by, groups, levels_of, nearest, unknown
from ablate.config.kinds import PLAIN, alternatives, describe, fits, is_simple
from ablate.config.limits import FOREIGN, Limit
from ablate.config.seams import check_seam
from ablate.errors import UserError

# Words that Hydra's instantiate reads itself.
INSTANTIATE_KEYS = {"_target_", "_partial_", "_convert_", "_recursive_", "_args_"}

BESIDE = ("logger",)  # nodes of components that others may stand beside, in nodes of their own

# What Lightning's trainer has, and what a run sets or says elsewhere.
OURS = {
    "logger": "choose logger=csv or logger=[wandb,csv]",
    "callbacks": "choose callbacks=[early_stopping,lr_monitor]",
    "plugins": "a run brings its own; say trainer.precision or trainer.strategy",
    "default_root_dir": "say paths.results=FOLDER",
    "max_epochs": "say budget.steps=N",
    "min_epochs": "say budget.steps=N",
    "enable_checkpointing": "say checkpoint.tested or checkpoint.save_every",
    "enable_model_summary": "a run prints its own table",
    "num_sanity_val_steps": "the smallest run is scale=smoke",
    "fast_dev_run": "the smallest run is scale=smoke",
    "overfit_batches": "say trainer.limit_train_batches=N",
    "barebones": "nothing would be recorded",
    "use_distributed_sampler": "batches are dealt to devices by ablate itself",
    "limit_test_batches": "a test reads its whole split; say data.test_size or data.n_test",
    "reload_dataloaders_every_n_epochs": "batches are dealt by ablate itself",
    "limit_predict_batches": "a test reads its whole split; say data.test_size or data.n_test",
    "model_registry": "a run keeps its weights in its own folder",
    "enable_autolog_hparams": "a run logs its whole config",
}


def check_study_keys(config: DictConfig) -> None:
    """Raise UserError for a key of the study that is missing, or that no study has."""
    if config.study is not None:
        _check_missing(config.study)
        _walk(config.study, "study")


def _check_missing(node: DictConfig) -> None:
    """Name the keys without a value as the command line has them: study.claims.0.source."""
    missing = sorted(re.sub(r"\[(\d+)\]", r".\1", key) for key in OmegaConf.missing_keys(node))
    if missing:
        verb = "has" if len(missing) == 1 else "have"
        raise UserError(f"{', '.join(missing)} {verb} no value; say {missing[0]}=VALUE")


def check(config: DictConfig) -> None:
    """Raise UserError for the first key or value that no part of the program would accept.

    Resolves every `_target_`, which imports the modules that the run will use.
    """
    _resolvable(config)
    _check_missing(config)
    for key, instead in OURS.items():
        if key in config.trainer:
            raise UserError(f"trainer.{key} is not for the trainer to say: {instead}")
    _walk(config.budget, "budget")  # first, as other keys look their values up here
    _walk(config, "")
    if not config.test_splits and not OmegaConf.select(config, "study.tune"):
        # the runs that tune a nuisance are never tested; claims find no metric in any others
        raise UserError("test_splits=[]: it must not be empty")


def _resolvable(config: DictConfig) -> None:
    try:
        OmegaConf.to_container(config, resolve=True)
    except InterpolationToMissingValueError:
        pass  # what has no value is named next
    except InterpolationResolutionError as error:
        raise UserError(f"{error.full_key}: {str(error.msg or error).splitlines()[0]}") from None


def _walk(value: Any, path: str, annotation: Any = Any) -> None:
    _check_limits(path, value, annotation)
    if isinstance(value, ListConfig):
        for i, item in enumerate(value):
            _walk(item, f"{path}[{i}]")
    elif isinstance(value, DictConfig):
        _walk_keys(value, path, annotation)
    elif isinstance(value, str) and value.startswith("~/"):
        raise UserError(f"{path}={value}: say {Path(value).expanduser()}; ~ is no home folder here")
    elif isinstance(value, float) and not math.isfinite(value):
        raise UserError(f"{path}={value}: it must be a finite number")


def _walk_keys(node: DictConfig, path: str, annotation: Any) -> None:
    annotations = _annotations(node, path)
    check_seam(path, node, annotation)
    # a value that was given, before those that are looked up from it
    for key in sorted(map(str, node), key=lambda key: OmegaConf.is_interpolation(node, key)):
        full = f"{path}.{key}" if path else key
        if annotations is not None and key not in annotations:
            raise UserError(unknown(full, [*annotations, *([] if path else groups(""))]))
        belongs = (annotations or {}).get(key, Any)
        if "_target_" in node:
            _check_kind(full, node[key], belongs)
        _walk(node[key], full, belongs)


def is_component(node: DictConfig, key: Any) -> bool:
    """Whether a key holds a node that describes an object."""
    return OmegaConf.is_dict(node[key]) and "_target_" in node[key]


def _annotations(node: DictConfig, path: str) -> dict[str, object] | None:
    """Keys that a node may have, and what each may hold; None where anything goes (levels)."""
    kind = OmegaConf.get_type(node)
    if dataclasses.is_dataclass(kind):
        return {f.name: f.type for f in dataclasses.fields(kind)}
    beside = [str(name) for name in node if is_component(node, name)] if path in BESIDE else []
    if "_target_" in node:
        named = _signature(str(node["_target_"]), path)
        return {
            **dict.fromkeys([*INSTANTIATE_KEYS, *beside], Any),
            **{k: p.annotation for k, p in named.items()},
        }
    return dict.fromkeys(beside, Any) if path in BESIDE else None


def _check_kind(key: str, value: Any, annotation: Any) -> None:
    """A plain value against the annotation of the constructor, which Hydra does not look at."""
    kinds = alternatives(annotation)
    if len(kinds) == 1 and get_origin(kinds[0]) is list:
        if not isinstance(value, ListConfig):
            raise UserError(f"{key}={value}: it must be a list, such as [{value}]")
        return
    simple = [kind for kind in kinds if is_simple(kind)]
    if str not in simple and not any(fits(value, kind) for kind in simple):
        _check_choice(key, value)
    if not simple:
        _check_component(key, value, kinds)
    elif not any(fits(value, kind) for kind in kinds):
        raise UserError(f"{key}={value}: it must be {describe(kinds)}")


def _check_choice(key: str, value: Any) -> None:
    """A level given as if it were a value."""
    choice = chosen_by(key) if isinstance(value, str | int) else ""
    if choice:
        levels = levels_of(choice.partition("@")[0])
        level = value if value in levels else nearest(str(value), levels) or levels[0]
        raise UserError(
            f"{key}={value}: a component is chosen with a slash, {choice}={level}; allowed is "
            f"{', '.join(levels)}"
        )


def _check_component(key: str, value: Any, kinds: tuple[Any, ...]) -> None:
    """A plain value where a component belongs; what else it may be, the constructor judges."""
    unsaid = {Any, inspect.Parameter.empty}
    if value is None and not {*kinds} & {type(None), *unsaid}:
        raise UserError(f"{key} is null, but a run needs it: leave {key}=null out")
    if not isinstance(value, str | int) and not (isinstance(value, float) and math.isfinite(value)):
        return
    if all(isinstance(kind, type) for kind in kinds) and not {*kinds} & {*PLAIN, *unsaid}:
        alias = ALIASES.get(key.rpartition(".")[2], "")
        said = f"{alias}={value}" if alias.startswith(f"{key}.") else f"{key}.KEY="
        raise UserError(f"{key}={value}: it has keys of its own, which are set by {said}")


def _check_limits(key: str, value: Any, annotation: Any) -> None:
    foreign = [limit for name, limit in FOREIGN if name == key]
    for limit in (*foreign, *getattr(annotation, "__metadata__", ())):
        if isinstance(limit, Limit) and not limit.allows(value):
            raise UserError(f"{key}={value}: it must {limit}")


def _signature(target: str, path: str) -> dict[str, inspect.Parameter]:
    """Named arguments of a target.

    What **kwargs would swallow cannot be checked, so only named arguments are allowed.
    """
    try:
        return _parameters(get_object(target))
    except Exception as error:
        reason = str(error.__cause__ or error).splitlines()[0]
        raise UserError(f"{path}._target_={target} cannot be loaded: {reason}") from None


_parameters = cache(parameters)  # a sweep has the same few classes in each of its cells
