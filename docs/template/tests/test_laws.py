"""The laws of ablate, applied to our levels."""

from pathlib import Path

import pytest

from ablate.testing import checks

CONF = Path(__file__).parents[1] / "conf"


@pytest.mark.parametrize("check", checks(CONF), ids=str)
def test_our_levels_keep_the_laws(check):
    check()
