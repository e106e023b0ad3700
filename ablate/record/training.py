"""The record of a run on disk, which verdicts are made from.

results/runs/<identity>/
    config.yaml        resolved config          identity.json   what the hash is made of
    environment.json   versions, command        metrics.jsonl   values as they come
    checkpoints/       while it trains          weights.pt      the weights that are tested
    tokenizer/         to translate later       tests/          evaluations (`EvaluationRecord`)
    result.json        status and metrics of training, digests of the files above, and a seal
                       (`ablate.record.files`); exists only when training has ended
"""

import functools
import hashlib
import importlib.metadata
import json
import os
import platform
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf
from torch import Tensor

from ablate.errors import UserError
from ablate.record import identity
from ablate.record.commit import source_commit
from ablate.record.composition import composition
from ablate.record.evaluation import EvaluationRecord
from ablate.record.files import (
    append_line,
    check_links,
    check_writable,
    write_json,
    write_tensors,
    writing,
)
from ablate.record.links import LOGGER_FAILURES
from ablate.record.lock import acquire
from ablate.record.part import Part
from ablate.record.stored import join_results
from ablate.record.types import Environment, Fingerprints, Result, TrainingParts, Whole


class Record(Part):
    """The folder of one training, with the evaluation that the config asks for.

    `text` and `weights` are hashes of what the run reads: its corpus, and the files of its initial
    weights. `resumed` is true when an earlier process has begun or done the training.
    `weights_digest` is that of the weights that are tested, once they are there; both results name
    it.
    """

    parts: TrainingParts
    kept = (*Part.kept, "environment.json", "metrics.jsonl", "tokenizer/*.json")

    def __init__(self, config: DictConfig, text: Fingerprints, weights: str) -> None:
        self.results = Path(config.paths.results)
        super().__init__(self.results / "runs", identity.parts(config, text.training, weights))
        self.config = config
        self.evaluation = EvaluationRecord(config, self, text.tests)
        self.current: Part = self  # the part that an error would end
        self.resumed = False
        self.corpus = ""  # what it reads, in words
        self.weights_digest: str | None = None
        self.metrics = self.folder / "metrics.jsonl"
        self.weights = self.folder / "weights.pt"
        self.checkpoints = self.folder / "checkpoints"

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other processes away from this run, and wait for one that is at it.

        Raises:
            UserError: there is something to be written, and the folder takes nothing; or a link
                in the folder leads out of it.
        """
        held: Any = nullcontext()
        if self.writes:
            try:
                held = acquire(self.results / "locks" / f"{self.identity}.lock")
            except OSError as error:
                if self.config.fresh or not self.found():  # what is there can still be read
                    raise UserError(
                        f"paths.results={self.results}: cannot write there ({error.strerror})"
                    ) from None
        with held as lock:
            check_links(self.folder, self.folder.parent)
            if lock is not None:
                self.tidy()
            yield

    def found(self) -> Whole | None:
        """What training and evaluation have left together; None while one of them is missing."""
        trained = self.result()
        if trained is None or not self.evaluates(trained):
            return trained and self.whole(trained, None)
        tested = self.evaluation.result()
        if tested is None or tested["weights"] != trained["weights"]:  # of weights that are gone
            return None
        return self.whole(trained, tested)

    def evaluates(self, trained: Result) -> bool:
        """Whether a training with this result has weights to be tested."""
        return self.config.probe is None and trained["status"] != "diverged"

    def whole(self, trained: Result, tested: Result | None) -> Whole:
        """Return the results of both parts as one; the identity is that of the last."""
        return join_results(self.folder, trained, self.evaluation.folder, tested)

    def begin(self) -> None:
        """Start training with an empty folder; evaluations of the same identity stay."""
        self._start()
        if self.writes:
            self.clear(keep=("tests",))
            self._introduce()

    def resume(self, metrics_bytes: int, wall_seconds: float) -> None:
        """Go on with training: forget the metrics that came after the checkpoint."""
        self._start(wall_seconds)
        self.seconds["training"] = wall_seconds
        if self.writes:
            (self.folder / "result.json").unlink(missing_ok=True)  # of a failure
            with writing(self.metrics):
                self.metrics.touch()
                os.truncate(self.metrics, metrics_bytes)
            self._introduce()

    def _introduce(self) -> None:
        if self.config.probe is None:
            check_writable(self.evaluation.folder.parent)  # before training, not after it
        plain: Any = OmegaConf.to_container(self.config, resolve=True)
        self.describe(plain)
        write_json(self.folder / "environment.json", {**environment(), "corpus": self.corpus})

    def __enter__(self) -> "Record":
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, Exception) and self.current.folder.is_dir():
            with suppress(UserError):  # a full disk does not take this either
                self.fail(error)

    def fail(self, error: Exception) -> None:
        """Say in the part that was under way what ended it."""
        self.current.finish("failed", {}, error=f"{type(error).__name__}: {error}")

    def log(self, values: dict[str, float], step: int) -> None:
        """Append one line of metrics; what is measured in testing stands in its own result."""
        if self.writes and self.current is self:
            line = {"step": step, "time": round(self.wall_seconds, 3), **values}
            append_line(self.metrics, json.dumps(line))

    def note_logger_failure(self, sentence: str) -> None:
        """Remember that a logger has failed, for the end of a sweep; a full disk takes no note."""
        if self.writes:
            with suppress(UserError):
                append_line(self.folder / LOGGER_FAILURES, sentence)

    def metrics_bytes(self) -> int:
        """Length of metrics.jsonl."""
        return self.metrics.stat().st_size if self.metrics.exists() else 0

    def metrics_digest(self, length: int) -> str:
        """SHA-256 of the first bytes of metrics.jsonl."""
        content = self.metrics.read_bytes() if self.metrics.exists() else b""
        return hashlib.sha256(content[:length]).hexdigest()

    def keep_weights(self, weights: dict[str, Tensor]) -> None:
        """Keep the weights that are tested."""
        if self.writes:
            self.weights_digest = write_tensors(self.weights, weights)

    def keep_tokenizers(self, save: Callable[[Path], None]) -> None:
        """Keep the vocabularies, which `save` writes and without which the weights mean nothing."""
        if self.writes:
            folder = self.folder / "tokenizer"
            with writing(folder):
                folder.mkdir(exist_ok=True)
                save(folder)

    def finish(self, status: str, metrics: Mapping[str, int | float | None], **more: Any) -> Result:
        """Write result.json of training; checkpoints are of no use any more."""
        more = {"seed": self.config.seed, "weights": self.weights_digest, **more}
        found = super().finish(status, metrics, **more)
        if status != "failed":
            self.drop_checkpoints()
        return found

    def drop_checkpoints(self) -> None:
        """Remove what is of use only while a run trains."""
        if self.writes:
            shutil.rmtree(self.checkpoints, ignore_errors=True)


def environment() -> Environment:
    """What the numbers were made with."""
    return {
        "command": [Path(sys.argv[0]).name, *sys.argv[1:]],
        "python": platform.python_version(),
        "machine": platform.machine(),
        "system": platform.system(),
        "processor": processor(),
        "cores": os.cpu_count(),
        "commit": source_commit(),
        "packages": packages(),
        "composition": composition(),
    }


@functools.cache
def processor() -> str:
    """Name of the processor, as the system tells it."""
    told = Path("/proc/cpuinfo")  # only Linux has it
    lines = told.read_text(encoding="utf-8").splitlines() if told.exists() else []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or platform.machine())


@functools.cache
def packages() -> dict[str, str]:
    """Versions of all that is installed."""
    named = ((d.metadata["Name"], d.version) for d in importlib.metadata.distributions())
    return {name: version for name, version in named if name}
