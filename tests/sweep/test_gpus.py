"""Runs on GPUs that this machine does not have: places, environments, workers that die."""

import json
import os
import stat
import threading
import time

import pytest
import torch
from omegaconf import OmegaConf

from ablate.engine import DevicePool, Local, run_in_child
from ablate.errors import UserError
from ablate.train.resolve import limit_memory

EIGHT_CORES = lambda process: set(range(8))  # noqa: E731


@pytest.fixture
def gpus(monkeypatch):
    """Pretend that this machine has GPUs with these names, and eight cores."""

    def pretend(*names):
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", ",".join(names))
        monkeypatch.setattr("torch.cuda.device_count", lambda: len(names))
        monkeypatch.setattr("os.sched_getaffinity", EIGHT_CORES)
        monkeypatch.setattr("ablate.engine.PRELOADED", "json")  # imports nothing slow

    return pretend


def config(devices=1, n_jobs=None):
    trainer = {"accelerator": "gpu", "devices": devices}
    given = {"n_jobs": n_jobs, "threads": 1, "trainer": trainer, "logger": None}
    return OmegaConf.create(given)


def local(per_gpu=1, mps=False):
    return Local(per_gpu=per_gpu, mps=mps)


class Task:
    """A run that writes the environment of its process to a file."""

    def __init__(self, path, end=""):
        self.path, self.end = path, end

    def __call__(self, place=None):
        run_in_child(exec, TELL, {"place": place, "path": str(self.path), "end": self.end})
        return True


# text, because the process would import torch with this module
TELL = """
import json, os
os.sched_setaffinity = lambda process, cores: os.environ.update(CORES=str(cores))
place()
names = ("CUDA_VISIBLE_DEVICES", "CUDA_MPS_PIPE_DIRECTORY", "CORES")
with open(path, "w") as file:
    json.dump({name: os.environ.get(name) for name in names}, file)
exec(end)
"""


def environments(engine, tasks, devices=1):
    with engine.session(config(devices)):
        assert all(future.result() for future in [engine.submit(task) for task in tasks])
    return [json.loads(task.path.read_text()) for task in tasks]


@pytest.mark.parametrize(
    ("per_gpu", "devices", "n_jobs", "size"),
    [
        (1, 1, None, 4),
        (3, 1, None, 12),
        (1, 2, None, 2),
        (2, 4, None, 2),
        (1, -1, None, 1),
        (1, 1, 5, 5),
    ],
)
def test_a_sweep_uses_all_gpus(gpus, per_gpu, devices, n_jobs, size):
    gpus("0", "1", "2", "3")
    assert local(per_gpu).size(config(devices, n_jobs)) == size


def test_a_run_on_two_devices_gets_two_gpus_as_soon_as_they_are_free(gpus):
    gpus("0", "1", "2")
    places, order = DevicePool(["0", "1", "2"], per_gpu=1, gpus_per_run=2), []

    def two():
        with places.take() as place:
            order.append(place.environment["CUDA_VISIBLE_DEVICES"])

    waiting = threading.Thread(target=two)
    with places.take() as first:
        assert first.environment["CUDA_VISIBLE_DEVICES"] == "0,1"
        waiting.start()
        waiting.join(0.1)
        assert order == []
    waiting.join()
    assert order == ["0,1"]
    with DevicePool(["0", "1", "2"], per_gpu=1, gpus_per_run=None).take() as place:
        assert place.environment["CUDA_VISIBLE_DEVICES"] == "0,1,2"


def test_the_processes_of_runs_see_their_gpus_and_a_run_that_dies_gives_them_back(gpus, tmp_path):
    gpus("4", "5")
    ends = ["os.kill(os.getpid(), 9)", "", "", "os.kill(os.getpid(), 15)", "", ""]
    tasks = [Task(tmp_path / str(n), end=end) for n, end in enumerate(ends)]
    seen = environments(local(per_gpu=2), tasks)
    assert {run["CUDA_VISIBLE_DEVICES"] for run in seen} == {"4", "5"}
    assert {run["CORES"] for run in seen} <= {"[0, 1]", "[2, 3]", "[4, 5]", "[6, 7]"}
    both = environments(local(), [Task(tmp_path / "both")], devices=2)
    assert [(run["CUDA_VISIBLE_DEVICES"], run["CORES"]) for run in both] == [
        ("4,5", "[0, 1, 2, 3, 4, 5, 6, 7]")
    ]


def test_a_sweep_that_is_stopped_ends_its_runs_and_goes_on_with_all_gpus(gpus, tmp_path):
    gpus("4", "5")
    engine, endless = local(), Task(tmp_path / "endless", end="import time; time.sleep(600)")
    with pytest.raises(KeyboardInterrupt), engine.session(config()):
        futures = [engine.submit(task) for task in (endless, endless, Task(tmp_path / "never"))]
        while not endless.path.exists():
            time.sleep(0.01)
        raise KeyboardInterrupt
    assert not (tmp_path / "never").exists()
    assert all(future.done() for future in futures)
    seen = environments(engine, [Task(tmp_path / str(number)) for number in range(2)])
    assert {run["CUDA_VISIBLE_DEVICES"] for run in seen} == {"4", "5"}


def test_runs_on_the_processor_have_no_place(gpus, tmp_path):
    gpus("0", "1")
    placed, engine, on_cpu = [], local(), config(n_jobs=1)
    on_cpu.trainer.accelerator = "cpu"
    with engine.session(on_cpu):
        assert engine.submit(lambda place: placed.append(place) or True).result()
    assert placed == [None]


@pytest.mark.parametrize("per_gpu", [1, 4])
def test_a_run_limits_its_memory_to_its_part_of_the_gpu(monkeypatch, per_gpu):
    limited = []
    monkeypatch.setattr(
        "torch.cuda.set_per_process_memory_fraction", lambda part, device: limited.append(part)
    )
    for device in ("cuda:1", "cpu"):
        limit_memory(torch.device(device), per_gpu)
    assert limited == ([] if per_gpu == 1 else [0.25])


def test_the_service_runs_during_a_sweep_that_asks_for_it(gpus, tmp_path, monkeypatch):
    gpus("2", "3")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    for name in ("CUDA_MPS_PIPE_DIRECTORY", "CUDA_MPS_LOG_DIRECTORY"):
        monkeypatch.setenv(name, "")
    with pytest.raises(UserError, match="engine.mps=true"), local(mps=True).session(config()):
        pass
    program, log = tmp_path / "nvidia-cuda-mps-control", tmp_path / "log"
    program.write_text(
        f'#!/bin/sh\n[ "$1" ] || read -r word\necho "$1$word" "$CUDA_VISIBLE_DEVICES" >> {log}\n'
    )
    program.chmod(program.stat().st_mode | stat.S_IEXEC)
    (run,) = environments(local(per_gpu=2, mps=True), [Task(tmp_path / "run")])
    assert log.read_text().split() == ["-d", "quit"]
    assert run["CUDA_MPS_PIPE_DIRECTORY"]
    assert run["CUDA_VISIBLE_DEVICES"] == "2"
