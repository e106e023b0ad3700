"""Which commit made the numbers of a run."""

import subprocess

import pytest

from ablate.record import identity

NO_COMMIT = ["-c", "user.name=a", "-c", "user.email=a@b"]


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A repository with a package and its configs, under the name of this one."""
    package = tmp_path / "ablate"
    (package / "conf").mkdir(parents=True)
    (package / "__init__.py").touch()

    def git(*words):
        command = ["git", "-C", str(tmp_path), *NO_COMMIT, *words]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    git("init")
    monkeypatch.setattr(identity, "PACKAGE", package)
    monkeypatch.setattr(identity, "source_commit", identity.source_commit.__wrapped__)
    return git


@pytest.mark.parametrize(
    ("file", "changed"),
    [
        *((f"ablate/{name}", True) for name in ("__init__.py", "new.py", "conf/new.yaml")),
        *(("experiments/NAME/probe.py", True), ("experiments/NAME/runs.jsonl", False)),
        ("results/notes", False),
    ],
)
def test_changed_code_is_told_and_new_results_are_not(repository, tmp_path, file, changed):
    repository("add", "ablate")
    repository("commit", "-m", "first")
    number = repository("rev-parse", "HEAD")
    path = tmp_path / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("a = 1\n")
    assert identity.source_commit() == number + "+changes" * changed
