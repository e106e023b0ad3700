"""The table and the figure of speed beside the loop, and the sides that are asked for steps."""

import pytest

from lab.bench.nanogpt_side import Sizes
from lab.bench.nanogpt_speed import Measured, measure, row


def test_a_row_has_medians_the_ratio_of_turns_and_the_share_of_products():
    seconds = {
        "by_hand": [0.06, 0.05, 0.09],
        "ablate": [0.03, 0.05, 0.03],
        "products": [0.015, 0.01, 0.02],
    }
    measured = Measured(seconds, {"by_hand": 70.4, "ablate": 99.6, "products": 5.0})
    assert measured.ratios == pytest.approx([1, 2, 3])
    cells = [cell.strip() for cell in row("laptop", measured).strip("|").split("|")]
    assert cells[:4] == ["laptop", "60.0", "30.0", "2.00"]
    assert cells[5:] == ["50%", "70", "100"]


@pytest.mark.slow
def test_all_sides_answer_each_turn():
    overrides = ["products=onednn", "trainer.precision=bf16-mixed"]
    measured = measure(Sizes(1, 2, 16, 8, 4), overrides, turns=1, steps=2)
    assert {len(seconds) for seconds in measured.seconds.values()} == {1}
    assert min(min(seconds) for seconds in measured.seconds.values()) > 0
