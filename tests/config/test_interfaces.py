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
        "initial._target_=-1",
        "+callbacks.mine=3",
        "+callbacks.mine._target_=os.getcwd",
        "tokenizer.vocab_size=1048577",
    ],
)
def test_another_kind_is_named(compose, override):
    key = override.lstrip("+").partition("=")[0]
    with pytest.raises(UserError, match=rf"^{key.replace('.', '[.]')}="):
        check(compose(override))


def test_the_class_that_is_needed_is_named(compose):
    for key, base in (("model.norm", "ablate.model.norm.Norm"), ("loss", "ablate.loss")):
        with pytest.raises(UserError, match=f"it must be a subclass of {base}"):
            check(compose(f"{key}._target_=torch.nn.ReLU"))


def test_an_empty_node_in_place_of_a_component_is_named(compose):
    for key in ("model.decoder.norm", "model.encoder.attention", "model.cross.projections"):
        with pytest.raises(UserError, match=f"{key}=.* _target_"):
            check(compose(f"{key}={{}}"))
