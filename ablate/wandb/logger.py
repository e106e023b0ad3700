"""Log a run to W&B with Lightning's logger.

The id of the W&B run is the digest that identifies the evaluation (or the probe) of the run. A
repeated run replaces the earlier W&B run. The W&B run of a resumed run, or of a run that only tests
existing weights, has the complete history. Online, W&B still has the earlier part; offline, the
metrics in the run's folder are logged again.
"""

import json
import os
from pathlib import Path
from typing import Annotated, Any

from pytorch_lightning.loggers import WandbLogger
from pytorch_lightning.utilities import rank_zero_only

from ablate.config.limits import OneOf, Range
from ablate.config.settle import is_swept
from ablate.record.results import Result, levels, say
from ablate.record.training import Record
from ablate.train.module import Training
from ablate.train.tracking import RunLogger, run_title
from ablate.wandb.connection import (
    MODES,
    STEP,
    advise_sync,
    check_settings,
    init_args,
    settle,
    start,
)

PLAIN = ("status", "error", "wall_seconds", "ended")  # keys of result.json
COLUMNS = ["line", "source", "reference", "hypothesis"]  # of the sample translations


class WandbRun(WandbLogger, RunLogger):
    """A logger that logs a run to W&B, in the process of rank 0 only.

    Args:
        save_dir: the run's folder.
        project: name of the W&B project.
        entity: W&B account or team; null: the user's default.
        group: W&B group of the runs and of their analysis; null: the name of the experiment.
        name: name of the run; in a sweep, the prefix of all names; null: made from the overrides.
        notes: text that W&B shows as the notes on the run.
        tags: tags in addition to the ids of the study's claims: a list, or text with commas.
        mode: auto | online | offline; auto: online if there is a key and W&B answers, else offline.
        samples: number of translations that are logged at each validation.
    """

    def __init__(  # noqa: PLR0913  # W&B has so many names
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
        self.title, self.samples, self.wanted = name, samples, mode
        self.names: dict[str, Any] = {"project": project, "entity": entity, "group": group}
        self.names |= {"notes": notes, "tags": tags}

    def check(self) -> None:
        """Check the environment variables of W&B, the project and the mode.

        Raises:
            UserError: W&B would not accept a value, or the mode is online and there is no key.
        """
        check_settings(self.names["project"])
        mode = os.environ.get("WANDB_MODE") or self.wanted
        if mode == "online":
            settle(mode)

    @rank_zero_only
    def begin(self, record: Record) -> None:
        """Start the W&B run, and log again the metrics of an earlier process that W&B lacks."""
        config = record.config
        identity = (record.evaluation if config.probe is None else record).identity
        study = config.study or {}
        claims = [x.id for x in study.get("claims", []) if not study.get("exploratory")]
        title = run_title(config, self.title)
        self._experiment = run = start(
            self.wanted,
            record.folder,
            identity,
            goes_on=record.resumed,
            name=title if is_swept(config) else self.title or title,
            **init_args(self.names, config.name, say(levels(config)), claims),
        )
        run.define_metric(STEP)
        run.define_metric("*", step_metric=STEP, step_sync=True)
        if not run.resumed:
            log_again(run, record.folder / "metrics.jsonl")

    @rank_zero_only
    def validated(self, task: Training) -> None:
        """Log translations of the first sentences of validation, always of the same ones."""
        if self.samples and task.task.generates:
            rows = translations(task, self.samples)
            self.log_table("val/translations", COLUMNS, rows, step=task.global_step)

    @rank_zero_only
    def show(self, task: Training) -> None:
        """Log pictures of attention maps and position encodings.

        Nothing is drawn if nobody asked for an offline run, which is then rarely uploaded.
        """
        if self.experiment.offline and (os.environ.get("WANDB_MODE") or self.wanted) == "auto":
            return
        import wandb

        from ablate.observe.pictures import pictures

        drawn = pictures(task.model, task.data, task.device)
        self.experiment.log({name: wandb.Image(picture) for name, picture in drawn})

    @rank_zero_only
    def end(self, result: Result) -> None:
        """Write the result to the summary, and finish the W&B run with status 0, or 1 for a
        failure.
        """
        values = {key: value for key, value in result.items() if key in PLAIN}
        seconds = {f"seconds/{phase}": value for phase, value in result["seconds"].items()}
        # of a metric with a curve, the value of the weights that were tested
        self.experiment.summary.update(values | result["metrics"] | seconds)
        self.experiment.finish(exit_code=int(result["status"] == "failed"))
        if self.experiment.offline:
            print(advise_sync(Path(self.experiment.dir).parents[2]))

    @rank_zero_only
    def abandon(self) -> None:
        """Finish the W&B run with status 1; if W&B raises an error, stop its background process and
        raise the error again.
        """
        if self._experiment is None:
            return
        try:
            self._experiment.finish(exit_code=1)
        except Exception:
            import wandb

            wandb.teardown()  # otherwise it would fail again when this process ends
            raise


def translations(task: Training, count: int) -> list[list[int | str]]:
    """Return a row for each of the first `count` validation lines: line number, source, reference
    and translation.
    """
    batch = task.data.first_lines("validation", count)
    with task.trainer.precision_plugin.forward_context():
        outputs = task.job.validation_search(task.model, batch.inputs.src.to(task.device))
    hypotheses = task.data.tokenizers.tgt.decode_lines(outputs)
    sources, references = task.data.sources("validation"), task.data.references("validation")
    return [
        [line, sources[line], references[line], hypothesis]
        for line, hypothesis in zip(batch.lines.tolist(), hypotheses, strict=True)
    ]


def log_again(run: Any, path: Path) -> None:
    """Send to W&B the metrics that an earlier process of this run wrote to metrics.jsonl."""
    for text in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
        line = json.loads(text)
        values = {name: value for name, value in line.items() if name not in ("step", "time")}
        run.log({**values, STEP: line["step"]})
