"""The record of a run on disk, which verdicts are made from.

results/runs/<identity>/
    config.yaml        resolved config          identity.json   what the hash is made of
    environment.json   versions, command        metrics.jsonl   values as they come
    tokenizer/         to translate later       weights.pt      the tested weights
    test.hyp, test.stats.npz                    hypotheses and per-sentence statistics
    result.json        status and final metrics; exists only when the run has ended
"""

import importlib.metadata
import json
import os
import platform
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import yaml
from omegaconf import DictConfig, OmegaConf
from pytorch_lightning.utilities import rank_zero_only

from ablate.data.tokenizer import Tokenizers
from ablate.errors import UserError
from ablate.tracking import identity
from ablate.tracking.files import write_json, write_text

RESULTS = ("finished", "diverged", "collapsed")  # failed is not a result: it is tried again


class Record:
    """One run's folder. Only the first process of a run writes."""

    def __init__(self, config: DictConfig, data_fingerprint: str) -> None:
        self.parts = identity.parts(config, data_fingerprint)
        self.identity = identity.digest(self.parts)
        self.folder = Path(config.paths.results) / "runs" / self.identity
        self.config = config
        self.seconds: dict[str, float] = {}
        self.signatures: dict[str, str] = {}  # sacreBLEU's, of each score
        self.writes = getattr(rank_zero_only, "rank", 0) == 0
        self._started = time.time()

    def result(self) -> dict[str, Any] | None:
        """The result of an earlier run of the same identity, or None."""
        try:
            found: dict[str, Any] = json.loads((self.folder / "result.json").read_text())
        except (OSError, ValueError):
            return None
        return found if found.get("status") in RESULTS else None

    def __enter__(self) -> "Record":
        if not self.writes:
            return self
        try:
            shutil.rmtree(self.folder, ignore_errors=True)
            self.folder.mkdir(parents=True)
        except OSError as error:
            raise UserError(
                f"paths.results={self.config.paths.results}: cannot write there ({error.strerror})"
            ) from None
        plain: Any = OmegaConf.to_container(self.config, resolve=True)
        write_text(self.folder / "config.yaml", yaml.safe_dump(plain, sort_keys=False))
        write_json(self.folder / "identity.json", {"identity": self.identity, **self.parts})
        write_json(self.folder / "environment.json", environment())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if isinstance(error, Exception) and self.folder.is_dir():
            self.finish("failed", {}, error=f"{type(error).__name__}: {error}")

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Count the seconds of a part of the run."""
        start = time.perf_counter()
        yield
        self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start

    def log(self, values: dict[str, float], step: int) -> None:
        """Append one line of metrics."""
        if self.writes:
            line = {"step": step, "time": round(time.time() - self._started, 3), **values}
            with (self.folder / "metrics.jsonl").open("a") as file:
                file.write(json.dumps(line) + "\n")

    def keep_hypotheses(self, split: str, lines: list[str], statistics: np.ndarray) -> None:
        """Keep the translations of a split and their BLEU statistics, one row per sentence."""
        if self.writes:
            write_text(self.folder / f"{split}.hyp", "".join(f"{line}\n" for line in lines))
            np.savez_compressed(self.folder / f"{split}.stats.npz", bleu=statistics)

    def keep_tokenizers(self, tokenizers: Tokenizers) -> None:
        """Keep the vocabularies, without which the weights mean nothing."""
        if self.writes:
            folder = self.folder / "tokenizer"
            folder.mkdir(exist_ok=True)
            tokenizers.save(folder)

    def finish(
        self, status: str, metrics: dict[str, Any], *, error: str | None = None
    ) -> dict[str, Any]:
        """Write result.json, the last thing that a run does, and return what it says."""
        found: dict[str, Any] = {
            "status": status,
            "identity": self.identity,
            "seed": self.config.seed,
            "metrics": metrics,
            "signatures": self.signatures,
            "seconds": {k: round(v, 3) for k, v in self.seconds.items()},
            "wall_seconds": round(time.time() - self._started, 3),
        }
        if error is not None:
            found["error"] = error
        if self.writes:
            write_json(self.folder / "result.json", found)
        return found


def environment() -> dict[str, Any]:
    """What the numbers were made with."""
    return {
        "command": [Path(sys.argv[0]).name, *sys.argv[1:]],
        "python": platform.python_version(),
        "machine": platform.machine(),
        "system": platform.system(),
        "cores": os.cpu_count(),
        "commit": _commit(),
        "packages": {
            d.metadata["Name"]: d.version
            for d in importlib.metadata.distributions()
            if d.metadata["Name"]
        },
    }


def _commit() -> str | None:
    command = ["git", "-C", str(Path(__file__).parent), "rev-parse", "HEAD"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=5, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()
