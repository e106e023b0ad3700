"""The engines with the real things: a cluster of Ray, jobs of submitit."""

import json
import re
import subprocess
import sys

import pytest

from ablate.engine.base import Worker, elsewhere
from ablate.errors import UserError

from .conftest import done, left, wait_until


def test_a_worker_has_the_words_of_the_command_but_for_its_engine_and_folder(tmp_path):
    words = ["--config-dir", "engines", "+experiment=x", "engine=ray", "engine.workers=9", "-m"]
    command = elsewhere(words, tmp_path)
    assert command == [
        *(sys.executable, "-m", "ablate", "--config-dir", "engines", "+experiment=x", "-m"),
        *("engine=local", f"hydra.sweep.dir={tmp_path}"),
    ]


def test_a_worker_names_its_sweep_as_the_analysis_log_does(tmp_path):
    """The log has the path of the sweep relative to `paths.results`, which may be a link."""
    (tmp_path / "disk").mkdir()
    (tmp_path / "results").symlink_to("disk")
    sweep = tmp_path / "results" / "sweeps" / "x"
    assert elsewhere(["-m"], sweep)[-1] == f"hydra.sweep.dir={sweep}"


@pytest.mark.parametrize("status", [0, 1, 2])
def test_a_worker_that_has_done_what_it_could_is_not_started_again(tmp_path, status):
    assert Worker([sys.executable, "-c", f"exit({status})"], ".", tmp_path)() == status


@pytest.mark.parametrize("end", ["exit(143)", "import os; os.kill(os.getpid(), 9)"])
def test_a_worker_that_died_is_started_again(tmp_path, end):
    with pytest.raises(RuntimeError, match="a worker ended with status"):
        Worker([sys.executable, "-c", end], ".", tmp_path)()


@pytest.mark.parametrize(("engine", "package"), [("ray", "ray"), ("submitit", "submitit")])
def test_an_engine_that_is_not_installed_is_named_before_any_work(
    compose, monkeypatch, engine, package
):
    from ablate.config.construct import construct

    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(UserError, match=rf"engine={engine} needs {package}: pip install"):
        construct(compose(f"engine={engine}").engine)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_submitit_runs_a_sweep_as_a_quiet_one(start, tmp_path):
    pytest.importorskip("submitit")
    engine = ("engine=submitit", "engine.workers=2", "engine.cluster=local")
    assert_same(start("quiet"), start("jobs", *engine), tmp_path, "jobs")


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_ray_goes_on_when_a_node_is_killed(start, tmp_path):
    pytest.importorskip("ray")
    cluster = subprocess.Popen(
        [sys.executable, "-c", CLUSTER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    address = re.search(r"address (.+)", cluster.stdout.readline())[1]
    engine = ("engine=ray", "engine.workers=2", f"engine.address={address}")
    quiet, swept = start("quiet"), start("ray", *engine)
    wait_until(lambda: done(tmp_path / "ray") >= 3, swept)
    cluster.stdin.write("kill\n")
    cluster.stdin.flush()
    assert cluster.stdout.readline() == "killed\n"
    assert_same(quiet, swept, tmp_path, "ray")
    cluster.communicate("end\n")


CLUSTER = """
from ray.cluster_utils import Cluster
memory = 100 * 2**20
cluster = Cluster(initialize_head=True,
                  head_node_args={"num_cpus": 1, "object_store_memory": memory})
second = cluster.add_node(num_cpus=1, object_store_memory=memory)
print("address", cluster.address, flush=True)
input()
cluster.remove_node(second, allow_graceful=False)
print("killed", flush=True)
input()
cluster.shutdown()
"""


def assert_same(quiet, other, results, name):
    for process in (quiet, other):
        output, _ = process.communicate()
        assert process.returncode == 0, output
    assert left(results / name) == left(results / "quiet")
    (sweep,) = (results / name / "sweeps").glob("*/*")
    assert json.loads((sweep / "sweep.json").read_text())["failed"] == 0
