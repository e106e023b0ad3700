"""Fit the values that an option of `scale` sets to the components that a run chooses.

A scale sets keys of components, such as `optimizer.betas`. If the run has another component without
this key, such as plain gradient descent, the key is dropped, with a message: the user did not write
it. A key that the command, an experiment or the component's own file sets is never dropped, and
`ablate.config.check` rejects it if it is unknown.

`scale=smoke` is a quick test that an experiment runs, which gives no verdict. It uses the number of
seeds in scale/smoke.yaml. The experiment's own number of seeds comes later in the config, and would
make the test as long as the experiment. If the scale of the experiment sets a task, as `language`
does, the smoke test has the scale `smoke_language`, because scale=smoke would train a translator.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from hydra.core.global_hydra import GlobalHydra
from omegaconf import DictConfig, OmegaConf, open_dict, read_write

from ablate.config import leaves
from ablate.config.check import allowed_keys
from ablate.config.location import SMOKE
from ablate.errors import UserError
from ablate.process import say_once

GROUP = "scale"
# values of files that were read; each run of a sweep asks for the same files
_values: dict[tuple[str, ...], Mapping[str, object]] = {}


def drop_unused(config: DictConfig, hydra: Any) -> None:
    """Remove every key that only the scale sets and that the chosen component lacks; print each
    key once.

    Args:
        config: the config of a run, which is changed.
        hydra: Hydra's node of the config.
    """
    choices = hydra.runtime.choices
    if not choices.get(GROUP):
        return
    unknown = {*_unknown(config, hydra)}
    words = [word.lstrip("+~").partition("=")[0] for word in hydra.overrides.task]
    experiment = values_of(hydra, f"experiment/{choices.get('experiment')}") if unknown else ()
    elsewhere = [*words, *experiment]
    for key in sorted(unknown):
        if any(f"{other}.".startswith(f"{key}.") for other in elsewhere):
            continue
        path, _, name = key.rpartition(".")
        component = OmegaConf.select(config, path)
        with read_write(config), open_dict(config):
            del component[name]
        scale = f"{GROUP}={choices[GROUP]}"
        say_once(f"{key} of {scale} is left out, because {component['_target_']} has no {name}")


def _unknown(config: DictConfig, hydra: Any) -> Iterator[str]:
    """Yield every key of the scale that a component of the config does not accept.

    For `model.dropout.rate`, the result may be `model.dropout`.
    """
    for key in values_of(hydra, f"{GROUP}/{hydra.runtime.choices[GROUP]}"):
        if _is_set_by_option(key, hydra):
            continue  # the option accepts the key, so its class need not be imported
        names = key.split(".")
        for end, name in enumerate(names[1:], 1):
            path = ".".join(names[:end])
            node = OmegaConf.select(config, path)
            allowed = allowed_keys(node, path) if OmegaConf.is_dict(node) and name in node else None
            if allowed is not None and name not in allowed:
                yield f"{path}.{name}"


def _is_set_by_option(key: str, hydra: Any) -> bool:
    """Return whether the option that was chosen for the node of a key sets this key itself."""
    choices = hydra.runtime.choices
    path, _, name = key.rpartition(".")
    while path and not choices.get(path.replace(".", "/")):
        path, _, end = path.rpartition(".")
        name = f"{end}.{name}"
    group = path.replace(".", "/")
    return bool(path) and name in values_of(hydra, f"{group}/{choices[group]}")


def values_of(hydra: Any, file: str) -> Mapping[str, object]:
    """Return the values by key that a file of a config group sets, including the files of its
    folder on which it is based; {} if there is no such file.

    Args:
        hydra: Hydra's node of a config, which names the folders.
        file: the group and the name of the file, such as model/norm/rms_norm.
    """
    place = (*(str(source.path) for source in hydra.runtime.config_sources), file)
    if place not in _values:
        loader: Any = GlobalHydra.instance().config_loader()
        words = [*hydra.overrides.hydra, *hydra.overrides.task]
        repository_of = loader._parse_overrides_and_create_caching_repo  # respects searchpath
        loaded = repository_of(hydra.job.config_name, words)[1].load_config(file)
        values: dict[str, object] = {}
        for entry in loaded.defaults_list if loaded else ():
            if (path := getattr(entry, "path", "_self_")) != "_self_":
                values |= values_of(hydra, f"{file.rpartition('/')[0]}/{path}")
        _values[place] = values | (leaves(loaded.config) if loaded else {})
    return _values[place]


Tree = dict[str, Any]  # the content of a YAML file
SEEDS = "budget.seeds"
FOLDER = "--config-dir"
NO_VERDICT = (
    "scale=smoke only tests that everything runs; it gives no verdict. "
    "For a verdict, run the command without it"
)


def fitted(words: Sequence[str]) -> list[str]:
    """Return the words of a command line, with the smoke test that fits the experiment.

    The words change only if they choose an experiment and scale=smoke. Numbers of the smoke test
    that the experiment would replace are appended, unless the words set them.

    Raises:
        UserError: the scale of the experiment sets a task that no smoke test has.
    """
    plain = [word.lstrip("+") for word in words]
    names = [word.partition("=")[2] for word in plain if word.startswith("experiment=")]
    if not names or f"scale={SMOKE}" not in plain:
        return [*words]
    folders = _folders(words)
    experiment = _read("experiment", names[-1], folders)
    scale = next(_chosen(experiment, "scale"), "")
    option = f"{SMOKE}_{scale}" if _sets_task(scale, folders) else SMOKE
    if not (smoke := _read("scale", option, folders)):
        raise UserError(
            f"scale={SMOKE} would change the task of {names[-1]}, which scale={scale} sets: set "
            f"budget.steps=20 in place of scale={SMOKE}"
        )
    replaced = [f"scale={option}" if w.lstrip("+") == f"scale={SMOKE}" else w for w in words]
    keys = {word.partition("=")[0] for word in plain}
    keys |= {SEEDS} if "seed" in keys else set()
    small = _numbers(smoke, experiment) if option != SMOKE else {SEEDS: smoke["budget"]["seeds"]}
    return [*replaced, *(f"{key}={value}" for key, value in small.items() if key not in keys)]


def _folders(words: Sequence[str]) -> list[Path]:
    """Return all folders with config groups that a command line may use."""
    from ablate.config.location import (
        CONF,
        catalogue_folders,  # these import Hydra, which ledger and
        config_folders,  # judge do not need
    )

    after = [word for before, word in zip(words, words[1:], strict=False) if before == FOLDER]
    joined = [w.partition("=")[2] for w in words if w.startswith(f"{FOLDER}=")]
    given = next(iter([*after, *joined]), None)
    return [CONF, *catalogue_folders(), *map(Path, config_folders(given, words))]


def _read(group: str, option: str, folders: Sequence[Path]) -> Tree:
    """Return the content of the file of an option; {} if there is no such file."""
    paths = (folder / group / f"{option}.yaml" for folder in folders)
    path = next((path for path in paths if option and path.is_file()), None)
    content = yaml.safe_load(path.read_text(encoding="utf-8")) if path else None
    return content if isinstance(content, dict) else {}


def _chosen(file: Tree, group: str) -> Iterator[str]:
    """Yield the options of a group that the defaults of a file choose."""
    for entry in file.get("defaults") or ():
        for key, option in entry.items() if isinstance(entry, dict) else ():
            if key.split()[-1].strip("/") == group:
                yield str(option)


def _sets_task(scale: str, folders: Sequence[Path]) -> bool:
    """Return whether an option of scale, or an option on which it is based, chooses the task."""
    file = _read("scale", scale, folders)
    bases = [entry for entry in file.get("defaults") or () if isinstance(entry, str)]
    return any(_chosen(file, "task")) or any(_sets_task(base, folders) for base in bases)


def _numbers(smoke: Tree, experiment: Tree) -> Tree:
    """Return the numbers of a smoke test by key, except those that the experiment varies."""
    numbers = {f"{group}.{k}": x for group in ("budget", "batch") for k, x in smoke[group].items()}
    if "short" in experiment.get("budget", {}):
        numbers["budget.short"] = numbers["budget.steps"] // 2
    varied = (experiment.get("study") or {}).get("factors") or ()
    return {key: value for key, value in numbers.items() if key not in varied}
