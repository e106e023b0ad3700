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

import json
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any, cast

import numpy as np
import yaml
from omegaconf import DictConfig, OmegaConf

from ablate.errors import UserError, rank, say_once
from ablate.record import identity
from ablate.record.files import (
    acquire,
    append_line,
    check_links,
    digest,
    seal,
    write_arrays,
    write_json,
    write_tensors,
    write_text,
)
from ablate.record.results import (
    RESULT,
    Fingerprints,
    Result,
    digests,
    read_result,
)

# `failed` is missing, because a failed run is repeated
RESULTS = ("finished", "diverged", "collapsed")


class RecordFolder:
    """The folder of a training or an evaluation; a result.json shows that it is complete.

    The folder is named by the identity, a hash of everything that can change the results. Only the
    process of rank 0 writes. The result is sealed and contains the digests of all files that match
    the patterns in `kept`. If one of these files changes, the result is invalid.
    """

    kept: tuple[str, ...] = ("identity.json",)

    def __init__(self, parent: Path, parts: identity.Parts) -> None:
        self.parts = parts
        self.identity = digest(parts)
        self.folder = parent / self.identity
        self.seconds: dict[str, float] = {}
        self.writes = rank() == 0
        self._imported = {*sys.modules}
        self._start()

    def _start(self, earlier: float = 0.0) -> None:
        """Start to measure time; `earlier` is the number of seconds before an interruption."""
        self._started = time.monotonic() - earlier

    def result(self) -> Result | None:
        """Return the stored result; None if the result is missing, damaged or that of a failed run.

        A message about damage is printed once.
        """
        try:
            result = read_result(self.folder, self.identity)
        except UserError as error:
            say_once(f"{error}: the run will be repeated")
            return None
        return result if result and result["status"] in RESULTS else None

    def clear(self, *, keep: tuple[str, ...] = ()) -> None:
        """Create the folder if necessary, and remove its content except the names in `keep`."""
        self.folder.mkdir(parents=True, exist_ok=True)
        for path in self.folder.iterdir():
            if path.name not in keep:
                shutil.rmtree(path) if path.is_dir() else path.unlink()

    def describe(self) -> None:
        """Write identity.json with the identity and the values from which it was computed."""
        write_json(self.folder / "identity.json", {"identity": self.identity, **self.parts})

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Measure the seconds that a `with` block takes, and add them to the phase `name` in
        `seconds`.
        """
        start = time.perf_counter()
        yield
        self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start

    @property
    def wall_seconds(self) -> float:
        """Seconds since the start, including the seconds before an interruption."""
        return time.monotonic() - self._started

    def finish(self, status: str, metrics: Mapping[str, int | float | None], **more: Any) -> Result:
        """Write result.json, the last file of this folder, and return its content.

        The result of a failure lists no files, because its files change when the run resumes.

        Args:
            status: "finished", "diverged", "collapsed" or "failed".
            metrics: the metrics of the run, by name.
            more: further keys of the result.

        Raises:
            UserError: a module was changed after the identity was computed, and before it was
                imported.
        """
        if status in RESULTS:
            self._check_source()
        result = {
            "status": status,
            "identity": self.identity,
            "metrics": metrics,
            "seconds": {k: round(v, 3) for k, v in self.seconds.items()},
            "wall_seconds": round(self.wall_seconds, 3),
            "ended": round(time.time(), 3),
            "files": digests(self.folder, self.kept) if status in RESULTS else {},
            **more,
        }
        if self.writes:
            write_json(self.folder / RESULT, seal(result))
        return cast(Result, result)

    def _check_source(self) -> None:
        late = self.parts["modules"].keys() & (sys.modules.keys() - self._imported)
        if changed := sorted(name for name in late if identity.has_changed(name)):
            raise UserError(
                f"{', '.join(changed)}: the source changed while the run waited to import it, so "
                "the code of the run is unknown: start the run again"
            )


class EvaluationRecord(RecordFolder):
    """The folder of one evaluation, inside the folder of its training run.

    results/runs/<training identity>/tests/<identity>/
        identity.json   everything from which the identity, a hash, is computed
        test.hyp        translations, one line per sentence
        test.stats.npz  statistics of each sentence
        result.json     status, scores, and texts that a language model generated; exists only when
                        the evaluation has ended
    """

    kept = ("identity.json", "*.hyp", "*.stats.npz")

    def __init__(
        self, config: DictConfig, training: RecordFolder, tests: Mapping[str, str]
    ) -> None:
        parts = identity.evaluation_parts(config, training.identity, tests)
        super().__init__(training.folder / "tests", parts)

    def begin(self) -> None:
        """Start to measure time, empty the folder of the evaluation, and write its identity."""
        self._start()
        if self.writes:
            self.clear()
            self.describe()

    def keep(
        self,
        split: str,
        lines: list[str],
        statistics: dict[str, np.ndarray],
        groups: Sequence[str] | None = None,
    ) -> None:
        """Save the translations of a split (if there are any) and its statistics.

        Args:
            split: name of the split.
            lines: translations, one per sentence; empty for a task without translations.
            statistics: arrays with one row per sentence, by name.
            groups: name of the group of each sentence, if the corpus defines groups.
        """
        if not self.writes:
            return
        arrays = dict(statistics)
        if groups is not None:
            arrays["groups"] = np.unique(list(groups), return_inverse=True)[1]
        if lines:
            write_text(self.folder / f"{split}.hyp", "".join(f"{line}\n" for line in lines))
        write_arrays(self.folder / f"{split}.stats.npz", arrays)


class Record(RecordFolder):
    """The folder of one training run, with the evaluation that the config specifies.

    `text` and `weights` are hashes of the corpus and of the initial weights. `resumed` is true if
    an earlier process started or finished the training. `weights_digest` is the digest of the
    tested weights, once they exist. The results of training and evaluation both contain this
    digest.
    """

    kept = ("identity.json", "config.yaml", "environment.json", "metrics.jsonl", "tokenizer/*.json")

    def __init__(self, config: DictConfig, text: Fingerprints, weights: str) -> None:
        self.results = Path(config.paths.results)
        super().__init__(self.results / "runs", identity.parts(config, text.training, weights))
        self.config = config
        self.evaluation = EvaluationRecord(config, self, text.tests)
        self.current: RecordFolder = self  # the folder that records an error now
        self.resumed = False
        self.about: dict[str, Any] = {}  # description of the corpus
        self.weights_digest: str | None = None
        self.logger_failures: list[str] = []  # messages, for warnings at the end of a sweep
        self.metrics = self.folder / "metrics.jsonl"
        self.weights = self.folder / "weights.pt"
        self.checkpoints = self.folder / "checkpoints"

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Exclude other processes from this run while a `with` block runs; first wait if another
        process is executing the run.

        Raises:
            UserError: a link in the folder of the run leads out of `runs`.
        """
        lock: Any = nullcontext()
        if self.writes:
            path = self.results / "locks" / f"{self.identity}.lock"
            lock = acquire(path, "executing this run")
        with lock:
            check_links(self.folder, self.folder.parent)
            yield

    def stored_result(self) -> Result | None:
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

    def whole(self, trained: Result, tested: Result | None) -> Result:
        """Return the combined result of training and evaluation.

        Its identity is the identity of the evaluation; without an evaluation, of the training.
        """
        whole: Any = {key: value for key, value in trained.items() if key != "files"}
        whole |= {"training": self.identity, "folder": str(self.folder), "signatures": {}}
        if tested is not None:
            whole |= {key: tested[key] for key in ("identity", "signatures", "samples", "ended")}
            whole |= {key: {**trained[key], **tested[key]} for key in ("metrics", "seconds")}
            whole["wall_seconds"] = round(trained["wall_seconds"] + tested["wall_seconds"], 3)
            whole["evaluation"] = str(self.evaluation.folder)
        return cast(Result, whole)

    def begin(self) -> None:
        """Prepare the folder for a new training: start to measure time, remove all files except
        evaluations, and write config, identity and environment.
        """
        self._start()
        if self.writes:
            self.clear(keep=("tests",))
            self._introduce()

    def resume(self, metrics: str, wall_seconds: float) -> None:
        """Prepare the folder to resume training from a checkpoint: remove the metrics that were
        logged after the checkpoint.

        Args:
            metrics: content of metrics.jsonl at the checkpoint.
            wall_seconds: seconds of training before the checkpoint.
        """
        self._start(wall_seconds)
        self.seconds["training"] = wall_seconds
        if self.writes:
            (self.folder / "result.json").unlink(missing_ok=True)  # remove the result of a failure
            write_text(self.metrics, metrics)
            self._introduce()

    def _introduce(self) -> None:
        plain = OmegaConf.to_container(self.config, resolve=True)
        write_text(self.folder / "config.yaml", yaml.safe_dump(plain, sort_keys=False))
        self.describe()
        write_json(self.folder / "environment.json", {**identity.environment(), **self.about})

    def __enter__(self) -> "Record":
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Write an error into the result of the training, or of the evaluation if it is running."""
        if isinstance(error, Exception) and self.current.folder.is_dir():
            with suppress(OSError):  # a full disk cannot store the failure either
                self.current.finish("failed", {}, error=f"{type(error).__name__}: {error}")

    def log(self, values: dict[str, float], step: int) -> None:
        """Append a line of metrics to metrics.jsonl, unless the evaluation is running.

        Metrics of an evaluation go into its result.json.
        """
        if self.writes and self.current is self:
            line = {"step": step, "time": round(self.wall_seconds, 3), **values}
            append_line(self.metrics, json.dumps(line))

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
