"""Start the processes of the two sides of a comparison, and measure them alternately."""

import statistics
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from ablate.config.settle import fastest
from ablate.errors import UserError
from ablate.record.training import Record
from ablate.train.job import prepare_data
from ablate.train.resolve import resolve
from lab.bench.command import environment, finish, run, start
from lab.bench.export import export_text, export_weights
from lab.bench.ours import compose
from lab.bench.record import Row, row
from lab.bench.table import number

CORPUS = ("data=multi30k", "batch.tokens=4096", "model/residual=post_ln")
TINY = ("model=tiny", *CORPUS)
WIDE = ("model=small", *CORPUS)
PRECISION, _ = fastest("cpu")  # precision of rows without another precision
FAST = f"trainer.precision={PRECISION}"
ENDLESS = ("budget.steps=1000000", "budget.warmup=2000", "budget.validate_every=1000000")


@dataclass
class Setting:
    """The settings of a comparison, with methods that measure each side.

    Attributes:
        options: values of the options on the command line.
        rest: overrides for all processes of `ablate`.
        folder: folder for temporary files.
    """

    options: dict[str, Any]
    rest: list[str]
    folder: Path

    def ours(
        self,
        mode: str,
        overrides: Sequence[str],
        *flags: str,
        threads: int | None = None,
    ) -> Any:
        """Start a measured process of `ablate`; `lab.bench.command.finish` returns its results.

        Args:
            mode: train, greedy or beam.
            overrides: overrides of the run.
            flags: further flags of `lab.bench.ours`.
            threads: number of threads; None: the option `threads`.
        """
        threads = threads or self.options["threads"]
        weights = "-" if mode == "train" else str(self.run / "weights.pt")
        words = [*overrides, *ENDLESS, f"threads={threads}", *self.rest]
        times = [str(self.options["seconds"]), weights, "--warm-up", str(self.options["warm_up"])]
        command = ["-m", "lab.bench.ours", mode, *times, *flags, *words]
        return start(command, environment(threads))

    def several(self, mode: str, *arms: Sequence[str]) -> float:
        """Run one process with one thread for each arm simultaneously; return their summed speed.

        `mode` is train, greedy or beam. `arms` are the overrides of each process.
        """
        return _rate([self.ours(mode, arm, "--wait", threads=1) for arm in arms])

    def decoding(self, mode: str) -> float:
        """Return the sentences per second of `ablate`, summed over one worker for each thread.

        A sweep tests its runs in the same way. `mode` is greedy or beam.
        """
        return self.several(mode, *[TINY] * self.options["threads"])

    def baseline(
        self,
        mode: str,
        arguments: Sequence[str],
        *,
        script: str = "lab/bench/baseline.py",
        python: str = sys.executable,
        **variables: str,
    ) -> Any:
        """Run the hand-written loop, or a script that measures another toolkit.

        Args:
            mode: train, greedy or beam.
            arguments: further arguments of the script.
            script: the script.
            python: interpreter of the script.
            variables: further environment variables.

        Returns:
            the JSON that the script prints.
        """
        threads = self.options["threads"]
        times = {key: str(self.options[key]) for key in ("seconds", "warm_up")}
        command = [script, mode, "--data", str(self.text), "--threads", str(threads)]
        command += ["--seconds", times["seconds"], "--warmup", times["warm_up"], *arguments]
        if mode != "train":
            command += ["--load", str(self.weights)]
        return run(command, environment(threads, **variables), python)

    def alternate(
        self,
        what: str,
        ours: Callable[[], float],
        other: Callable[[], float],
        unit: str,
        settings: str,
    ) -> Row:
        """Measure both sides alternately in all rounds, print the ratios, and return the row.

        Args:
            what: name of the row.
            ours: measures `ablate` once.
            other: measures the other side once.
            unit: unit of both results.
            settings: description of the two sides.
        """
        mine, theirs = [], []
        for nth in range(1, self.options["rounds"] + 1):
            mine.append(ours())
            theirs.append(other())
            figures = f"{number(mine[-1])} against {number(theirs[-1])} {unit}"
            print(f"{what} round {nth}: {figures}", flush=True)
        print(f"{what}: {statistics.median(m / t for m, t in zip(mine, theirs, strict=True)):.2f}")
        return row(what, mine, theirs, unit, settings)

    @cached_property
    def text(self) -> Path:
        """The folder with the corpus as token ids, which is written for the other side."""
        config = compose([*TINY, *self.rest])
        export_text(prepare_data(resolve(config)), self.folder)
        return self.folder

    @cached_property
    def weights(self) -> Path:
        """The file with the weights of `run` under the baseline's parameter names."""
        return export_weights(self.run / "weights.pt", self.folder)

    @cached_property
    def run(self) -> Path:
        """The folder of the run whose weights decode: the option `run`, or a short run.

        Raises:
            UserError: the folder has no weights.
        """
        given = self.options["run"]
        folder = Path(given).resolve() if given else self._train()
        if not (folder / "weights.pt").is_file():
            raise UserError(f"run={folder} has no weights.pt; give the folder of a finished run.")
        return folder

    def _train(self) -> Path:
        """Train a short run unless it exists, and return its folder."""
        steps, threads = self.options["training_steps"], self.options["threads"]
        overrides = [*TINY, FAST, "name=bench", "logger=none", f"threads={threads}", *self.rest]
        budget = [f"budget.{key}={steps}" for key in ("steps", "validate_every")]
        # such a short run of Post-LN collapses at the usual learning rate of 0.005
        overrides += [*budget, f"budget.warmup={max(1, steps // 3)}", "optimizer.lr=0.001"]
        config = compose(overrides)
        overrides.append(f"paths.results={config.paths.cache}/bench")
        config.paths.results = f"{config.paths.cache}/bench"
        print(f"training {steps} steps for weights to decode with", flush=True)
        command = [sys.executable, "-m", "ablate", *overrides]
        subprocess.run(command, env=environment(threads), check=False)
        job = resolve(config)
        return Record(config, prepare_data(job).fingerprints, job.initial.fingerprint()).folder


def _rate(processes: Sequence[Any]) -> float:
    """Start the measurements of waiting processes simultaneously; return the sum of their speeds.

    Raises:
        UserError: a process has failed.
    """
    for process in processes:
        next((line for line in process.stdout if line == "ready\n"), None)
    for process in processes:
        with suppress(BrokenPipeError):  # the process has failed; `finish` raises an error below
            process.stdin.write("\n")
            process.stdin.flush()
    return float(sum(finish(process)["rate"] for process in processes))
