"""Words of Hydra's own on the command line of a run."""

from pathlib import Path

import pytest

from ablate.config.hydras import read_words
from ablate.errors import UserError


def test_the_words_that_lightning_adds_for_a_further_device_are_taken():
    read_words(['hydra.run.dir="."', "hydra.job.name=train_ddp_process_1"])
    read_words(["hydra.output_subdir=null"])


@pytest.mark.parametrize("folder", ["elsewhere", '"elsewhere"'])
def test_another_folder_is_refused_with_or_without_quotes(folder):
    with pytest.raises(UserError, match="paths.results=FOLDER"):
        read_words([f"hydra.run.dir={folder}"])


@pytest.mark.parametrize(
    "words",
    [
        "--cfg job -m",
        "-m seed=1 --info config",
        "-r --multirun",
        "-c hydra -i all",
        "-sc install=x -m",
    ],
)
def test_flags_that_exclude_each_other_are_named(words):
    with pytest.raises(UserError, match="exclude each other"):
        read_words(words.split())


@pytest.mark.parametrize("words", ["--cfg jobs", "-c", "--info everything", "seed=1 --config-dir"])
def test_a_flag_with_a_wrong_value_is_one_sentence(words):
    with pytest.raises(UserError, match="argument --"):
        read_words(words.split())


@pytest.mark.parametrize(
    "words",
    ["a=1 --cfg job b=2", "--cfg job a=1 b=2", "a=1 b=2 --cfg job", "a=1 b=2 -m", "-m a=1 b=2"],
)
def test_flags_may_stand_among_overrides(words):
    assert read_words(words.split()).overrides == ["a=1", "b=2"]


@pytest.mark.parametrize(
    ("word", "expanded"),
    [
        ("paths.results=~/runs", "paths.results=HOME/runs"),
        ("paths.cache='~/a b'", "paths.cache='HOME/a b'"),
        ('+data.train="~"', '+data.train="HOME"'),
        (
            "hydra.searchpath=[~/one,file://x,~/two]",
            "hydra.searchpath=[HOME/one,file://x,HOME/two]",
        ),
        ("~data", "~data"),
        ("~data=toy", "~data=toy"),
        ("name=a~b", "name=a~b"),
        ("name=~other/x", "name=~other/x"),
    ],
)
def test_a_home_folder_at_the_beginning_of_a_value_is_expanded(word, expanded):
    assert read_words([word]).overrides == [expanded.replace("HOME", str(Path.home()))]
