"""One half of a run's record: what training left, or what an evaluation of it left."""

import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import yaml
from pytorch_lightning.utilities import rank_zero_only

from ablate.errors import UserError
from ablate.record.files import clear_unfinished, seal, write_json, write_text, writing
from ablate.record.identity import digest
from ablate.record.sealed import RESULT, digests, read_result
from ablate.record.types import EvaluationParts, Result, TrainingParts

RESULTS = ("finished", "diverged", "collapsed")  # failed is not a result: it is tried again


class Part:
    """A folder that an identity names, and that ends with a result.json.

    Only the first process of a run writes. The result is sealed and has the digests of the files
    that the patterns in `kept` name: with one of them changed, it is no result any more.
    """

    kept: tuple[str, ...] = ("config.yaml", "identity.json")

    def __init__(self, parent: Path, parts: TrainingParts | EvaluationParts) -> None:
        self.parts: TrainingParts | EvaluationParts = parts
        self.identity = digest(parts)
        self.folder = parent / self.identity
        self.seconds: dict[str, float] = {}
        self.writes = getattr(rank_zero_only, "rank", 0) == 0
        self._start()
        self._damage = ""

    def _start(self, earlier: float = 0.0) -> None:
        """Start the clocks; `earlier` are the seconds before an interruption."""
        self._started = time.monotonic() - earlier
        # what was used before an interruption is not known
        self._used = None if earlier else time.process_time()

    def result(self) -> Result | None:
        """The result that lies there, or None; a damaged one is named, once."""
        try:
            found = read_result(self.folder, self.identity)
        except UserError as error:
            if self.writes and str(error) != self._damage:
                print(f"{error}: what it said is made again", flush=True)
            self._damage = str(error)
            return None
        return found if found and found["status"] in RESULTS else None

    def tidy(self) -> None:
        """Remove what a process that was killed was writing; nobody else may be at this part."""
        for folder in (self.folder, *self.folder.glob("*/"), *self.folder.glob("tests/*/")):
            clear_unfinished(folder, alone=True)

    def clear(self, *, keep: tuple[str, ...] = ()) -> None:
        """Make the folder, and empty it but for `keep`."""
        with writing(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
            for path in self.folder.iterdir():
                if path.name not in keep:
                    shutil.rmtree(path) if path.is_dir() else path.unlink()

    def describe(self, config: dict[str, object]) -> None:
        """Write what this part was asked for, and what its identity is made of."""
        write_text(self.folder / "config.yaml", yaml.safe_dump(config, sort_keys=False))
        write_json(self.folder / "identity.json", {"identity": self.identity, **self.parts})

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Count the seconds of a part of the run."""
        start = time.perf_counter()
        yield
        self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start

    @property
    def wall_seconds(self) -> float:
        """Seconds since this part has begun, those before an interruption counted."""
        return time.monotonic() - self._started

    @property
    def processor_seconds(self) -> float | None:
        """Seconds of processor time, which no other work stretches; None after an interruption."""
        return None if self._used is None else round(time.process_time() - self._used, 3)

    def finish(self, status: str, metrics: Mapping[str, int | float | None], **more: Any) -> Result:
        """Write result.json, the last thing that this part does, and return what it says.

        A failure has no files: they change when it is gone on with.
        """
        found = {
            "status": status,
            "identity": self.identity,
            "metrics": metrics,
            "seconds": {k: round(v, 3) for k, v in self.seconds.items()},
            "wall_seconds": round(self.wall_seconds, 3),
            "processor_seconds": self.processor_seconds,
            "ended": round(time.time(), 3),
            "files": digests(self.folder, self.kept) if status in RESULTS else {},
            **more,
        }
        if self.writes:
            write_json(self.folder / RESULT, seal(found))
        return cast(Result, found)
