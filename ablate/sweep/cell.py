"""A cell of a sweep: one arm and one seed, composed and checked."""

import itertools
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hydra.core.utils import setup_globals
from hydra.types import HydraContext
from omegaconf import DictConfig, OmegaConf, open_dict

from ablate.tracking.files import write_json


@dataclass(frozen=True)
class Cell:
    """`overrides` are those of this job alone; `config` holds Hydra's node too.

    `label` names what this cell does not share with all others.
    """

    number: int
    label: str
    overrides: tuple[str, ...]
    config: DictConfig

    def task_config(self) -> DictConfig:
        """The config without Hydra's node, as a run sees it."""
        config = self.config.copy()
        OmegaConf.set_readonly(config, False)
        with open_dict(config):
            del config["hydra"]
        return config


def compose(
    context: HydraContext, config: DictConfig, job_overrides: Sequence[Sequence[str]], first: int
) -> list[Cell]:
    """Compose the config of every job of a sweep."""
    setup_globals()
    cells = []
    shared = set(job_overrides[0]).intersection(*job_overrides) if job_overrides else set()
    for number, overrides in enumerate(job_overrides, start=first):
        composed = context.config_loader.load_sweep_config(config, list(overrides))
        with open_dict(composed):
            composed.hydra.sweep.dir = str(config.hydra.sweep.dir)  # its time is the sweep's
            composed.hydra.job.id = str(number)
            composed.hydra.job.num = number
        label = " ".join(o for o in overrides if o not in shared) or "the only cell"
        cells.append(Cell(number, label, tuple(overrides), composed))
    return cells


def link_path(sweep: Path, number: int) -> Path:
    """The file by which a sweep remembers the run of one of its cells."""
    return sweep / "cells" / f"{number:04d}.json"


def write_link(sweep: Path, number: int, overrides: Sequence[str], found: dict[str, Any]) -> None:
    """Remember what became of a cell."""
    levels = dict(o.lstrip("+").split("=", 1) for o in overrides if "=" in o)
    write_json(link_path(sweep, number), {"cell": number, "levels": levels, **found})


def read_links(sweep: Path) -> list[dict[str, Any]]:
    """All cells of a sweep, in order."""
    paths = sorted((sweep / "cells").glob("*.json"))
    return [json.loads(path.read_text()) for path in paths]


def swept(links: list[dict[str, Any]]) -> list[str]:
    """Keys whose level differs between cells, other than the seed."""
    keys = dict.fromkeys(itertools.chain.from_iterable(link["levels"] for link in links))
    return [k for k in keys if k != "seed" and len({link["levels"].get(k) for link in links}) > 1]
