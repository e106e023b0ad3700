from types import SimpleNamespace

import numpy as np
import pytest
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer.event_file_writer import EventFileWriter

from ablate.cli.main import main

MEANS = {"relu": 3.28, "swiglu": 3.27, "gelu": 3.279}
SEEDS = {"relu": 12, "swiglu": 10, "gelu": 5}
GROUP = ({}, {"group": "g"})  # filters of W&B


def rows():
    """Runs of three arms with unequal numbers and variances; values fit 32-bit floats."""
    random = np.random.default_rng(0)
    for place, (arm, mean) in enumerate(MEANS.items()):
        for seed in range(SEEDS[arm]):
            value = float(np.float32(mean + (1 + place) * 0.001 * random.standard_normal()))
            yield {"variant": arm, "seed": seed, "val_loss": value}


@pytest.fixture
def records():
    return [*rows()]


@pytest.fixture
def runs_csv(tmp_path, records):
    path = tmp_path / "runs.csv"
    lines = ["variant,seed,val_loss", *(",".join(map(str, r.values())) for r in records)]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def ablate_command(monkeypatch, capsys):
    """Run the command line in this process; status, standard output, standard error."""

    def run(*words):
        monkeypatch.setattr("sys.argv", ["ablate", *map(str, words)])
        status = 0
        try:
            main()
        except SystemExit as end:
            status = end.code or 0
        out, err = capsys.readouterr()
        return status, out, err

    return run


class WandbRun:
    """A run as `wandb.Api().runs` gives it, recorded from the public API."""

    def __init__(self, number, settings, result):
        self.id, self.name, self.group, self.job_type = f"r{number}", f"run {number}", "g", None
        self.state, self.created_at = "finished", "2026-05-01T12:00:00Z"
        self.config = {**settings, "_wandb": {"v": 1}}
        self.summary_metrics = {**result, "_step": 1, "_wandb": {"runtime": 1}}
        self.history = [{**dict.fromkeys(result, 9.0), "_step": 0}, {**result, "_step": 1}]

    def scan_history(self):
        return iter(self.history)


@pytest.fixture
def wandb_project(monkeypatch):
    """Let W&B's API give the runs of the project me/project, which are all in the group g."""

    def project(rows):
        made = [WandbRun(number, *row) for number, row in enumerate(rows)]
        of_path = {"me/project": made}
        api = SimpleNamespace(runs=lambda path, filters: of_path[path] if filters in GROUP else [])
        monkeypatch.setattr("wandb.Api", lambda: api)

    return project


@pytest.fixture
def write_events():
    """Write an event file; `points` has a tag, a step and a value for each second from `began`."""

    def write(folder, began, points):
        writer = EventFileWriter(str(folder))
        for second, (tag, step, value) in enumerate(points, began):
            summary = Summary(value=[Summary.Value(tag=tag, simple_value=value)])
            writer.add_event(Event(step=step, wall_time=second, summary=summary))
        writer.close()

    return write
