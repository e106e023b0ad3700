"""The W&B side of a run: Lightning's logger, with a run that begins and ends with ours.

The W&B run of a cell has the identity of its evaluation, or that of a probe. A repeated run takes
the place of the first. A run that goes on, and one that only tests weights that were trained
before, hold the whole history: online W&B has it, else what the record has is logged again.
"""

import json
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import wandb
from omegaconf import DictConfig, OmegaConf
from pytorch_lightning.loggers import WandbLogger
from pytorch_lightning.utilities import rank_zero_only
from wandb.sdk.wandb_run import Run

from ablate.config.limits import OneOf, Range
from ablate.errors import UserError
from ablate.evidence.gather import LIBRARIES
from ablate.metric.table import METRICS
from ablate.record.arm import arm, choices, is_swept, levels, told
from ablate.record.files import write_json
from ablate.record.label import cut
from ablate.record.training import Record
from ablate.record.types import Failure, Whole
from ablate.train.module import Training
from ablate.train.run_logger import RunLogger
from ablate.wandb.connection import MODES, as_tags, check_environment, check_names, settle
from ablate.wandb.names import LONGEST_NAME, LONGEST_TITLE, RESULT, STEP
from ablate.wandb.samples import COLUMNS, KEY, translations
from ablate.wandb.start import NOTE, finish, start

BEST = {"higher": "max", "lower": "min"}
# How a metric is summed up over a run, by the part after the slash; the others by their last value.
SUMMARIES = {
    **{name: BEST[metric.better] for name, metric in METRICS.items() if metric.better},
    "gradient_norm": "max",
}
CURVES = ("train", "val")  # what is measured again and again
PLAIN = ("status", "error", "identity", "wall_seconds", "ended")  # of result.json


class WandbRun(WandbLogger, RunLogger):
    """Logs to a W&B run of its own, on the first process of a run only.

    Args:
        save_dir: the run's folder.
        project: W&B project.
        entity: W&B account or team; None for the user's default.
        group: of the runs and of their analysis; None for the name of the experiment.
        name: of the run; in a sweep what its runs' names begin with. None: made from the overrides.
        notes: on the run.
        tags: beside those of the claims; a text has commas between them, as WANDB_TAGS.
        mode: auto | online | offline.
        samples: translations shown per validation.
    """

    def __init__(  # noqa: PLR0913  # what W&B has names for
        self,
        *,
        save_dir: str,
        project: str,
        entity: str | None,
        group: str | None,
        name: str | None,
        notes: str | None,
        tags: list[str] | str | None,
        mode: Annotated[str, OneOf(MODES)],
        samples: Annotated[int, Range(0)],
    ) -> None:
        super().__init__(save_dir=save_dir, project=project)
        self.about = {"entity": entity or None, "notes": notes or None}
        self.group = group or None
        self.title = name or None
        self.tags = as_tags(tags)
        self.samples = samples
        self.wanted = mode
        self.steps_done: Callable[[], int] = lambda: 0
        self.advice = f"to send it to W&B: ablate upload {save_dir}"

    def check(self) -> None:
        """Check the environment, the names and the mode.

        Raises:
            UserError: W&B would not accept one of them, or has no key and is to be online.
        """
        check_environment()
        check_names(self.name or "", self.group, self.tags)
        mode = os.environ.get("WANDB_MODE") or self.wanted
        if mode == "online":
            settle(mode)

    @rank_zero_only
    def begin(self, record: Record) -> None:
        """Start the W&B run."""
        config = record.config
        run = start(
            self.wanted,
            record.folder,
            cell_identity(record),
            goes_on=record.metrics_bytes() > 0,
            project=self.name,
            group=cut(self.group or config.name, LONGEST_TITLE),
            job_type=cut(arm(config), LONGEST_NAME),
            name=title(config, self.title),
            tags=as_tags([*claim_tags(config), *self.tags]),
            config=columns(record),
            **self.about,
        )
        self._experiment = run
        define_metrics(run)
        if not run.resumed:
            log_again(run, record.metrics)
        self._record = record

    def count_by(self, steps_done: Callable[[], int]) -> None:
        """Log by this number of optimiser steps."""
        self.steps_done = steps_done

    @rank_zero_only
    def log_metrics(self, metrics: Any, step: int | None = None) -> None:
        """Log values at the number of optimiser steps that are done."""
        super().log_metrics(metrics, self.steps_done())

    @rank_zero_only
    def validated(self, task: Training) -> None:
        """Log translations of the first sentences of validation."""
        if self.samples and task.task.generates:
            rows = translations(task, self.samples)
            self.log_table(KEY, COLUMNS, rows, step=self.steps_done())

    @rank_zero_only
    def show(self, task: Training) -> None:
        """Log attention maps and positions."""
        from ablate.observe.pictures import pictures  # matplotlib

        self.experiment.log(
            {
                name: wandb.Image(picture)
                for name, picture in pictures(task.model, task.data, task.device)
            }
        )

    @rank_zero_only
    def end(self, found: Whole | Failure) -> None:
        """Put the result into the summary, and finish the W&B run: 0 a result, 1 a failure."""
        run = self.experiment
        run.summary.update({"training": self._record.identity, **summary(found)})
        finish(run, failed=found["status"] == "failed")
        folder = Path(found.get("evaluation", self._record.folder))
        with suppress(UserError):  # the result is there, which is what counts
            own = {"identity": folder.name, "training": self._record.identity}
            write_json(folder / NOTE, {"id": run.id, "url": run.url, **own})

    @rank_zero_only
    def abandon(self) -> None:
        """Finish the W&B run; if that fails as well, forget W&B's background process."""
        if self._experiment is None:
            return
        try:
            self._experiment.finish(exit_code=1)
        except Exception:
            wandb.teardown()  # else it fails once more when this process ends
            raise


