"""What looks may use of alpha, beside the tables of textbooks."""

import pytest
from scipy.stats import norm

from ablate.stats.spending import ONCE, nominal, repeated, spent


def test_bounds_are_those_of_the_textbooks():
    thirds = (1 / 3, 2 / 3, 1.0)  # Jennison & Turnbull 2000; R's gsDesign(k=3, sfu=sfLDOF)
    bounds = [norm.isf(nominal(0.025, thirds[:k])) for k in (1, 2, 3)]
    assert bounds == pytest.approx([3.7103, 2.5114, 1.9930], abs=2e-4)
    halves = [norm.isf(nominal(0.025, looks)) for looks in ((0.5,), (0.5, 1.0))]
    assert halves == pytest.approx([2.9626, 1.9686], abs=2e-4)


def test_one_look_at_the_whole_plan_changes_no_number():
    assert (nominal(0.025, ONCE), repeated(0.0123, ONCE), spent(0.025, 1.0)) == (
        0.025,
        0.0123,
        0.025,
    )


@pytest.mark.parametrize("looks", [(0.5,), (0.4, 0.7, 1.0), (0.25, 0.5, 0.75)])
@pytest.mark.parametrize("level", [1e-6, 0.025])
def test_a_repeated_p_value_is_at_most_the_level_where_the_look_decides(looks, level):
    bound = nominal(level, looks)
    assert bound < level
    assert repeated(bound * 0.99, looks) < level < repeated(bound * 1.01, looks)
