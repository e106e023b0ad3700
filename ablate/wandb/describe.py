"""What W&B is told of a run: by the logger while it trains, or from its record afterwards."""

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
from ablate.record.files import write_json
from ablate.record.label import cut
from ablate.record.training import Record
from ablate.record.types import Failure, TrainingParts, Whole
from ablate.wandb.connection import as_tags
from ablate.wandb.names import LONGEST_NAME, LONGEST_TITLE, RESULT, STEP
from ablate.wandb.note import NOTE
from ablate.wandb.start import finish

BEST = {"higher": "max", "lower": "min"}
# How a metric is summed up over a run, by the part after the slash; the others by their last value.
SUMMARIES = {
    **{name: BEST[metric.better] for name, metric in METRICS.items() if metric.better},
    "gradient_norm": "max",
}
CURVES = ("train", "val")  # what is measured again and again
PLAIN = ("status", "error", "identity", "wall_seconds", "ended")  # of result.json


@dataclass(frozen=True)
class Names:
    """The names that a user gives to a run in W&B; None for those that ablate chooses."""

    project: str
    entity: str | None
    group: str | None
    name: str | None
    notes: str | None
    tags: tuple[str, ...]

    @classmethod
    def of(cls, node: Mapping[str, Any]) -> "Names":
        """Read the keys of logger=wandb."""
        plain = {key: node[key] or None for key in ("entity", "group", "name", "notes")}
        return cls(project=node["project"] or "", tags=tuple(as_tags(node["tags"])), **plain)


@dataclass(frozen=True)
class LoggedRun:
    """A run, with the folder of its training.

    `identity` is that of its evaluation, or that of a probe; `parts` are what the identity of
    the training is made of.
    """

    config: DictConfig
    folder: Path
    training: str
    identity: str
    parts: TrainingParts

    @classmethod
    def of(cls, record: Record) -> "LoggedRun":
        """Describe the run of a record; its identity is known before it has a result."""
        last = record.evaluation if record.config.probe is None else record
        return cls(record.config, record.folder, record.identity, last.identity, record.parts)

    def arguments(self, names: Names) -> dict[str, object]:
        """Return project, group, names, tags and config, as `wandb.init` takes them."""
        return {
            "project": names.project,
            "entity": names.entity,
            "notes": names.notes,
            "group": cut(names.group or self.config.name, LONGEST_TITLE),
            "job_type": cut(arm(self.config), LONGEST_NAME),
            "name": title(self.config, names.name),
            "tags": as_tags([*claim_tags(self.config), *names.tags]),
            "config": columns(self),
        }


def note_of(run: Run, logged: LoggedRun) -> dict[str, str | None]:
    """Return where W&B has a run; the url is null until the run is uploaded."""
    return {
        "id": run.id,
        "url": run.url,
        "project": run.project,
        "group": run.group,
        "identity": logged.identity,
        "training": logged.training,
    }


def conclude(run: Run, logged: LoggedRun, found: Whole | Failure, *, quiet: bool = False) -> None:
    """Put the result into the summary, finish the W&B run, and note beside the result where it is.

    The exit status is 0 for a result and 1 for a failure. Unless `quiet`, an offline run says how
    to upload it.

    Raises:
        UserError: the note cannot be written.
    """
    run.summary.update({"training": logged.training, **summary(found)})
    finish(run, failed=found["status"] == "failed", quiet=quiet)
    folder = Path(found.get("evaluation", logged.folder))
    write_json(folder / NOTE, note_of(run, logged))


def claim_tags(config: DictConfig) -> list[str]:
    """Return the ids of the claims of a study, as tags."""
    return [claim.id[:LONGEST_NAME] for claim in (config.study or {}).get("claims", [])]


def title(config: DictConfig, given: str | None) -> str:
    """What a run is called: as it is `given`, in a sweep with what tells it from the others."""
    if given and not is_swept():
        return given
    name = arm_label(distinct_levels(config, tuned=True))
    words = [word for word in (given, name) if word] or [config.name]
    seed = f"seed {config.seed}" + (f" of set {config.replicate}" if config.replicate else "")
    return f"{cut(', '.join(words), LONGEST_TITLE - len(seed) - 2)}, {seed}"


def log_again(run: Run, metrics: Path) -> None:
    """Log what an earlier process has measured, from its metrics.jsonl."""
    for text in metrics.read_text(encoding="utf-8").splitlines() if metrics.exists() else []:
        line = json.loads(text)
        values = {name: value for name, value in line.items() if name not in ("step", "time")}
        run.log({**values, STEP: line["step"]})


def define_metrics(run: Run) -> None:
    """Count by optimiser steps, and sum up a curve by its best or its worst value."""
    run.define_metric(STEP)
    run.define_metric("*", step_metric=STEP, step_sync=True)
    for prefix in CURVES:
        for name, summary in SUMMARIES.items():
            run.define_metric(f"{prefix}/{name}", step_metric=STEP, summary=summary)


def columns(run: LoggedRun) -> dict[str, object]:
    """The config in W&B: the resolved tree, the levels as flat columns, and the identities."""
    tree: Any = OmegaConf.to_container(run.config, resolve=True)
    environment = json.loads((run.folder / "environment.json").read_text(encoding="utf-8"))
    # W&B takes a dot for nesting
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


def summary(found: Whole | Failure) -> dict[str, object]:
    """The result for the summary; what has no curve, as test/bleu, has its plain name too."""
    given: Mapping[str, object] = found
    own = {key: given[key] for key in PLAIN if key in given}
    known = found["metrics"]
    plain = {name: value for name, value in known.items() if name.partition("/")[0] not in CURVES}
    metrics = {f"{RESULT}{name}": value for name, value in known.items()}
    seconds = {f"seconds/{phase}": value for phase, value in found["seconds"].items()}
    return {**own, **plain, **metrics, **seconds}
