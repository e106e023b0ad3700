"""The engines with the real things: a cluster of Ray, jobs of submitit."""

import json
import re
import subprocess
import sys
from importlib.util import find_spec

import pytest

from .conftest import done, ended, results_of, wait_until


def needs(library):
    """Skip a test before its fixtures are made."""
    return pytest.mark.skipif(find_spec(library) is None, reason=f"{library} is not installed")


@needs("submitit")
@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_submitit_runs_a_sweep_as_a_quiet_one(quiet, start, tmp_path):
    engine = ("engine=submitit", "engine.workers=2", "engine.cluster=local")
    assert_same(quiet, start("jobs", *engine), tmp_path / "jobs")


@needs("ray")
@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_ray_goes_on_when_a_node_is_killed(quiet, start, tmp_path):
    cluster = subprocess.Popen(
        [sys.executable, "-c", CLUSTER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    address = re.search(r"address (.+)", cluster.stdout.readline())[1]
    engine = ("engine=ray", "engine.workers=2", f"engine.address={address}")
    swept = start("ray", *engine)
    wait_until(lambda: done(tmp_path / "ray") >= 3, swept)
    cluster.stdin.write("kill\n")
    cluster.stdin.flush()
    assert cluster.stdout.readline() == "killed\n"
    assert_same(quiet, swept, tmp_path / "ray")
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


def assert_same(quiet, process, results):
    ended(process)
    assert results_of(results) == quiet
    (sweep,) = (results / "sweeps").glob("*/*")
    assert json.loads((sweep / "sweep.json").read_text())["failed"] == 0
