"""The laws of every level, for tests of this package and of any other.

A package with levels of its own applies them to what lies in its config folder:

    import pytest
    from ablate.testing import checks

    @pytest.mark.parametrize("check", checks("conf"), ids=str)
    def test_our_levels_keep_the_laws(check):
        check()

Levels of the factors of `model` are put into a small Transformer, all else as in the base; losses
are given random logits. A level that breaks one of the laws of `ablate.model.laws` says so in
`breaks` of its class, and is then held to that.
"""

from ablate.testing.check import Check, checks
from ablate.testing.level import Level

__all__ = ["Check", "Level", "checks"]
