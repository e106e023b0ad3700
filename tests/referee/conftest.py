import numpy as np
import pytest
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer.event_file_writer import EventFileWriter

from ablate.cli.main import main

MEANS = {"relu": 3.28, "swiglu": 3.27, "gelu": 3.279}
SEEDS = {"relu": 12, "swiglu": 10, "gelu": 5}


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
