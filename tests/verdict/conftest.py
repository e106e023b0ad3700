"""A real sweep, offline, and W&B's reader played by what that sweep would upload."""

import json
import os
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from wandb.apis.public import Run

from ..conftest import run_cells_here

PROJECT = "team/ablate"
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


@pytest.fixture(autouse=True)
def nobody(monkeypatch, tmp_path):
    """A machine on which nobody uses W&B."""
    for name in [name for name in os.environ if name.startswith("WANDB_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("NETRC", str(tmp_path / "home" / ".netrc"))


@pytest.fixture(scope="session")
def results(tmp_path_factory, cache_folder):
    """Results of a sweep from the command line, whose runs happen in this process."""
    from ablate.cli.main import main

    folder = tmp_path_factory.mktemp("sweep")
    paths = (f"paths.results={folder / 'results'}", f"paths.cache={cache_folder}")
    levels = ("budget.seeds=2", "model/position=sinusoidal,learned")
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith("WANDB_")]:
            patch.delenv(name)
        patch.setenv("HOME", str(folder))
        patch.chdir(folder)
        patch.setattr("sys.path", [*sys.path])
        patch.setattr("sys.argv", ["ablate", *TINY, *paths, *levels, "-m"])
        run_cells_here(patch)
        main()
    return folder / "results"


@pytest.fixture(scope="session")
def swept(results):
    """The folder of the sweep."""
    (folder,) = (results / "sweeps" / "sinusoidal_vs_learned_multi30k").iterdir()
    return folder


@pytest.fixture(scope="session")
def offline(results, inspected):
    """What W&B's own reader says of every offline run."""
    return [_read(path, inspected) for path in sorted(results.glob("**/offline-run-*"))]


@pytest.fixture
def read_offline(inspected):
    """Return an offline run as W&B shows it after the upload."""
    return lambda folder: StandIn(_read(folder, inspected))


@pytest.fixture
def uploaded(offline, monkeypatch, tmp_path):
    """The runs of W&B after all of them are uploaded."""
    monkeypatch.setenv("WANDB_DIR", str(tmp_path))
    return [StandIn(records) for records in offline]


@pytest.fixture
def analysis(uploaded):
    """The analysis run of the sweep."""
    (analysis_run,) = (run for run in uploaded if run.job_type == "analysis")
    return analysis_run


def _read(folder, inspected):
    records = {"folder": folder}
    for record in map(json.loads, inspected(folder).splitlines()):
        records.setdefault(record["type"], []).append(record[record["type"]])
    return records


class StandIn(Run):
    """A run as `wandb.Api` shows it, of what an offline run has written."""

    def __init__(self, records):
        (started,) = records["run"]
        config = started["config"]["update"]
        for more in records.get("config", []):
            config = {**config, **more["update"]}
        summary = {k: v for part in records["summary"] for k, v in part["update"].items()}
        shown = {
            "name": started["run_id"],
            "displayName": started["display_name"],
            "group": started["run_group"],
            "jobType": started["job_type"],
            "tags": started["tags"],
            "state": "finished",
            "config": json.dumps({key: {"value": value} for key, value in config.items()}),
            "summaryMetrics": json.dumps(summary),
        }
        team, project = PROJECT.split("/")
        super().__init__(None, team, project, started["run_id"], attrs=shown, lazy=False)
        self.records = records
        self.media = records["folder"] / "files"
        self.artifacts = [Artifact(made) for made in records.get("artifact", [])]


@dataclass
class Artifact:
    """An artifact of a run."""

    made: dict
    created_at: str = "2026-01-01T00:00:00"
    contents: list = field(init=False)

    def __post_init__(self):
        self.name, self.type = f"{self.made['name']}:v0", self.made["type"]
        self.contents = self.made["manifest"]["contents"]
