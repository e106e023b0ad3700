"""Store the results of a run on disk, from which verdicts are computed.

results/runs/<identity>/
    config.yaml        resolved config
    identity.json      everything from which the identity, a hash, is computed
    environment.json   versions, command
    metrics.jsonl      metrics, in the order in which they are logged
    checkpoints/       exists during training
    weights.pt         the weights that are tested
    tokenizer/         needed to translate later
    tests/             evaluations (`EvaluationRecord`)
    result.json        status and metrics of training, digests of the files above, and a seal
                       (`ablate.record.files`); exists only when training has ended
"""

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any, cast

from omegaconf import DictConfig, OmegaConf

from ablate.errors import UserError
from ablate.record import identity
from ablate.record.environment import environment
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
from ablate.record.part import EvaluationRecord, RecordFolder
from ablate.record.types import CombinedResult, Fingerprints, Result, TrainingParts


class Record(RecordFolder):
    """The folder of one training run, with the evaluation that the config specifies.

    `text` and `weights` are hashes of the corpus and of the initial weights. `resumed` is true if
    an earlier process started or finished the training. `weights_digest` is the digest of the
    tested weights, once they exist. The results of training and evaluation both contain this
    digest.
    """

    parts: TrainingParts
    kept = (*RecordFolder.kept, "environment.json", "metrics.jsonl", "tokenizer/*.json")

    def __init__(self, config: DictConfig, text: Fingerprints, weights: str) -> None:
        self.results = Path(config.paths.results)
        super().__init__(self.results / "runs", identity.parts(config, text.training, weights))
        self.config = config
        self.evaluation = EvaluationRecord(config, self, text.tests)
        self.current: RecordFolder = self  # the folder that records an error now
        self.resumed = False
        self.corpus = ""  # description of the corpus
        self.weights_digest: str | None = None
        self.metrics = self.folder / "metrics.jsonl"
        self.weights = self.folder / "weights.pt"
        self.checkpoints = self.folder / "checkpoints"

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Exclude other processes from this run while a `with` block runs; first wait if another
        process is executing the run.

        Raises:
            UserError: the results folder is read-only, and the run must be executed; or a link in
                the folder of the run leads out of `runs`.
        """
        lock_context: Any = nullcontext()
        if self.writes:
            try:
                lock_path = self.results / "locks" / f"{self.identity}.lock"
                lock_context = acquire(lock_path, "executing this run")
            except OSError as error:
                if self.config.fresh or not self.stored_result():
                    raise UserError(
                        f"paths.results={self.results}: cannot write there ({error.strerror})"
                    ) from None
        with lock_context as lock:
            check_links(self.folder, self.folder.parent)
            if lock is not None:
                self.tidy()
            yield

    def stored_result(self) -> CombinedResult | None:
        """Return the combined result of training and evaluation; None if a result is missing.

        A training that is not tested, such as a diverged run, needs no result of an evaluation.
        """
        trained = self.result()
        if trained is None or not self.evaluates(trained):
            return trained and self.whole(trained, None)
        tested = self.evaluation.result()
        # the evaluation used weights that no longer exist
        if tested is None or tested["weights"] != trained["weights"]:
            return None
        return self.whole(trained, tested)

    def evaluates(self, trained: Result) -> bool:
        """Return whether a training with this result has weights to test."""
        return self.config.probe is None and trained["status"] != "diverged"

    def whole(self, trained: Result, tested: Result | None) -> CombinedResult:
        """Return the combined result of training and evaluation.

        Its identity is the identity of the evaluation; without an evaluation, of the training.
        """
        whole: Any = {key: value for key, value in trained.items() if key != "files"}
        whole |= {"training": trained["identity"], "folder": str(self.folder)}
        if tested is None:
            return cast(CombinedResult, {"signatures": {}, **whole})
        both = {
            **whole,
            "identity": tested["identity"],
            "evaluation": str(self.evaluation.folder),
            "metrics": {**trained["metrics"], **tested["metrics"]},
            "signatures": tested["signatures"],
            "seconds": {**trained["seconds"], **tested["seconds"]},
            "wall_seconds": round(trained["wall_seconds"] + tested["wall_seconds"], 3),
            "ended": max(trained["ended"], tested["ended"]),
        }
        return cast(CombinedResult, both)

    def begin(self) -> None:
        """Prepare the folder for a new training: start to measure time, remove all files except
        evaluations, and write config, identity and environment.
        """
        self._start()
        if self.writes:
            self.clear(keep=("tests",))
            self._introduce()

    def resume(self, metrics_bytes: int, wall_seconds: float) -> None:
        """Prepare the folder to resume training from a checkpoint: remove the metrics that were
        logged after the checkpoint.

        Args:
            metrics_bytes: length of metrics.jsonl at the checkpoint.
            wall_seconds: seconds of training before the checkpoint.
        """
        self._start(wall_seconds)
        self.seconds["training"] = wall_seconds
        if self.writes:
            (self.folder / "result.json").unlink(missing_ok=True)  # remove the result of a failure
            with writing(self.metrics):
                self.metrics.touch()
                os.truncate(self.metrics, metrics_bytes)
            self._introduce()

    def _introduce(self) -> None:
        if self.config.probe is None:
            # fail before training rather than after it
            check_writable(self.evaluation.folder.parent)
        plain: Any = OmegaConf.to_container(self.config, resolve=True)
        self.describe(plain)
        about = {**environment(), "corpus": self.corpus}
        write_json(self.folder / "environment.json", about)

    def __enter__(self) -> "Record":
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, Exception) and self.current.folder.is_dir():
            with suppress(UserError):  # a full disk cannot store the failure either
                self.fail(error)

    def fail(self, error: Exception) -> None:
        """Write an error into the result of the training, or of the evaluation if it is running."""
        self.current.finish("failed", {}, error=f"{type(error).__name__}: {error}")

    def log(self, values: dict[str, float], step: int) -> None:
        """Append a line of metrics to metrics.jsonl, unless the evaluation is running.

        Metrics of an evaluation go into its result.json.
        """
        if self.writes and self.current is self:
            line = {"step": step, "time": round(self.wall_seconds, 3), **values}
            append_line(self.metrics, json.dumps(line))

    def note_logger_failure(self, sentence: str) -> None:
        """Store that a logger failed, for a warning at the end of a sweep; ignore a full disk."""
        if self.writes:
            with suppress(UserError):
                append_line(self.folder / LOGGER_FAILURES, sentence)

    def metrics_bytes(self) -> int:
        """Return the length of metrics.jsonl in bytes."""
        return self.metrics.stat().st_size if self.metrics.exists() else 0

    def metrics_digest(self, length: int) -> str:
        """Return the SHA-256 of the first `length` bytes of metrics.jsonl."""
        content = self.metrics.read_bytes() if self.metrics.exists() else b""
        return hashlib.sha256(content[:length]).hexdigest()

    def keep_weights(self, weights: Mapping[str, object]) -> None:
        """Save the weights that are tested, and store their digest in `weights_digest`."""
        if self.writes:
            self.weights_digest = write_tensors(self.weights, weights)

    def keep_tokenizers(self, save: Callable[[Path], None]) -> None:
        """Save the vocabularies, without which the weights cannot be used.

        Args:
            save: function that writes the vocabularies into a folder.
        """
        if self.writes:
            folder = self.folder / "tokenizer"
            with writing(folder):
                folder.mkdir(exist_ok=True)
                save(folder)

    def finish(self, status: str, metrics: Mapping[str, int | float | None], **more: Any) -> Result:
        """Write result.json of training, and return its content; unless the run failed, remove its
        checkpoints, which are no longer needed.
        """
        more = {"seed": self.config.seed, "weights": self.weights_digest, **more}
        result = super().finish(status, metrics, **more)
        if status != "failed":
            self.drop_checkpoints()
        return result

    def drop_checkpoints(self) -> None:
        """Remove checkpoints, which are needed only during training."""
        if self.writes:
            shutil.rmtree(self.checkpoints, ignore_errors=True)
