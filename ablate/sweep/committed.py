"""Runs that stand in committed evidence count as done, in any checkout.

experiments/NAME has of every run what a verdict is made from, and no weights. Where a cell has the
identity of such a run its record is written from that, and the sweep finds it there as it finds a
run of an earlier sweep. A group can so be made in pieces, on machines that share no results.
"""

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from omegaconf import DictConfig

from ablate.errors import UserError
from ablate.record.files import write_arrays, write_json, write_text
from ablate.record.training import Record
from ablate.record.types import Environment
from ablate.study.evidence import Evidence
from ablate.study.gather import STATISTICS
from ablate.study.seal import RUNS
from ablate.study.types import Curve, Run
from ablate.sweep.cell import Cell
from ablate.sweep.preflight import corpus
from ablate.train.budgets import shortened


@dataclass(frozen=True)
class Committed:
    """The runs of an experiment that its evidence knows, each budget of them by its identity."""

    folder: Path
    evidence: Evidence | None = None
    runs: dict[str, Run] = field(default_factory=dict)

    @classmethod
    def of(cls, config: DictConfig) -> "Committed":
        """Those of the experiment of a config: none where it has no evidence, or with `fresh`.

        Evidence that is damaged is named, and counts for nothing.
        """
        folder = Path(config.paths.experiments) / config.name
        if config.fresh or not (folder / RUNS).exists():
            return cls(folder)
        try:
            evidence = Evidence.load(folder)
        except UserError as error:
            print(f"{error}: none of its runs count as done", flush=True)
            return cls(folder)
        ends = (end for run in (*evidence.runs, *evidence.screening) for end in _ends(run))
        return cls(folder, evidence, {end["identity"]: end for end in ends if end["identity"]})

    def has(self, record: Record) -> bool:
        """Whether the run of a record stands here."""
        return self._run(record) is not None

    def restore(self, cells: Sequence[Cell], data: Mapping[str, str]) -> int:
        """Write the records of those cells whose runs stand here, and return how many these are.

        `data` holds the fingerprints of the data, by `ablate.sweep.preflight.corpus`.

        Raises:
            UserError: the records cannot be written.
        """
        return sum(self._cell(cell.task_config(), data) for cell in cells) if self.runs else 0

    def _cell(self, config: DictConfig, data: Mapping[str, str]) -> bool:
        budgets = filter(None, (config, shortened(config)))
        records = [Record(one, data[corpus(one)]) for one in budgets]
        known = all(self.has(record) for record in records)
        return known and any([self._write(record) for record in records])

    def _run(self, record: Record) -> Run | None:
        """The run of a record, which its last part names."""
        return self.runs.get(record.evaluation.identity) or self.runs.get(record.identity)

    def _write(self, record: Record) -> bool:
        run = self._run(record)
        with record.locked():
            if run is None or record.found():
                return False
            told: dict[str, Any] = {"seconds": {}, "processor_seconds": None, "ended": run["ended"]}
            record.begin()
            write_json(record.folder / "environment.json", _environment(run))
            write_text(record.metrics, "".join(f"{json.dumps(line)}\n" for line in _lines(run)))
            more = {**told, "wall_seconds": run["seconds"]}
            trained = record.finish(run["status"], run["metrics"], **more)
            if record.evaluates(trained):
                self._write_test(record, run, told)
        return True

    def _write_test(self, record: Record, run: Run, told: dict[str, Any]) -> None:
        """Its metrics stand with those of training, as evidence does not tell them apart."""
        assert self.evidence is not None
        test = record.evaluation
        test.begin()
        for split, rows in self.evidence.statistics.get(run["identity"], {}).items():
            groups = (
                {"groups": self.evidence.groups[split]} if split in self.evidence.groups else {}
            )
            write_arrays(test.folder / f"{split}{STATISTICS}", {"bleu": rows, **groups})
        more = {**told, "wall_seconds": 0.0, "weights": None, "signatures": {}}
        test.finish(run["status"], {}, **more)


def _ends(run: Run) -> Iterator[Any]:
    """A run at its budget, and at the short one if it has one."""
    yield run
    if "short" in run:
        yield {"command": run["command"], "versions": run["versions"], **run["short"]}


def _environment(run: Run) -> Environment:
    """What evidence keeps of where a run was made."""
    packages = dict(run["versions"])
    return {
        "command": shlex.split(run["command"]),
        "python": packages.pop("python", ""),
        "machine": "",
        "system": "",
        "processor": "",
        "cores": None,
        "commit": None,
        "packages": packages,
    }


def _lines(run: Run) -> list[dict[str, Any]]:
    """Lines of metrics.jsonl, as far apart as updates took time."""
    lines = [*_points(run.get("training", {})), *_points(run["curve"])]
    second = run.get("update_seconds", 0.0)
    timed = ({"step": line["step"], "time": line["step"] * second, **line} for line in lines)
    return sorted(timed, key=lambda line: int(line["step"]))


def _points(curve: Curve) -> list[dict[str, Any]]:
    return [dict(zip(curve, values, strict=True)) for values in zip(*curve.values(), strict=True)]
