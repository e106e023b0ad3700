"""What others read of a command."""

import shlex

import pytest

from ablate.evidence.gather import command


@pytest.mark.parametrize(
    ("override", "folder", "recorded"),
    [
        ("paths.results=/home/me/results", "", []),
        ("data.root='/home/me/a corpus'", "", ["data.root='FOLDER'"]),
        ("data.train=[/one/train.en,texts/two]", "", ["data.train=[FOLDER,texts/two]"]),
        ("data.url=https://example.org/a/b", "", ["data.url=https://example.org/a/b"]),
        ("paths.results=a", "conf", ["--config-dir", "conf"]),
        ("paths.results=a", "/elsewhere/conf", ["--config-dir", "FOLDER"]),
    ],
)
def test_places_of_one_machine_are_not_told(override, folder, recorded, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for place in {folder, str(tmp_path / folder)} if folder else {""}:
        line = command([override, "seed=1"], "-m", config_dirs=[place] if place else [])
        assert shlex.split(line) == ["python", "-m", "ablate", *recorded, "seed=1", "-m"]
