"""Find finished runs, and upload them to W&B from their folders, with the ids and names that
logging during training would use.
"""

import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf

from ablate.config.location import CONF
from ablate.errors import UserError
from ablate.evidence.gather import SCREENING
from ablate.evidence.seal import ABOUT, read_parts
from ablate.record.arm import recomposed
from ablate.record.files import check_links
from ablate.record.links import read_links
from ablate.record.sealed import RESULT
from ablate.record.stored import StoredRun, stored_runs
from ablate.record.types import CombinedResult, Composition, Link, Outcome
from ablate.wandb.connection import check_environment, check_names, settle
from ablate.wandb.describe import LoggedRun, Names
from ablate.wandb.note import LOGGER, LONGEST_TITLE, Place

PREFIX = "logger."


@dataclass(frozen=True)
class FinishedRun(LoggedRun):
    """A finished run with its result, and the overrides and option choices that composed it."""

    result: CombinedResult
    composition: Composition

    @classmethod
    def of_stored(cls, run: StoredRun, settings: Mapping[str, object]) -> "FinishedRun":
        """Return a stored run under the names that settings of logger=wandb give it."""
        identity = run.result["identity"]
        return cls(
            *(Names.of(settings), run.config, run.folder, run.result["training"], identity),
            *(run.parts, run.result, run.composition),
        )

    @property
    def place(self) -> Place:
        """The folders of the run."""
        return Place.of(self.result, self.folder)

    @property
    def state(self) -> str:
        """Whether W&B has the run: "sent", "waiting" (stored on this disk until it is uploaded), or
        "missing".

        A run in another project or group counts as missing.
        """
        return self.place.state(self.names.project, self.group)

    def check(self) -> None:
        """Raise UserError for names that W&B would not accept."""
        group = self.names.group or self.group[:LONGEST_TITLE]
        check_names(self.names.project, group, self.names.tags)

    def send(self, mode: str) -> str:
        """Log the run to W&B as its training would have done; return its new state.

        W&B must lack the run. `mode` is online or offline; offline, the run is stored on this disk,
        ready to be uploaded.
        """
        if self.state == "waiting":
            if mode == "offline":
                return "waiting"
            for folder in self.place.offline:  # it has pictures and samples, which records lack
                subprocess.run([sys.executable, "-m", "wandb", "sync", str(folder)], check=True)
            return "sent"
        with recomposed(self.composition):
            run = self.start(mode, goes_on=False)
            self.conclude(run, self.result, quiet=True)
        return "waiting" if run.offline else "sent"


def settled_mode(wanted: str) -> str:
    """Return the mode, online or offline: `wanted`, unless WANDB_MODE, a missing key or a missing
    connection changes the mode.

    Raises:
        UserError: no run can be uploaded in this mode.
    """
    check_environment()
    mode = settle(wanted)
    if mode not in ("online", "offline"):
        raise UserError(f"WANDB_MODE={mode}: runs are uploaded online or offline; unset WANDB_MODE")
    return mode


def find_runs(source: Path) -> Iterator[FinishedRun]:
    """Yield the finished runs of a folder, without duplicates.

    A run of a sweep gets the group, names and tags of the sweep. If several sweeps in a results
    folder contain the run, the newest sweep decides.

    Raises:
        UserError: the folder is not that of a run, of sweeps, or of results; or a record is
            damaged.
    """
    check_links(source, source)
    if (source / RESULT).exists() and (source / "identity.json").exists():
        yield from (_alone(run) for run in stored_runs(source))
        return
    sweeps = sweeps_in(source)
    if not sweeps and not (source / "runs").is_dir():
        raise UserError(
            f"{source} has no runs to upload: name the folder of a run (results/runs/IDENTITY), "
            "of a sweep (results/sweeps/NAME/TIME), or results"
        )
    seen = set()
    loose = sorted((source / "runs").glob("*/")) if (source / "runs").is_dir() else []
    runs = (run for sweep in reversed(sweeps) for run in runs_of_sweep(sweep))
    alone = (_alone(run) for folder in loose for run in stored_runs(folder))
    for run in (run for part in (runs, alone) for run in part):
        if run.identity not in seen:
            seen.add(run.identity)
            yield run


def sweeps_in(folder: Path) -> list[Path]:
    """Return the folders of all sweeps in a folder (or the folder itself, if it is a sweep), oldest
    first.
    """
    folders = {path.parent for path in folder.rglob("cells") if path.is_dir()}
    return sorted((path for path in folders if path.name != SCREENING), key=lambda path: path.name)


def runs_of_sweep(sweep: Path) -> Iterator[FinishedRun]:
    """Yield the finished runs of a sweep: its main runs, their shorter budgets, and its tuning
    runs.
    """
    about = read_parts(sweep) if (sweep / ABOUT).exists() else None
    for link in (*read_links(sweep / SCREENING), *read_links(sweep)):
        ends: list[Any] = [link["short"]] if "short" in link else []
        for end in (*ends, link):
            if "training" in end and (run := _stored(sweep, end)):
                yield _of_sweep(run, link, about)


def settings_of_sweep(sweep: Path) -> dict[str, object]:
    """Return the settings of logger=wandb that the command of a sweep gave, completed by
    defaults.
    """
    return _defaults() | _given(read_links(sweep)[0]["overrides"])


def _stored(sweep: Path, end: Outcome) -> StoredRun | None:
    """Return the stored run to which a sweep links; None if its folder is missing or its result has
    changed.
    """
    results = sweep.resolve().parents[2]  # the folder of the sweep is RESULTS/sweeps/NAME/TIME
    folder = results / "runs" / end["training"]
    folder = folder if folder.is_dir() else Path(end["folder"])
    runs = stored_runs(folder) if folder.is_dir() else iter(())
    return next((run for run in runs if run.result["identity"] == end["identity"]), None)


def _of_sweep(run: StoredRun, link: Link, about: Any) -> FinishedRun:
    config = run.config
    if about is not None:
        config = cast(DictConfig, OmegaConf.merge(config, {"name": about["name"]}))
        config.study = None if about["study"] is None else about["study"]
    groups = {key: cast(str | None, x) for key, x in link["levels"].items() if "/" in key}
    made: Composition = {
        "swept": True,
        "choices": {**run.composition["choices"], **groups},
        "overrides": link["overrides"],
    }
    renamed = replace(run, config=config, composition=made)
    return FinishedRun.of_stored(renamed, _defaults() | _given(link["overrides"]))


def _alone(run: StoredRun) -> FinishedRun:
    logger: Any = OmegaConf.to_container(run.config, resolve=True)["logger"]  # type: ignore[index,call-overload]
    settings = logger if logger and logger.get("_target_") == LOGGER else {}
    return FinishedRun.of_stored(run, _defaults() | settings)


def _defaults() -> dict[str, object]:
    """Return the default settings of logger=wandb, including environment variables."""
    node = OmegaConf.load(CONF / "logger/wandb.yaml")
    return cast(dict[str, object], OmegaConf.to_container(node, resolve=True))


def _given(overrides: list[str]) -> dict[str, object]:
    """Return the settings of logger=wandb that overrides of a command line set."""
    words = [word for word in overrides if word.lstrip("+").startswith(PREFIX)]
    try:
        parsed = OverridesParser.create().parse_overrides(words)
    except HydraException as error:
        raise UserError(f"{' '.join(words)}: {error}") from None
    return {override.key_or_group.removeprefix(PREFIX): override.value() for override in parsed}
