"""Define the folder in which a training run, or one of its evaluations, stores its results."""

import json
import shutil
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import numpy as np
import yaml
from omegaconf import DictConfig

from ablate.errors import UserError
from ablate.process import rank
from ablate.record import identity
from ablate.record.files import (
    clear_unfinished,
    seal,
    write_arrays,
    write_json,
    write_text,
    writing,
)
from ablate.record.sealed import RESULT, digests, read_result
from ablate.record.source import has_changed
from ablate.record.types import EvaluationParts, Result, TrainingParts

# `failed` is missing, because a failed run is repeated
RESULTS = ("finished", "diverged", "collapsed")


class RecordFolder:
    """The folder of a training or an evaluation; a result.json shows that it is complete.

    The folder is named by the identity, a hash of everything that can change the results. Only the
    process of rank 0 writes. The result is sealed and contains the digests of all files that match
    the patterns in `kept`. If one of these files changes, the result is invalid.
    """

    kept: tuple[str, ...] = ("config.yaml", "identity.json")

    def __init__(self, parent: Path, parts: TrainingParts | EvaluationParts) -> None:
        self.parts: TrainingParts | EvaluationParts = parts
        self.identity = identity.digest(parts)
        self.folder = parent / self.identity
        self.seconds: dict[str, float] = {}
        self.writes = rank() == 0
        self._imported = {*sys.modules}
        self._start()
        self._damage = ""

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
            if self.writes and str(error) != self._damage:
                print(f"{error}: the run will be repeated", flush=True)
            self._damage = str(error)
            return None
        return result if result and result["status"] in RESULTS else None

    def tidy(self) -> None:
        """Remove temporary files of killed processes; no other process may use this folder."""
        for folder in (self.folder, *self.folder.glob("*/"), *self.folder.glob("tests/*/")):
            clear_unfinished(folder)

    def clear(self, *, keep: tuple[str, ...] = ()) -> None:
        """Create the folder if necessary, and remove its content except the names in `keep`."""
        with writing(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
            for path in self.folder.iterdir():
                if path.name not in keep:
                    shutil.rmtree(path) if path.is_dir() else path.unlink()

    def describe(self, config: dict[str, object]) -> None:
        """Write config.yaml with the config, and identity.json with the identity and the values
        from which it was computed.
        """
        write_text(self.folder / "config.yaml", yaml.safe_dump(config, sort_keys=False))
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
        if changed := sorted(name for name in late if has_changed(name)):
            raise UserError(
                f"{', '.join(changed)}: the source changed while the run waited to import it, so "
                "the code of the run is unknown: start the run again"
            )


class EvaluationRecord(RecordFolder):
    """The folder of one evaluation, inside the folder of its training run.

    results/runs/<training identity>/tests/<identity>/
        config.yaml     the config keys that affect only testing
        identity.json   everything from which the identity, a hash, is computed
        test.hyp        translations, one line per sentence
        test.stats.npz  statistics of each sentence
        samples.json    texts that a language model generated
        result.json     status and scores; exists only when the evaluation has ended
    """

    parts: EvaluationParts
    kept = (*RecordFolder.kept, "*.hyp", "*.stats.npz", "samples.json")

    def __init__(
        self, config: DictConfig, training: RecordFolder, tests: Mapping[str, str]
    ) -> None:
        parts = identity.evaluation_parts(config, training.identity, tests)
        super().__init__(training.folder / "tests", parts)

    def begin(self) -> None:
        """Start to measure time, empty the folder of the evaluation, and write the config and the
        identity of the evaluation into the folder.
        """
        self._start()
        if self.writes:
            self.clear()
            self.describe(self.parts["config"])

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

    def keep_samples(self, texts: list[str]) -> None:
        """Save texts that the model generated."""
        if self.writes:
            write_json(self.folder / "samples.json", texts)

    def samples(self) -> list[str]:
        """Return the texts that the model generated; an empty list if there are none."""
        path = self.folder / "samples.json"
        texts: list[str] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else []
        return texts
