"""Support `scale=smoke`, a quick test that an experiment runs, which gives no verdict.

A smoke test uses the number of seeds in scale/smoke.yaml. The experiment's own number of seeds
comes later in the config, and would make the test as long as the experiment. If the scale of the
experiment sets a task, as `language` does, the smoke test has the scale `smoke_language`, because
scale=smoke would train a translator.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml

from ablate.errors import UserError

Tree = dict[str, Any]  # the content of a YAML file
SMOKE = "smoke"
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
    from ablate.config.catalogue import catalogue_folders  # these import Hydra, which ledger and
    from ablate.config.folders import config_folders  # judge do not need
    from ablate.config.location import CONF

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
