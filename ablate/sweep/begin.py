"""Start a sweep, register its study before any run, and share the sweep between workers.

The log of questions gets the description of a new sweep: which arms it compares in which metrics,
with which settings and seeds.

A worker is the same command, started several times on a results folder.
results/sweeps/<name>/<time>/sweep.json has a hash of the command (`key`) and, once the sweep has
ended, the number of failures. While the sweep is open, the same command joins it, at the same time
or after a crash. Steps on which all workers must agree (starting, choosing later runs, dropping a
failure, ending) are done by one of them under a lock.
"""

import hashlib
import json
import os
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from itertools import product
from pathlib import Path
from typing import Any, cast

from filelock import FileLock
from omegaconf import DictConfig, read_write

from ablate.config import PACKAGE, SMOKE, catalogue_root, is_below, leaves, place
from ablate.config.labels import stored_labels
from ablate.config.screen import changed_keys, is_combinations, variants
from ablate.errors import UserError
from ablate.evidence.checks import ABOUT, Setting, write_about
from ablate.evidence.gather import command
from ablate.evidence.log import Sweep, register
from ablate.evidence.registration import (
    Form,
    form,
    questions,
    registration_hash,
    settings,
    shared_seeds,
)
from ablate.record.files import digest, read_sealed, seal, write_json
from ablate.record.identity import (
    OUTSIDE,
    device_kind,
    library_versions,
    source_commit,
    source_hashes,
)
from ablate.record.results import SEEDS
from ablate.sweep.cell import Cell, config_dirs
from ablate.sweep.compose import PlannedSweep
from ablate.sweep.runs import all_arms, check_sweep
from ablate.verdict.conclude import UNREGISTERED

STATE = "sweep.json"
# Overrides that may differ between workers.
OWN = ("n_jobs=", "engine", "logger", "paths.", "hydra.sweep.dir=")
DOTTED = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")  # names such as mine.Part
# config groups that affect how a model learns or translates, and the components of a model
COMPONENTS = ("adapt", "initial", "loss", "optimizer", "schedule", "search", "task", "tokenizer")


def begin(config: DictConfig) -> None:
    """Check the study of a sweep, and choose the folder of the sweep.

    Raises:
        UserError: no decision rule applies to the study, or the config selects a Hydra launcher
            other than ablate's.
    """
    check_sweep(config)
    choose_folder(config, regime(config))


def register_study(sweep: PlannedSweep) -> None:
    """Register the study of a sweep, and write study.json with a seal: digests by which later
    changes are detected.

    If another process with the same command has registered the study, nothing is written. The runs
    must have been checked, because a sweep whose runs are refused must not count as an earlier
    sweep of its questions.
    """
    config = sweep.config
    with lock_sweeps(config):
        if (sweep.folder / ABOUT).exists():
            return
        registration: Any = {"command": command_of(config)}
        about: Any = {"name": config.name, "study": sweep.study, "regime": regime(config)}
        registered: Any = {}
        if sweep.study is not None:
            factors = [*sweep.study["factors"], *changed_keys(variants(config))]
            shared = components(config.hydra.runtime.choices, factors)
            registration |= {**UNREGISTERED, "components": shared}
            if not sweep.study.get("exploratory"):
                entry, registered = describe(sweep, about["regime"])
                registration |= register(Path(config.paths.results), entry)
                registration |= {"commit": source_commit() or "", "part": sweep.is_part}
        if labels := stored_labels(config.hydra, variants(config)):
            registration["labels"] = labels
        about["registration"] = registration
        write_about(sweep.folder, about, registered)


def components(choices: Mapping[str, str | None], factors: Sequence[str]) -> dict[str, str]:
    """Return the chosen option of every config group that all arms of a study share, except the
    corpus and the size of the model, which are part of the setting.

    Args:
        choices: the chosen option by config group.
        factors: config keys that differ between arms.
    """
    return {
        group: option
        for group, option in choices.items()
        if option and group not in factors and (group in COMPONENTS or group.startswith("model/"))
    }


def command_of(config: DictConfig) -> str:
    """Return the command that started this sweep, including values of `hydra.sweeper.params` from
    the command line.
    """
    words = config.hydra.overrides
    grid = [word for word in words.hydra if word.lstrip("+").startswith("hydra.sweeper.params")]
    return command([*words.task, *grid], "-m", config_dirs=config_dirs(config))


