"""Train: compose the config, then perform a run or, with -m, every run of a sweep."""

import argparse
import os
import sys
from bdb import BdbQuit
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hydra
import yaml
from hydra._internal.hydra import Hydra
from hydra._internal.utils import get_args_parser
from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.types import RunMode
from omegaconf import DictConfig

import ablate.config.schema  # noqa: F401  # the root of the config tree
from ablate.cli.parser import FULL_ERROR, WITH_TRACEBACK, exit_statuses
from ablate.config import CONF, SMOKE, groups, leaves, option_folders
from ablate.config.check import check_groups
from ablate.config.labels import arm_label
from ablate.config.limits import check_words
from ablate.config.screen import BASELINE, FACTOR
from ablate.errors import UserError, make_console, rank

if TYPE_CHECKING:
    from ablate.record.results import Result

Tree = dict[str, Any]  # the content of a YAML file
SEEDS = "budget.seeds"
LISTED = ("logger", "callbacks", "metric")  # groups of which a run may have several options


@hydra.main(version_base="1.3", config_path=str(CONF), config_name="config")
def run_config(config: DictConfig) -> None:
    """Perform the run of a composed config.

    What only a run needs is imported inside functions, so that Hydra's help is fast.
    """
    # errors are handled here, because Hydra would print its own line about them
    with exit_statuses("ablate"):
        settings: Any = HydraConfig.get()
        if settings.mode == RunMode.MULTIRUN:
            from ablate.sweep.runs import check_plugins

            check_plugins(settings)  # its launcher is another one
        check_groups(config)
        check_words(config, settings.overrides.task)
        if "LOCAL_RANK" not in os.environ:  # only in the first process
            _announce(config)
        if (result := stored_result(config)) is None:
            from ablate.train.resolve import resolve
            from ablate.train.run import run

            result = run(resolve(config))
        if rank() == 0 and "folder" in result:
            print_result(result)


def stored_result(config: DictConfig) -> "Result | None":
    """Return the result of the same run by an earlier command, without importing torch.

    Return None as well if the search for it would have to import the code of training, or if the
    config is wrong; the checks before training report what is wrong.
    """
    from ablate.config.construct import construct
    from ablate.config.settle import settle
    from ablate.record.identity import read_source
    from ablate.record.training import Record

    if config.fresh or config.trainer.get("fast_dev_run") or "LOCAL_RANK" in os.environ:
        return None
    if config.budget.short is not None or _reads_weights(config):
        return None
    settle(config)
    try:
        read_source(config)
        record = Record(config, construct(config.data).fingerprints(), "")
    except BdbQuit:  # the user left the debugger
        raise
    except Exception:  # any wrong value, whose fault the checks of the run name
        return None
    if not record.folder.exists():
        return None
    with record.locked():
        result = record.stored_result()
    if result is not None:
        result["reused"] = True
    return result


def _reads_weights(config: DictConfig) -> bool:
    """Return whether the initial weights may come from a file."""
    from ablate.record.identity import OUTSIDE

    values = leaves(config.initial)
    ours = str(values.get("_target_")).startswith("ablate.")
    return not ours or any(f"initial.{key.rpartition('.')[2]}" in OUTSIDE for key in values)


def print_result(result: "Result") -> None:
    """Print the scores of a run and the folder of its record."""
    from rich.panel import Panel
    from rich.table import Table
    from rich.text import Text

    console = make_console()
    before = " before, reused; fresh=true trains and logs it again" if result["reused"] else ""
    table = Table(title=f"{result['status']}{before}", show_header=False)
    for name, value in result["metrics"].items():
        if name.startswith(("val/", "test", "probe/")):
            table.add_row(name, f"{value:.4f}" if isinstance(value, float) else str(value))
    table.add_row("seconds", "  ".join(f"{k} {v:.1f}" for k, v in result["seconds"].items()))
    table.add_row("record", result["folder"])
    console.print(table)
    for number, text in enumerate(result.get("samples", []), 1):
        console.print(Panel(Text(text), title=f"sample {number}", title_align="left"))
    for name, signature in result["signatures"].items():
        console.print(f"{name}: {signature}", soft_wrap=True)


def train() -> None:
    """Compose the config from the overrides and Hydra flags of the command line, and perform the
    run.

    Raises:
        UserError: the config cannot be composed, or an override has several values in a command
            without -m.
    """
    given = read_words(sys.argv[1:])
    if not given.multirun:
        check_single_run(given.overrides)
    check_shadowed_files(given.config_dir)
    sys.argv[1:] = given.words
    # -m sets the mode; Hydra would compose the whole config once more to look for hydra.mode
    Hydra.get_mode = lambda *_, **__: None  # type: ignore[method-assign]
    os.environ[FULL_ERROR] = "1"  # so that Hydra raises errors
    try:
        run_config()
    finally:
        if not WITH_TRACEBACK:
            del os.environ[FULL_ERROR]


