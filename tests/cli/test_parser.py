"""Arguments of the form key=value."""

from pathlib import Path

import pytest

from ablate.cli.parser import FOLDER, NUMBER, PATH, TEXT, Parser, several, whole
from ablate.errors import UserError


@pytest.fixture
def parser():
    made = Parser("ablate made", "A command.")
    made.add_argument("source", metavar="SOURCE")
    made.add_key("to", "where", PATH)
    made.add_key("margin", "how much", NUMBER, 1.0)
    made.add_key("seeds", "which", several(whole(2)), [3])
    made.add_key("search.", "settings")
    made.add_key("kept", "a folder", FOLDER, Path("results"))
    return made


def test_pairs_stand_anywhere(parser, tmp_path):
    words = ["to=a=b", "seeds=[3,5]", "here", "search.size=5", "search.alpha=1", f"kept={tmp_path}"]
    arguments = parser.read(words)
    assert (arguments.source, arguments.to, arguments.seeds) == ("here", Path("a=b"), [3, 5])
    assert arguments.search == {"size": "5", "alpha": "1"}
    assert arguments.kept == tmp_path


@pytest.mark.parametrize(
    ("word", "sentence"),
    [
        ("ot=x", "ot=.*to="),
        ("to.x=1", "to.x="),
        ("to=", "to="),
        ("margin=wide", "margin"),
        ("kept=nowhere", "kept"),
    ],
)
def test_what_is_not_allowed_is_named(parser, word, sentence):
    with pytest.raises(UserError, match=sentence):
        parser.read(["here", word])


def test_overrides_of_the_config_stand_beside_a_commands_own_keys(parser):
    parser.takes_overrides = True
    arguments = parser.read(
        ["here", "+experiment=x", "to=a", "model/norm=none", "~logger", "seed=1"]
    )
    assert (arguments.source, arguments.to) == ("here", Path("a"))
    assert arguments.overrides == ["+experiment=x", "model/norm=none", "~logger", "seed=1"]


def test_a_folder_with_an_equals_sign_is_no_override(parser, tmp_path, monkeypatch):
    (tmp_path / "lr=0.1").mkdir()
    monkeypatch.chdir(tmp_path)
    parser.takes_overrides = True
    parser.add_option("config-dir", "a folder", TEXT, "-cd")
    arguments = parser.read(["here", "--config-dir", "lr=0.1", "seed=1"])
    assert (arguments.config_dir, arguments.overrides) == ("lr=0.1", ["seed=1"])
