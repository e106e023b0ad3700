"""Describe a run to W&B: its names, its config, its curves and its result."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf
from wandb.sdk.wandb_run import Run

from ablate.config.labels import arm_label
from ablate.evidence.gather import LIBRARIES
from ablate.metric.table import METRICS
from ablate.record.arm import arm, choices, distinct_levels, is_swept, levels
from ablate.record.label import cut
from ablate.record.types import CombinedResult, Failure, TrainingParts
from ablate.wandb.connection import as_tags, finish, start
from ablate.wandb.note import LONGEST_NAME, LONGEST_TITLE, STEP

BEST = {"higher": "max", "lower": "min"}
# How W&B summarises the curve of a metric, by the last part of the metric's key. Other metrics are
# summarised by their last value.
SUMMARIES = {
    **{name: BEST[metric.better] for name, metric in METRICS.items() if metric.better},
    "gradient_norm": "max",
}
# prefix of every metric of the result; without it, a curve is summarised by its best value
RESULT = "result/"
CURVES = ("train", "val")  # splits that are measured repeatedly
PLAIN = ("status", "error", "identity", "wall_seconds", "ended")  # keys of result.json


@dataclass(frozen=True)
class Names:
    """The project, group, tags and other names that a user sets for a run in W&B; None for a
    default.
    """

    project: str
    entity: str | None
    group: str | None
    name: str | None
    notes: str | None
    tags: tuple[str, ...]

    @classmethod
    def of(cls, node: Mapping[str, Any]) -> "Names":
        """Return the names that the config node of logger=wandb sets."""
        plain = {key: node[key] or None for key in ("entity", "group", "name", "notes")}
        return cls(project=node["project"] or "", tags=tuple(as_tags(node["tags"])), **plain)

    def arguments(self, experiment: str, job: str, claims: list[str]) -> dict[str, object]:
        """Return project, group and tags as keyword arguments of `wandb.init`.

        Args:
            experiment: name of the experiment, the default of the group.
            job: job type of the run.
            claims: ids of the claims of the study, which are further tags.
        """
        return {
            "project": self.project,
            "entity": self.entity,
            "notes": self.notes,
            "group": cut(self.group or experiment, LONGEST_TITLE),
            "job_type": cut(job, LONGEST_NAME),
            "tags": as_tags([*(claim[:LONGEST_NAME] for claim in claims), *self.tags]),
        }


@dataclass(frozen=True)
class LoggedRun:
    """A run that is logged to W&B.

    Args:
        names: the names that the user sets for the run in W&B.
        config: the config of the run.
        folder: folder of the run.
        training: digest that identifies the training.
        identity: digest that identifies the evaluation, or the probe; the W&B run has this id.
        parts: the values from which the digest of the training was computed.
    """

    names: Names
    config: DictConfig
    folder: Path
    training: str
    identity: str
    parts: TrainingParts

    def start(self, mode: str, *, goes_on: bool) -> Run:
        """Start the run in W&B, under its names; return the W&B run.

        An earlier process may have logged the first metrics of the run. If W&B lacks them, they are
        logged again.

        Args:
            mode: auto | online | offline.
            goes_on: whether an earlier W&B run of this id is continued instead of replaced.

        Raises:
            UserError: the mode is online, and there is no key.
        """
        claims = [claim.id for claim in (self.config.study or {}).get("claims", [])]
        run = start(
            mode,
            self.folder,
            self.identity,
            goes_on=goes_on,
            **self.names.arguments(self.config.name, arm(self.config), claims),
            name=title(self.config, self.names.name),
            config=columns(self),
        )
        define_metrics(run)
        if not run.resumed:
            log_again(run, self.folder / "metrics.jsonl")
        return run

    def conclude(self, run: Run, result: CombinedResult | Failure) -> None:
        """Write the result to the W&B summary, and finish the W&B run.

        The exit status of the W&B run is 0 for a result and 1 for a failure. A message explains how
        to upload an offline run.
        """
        run.summary.update({"training": self.training, **summary(result)})
        finish(run, failed=result["status"] == "failed")


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


def log_again(run: Run, metrics: Path) -> None:
    """Log the metrics in a file metrics.jsonl, which an earlier process of the run wrote, to
    W&B.
    """
    for text in metrics.read_text(encoding="utf-8").splitlines() if metrics.exists() else []:
        line = json.loads(text)
        values = {name: value for name, value in line.items() if name not in ("step", "time")}
        run.log({**values, STEP: line["step"]})


def define_metrics(run: Run) -> None:
    """Tell W&B to use optimiser steps as x-axis, and to summarise each curve by its best value.

    For a metric where neither direction is better, such as the gradient norm, the summary is the
    largest or the last value.
    """
    run.define_metric(STEP)
    run.define_metric("*", step_metric=STEP, step_sync=True)
    for prefix in CURVES:
        for name, summary in SUMMARIES.items():
            run.define_metric(f"{prefix}/{name}", step_metric=STEP, summary=summary)


def columns(run: LoggedRun) -> dict[str, object]:
    """Return the config that W&B shows: the resolved config, the levels of factors as columns, and
    digests.
    """
    tree: Any = OmegaConf.to_container(run.config, resolve=True)
    environment = json.loads((run.folder / "environment.json").read_text(encoding="utf-8"))
    # W&B interprets dots as nesting
    named = {f: "null" if v is None else v for f, v in levels(run.config).items()}
    flat = {f"level/{f.replace('.', '/')}": v for f, v in named.items()}
    return {
        **tree,
        **flat,
        "arm": arm(run.config),
        "choices": choices(),
        "identity": run.identity,
        "training": run.training,
        "data_fingerprint": run.parts["data"],
        "device": run.parts["device"],
        "libraries": run.parts["libraries"],
        "versions": {"python": environment["python"]}
        | {name: environment["packages"].get(name, "") for name in LIBRARIES},
        "commit": environment["commit"],
    }


def summary(result: CombinedResult | Failure) -> dict[str, object]:
    """Return the values of result.json for the W&B summary.

    Every metric has the prefix `RESULT`. Metrics that were not logged as a curve are also listed
    without the prefix.
    """
    given: Mapping[str, object] = result
    values = {key: given[key] for key in PLAIN if key in given}
    for name, value in result["metrics"].items():
        values[f"{RESULT}{name}"] = value
        if name.partition("/")[0] not in CURVES:
            values[name] = value
    return values | {f"seconds/{phase}": value for phase, value in result["seconds"].items()}
