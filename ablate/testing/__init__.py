"""Tests that every option must pass, for this package and for packages of users. A package with its
own options applies them to its config folder:

    import pytest
    from ablate.testing import checks

    @pytest.mark.parametrize("check", checks("conf"), ids=str)
    def test_our_levels_keep_the_laws(check):
        check()

Options of `model` are put into a small Transformer with default components; losses receive random
logits; optimisers train the parameters of a small Transformer. An option that violates a law of
`ablate.model` declares it in `breaks` of its class; then the test requires the violation.
"""

from ablate.testing.check import Check, checks
from ablate.testing.level import Level

__all__ = ["Check", "Level", "checks"]
