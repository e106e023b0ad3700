"""The command line as a whole: which word is a command, what the help imports and says."""

import re
import subprocess
import sys

import pytest

from ablate.cli.main import names
from ablate.cli.train import check_shadowed_files, check_single_run, read_words
from ablate.errors import UserError

HEAVY = (
    "torch",
    "pytorch_lightning",
    "wandb",
    "scipy",
    "matplotlib",
    "sacrebleu",
    "hydra",
    "numpy",
)
WORDS = {  # enough for a command to begin
    "compare": ["runs.csv"],
    "evaluate": ["checkpoint=run"],
    "generate": ["checkpoint=run"],
    "join": ["piece", "to=joined"],
    "judge": ["sweep"],
    "power": ["runs.csv", "--margin", "1"],
    "reproduce": ["nothing", "experiments=."],
    "translate": ["checkpoint=run"],
}
FIRST_LINE = """
import os, sys
class Terminal:
    encoding = "utf-8"
    def isatty(self): return True
    def flush(self): pass
    def fileno(self): return 2
    def write(self, text):
        heavy = ",".join(sorted({heavy} & sys.modules.keys()))
        os.write(1, (text + "|" + heavy).encode())
        os._exit(0)
sys.stdout = sys.stderr = Terminal()
sys.argv = ["ablate", *{words}]
from ablate.cli.main import main
main()
"""


@pytest.mark.parametrize("name", names())
def test_the_first_line_of_a_command_waits_for_nothing_heavy(name, tmp_path):
    """Imports of torch, W&B or scipy take seconds; a person at a terminal first sees a line."""
    code = FIRST_LINE.format(heavy=set(HEAVY), words=[name, *WORDS.get(name, [])])
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True)
    line, _, heavy = done.stdout.decode().rpartition("|")
    assert line.strip(), done.stderr
    assert heavy == ""


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["data=toy"],
        ["-m", "seed=0,1"],
        ["--config-dir", "ledger", "--help"],
        ["--help", "data=toy"],
    ],
)
def test_overrides_and_flags_of_hydra_train(command, monkeypatch, words):
    trained = []
    monkeypatch.setattr("ablate.cli.train.train", lambda: trained.append(sys.argv[1:]))
    assert command(*words)[0] == 0
    assert trained == [words]


def test_an_option_of_the_user_needs_a_name_of_its_own(tmp_path):
    group_folder = tmp_path / "model" / "norm"
    group_folder.mkdir(parents=True)
    (group_folder / "mine.yaml").write_text("eps: 1.0\n")
    check_shadowed_files(str(tmp_path))
    (group_folder / "layer_norm.yaml").write_text("eps: 1.0\n")
    with pytest.raises(UserError, match="layer_norm.yaml"):
        check_shadowed_files(str(tmp_path))


@pytest.mark.parametrize("words", ["a=1 --cfg job b=2", "--cfg job a=1 b=2", "a=1 b=2 -m"])
def test_flags_may_stand_among_overrides(words):
    assert read_words(words.split()).overrides == ["a=1", "b=2"]


@pytest.mark.parametrize("word", ["model/position=sinusoidal,learned", "seed=range(3)"])
def test_several_values_need_a_sweep(word):
    with pytest.raises(UserError, match=re.escape(word)):
        check_single_run([word])
