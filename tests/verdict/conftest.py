"""A real sweep, offline, and what W&B's own reader says of its runs."""

import json
import os
import sys
from contextlib import redirect_stdout
from pathlib import Path

import pytest

from ..conftest import run_cells_here

# Small, but learning more than how frequent the words are: a collapsed run has no BLEU.
TINY = (
    *("scale=cpu", "data.n_train=400", "data.n_validation=20", "data.n_test=40"),
    *("data.n_test_long=20", "budget.steps=60", "budget.warmup=10", "budget.validate_every=30"),
    *("model.d_model=16", "model.d_ff=32", "model.n_layers=1", "model.n_heads=2"),
    *("optimizer.lr=0.02", "search=greedy", "logger=wandb", "logger.mode=offline"),
    *("logger.samples=0", "+experiment=sinusoidal_vs_learned_multi30k"),
    *("test_splits=[test,test_long]", "validation_search.max_ratio=0.5"),
)


@pytest.hookimpl(tryfirst=True)  # before each file gets a group of its own
def pytest_collection_modifyitems(items):
    """One worker makes the sweep, for all tests of it: it takes longer than they do."""
    for item in items:
        if item.path.parent == Path(__file__).parent:
            item.add_marker(pytest.mark.xdist_group("verdict"))


def leave_no_login(patch, home):
    """Let nobody use W&B on this machine."""
    for name in [name for name in os.environ if name.startswith("WANDB_")]:
        patch.delenv(name)
    patch.setenv("HOME", str(home))
    patch.setenv("NETRC", str(home / ".netrc"))


@pytest.fixture(autouse=True)
def nobody(monkeypatch, tmp_path):
    """A machine on which nobody uses W&B."""
    leave_no_login(monkeypatch, tmp_path / "home")


@pytest.fixture(scope="session")
def swept(tmp_path_factory, cache_folder):
    """The folder of a sweep from the command line, whose runs happen in this process."""
    from ablate.cli.main import main

    folder = tmp_path_factory.mktemp("sweep")
    paths = (f"paths.results={folder / 'results'}", f"paths.cache={cache_folder}")
    levels = ("budget.seeds=2", "model/position=sinusoidal,learned")
    (folder / "work").mkdir()
    with (
        pytest.MonkeyPatch.context() as patch,
        (folder / "printed").open("w") as printed,
        redirect_stdout(printed),
    ):
        leave_no_login(patch, folder)
        patch.chdir(folder / "work")
        patch.setattr("sys.path", [*sys.path])
        patch.setattr("sys.argv", ["ablate", *TINY, *paths, *levels, "-m"])
        run_cells_here(patch)
        patch.setattr("ablate.observe.pictures.pictures", lambda *_: ())  # for tests/tracking
        main()
    (swept,) = folder.glob("results/sweeps/sinusoidal_vs_learned_multi30k/*")
    return swept


@pytest.fixture
def read_offline(inspected):
    """Return the records of an offline run by type, with its summary and its files."""

    def read(folder):
        records = {"media": folder / "files", "summary": {}}
        for record in map(json.loads, inspected(folder).splitlines()):
            if record["type"] == "summary":
                records["summary"] |= record["summary"]["update"]
            else:
                records.setdefault(record["type"], []).append(record[record["type"]])
        return records

    return read
