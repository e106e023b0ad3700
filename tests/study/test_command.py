"""What others read of a command."""

import shlex

import pytest

from ablate.evidence.command import command


@pytest.mark.parametrize(
    ("override", "told"),
    [
        ("model/residual=pre_ln", "model/residual=pre_ln"),
        ("paths.results=/home/me/results", ""),
        ("data.root=/home/me/corpus", "data.root=FOLDER"),
        ("data.root=~/corpus", "data.root=FOLDER"),
        ("data.root='/home/me/a corpus'", "data.root='FOLDER'"),
        ("data.train=[/one/train.en,texts/two]", "data.train=[FOLDER,texts/two]"),
        ("data.root=texts/de", "data.root=texts/de"),
        ("data.url=https://example.org/a/b", "data.url=https://example.org/a/b"),
    ],
)
def test_places_of_one_machine_are_not_told(override, told):
    found = command([override, "seed=1"], "-m")
    assert shlex.split(found) == ["python", "-m", "ablate", *told.split(), "seed=1", "-m"]
