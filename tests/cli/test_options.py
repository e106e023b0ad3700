"""The options of config groups, ours and those of the user, and the flags that find them."""

import pytest

from ablate.config.labels import experiment_title

from ..experiments import NAMES


@pytest.fixture
def own_folder(tmp_path):
    """A folder with options of the user: of groups of ours, of a group of their own, a study."""
    for name, text in {
        "model/position/shifted.yaml": "# Shifts every position by one.\n_target_: mine.Shifted\n",
        "schedule/steep.yaml": "_target_: mine.Steep\nslope: 3\n",
        "flavour/sweet.yaml": "# @package _global_\n# label of sweets\nname: sweet\n",
        "experiment/first.yaml": "# @package _global_\n# Our first study.\nname: first\n",
    }.items():
        path = tmp_path / "own" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return tmp_path / "own"


@pytest.fixture(params=["--config-dir {}", "--config-dir={}"])
def place(request, own_folder):
    """The words that say where they are."""
    return request.param.format(own_folder).split(" ")


LISTED = {
    "model/position": "shifted Shifts every position by one.",
    "schedule": "steep mine.Steep; slope 3",
    "flavour": "sweet label of sweets",
    "experiment": "first Our first study.",
}


def test_all_options_of_the_user_are_listed_and_marked(command, own_folder, place):
    status, out, error = command("options", *place)
    assert status == 0, error
    lines = {" ".join(text.split()) for text in out.splitlines()}
    assert lines >= {f"{line} (in {own_folder})" for line in LISTED.values()}
    marked = [text for text in out.splitlines() if f"(in {own_folder})" in text]
    assert len(marked) == 4 and not any("rotary" in text for text in marked)


def test_every_experiment_has_a_line_with_its_title(command, own_folder):
    status, out, _ = command("options", "experiment", "--config-dir", own_folder)
    lines = dict(line.split(maxsplit=1) for line in out.splitlines()[1:])
    assert status == 0 and {*NAMES, "first"} <= {*lines}
    assert all(lines[name].startswith(experiment_title(name).title) for name in NAMES)
