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
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, cast

import numpy as np
from omegaconf import DictConfig, OmegaConf

from ablate.errors import UserError, rank, say_once
from ablate.record import files, identity
from ablate.record.results import IDENTITY, RESULT, Fingerprints, Result, read_result

TESTS = "tests"  # folder of the evaluations in the folder of a training run


class RecordFolder:
    """The folder of a training or an evaluation; a result.json shows that it is complete.

    The folder is named by the identity, a hash of everything that can change the results. Only the
    process of rank 0 writes. The result is sealed and contains the digests of all files that match
    the patterns in `kept`. If one of these files changes, the result is invalid. A run that fails
    has no result.
    """

    kept: tuple[str, ...] = (IDENTITY,)

    def __init__(self, parent: Path, parts: identity.Parts) -> None:
        self.parts = parts
        self.identity = files.digest(parts)
        self.folder = parent / self.identity
        self.seconds: dict[str, float] = {}
        self.writes = rank() == 0
        self._imported = {*sys.modules}
        self._started = time.monotonic()

    def result(self) -> Result | None:
        """Return the stored result; None if the result is missing or damaged.

        A message about damage is printed once.
        """
        try:
            return read_result(self.folder, self.identity)
        except UserError as error:
            say_once(f"{error}: the run will be repeated")
            return None

    def begin(self) -> None:
        """Start to measure time, clear the folder, and write the identity of the run in it."""
        self._started = time.monotonic()
        if self.writes:
            self.clear()
            self.write_identity()

    def clear(self) -> None:
        """Create the folder if necessary, and remove its content except the evaluations in it."""
        self.folder.mkdir(parents=True, exist_ok=True)
        for path in self.folder.iterdir():
            if path.name != TESTS:
                shutil.rmtree(path) if path.is_dir() else path.unlink()

    def write_identity(self) -> None:
        """Write identity.json with the identity and the values from which it was computed."""
        files.write_json(self.folder / IDENTITY, {"identity": self.identity, **self.parts})

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

        Args:
            status: "finished", "diverged" or "collapsed".
            metrics: the metrics of the run, by name.
            more: further keys of the result.

        Raises:
            UserError: a module was changed after the identity was computed, and before it was
                imported.
        """
        self._check_source()
        result = {
            "status": status,
            "identity": self.identity,
            "metrics": metrics,
            "seconds": {k: round(v, 3) for k, v in self.seconds.items()},
            "wall_seconds": round(self.wall_seconds, 3),
            "ended": round(time.time(), 3),
            "files": files.digests(self.folder, self.kept),
            **more,
        }
        if self.writes:
            files.write_json(self.folder / RESULT, files.seal(result))
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

    kept = (IDENTITY, "*.hyp", "*.stats.npz")

    def __init__(
        self, config: DictConfig, training: RecordFolder, tests: Mapping[str, str]
    ) -> None:
        parts = identity.evaluation_parts(config, training.identity, tests)
        super().__init__(training.folder / TESTS, parts)

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
        if groups is not None:
            statistics = {**statistics, "groups": np.unique([*groups], return_inverse=True)[1]}
        if lines:
            files.write_text(self.folder / f"{split}.hyp", "".join(f"{line}\n" for line in lines))
        files.write_arrays(self.folder / f"{split}.stats.npz", statistics)


class Record(RecordFolder):
    """The folder of one training run, with the evaluation that the config specifies.

    `text` and `weights` are hashes of the corpus and of the initial weights. `resumed` is true if
    an earlier process started or finished the training. `weights_digest` is the digest of the
    tested weights, once they exist. The results of training and evaluation both contain this
    digest.
    """

    kept = (IDENTITY, "config.yaml", "environment.json", "metrics.jsonl", "tokenizer/*.json")

    def __init__(self, config: DictConfig, text: Fingerprints, weights: str) -> None:
        self.results = Path(config.paths.results)
        super().__init__(self.results / "runs", identity.parts(config, text.training, weights))
        self.config = config
        self.evaluation = EvaluationRecord(config, self, text.tests)
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
        path = self.results / "locks" / f"{self.identity}.lock"
        with files.acquire(path, "executing this run") if self.writes else nullcontext():
            files.check_links(self.folder, self.folder.parent)
            yield

    def stored_result(self) -> Result | None:
        """Return the combined result of training and evaluation; None if a result is missing.

        A run that is not tested, such as a diverged run, is complete without an evaluation.
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

    def resume(self, metrics: str, wall_seconds: float) -> None:
        """Prepare the folder to resume training from a checkpoint: remove the metrics that were
        logged after the checkpoint.

        Args:
            metrics: content of metrics.jsonl at the checkpoint.
            wall_seconds: seconds of training before the checkpoint.
        """
        self._started = time.monotonic() - wall_seconds
        self.seconds["training"] = wall_seconds
        if self.writes:
            (self.folder / RESULT).unlink(missing_ok=True)  # a damaged result
            files.write_text(self.metrics, metrics)
            self.write_identity()

    def write_identity(self) -> None:
        """Write identity.json, config.yaml, and environment.json."""
        super().write_identity()
        files.write_text(self.folder / "config.yaml", OmegaConf.to_yaml(self.config, resolve=True))
        files.write_json(self.folder / "environment.json", {**identity.environment(), **self.about})

    def log(self, values: dict[str, float], step: int) -> None:
        """Append a line of metrics to metrics.jsonl, unless the training has ended.

        Metrics of an evaluation go into its result.json.
        """
        if self.writes and not (self.folder / RESULT).exists():
            line = {"step": step, "time": round(self.wall_seconds, 3), **values}
            files.append_line(self.metrics, json.dumps(line))

    def keep(self, weights: Mapping[str, object], save: Callable[[Path], None]) -> None:
        """Save the weights that are tested, with their digest in `weights_digest`, and the
        vocabularies, without which the weights cannot be used.

        Args:
            weights: the weights by name.
            save: function that writes the vocabularies into a folder.
        """
        if self.writes:
            self.weights_digest = files.write_tensors(self.weights, weights)
            folder = self.folder / "tokenizer"
            folder.mkdir(exist_ok=True)
            save(folder)

    def finish(self, status: str, metrics: Mapping[str, int | float | None], **more: Any) -> Result:
        """Write result.json of training, return its content, and remove the checkpoints, which are
        no longer needed.
        """
        result = super().finish(status, metrics, weights=self.weights_digest, **more)
        self.drop_checkpoints()
        return result

    def drop_checkpoints(self) -> None:
        """Remove checkpoints, which are needed only during training."""
        if self.writes:
            shutil.rmtree(self.checkpoints, ignore_errors=True)
