"""What others read of a command."""

import shlex

import pytest

from ablate.evidence.gather import command


@pytest.mark.parametrize(
    ("override", "recorded"),
    [
        ("paths.results=/home/me/results", ""),
        ("data.root='/home/me/a corpus'", "data.root='FOLDER'"),
        ("data.train=[/one/train.en,texts/two]", "data.train=[FOLDER,texts/two]"),
        ("data.url=https://example.org/a/b", "data.url=https://example.org/a/b"),
    ],
)
def test_places_of_one_machine_are_not_told(override, recorded):
    line = command([override, "seed=1"], "-m")
    assert shlex.split(line) == ["python", "-m", "ablate", *recorded.split(), "seed=1", "-m"]


@pytest.mark.parametrize(("folder", "recorded"), [("conf", "conf"), ("/elsewhere/conf", "FOLDER")])
@pytest.mark.parametrize("absolute", [True, False])
def test_a_folder_of_the_users_configs_is_part_of_the_command(
    folder, recorded, absolute, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    line = command(["seed=1"], "-m", config_dirs=[str(tmp_path / folder) if absolute else folder])
    expected = ["python", "-m", "ablate", "--config-dir", recorded, "seed=1", "-m"]
    assert shlex.split(line) == expected
