"""The page of today's components: its words make runs, and its times were measured."""

import re
from pathlib import Path

import pytest
import torch

from ablate.config.check import check
from ablate.initial import initialise
from ablate.model.base import Causal, build
from lab.bench.options import read

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "reference" / "components.md").read_text(encoding="utf-8")
CLAIMS = re.findall(r"^\|[^|]+\| (arXiv:\S+) \| (.*) \|$", PAGE, re.M)
LANGUAGE = ("scale=language", "logger=none")
WORDS = [words for _, cell in CLAIMS for words in re.findall(r"`([^`]*=[^`]*)`", cell)]


@pytest.fixture(scope="module")
def base(compose):
    """The config of a run without any of the words."""
    return compose(*LANGUAGE)


@pytest.mark.parametrize("words", WORDS)
def test_words_turn_an_option_on_in_a_language_model(words, compose, base):
    config = compose(*LANGUAGE, *words.split())
    check(config)
    assert config != base
    with torch.device("meta"):
        model = build(config.model, src_vocab=69, tgt_vocab=69, joint_vocab=True)
    assert sum(p.numel() for p in model.parameters()) > 100_000


@torch.no_grad()
@pytest.mark.parametrize("words", [words for words in WORDS if "model" in words])
def test_a_language_model_with_an_option_steps_as_it_reads(words, compose):
    config = compose(*LANGUAGE, *words.split()).model  # composed for the test above as well
    config.update({"d_model": 32, "d_ff": 48, "n_layers": 2, "n_heads": 4})
    model = build(config, src_vocab=69, tgt_vocab=69, joint_vocab=True).eval()
    initialise(model, 1)
    tokens = torch.randint(4, 69, (2, 24), generator=torch.Generator().manual_seed(1))
    state = model.start(tokens[:, :0], beams=1)
    steps = torch.stack([model.head(model.step(column, state)) for column in tokens.T], 1)
    whole = model.head(model(Causal(tokens)))
    assert whole.std() > 0
    torch.testing.assert_close(steps, whole, rtol=1e-4, atol=1e-5)


def test_the_times_of_the_page_are_those_that_were_measured():
    measured = read(ROOT / "lab" / "bench" / "options.json")
    rows = re.findall(r"^\| ([^|]+) \|[^|]*\| (\d+) \|$", PAGE, re.M)
    assert len(rows) > 5
    assert all(f"{measured[name]['seconds'] * 1e3:.0f}" == time for name, time in rows)


def test_every_option_of_the_table_trains():
    rows = read(ROOT / "lab" / "bench" / "options.json")
    unigram = 4.83  # bits per byte of tiny Shakespeare
    assert len(rows) > 30 and all(row["bpb"] < 0.9 * unigram for row in rows.values())
