"""Test all laws of ablate for the options in experiments/conf."""

from pathlib import Path

import pytest

from ablate.testing import checks

CONF = Path(__file__).parents[1] / "experiments" / "conf"


@pytest.mark.parametrize("check", checks(CONF), ids=str)
def test_option_obeys_law(check):
    check()