def regime(config: DictConfig) -> Setting:
    """Return the setting of a sweep: data, model size, budget, device and precision of its runs."""
    choices = config.hydra.runtime.choices
    model = config.model
    short = None if config.probe is not None else config.budget.short
    setting: Any = {
        "scale": SMOKE if str(choices.scale).startswith(SMOKE) else choices.scale,
        "data": choices.data,
        "model": choices.model,
        "d_model": model.d_model,
        "n_layers": model.n_layers,
        "steps": config.budget.steps,
        "tokens_per_step": config.batch.tokens,
        "device": device_kind(config),
        "precision": str(config.trainer.precision),
        "threads": config.threads,
        **({"short": short} if short else {}),
    }
    return cast(Setting, setting)


# keys with the location of data on one machine
PLACES = ("root", "download_to", "url", "folder", "file")
MACHINE = ("threads",)  # keys of a setting that change results only by rounding


def describe(planned: PlannedSweep, regime: Setting) -> tuple[Sweep, Form]:
    """Return the line of a new sweep in the log, and the content of registered.json.

    Args:
        planned: the sweep, which has a study.
        regime: the setting of the sweep (data, model size, budget, device).
    """
    config, study = planned.config, planned.study
    assert study is not None
    tune, changes, factors = study.get("tune"), variants(config), study["factors"]
    free = [place(key) for key in (*factors, *([tune["key"]] if tune else []))]
    shared = {key: x for key, x in _settings(config).items() if not is_below(key, free)}
    if is_combinations(config):
        from ablate.config.combinations import runs_in, settings_of_levels  # imports NumPy

        levels = settings_of_levels(config)
        runs = runs_in(config)  # of all thirds, which are one study
        texts = [{factor: str(level) for factor, level in run.levels.items()} for run in runs]
    else:
        arms = all_arms(planned, changes)
        levels = _levels(arms, factors, changes)
        texts = [{factor: str(arm.levels[factor]) for factor in factors} for arm in arms]
    registered = form(study, levels, (shared | settings(arm, levels) for arm in texts))
    sweep = Sweep(
        name=config.name,
        time=time.time(),
        folder=os.path.relpath(config.hydra.sweep.dir, config.paths.results),
        study=registration_hash(registered),
        regime={key: value for key, value in regime.items() if key not in MACHINE},
        settings=shared,
        replicate=int(config.replicate),
        seeds=sorted(shared_seeds(((c.levels, c.seed) for c in planned.composed), study)),
        questions=questions(study, levels),
        contest=config.contest,
        levels=levels,
        free=free,
        code=digest_of_code(config),
    )
    return sweep, registered


def _levels(
    arms: Iterable[Cell], factors: Iterable[str], changes: Mapping[str, Mapping[str, object]]
) -> dict[str, dict[str, object]]:
    """Return the settings of each level: those below the key of its factor, or below the keys that
    a variant of a screen changes.
    """
    levels: dict[str, dict[str, object]] = {}
    for arm, factor in product(arms, factors):
        name = str(arm.levels[factor])
        keys = changed_keys({name: changes.get(name, {})}) if changes else [factor]
        nodes = [place(key) for key in keys]
        sets = {key: x for key, x in _settings(arm.arm).items() if is_below(key, nodes)}
        # a key that another factor varies below this one is no setting of the level
        before = levels.get(f"{factor}={name}", sets)
        levels[f"{factor}={name}"] = {k: x for k, x in sets.items() if before.get(k) == x}
    return levels


def _settings(config: DictConfig) -> dict[str, object]:
    """Return all settings that can change a result, by dotted key, except seeds and the location of
    data on this machine.
    """
    outside = [*OUTSIDE, *SEEDS, "hydra"]
    return {
        key: class_name(key, value)
        for key, value in leaves(config).items()
        if key.rpartition(".")[2] not in PLACES and not is_below(key, outside)
    }


def class_name(key: str, value: Any) -> Any:
    """Return the value of a config key; of the import path of a class of this package or of the
    catalogue, only the name of the class, so that a moved class is no change.
    """
    home = catalogue_root()
    packages = ("ablate", home.name if home else "ablate")
    ours = key.rpartition(".")[2] == "_target_" and str(value).partition(".")[0] in packages
    return value.rpartition(".")[2] if ours else value


