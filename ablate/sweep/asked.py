"""What a sweep asks and with which settings and seeds, as the book keeps it."""

import os
import time
from typing import Any

from hydra.core.override_parser.overrides_parser import OverridesParser
from omegaconf import DictConfig, OmegaConf

from ablate.record.arm import place
from ablate.study.book import Sweep, questions
from ablate.study.registration import study_hash
from ablate.study.types import Regime, Study
from ablate.sweep.cell import SEEDS
from ablate.sweep.leaves import leaves

PLACES = ("root", "download_to", "url", "folder", "file")  # where a machine keeps data
MACHINE = ("threads",)  # of a regime: what changes a number by its rounding alone


def asked(config: DictConfig, study: Study, regime: Regime) -> Sweep:
    """The line of a sweep that begins."""
    swept = _swept(config)
    return Sweep(
        name=config.name,
        time=time.time(),
        folder=os.path.relpath(config.hydra.sweep.dir, config.paths.results),
        study=study_hash(study),
        regime={key: value for key, value in regime.items() if key not in MACHINE},
        settings=_settings(config, study) | {k: swept[k] for k in study["nuisance"] if k in swept},
        replicate=int(config.replicate),
        seeds=_seeds(swept.get("seed", str(config.seed))),
        questions=questions(study),
        contest=config.contest,
    )


def _swept(config: DictConfig) -> dict[str, str]:
    """What is given for every job: by the sweeper's parameters, and over them the command line."""
    params = OmegaConf.select(config, "hydra.sweeper.params") or {}
    said = (override.lstrip("+").partition("=") for override in config.hydra.overrides.task)
    return {key: str(params[key]) for key in params} | {key: value for key, _, value in said}


def _seeds(text: str) -> list[int]:
    override = OverridesParser.create().parse_override(f"seed={text}")
    if not override.is_sweep_override():
        return [int(text)]
    return sorted(int(seed) for seed in override.sweep_string_iterator())


def _settings(config: DictConfig, study: Study) -> dict[str, Any]:
    """All that can change a number and is neither factor nor seed, by dotted keys."""
    from ablate.record.identity import OUTSIDE, OUTSIDE_OF  # torch

    free = [*OUTSIDE, *SEEDS, "hydra", *study["factors"]]
    free += [f"{node}.{key}" for node in OUTSIDE_OF for key in OUTSIDE_OF[node]]
    tune = study.get("tune")
    free += [tune["key"]] if tune else []
    free.remove("data")  # its content is no part of the config
    below = [place(key) for key in free]
    return {
        key: value
        for key, value in leaves(config).items()
        if key.rpartition(".")[2] not in PLACES
        and not any(key == one or key.startswith(f"{one}.") for one in below)
    }
