"""The table and the figure of speed beside the loop, and the sides that are asked for steps."""

import pytest

from ablate.errors import UserError
from lab.bench import nanogpt_speed
from lab.bench.nanogpt_figure import draw
from lab.bench.nanogpt_side import Sizes
from lab.bench.nanogpt_speed import GROWTH, Measured, ask, grow, measure, row


@pytest.fixture
def measured():
    seconds = {
        "by_hand": [0.06, 0.05, 0.09],
        "ablate": [0.03, 0.05, 0.03],
        "products": [0.015, 0.01, 0.02],
    }
    return Measured(seconds, {"by_hand": 70.4, "ablate": 99.6, "products": 5.0})


def test_a_row_has_medians_the_ratio_of_turns_and_the_share_of_products(measured):
    assert measured.ratios == pytest.approx([1, 2, 3])
    cells = [cell.strip() for cell in row("laptop", measured).strip("|").split("|")]
    assert cells[:4] == ["laptop", "60.0", "30.0", "2.00"]
    assert cells[5:] == ["50%", "70", "100"]


def test_each_axis_of_growth_varies_one_size_at_1024_tokens_or_those_of_a_laptop():
    for axis, sizes in GROWTH.items():
        values = [getattr(each, axis) for each in sizes]
        assert values == sorted(set(values))
        assert all(each.width % each.heads == 0 for each in sizes)
        assert len({each.tokens for each in sizes}) == 1


def test_the_figure_is_the_same_whenever_it_is_drawn(tmp_path):
    rates = {"by_hand": 10.0, "ablate": 12.0, "products": 30.0}
    points = [{"axis": a, "value": n, **rates} for a in ("width", "context") for n in (1, 2, 4)]
    files = [tmp_path / "new" / name for name in ("a.svg", "b.svg")]
    for file in files:
        draw(points, file)
    assert files[0].read_text() == files[1].read_text()
    assert "tokens/s" in files[0].read_text() or "<path" in files[0].read_text()


def test_growth_goes_on_where_it_was_stopped(tmp_path, monkeypatch, measured):
    sizes = []

    def measure_some(size, overrides, *, turns, steps):
        if len(sizes) == 5:
            raise UserError("a side has failed")
        sizes.append(size)
        return measured

    monkeypatch.setattr(nanogpt_speed, "POINTS", tmp_path / "points.json")
    monkeypatch.setattr(nanogpt_speed, "FIGURE", tmp_path / "figure.svg")
    monkeypatch.setattr(nanogpt_speed, "measure", measure_some)
    given = {"pairs": 1, "steps": 1}
    with pytest.raises(UserError):
        grow(given, [])
    first, sizes[:] = list(sizes), []
    with pytest.raises(UserError):
        grow(given, [])
    assert [*first, *sizes] == [size for line in GROWTH.values() for size in line][:10]
    sizes.clear()
    grow(given, [])
    assert len(sizes) == 2 and (tmp_path / "figure.svg").exists()


class Gone:
    """A process that has ended without an answer."""

    args = ("python", "-m", "lab.bench.nanogpt_side", "ablate", "1,1,8,8,2")

    def __init__(self):
        self.stdin = self.stdout = self

    def write(self, text):
        return len(text)

    def flush(self):
        pass

    def readline(self):
        return ""


def test_a_side_that_fails_is_named():
    with pytest.raises(UserError, match="nanogpt_side ablate"):
        ask(Gone(), 3)


@pytest.mark.slow
@pytest.mark.parametrize("overrides", [["products=onednn"], [], ["trainer.precision=bf16-mixed"]])
def test_all_sides_answer_each_turn(overrides):
    measured = measure(Sizes(1, 2, 16, 8, 4), overrides, turns=2, steps=2)
    assert {len(seconds) for seconds in measured.seconds.values()} == {2}
    assert min(min(seconds) for seconds in measured.seconds.values()) > 0