def read_words(words: Sequence[str]) -> argparse.Namespace:
    """Return Hydra's flags in the words of a command line, all overrides as the value `overrides`,
    and both as `words`, with the overrides first, because argparse rejects them on both sides of a
    flag.

    scale=smoke becomes the smoke test that fits the experiment.

    Raises:
        UserError: an override has a list of options where only one option can be chosen.
    """
    given, after_flags = get_args_parser().parse_known_args(words)
    given.overrides += after_flags
    flags = [word for word in words if word not in given.overrides]
    given.overrides = fit_smoke_test(given.overrides, given.config_dir)
    given.words = [*given.overrides, *flags]
    for word in given.overrides:
        key, _, value = word.lstrip("+").partition("=")
        group = key.partition("@")[0]
        if value.startswith("[") and group not in LISTED and (CONF / group).is_dir():
            # Hydra would merge the options
            raise UserError(
                f"{word}: give one option of {key}, without brackets; only {', '.join(LISTED)} "
                "take a list"
            )
    return given


def check_single_run(words: Sequence[str]) -> None:
    """Raise a UserError if an override of a command without -m has several values."""
    several = [word for word in words if "," in word or "(" in word]  # parsing takes its time
    for override in OverridesParser.create().parse_overrides(several):
        if override.is_sweep_override():
            raise UserError(f"{override.input_line}: for a run per value, add -m")


def fit_smoke_test(words: Sequence[str], config_dir: str | None = None) -> list[str]:
    """Return the overrides of a command with scale=smoke, adapted to its experiment; return the
    overrides of any other command unchanged.

    scale=smoke is a quick test that an experiment runs, which gives no verdict. It becomes
    scale=smoke_language for an experiment with scale=language. An experiment may set numbers that
    the scale also sets, such as the number of steps; then the test would be as long as the
    experiment. Therefore the numbers of the scale are appended, unless the command sets them.
    """
    plain = [word.lstrip("+") for word in words]
    names = [word.partition("=")[2] for word in plain if word.startswith("experiment=")]
    if not names or f"scale={SMOKE}" not in plain:
        return [*words]
    folders = _folders(config_dir)
    experiment = _read("experiment", names[-1], folders)
    fitting = f"{SMOKE}_{next(_options(experiment, 'scale'), '')}"
    option = fitting if _read("scale", fitting, folders) else SMOKE
    smoke = _read("scale", option, folders)
    replaced = [f"scale={option}" if w.lstrip("+") == f"scale={SMOKE}" else w for w in words]
    keys = {word.partition("=")[0] for word in plain}
    keys |= {SEEDS} if "seed" in keys else set()
    small = _numbers(smoke, experiment) if option != SMOKE else {SEEDS: smoke["budget"]["seeds"]}
    return [*replaced, *(f"{key}={value}" for key, value in small.items() if key not in keys)]


def _folders(config_dir: str | None) -> list[Path]:
    """Return the config folders in the order in which Hydra searches them."""
    return [*option_folders(), *([Path(config_dir)] if config_dir else [])]


def _read(group: str, option: str, folders: Sequence[Path]) -> Tree:
    """Return the content of the file of an option; {} if there is no such file."""
    paths = (folder / group / f"{option}.yaml" for folder in folders)
    path = next((path for path in paths if option and path.is_file()), None)
    content = yaml.safe_load(path.read_text(encoding="utf-8")) if path else None
    return content if isinstance(content, dict) else {}


def _options(file: Tree, group: str) -> Iterator[str]:
    """Yield the options of a group that the defaults of a file choose."""
    for entry in file.get("defaults") or ():
        for key, option in entry.items() if isinstance(entry, dict) else ():
            if key.split()[-1].strip("/") == group:
                yield str(option)


def _numbers(smoke: Tree, experiment: Tree) -> Tree:
    """Return the numbers of a smoke test by key, except those that the experiment varies."""
    numbers = {f"{group}.{k}": x for group in ("budget", "batch") for k, x in smoke[group].items()}
    if "short" in experiment.get("budget", {}):
        numbers["budget.short"] = numbers["budget.steps"] // 2
    varied = (experiment.get("study") or {}).get("factors") or ()
    return {key: value for key, value in numbers.items() if key not in varied}


def check_shadowed_files(config_dir: str | None) -> None:
    """Raise UserError if two config folders contain YAML files with the same name but different
    contents. Hydra would silently ignore one of the two files.
    """
    used_files: dict[Path, Path] = {}
    for folder, group in product(_folders(config_dir), groups()):
        for path in (folder / group).glob("*.yaml"):
            used = used_files.setdefault(path.relative_to(folder), path)
            if path != used and path.read_bytes() != used.read_bytes():
                raise UserError(
                    f"{path} has the same name as {used}, which Hydra would use in its place. "
                    "Choose another file name"
                )


def _announce(config: DictConfig) -> None:
    """Print the data, the model, the task and the number of steps of a run, and that it is only one
    run of an experiment.

    Raises:
        UserError: the command names a variant of a screen, whose overrides only a sweep adds.
    """
    choices = HydraConfig.get().runtime.choices
    probe, length = "", f", {config.budget.steps:,} steps"
    if config.probe is not None:
        probe, length = f"the probe {choices['probe']}, ", ""
    parts = ", ".join(f"{group} {choices[group]}" for group in ("data", "model", "task"))
    print(f"{config.name}: preparing {probe}{parts}{length}", flush=True)
    if config.study is not None and config.variant != BASELINE:
        raise UserError(
            f"{FACTOR}={config.variant} is an arm of the experiment {config.name}: add -m"
        )
    if config.study is not None:
        from ablate.record.results import levels

        run = f"{arm_label(levels(config)) or 'the baseline'}, seed {config.seed}"
        print(f"This command trains only one run ({run}); add -m for the whole experiment.")