def lock_sweeps(config: DictConfig) -> AbstractContextManager[Any]:
    """Exclude other workers of all sweeps with the name `config.name` while a `with` block runs."""
    return FileLock(Path(config.paths.results) / "locks" / f"sweep {config.name}.lock")


def choose_folder(config: DictConfig, regime: Setting) -> None:
    """Choose the folder of the sweep, and store it in hydra.sweep.dir.

    An open sweep of the same command is continued.

    Raises:
        UserError: hydra.sweep.dir was given, and another command has started a sweep there.
    """
    own_key = sweep_key(config, regime)
    with lock_sweeps(config):
        folder = _folder(config, own_key)
        with read_write(config.hydra):
            config.hydra.sweep.dir = str(folder)
        write_json(folder / STATE, seal({"key": own_key, "failed": None}))


def sweep_key(config: DictConfig, regime: Setting) -> str:
    """Return a hash (16 hexadecimal digits) of a command's overrides, of its setting, of the config
    files, of the code (`digest_of_code`), of the versions of the numerical libraries, and of the
    place of the results relative to the folder of the sweep.

    Overrides that may differ between workers (`OWN`) are left out.
    """
    words = [*config.hydra.overrides.task, *config.hydra.overrides.hydra]
    asked = sorted(word for word in words if not word.lstrip("+~").startswith(OWN))
    files = [digest_of_code(config), _content(_config_files(config))]
    # a worker with another results folder would keep the locks and the log somewhere else
    results = os.path.relpath(config.paths.results, config.hydra.sweep.dir)
    return digest([asked, regime, files, library_versions(), results])


def digest_of_code(config: DictConfig) -> str:
    """Return a digest of the source of this package, and of all components of the user that the
    config files and the overrides of a sweep name.
    """
    texts = [path.read_text(encoding="utf-8") for path in _config_files(config)]
    names = {*DOTTED.findall("\n".join([*texts, *config.hydra.overrides.task]))}
    components = source_hashes(name for name in names if not name.startswith("ablate."))
    return digest([_content(PACKAGE.rglob("*.py")), components])


def _config_files(config: DictConfig) -> list[Path]:
    sources = config.hydra.runtime.config_sources
    trees = [Path(source.path) for source in sources if source.schema == "file"]
    return [path for tree in trees for path in tree.rglob("*.yaml")]


def _content(paths: Iterable[Path]) -> str:
    digest_of_files = hashlib.sha256()
    for path in sorted(paths):
        digest_of_files.update(path.read_bytes())
    return digest_of_files.hexdigest()


def _folder(config: DictConfig, own_key: str) -> Path:
    """Return the folder of the open sweep that this command joins, or of a new sweep.

    Args:
        config: the config of the sweep.
        own_key: the hash of this command.

    Raises:
        UserError: hydra.sweep.dir was given, and another command has started a sweep there.
    """
    given = Path(config.hydra.sweep.dir)
    if any(word.startswith("hydra.sweep.dir=") for word in config.hydra.overrides.hydra):
        if (given / STATE).exists() and read_sealed(given / STATE)["key"] != own_key:
            raise UserError(
                f"hydra.sweep.dir={given}: another command, or another version, has begun a sweep "
                "there"
            )
        return given
    for path in sorted(given.parent.glob(f"*/{STATE}"), reverse=True):
        with suppress(UserError):  # a damaged sweep is not continued
            if read_sealed(path) == {"key": own_key, "failed": None}:
                return path.parent
    while (given / STATE).exists():  # of another command in the same second
        given = given.with_name(f"{given.name}_")
    return given


def decide_once(config: DictConfig, path: Path, decide: Callable[[], Any]) -> Any:
    """Return a decision that is the same in all workers, as JSON data.

    The first worker makes the decision with `decide`, and stores it in the file `path`.

    Raises:
        UserError: the stored decision is damaged.
    """
    with lock_sweeps(config):
        try:
            return read_sealed(path)["decided"]
        except FileNotFoundError:
            decided = json.loads(json.dumps(decide()))
            write_json(path, seal({"decided": decided}))
            return decided
