"""The table beside torch's modules in a loop by hand."""

import json
import math

import pytest

from ablate.errors import UserError
from lab.bench.language_models import Pair, Side, difference, pace, read_clock


def pair(seed, theirs, ours):
    clocks = [(0, 0.0), (50, 10.0), (100, 20.0)], [(0, 5.0), (50, 10.0), (100, 15.0)]
    sides = [
        Side(math.log(perplexity), 1000, clock)
        for perplexity, clock in zip((theirs, ours), clocks, strict=True)
    ]
    return Pair(seed, *sides, tokens=400.0)


def test_the_difference_stands_beside_what_seeds_make_of_it():
    sentence = difference([pair(1, 10, 11), pair(2, 12, 13)])
    assert sentence.startswith("ablate - torch: +1.00, standard error over seeds 1.41;")
    assert "over seeds nan" in difference([pair(1, 10, 11)])  # one seed says nothing of it


def test_a_window_with_a_validation_is_not_timed_as_updates(tmp_path):
    lines = [
        {"step": 50, "time": 1.0, "train/nll": 3.0},
        {"step": 100, "time": 2.0, "train/nll": 3.0},
        {"step": 100, "time": 9.0, "val/nll": 3.0},
        {"step": 150, "time": 10.0, "train/nll": 3.0},
        {"step": 200, "time": 11.0, "train/nll": 3.0},
    ]
    (tmp_path / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert pace(read_clock(tmp_path / "metrics.jsonl")) == pytest.approx(0.02)


def test_too_few_updates_are_not_timed():
    with pytest.raises(UserError, match="updates are too few to be timed"):
        pace([(50, 1.0)])
