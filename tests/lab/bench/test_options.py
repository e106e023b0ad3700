"""The table of what every option of today's Transformers costs."""

import pytest

from ablate.train.resolve import resolve
from lab.bench import options
from lab.bench.options import OPTIONS


@pytest.mark.parametrize("name", [*OPTIONS][::12])  # laws build all options as well
def test_the_words_of_a_row_make_a_run(name, compose):
    assert resolve(compose("scale=nanogpt", "logger=none", *OPTIONS[name])).task.packs


def test_no_two_rows_are_one_run():
    assert len({tuple(words) for words in OPTIONS.values()}) == len(OPTIONS)


def test_the_clock_leaves_the_warm_up_out():
    clock = options.Clock()
    clock.times = [float(i * i) for i in range(options.WARM_UP)] + [1000.0, 1001.0, 1004.0, 1005.0]
    assert clock.median() == 1.0
