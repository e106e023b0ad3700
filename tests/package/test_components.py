"""The page of today's components: its words make runs, and its times were measured."""

import re
from pathlib import Path

import pytest
import torch

from ablate.config.check import check
from ablate.model import build
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


def together():
    """Return the words in lists in which no key stands twice."""
    lists = [{} for _ in WORDS]
    for words in WORDS:
        chosen = {word.partition("=")[0]: word for word in words.split()}
        next(free for free in lists if not free.keys() & chosen).update(chosen)
    return [[*chosen.values()] for chosen in lists if chosen]


@pytest.mark.parametrize("words", together(), ids=lambda words: words[0])
def test_words_turn_options_on_in_a_language_model(words, compose, base):
    config = compose(*LANGUAGE, *words)
    check(config)
    assert config != base
    with torch.device("meta"):
        model = build(config.model, src_vocab=69, tgt_vocab=69, joint_vocab=True)
    assert sum(p.numel() for p in model.parameters()) > 100_000


def test_the_times_of_the_page_are_those_that_were_measured():
    measured = read(ROOT / "lab" / "bench" / "options.json")
    rows = re.findall(r"^\| ([^|]+) \|[^|]*\| (\d+) \|$", PAGE, re.M)
    assert len(rows) > 5
    assert all(f"{measured[name]['seconds'] * 1e3:.0f}" == time for name, time in rows)
