"""Which commit made the numbers of a run."""

import subprocess

import pytest

from ablate.record import environment

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
    monkeypatch.setattr(environment, "PACKAGE", package)
    monkeypatch.setattr(environment, "source_commit", environment.source_commit.__wrapped__)
    return git


def committed(git):
    git("add", "ablate")
    git("commit", "-m", "first")
    return git("rev-parse", "HEAD")


def test_a_clean_checkout_has_its_commit_whatever_lies_beside_the_package(repository, tmp_path):
    number = committed(repository)
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "notes").touch()
    assert environment.source_commit() == number


@pytest.mark.parametrize("file", ["__init__.py", "new.py", "conf/new.yaml"])
def test_changed_files_are_told(repository, tmp_path, file):
    number = committed(repository)
    (tmp_path / "ablate" / file).write_text("a = 1\n")
    assert environment.source_commit() == f"{number}+changes"


@pytest.mark.parametrize(
    ("file", "changed"),
    [("NAME/probe.py", True), ("conf/new.yaml", True), ("NAME/runs.jsonl", False)],
)
def test_changed_code_of_the_catalogue_is_told_and_new_evidence_is_not(
    repository, tmp_path, file, changed
):
    number = committed(repository)
    path = tmp_path / "experiments" / file
    path.parent.mkdir(parents=True)
    path.write_text("a = 1\n")
    assert environment.source_commit() == number + "+changes" * changed
