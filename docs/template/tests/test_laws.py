"""Test all laws of ablate for the options in conf."""

from pathlib import Path

import pytest

from ablate.testing import checks

CONF = Path(__file__).parents[1] / "conf"


@pytest.mark.parametrize("check", checks(CONF), ids=str)
def test_option_obeys_law(check):
    check()