def cell_identity(record: Record) -> str:
    """The id of a cell's W&B run, which is known before it has a result."""
    return record.identity if record.config.probe is not None else record.evaluation.identity


def claim_tags(config: DictConfig) -> list[str]:
    """Return the ids of the claims of a study, as tags."""
    return [claim.id[:LONGEST_NAME] for claim in (config.study or {}).get("claims", [])]


def title(config: DictConfig, given: str | None) -> str:
    """What a run is called: as it is `given`, in a sweep with what tells it from the others."""
    if given and not is_swept():
        return given
    words = [*([given] if given else []), *told(config, tuned=True)] or [config.name]
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


def columns(record: Record) -> dict[str, Any]:
    """The config in W&B: the resolved tree, the levels as flat columns, and the identities."""
    tree: Any = OmegaConf.to_container(record.config, resolve=True)
    environment = json.loads((record.folder / "environment.json").read_text(encoding="utf-8"))
    # W&B takes a dot for nesting
    named = {f: "null" if v is None else v for f, v in levels(record.config).items()}
    flat = {f"level/{f.replace('.', '/')}": v for f, v in named.items()}
    return {
        **tree,
        **flat,
        "arm": arm(record.config),
        "choices": choices(),
        "identity": cell_identity(record),
        "training": record.identity,
        "data_fingerprint": record.parts["data"],
        "device": record.parts["device"],
        "libraries": record.parts["libraries"],
        "versions": {"python": environment["python"]}
        | {name: environment["packages"].get(name, "") for name in LIBRARIES},
        "commit": environment["commit"],
    }


def summary(found: Whole | Failure) -> dict[str, Any]:
    """The result for the summary; what has no curve, as test/bleu, has its plain name too."""
    given: Mapping[str, Any] = found
    own = {key: given[key] for key in PLAIN if key in given}
    known = found["metrics"]
    plain = {name: value for name, value in known.items() if name.partition("/")[0] not in CURVES}
    metrics = {f"{RESULT}{name}": value for name, value in known.items()}
    seconds = {f"seconds/{phase}": value for phase, value in found["seconds"].items()}
    return {**own, **plain, **metrics, **seconds}
