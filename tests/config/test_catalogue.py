"""The catalogue of a project: where it is found, and what it gives and does not give."""

import sys

import pytest

from ablate import config as module
from ablate.config import catalogue_folders, catalogue_root, option_file
from ablate.config.trust import check_targets
from ablate.errors import UserError
from ablate.sweep.begin import class_name

from ..experiments import SHIFTED, forget_catalogue

OPTION = "_target_: their_work.first.shifted.Shifted\n_partial_: true\nby: 0.5\n"
EXPERIMENT = """# @package _global_
# title: A shift against nothing
defaults:
  - override /model/position: shifted
name: shifts
"""


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project with a catalogue, as the folder in which somebody works."""
    folder = tmp_path / "project"
    files = {
        "pyproject.toml": '[tool.ablate]\ncatalogue = "their_work"\n',
        "their_work/first/shifted.py": SHIFTED,
        "their_work/first/conf/model/position/shifted.yaml": OPTION,
        "their_work/conf/experiment/shifts.yaml": EXPERIMENT,
        "notes/pyproject.toml": "[tool.ruff]\n",
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    monkeypatch.chdir(folder)
    monkeypatch.setattr("sys.path", [*sys.path])
    forget_catalogue()
    yield folder
    monkeypatch.undo()  # back to the folder in which the catalogue of this repository is found
    forget_catalogue()
    catalogue_folders()
    for name in [name for name in sys.modules if name.partition(".")[0] == "their_work"]:
        del sys.modules[name]


def test_it_is_found_from_every_folder_of_the_project(project, monkeypatch):
    monkeypatch.chdir(project / "notes")  # whose pyproject.toml says nothing of ablate
    assert catalogue_root() == project / "their_work"
    assert catalogue_folders() == tuple(project / "their_work" / f for f in ("conf", "first/conf"))
    forget_catalogue()
    monkeypatch.chdir(project.parent)
    assert catalogue_root() is None and catalogue_folders() == ()


def test_an_experiment_of_it_runs_with_an_option_of_it(project, command, small):
    status, out, error = command("+experiment=shifts", *small)
    assert status == 0, error
    (identity,) = project.parent.glob("results/runs/*/identity.json")
    assert '"their_work.first.shifted": "' in identity.read_text()
    assert option_file("experiment", "shifts")


def position(name):
    node = {"_target_": f"their_work.first.shifted.{name}", "_partial_": True, "by": 0.5}
    return {"model": {"position": node}}


def test_a_config_from_elsewhere_constructs_what_an_importable_catalogue_declares(project):
    module.search_catalogue()
    check_targets(position("Shifted"), [])
    with pytest.raises(UserError, match="_target_"):
        check_targets(position("Undeclared"), [])
    check_targets(position("Undeclared"), ["their_work"])


@pytest.mark.parametrize("words", [["translate", "checkpoint=run"], ["judge", "."]])
def test_the_working_folder_alone_lets_no_config_construct_anything(project, command, words):
    command(*words)
    assert str(project) not in sys.path
    with pytest.raises(UserError, match="_target_"):
        check_targets(position("Shifted"), [])
    assert not [name for name in sys.modules if name.startswith("their_work")]


def test_a_moved_class_of_a_catalogue_leaves_registrations_as_they_are(project):
    assert class_name("loss._target_", "their_work.first.losses.Loss") == "Loss"
    assert class_name("loss._target_", "elsewhere.losses.Loss") == "elsewhere.losses.Loss"
