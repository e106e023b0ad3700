"""Describe a run to W&B: its names, its config, its curves and its result."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf

from ablate.config.labels import arm_label
from ablate.evidence.gather import LIBRARIES
from ablate.record.arm import arm, choices, distinct_levels, is_swept, levels
from ablate.record.label import cut
from ablate.record.training import Record
from ablate.record.types import CombinedResult, Failure
from ablate.wandb.connection import as_tags
from ablate.wandb.note import LONGEST_NAME, LONGEST_TITLE, STEP

PLAIN = ("status", "error", "wall_seconds", "ended")  # keys of result.json


def names(
    logger: Mapping[str, Any], experiment: str, job: str, claims: Sequence[str]
) -> dict[str, object]:
    """Return project, group and tags as keyword arguments of `wandb.init`.

    Args:
        logger: the config node of logger=wandb.
        experiment: name of the experiment, the default of the group.
        job: job type of the run.
        claims: ids of the claims of the study, which are further tags.
    """
    return {
        "project": logger["project"],
        "entity": logger["entity"] or None,
        "notes": logger["notes"] or None,
        "group": cut(logger["group"] or experiment, LONGEST_TITLE),
        "job_type": cut(job, LONGEST_NAME),
        "tags": as_tags([*claims, *as_tags(logger["tags"])]),
    }


def title(config: DictConfig, given: str | None) -> str:
    """Return the name of a run in W&B: the name that the user gave and, in a sweep, the overrides
    that distinguish this run.
    """
    if given and not is_swept():
        return given
    name = arm_label(distinct_levels(config, tuned=True))
    words = [word for word in (given, name) if word] or [config.name]
    seed = f"seed {config.seed}" + (f" of set {config.replicate}" if config.replicate else "")
    return f"{cut(', '.join(words), LONGEST_TITLE - len(seed) - 2)}, {seed}"


def log_again(run: Any, metrics: Path) -> None:
    """Log the metrics in a file metrics.jsonl, which an earlier process of the run wrote, to
    W&B.
    """
    for text in metrics.read_text(encoding="utf-8").splitlines() if metrics.exists() else []:
        line = json.loads(text)
        values = {name: value for name, value in line.items() if name not in ("step", "time")}
        run.log({**values, STEP: line["step"]})


def columns(record: Record, identity: str) -> dict[str, object]:
    """Return the config that W&B shows: at the top the settings by which a person groups runs, and
    below two further keys the resolved config and the identity of the run.

    Args:
        record: the record of the training, or of the probe.
        identity: digest that identifies the evaluation, or the probe.
    """
    environment = json.loads((record.folder / "environment.json").read_text(encoding="utf-8"))
    # W&B interprets dots as nesting
    factors = {f.replace(".", "/"): v for f, v in levels(record.config).items()}
    return {
        **{factor: "null" if level is None else level for factor, level in factors.items()},
        "arm": arm(record.config),
        "seed": record.config.seed,
        "config": OmegaConf.to_container(record.config, resolve=True),
        "record": {
            "choices": choices(),
            "identity": identity,
            "training": record.identity,
            **{key: record.parts[key] for key in ("data", "device", "libraries")},
            "python": environment["python"],
            "versions": {name: environment["packages"].get(name, "") for name in LIBRARIES},
            "commit": environment["commit"],
        },
    }


def summary(result: CombinedResult | Failure) -> dict[str, object]:
    """Return the values of result.json for the W&B summary: every metric once, under its own name.

    For a metric with a curve, the value is that of the weights that were tested.
    """
    given: Mapping[str, object] = result
    values = {key: given[key] for key in PLAIN if key in given}
    seconds = {f"seconds/{phase}": value for phase, value in result["seconds"].items()}
    return values | {**result["metrics"]} | seconds
