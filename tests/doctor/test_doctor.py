"""`ablate doctor`: a sound machine has no problem, and every bad state is named with its advice."""

import importlib.metadata
import json
import shutil
import subprocess
import sys
from collections import namedtuple

import pytest

ORDER = ["ablate", "machine", "packages", "extras", "torch", "devices", "cache", "results", "W&B"]
Usage = namedtuple("Usage", "total used free")


@pytest.fixture
def doctor(command, tmp_path):
    """Run the doctor on folders of the test; return status and diagnoses by their check."""

    def called(*words):
        folders = (f"results={tmp_path / 'results'}", f"cache={tmp_path / 'cache'}")
        given = {word.partition("=")[0] for word in words}
        folders = [word for word in folders if word.partition("=")[0] not in given]
        status, out, error = command("doctor", *folders, *words, "--json")
        assert error == ""
        return status, {entry["check"]: entry for entry in json.loads(out)}

    return called


@pytest.fixture
def a_run(compose, small, capsys):
    """A finished run; its folder."""
    from pathlib import Path

    from ablate.train.resolve import resolve
    from ablate.train.run import run

    config = compose(*small)
    run(resolve(config))
    capsys.readouterr()
    (folder,) = Path(config.paths.results).glob("runs/*")
    return folder


def test_ten_lines_and_no_problem_on_a_sound_machine(command, tmp_path):
    status, out, error = command("doctor", f"results={tmp_path}", f"cache={tmp_path / 'none'}")
    assert (status, error) == (0, "")
    lines = out.splitlines()
    assert [line.split()[0] for line in lines[:-1]] == ORDER
    assert len(lines) == 10
    assert "problem" in lines[-1]
    assert [*tmp_path.iterdir()] == []  # nothing is left behind


def test_torch_is_imported_after_the_lines_that_need_none():
    code = (
        "import sys; from ablate.cli.commands.doctor import _diagnoses; from pathlib import Path\n"
        "for d in _diagnoses(Path('a'), Path('b')):\n"
        "    print(d.check, *({'torch', 'wandb', 'numpy'} & sys.modules.keys()), flush=True)\n"
        "    if d.check == 'extras': break\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.split() == ORDER[:4], done.stderr


@pytest.mark.parametrize("key", ["results", "cache"])
def test_a_folder_that_cannot_be_written(doctor, tmp_path, key):
    (tmp_path / "file").touch()
    status, report = doctor(f"{key}={tmp_path / 'file' / 'folder'}")
    assert status == 1
    assert str(tmp_path / "file") in report[key]["problem"]
    assert f"paths.{key}=" in report[key]["advice"]


@pytest.mark.parametrize("free", [0, 10**8])
def test_a_full_disk(doctor, monkeypatch, free):
    monkeypatch.setattr(shutil, "disk_usage", lambda path: Usage(10**12, 10**12 - free, free))
    status, report = doctor()
    assert status == 1
    for key in ("cache", "results"):
        assert f"{free // 10**6} MB are free" in report[key]["problem"]


@pytest.mark.parametrize(
    ("name", "value", "named"),
    [
        ("WANDB_MODE", "sometimes", "WANDB_MODE=sometimes"),
        ("WANDB_BASE_URL", "nowhere", "WANDB_BASE_URL=nowhere"),
        ("WANDB_API_KEY", "", None),
        ("WANDB_RUN_ID", "abc", "WANDB_RUN_ID"),
    ],
)
def test_odd_variables_of_wandb(doctor, monkeypatch, name, value, named):
    monkeypatch.setenv(name, value)
    status, report = doctor()
    assert status == (named is not None)
    assert (named or "") in report["W&B"]["problem"]
    assert bool(report["W&B"]["advice"]) == (named is not None)


def test_a_library_that_is_missing_or_too_old(doctor, monkeypatch):
    true = importlib.metadata.version

    def version(name):
        if name == "scour":
            raise importlib.metadata.PackageNotFoundError
        return "2.0.1" if name == "torch" else true(name)

    monkeypatch.setattr(importlib.metadata, "version", version)
    status, report = doctor()
    assert status == 1
    assert "scour is missing" in report["packages"]["problem"]
    assert "torch is 2.0.1, but torch>=" in report["packages"]["problem"]


def test_a_missing_extra_is_named_and_is_no_problem(doctor, monkeypatch):
    true = importlib.metadata.version

    def version(name):
        if name == "ray":
            raise importlib.metadata.PackageNotFoundError
        return true(name)

    monkeypatch.setattr(importlib.metadata, "version", version)
    status, report = doctor()
    assert status == 0
    assert "ray" in report["extras"]["seen"].partition("missing: ")[2]


def test_a_torch_without_a_fast_library(doctor, monkeypatch):
    import torch

    for backend in (torch.backends.mkl, torch.backends.mkldnn):
        monkeypatch.setattr(backend, "is_available", lambda: False)
    monkeypatch.setattr(torch.__config__, "show", lambda: "BLAS_INFO=generic, ")
    status, report = doctor()
    assert status == 1
    assert "no fast library" in report["torch"]["problem"]
    monkeypatch.setattr(torch.__config__, "show", lambda: "BLAS_INFO=accelerate, ")
    assert doctor()[0] == 0


def test_a_gpu_that_torch_cannot_use(doctor, monkeypatch):
    import torch

    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setattr(torch.version, "cuda", None)
    status, report = doctor()
    assert status == 1
    assert "built without CUDA" in report["devices"]["problem"]
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")  # who hides a GPU knows it
    assert doctor()[0] == 0


def test_threads_that_are_no_number(doctor, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "many")
    assert "OMP_NUM_THREADS=many" in doctor()[1]["machine"]["problem"]


def test_results_are_counted_by_state_and_old_ones_are_named(doctor, a_run):
    status, report = doctor()
    assert status == 0
    assert report["results"]["seen"].startswith("1 run in ")
    assert "(1 collapsed)" in report["results"]["seen"]
    parts = json.loads((a_run / "identity.json").read_text())
    parts["libraries"]["torch"] = "1.0"
    (a_run / "identity.json").write_text(json.dumps(parts))
    status, report = doctor()
    assert status == 1
    assert "train 1 run again" in report["results"]["problem"]


def test_unfinished_and_damaged_results(doctor, a_run):
    (a_run.parent / "0123456789abcdef").mkdir()
    text = (a_run / "result.json").read_text()
    (a_run / "result.json").write_text(text.replace('"collapsed"', '"finished"'))
    status, report = doctor()
    assert status == 1
    assert "1 damaged, 1 unfinished" in report["results"]["seen"]
    assert "1 run with a damaged or edited result" in report["results"]["problem"]
