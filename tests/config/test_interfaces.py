"""A class of another kind, or an object in place of its factory, is refused before any work."""

import pytest

from ablate.config.check import check
from ablate.errors import UserError


@pytest.mark.parametrize(
    "override",
    [
        "+loss._partial_=true",
        "optimizer._partial_=false",
        "search._target_=ablate.loss.KL",
        "data._target_=ablate.loss.CrossEntropy",
        "model.decoder._target_=torch.nn.Linear",
        "+callbacks.mine=3",
        "tokenizer.vocab_size=1048577",
    ],
)
def test_another_kind_is_named(compose, override):
    key = override.lstrip("+").partition("=")[0]
    with pytest.raises(UserError, match=rf"^{key.replace('.', '[.]')}="):
        check(compose(override))
