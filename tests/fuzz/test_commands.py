"""Whole commands in processes of their own, of every command, with odd arguments."""

import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from .conftest import FUZZ, Said, check, files_of
from .values import texts

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]
ROOT = Path(__file__).resolve().parents[2]
SMALL = (  # a run of seconds
    *("scale=smoke", "logger=none", "budget.steps=2", "budget.warmup=1", "budget.validate_every=1"),
    *("data.n_train=200", "data.n_validation=5", "data.n_test=5", "data.n_test_long=5"),
)
NAME = "heads_param_count"
EVIDENCE = f"experiments/{NAME}"
# Words that a command may be given. None of them makes it work for minutes.
WORDS = {
    "": [
        "model=rnn",
        "search=greedy",
        "probe=parameter_count",
        "seed=3",
        "--cfg",
        "job",
        "--help",
        "optimizer.lr=x",
    ],
    "-m": [
        "probe=parameter_count",
        "seed=1,2",
        "model.n_heads=2,4",
        "seed=x",
        f"+experiment={NAME}",
    ],
    "compare": [
        "runs.csv",
        "--arm",
        "a",
        "--metric",
        "b",
        "--margin",
        "1",
        "--json",
        "nowhere.csv",
    ],
    "reproduce": ["nowhere", "experiments=.", "results=/dev/null", ""],
    "evaluate": ["checkpoint=nowhere", "checkpoint=.", "split=x", "data=toy", "data.test=[x]"],
    "generate": ["checkpoint=nowhere", "checkpoint=.", "tokens=5", "tokens=x", "seed=3"],
    "join": [EVIDENCE, "nowhere", "to=out", "to=/dev/null", "."],
    "judge": [EVIDENCE, "to=out", "to=[x]", "nowhere"],
    "ledger": [
        "word=head",
        "word=[b]",
        "state=refuted",
        "state=x",
        "--json",
    ],
    "options": ["model/position", "model", "experiment", "nowhere", "to=options.md", "/"],
    "plan": [
        *SMALL,
        f"+experiment={NAME}",
        "seed=1,2",
        "sample=x",
    ],
    "power": ["--sd", "0.1", "--sd=0.1", "--margin=0.2", "--margin=x", "--kind=x", "nowhere.csv"],
    "translate": ["checkpoint=nowhere", "checkpoint=.", "batch=2", "search.size=x", "device=y"],
}

# What a command needs to have a chance; the words above come behind.
ALWAYS = {
    "": SMALL,
    "-m": (*SMALL, "seed=0"),
    "judge": (EVIDENCE,),
    "plan": (*SMALL, f"+experiment={NAME}"),
    "power": ("--sd=0.1", "--margin=0.2"),
}

EACH = -(-60 // len(WORDS))  # calls of a command, so that all together are 60 at least


@st.composite
def arguments(draw, name):
    """Some words for a command, and now and then one that means nothing."""
    words = draw(st.lists(st.sampled_from(WORDS[name]), max_size=2, unique=True))
    words = [*ALWAYS.get(name, ()), *words]
    odd = draw(texts.filter(lambda text: "\0" not in text))
    return [*words, *draw(st.sampled_from([[], [], [], [], [odd]]))]


def draws(strategy):
    """Return as many values of a strategy as each command has calls."""
    values = []
    settings(FUZZ, max_examples=EACH)(given(strategy)(lambda value: values.append(value)))()
    return values


def run(folder, name, words):
    """Run a command in a new folder that holds some evidence."""
    shutil.copytree(ROOT / EVIDENCE, folder / EVIDENCE)
    command = [Path(sys.executable).with_name("ablate"), *([name] if name else []), *words]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [os.fsencode(word) for word in command],
        cwd=folder,
        env=environment,
        input=b"a b\n",
        capture_output=True,
        timeout=300,
    )
    return Said(done.returncode, *(part.decode() for part in (done.stdout, done.stderr)))


def test_commands(tmp_path):
    from ablate.cli.main import names

    assert {*names()} == {*WORDS} - {"", "-m"}
    commands = [(name, words) for name in WORDS for words in draws(arguments(name))]
    assert len(commands) >= 60
    folders = [tmp_path / str(number) for number in range(len(commands))]
    with ThreadPoolExecutor(2) as pool:
        results = [*pool.map(run, folders, *zip(*commands, strict=True))]
    for folder, command, result in zip(folders, commands, results, strict=True):
        check(result, command)
        for path in files_of(ROOT / EVIDENCE):
            if path.suffix in (".jsonl", ".npz"):  # reports are written anew
                assert (folder / EVIDENCE / path.name).read_bytes() == path.read_bytes(), command
    done = sum(result.status == 0 for result in results)
    assert done >= len(commands) / 4, done
