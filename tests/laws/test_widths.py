"""The coordinate check of muP: how much a few steps change activations, from width to width.

Under muP the change does not depend on the width (arXiv:2203.03466, appendix D.1). Under the
standard parametrisation it grows, which shows that the check can fail, and so it does where one of
muP's rules is missing.
"""

import pytest
import torch
from torch.nn import functional as F

from ablate.errors import UserError
from ablate.initial import initialise
from ablate.model import Causal, Seq2Seq, build
from ablate.model.parametrisation import Mup
from ablate.optimizer import AdamW, make_optimizer, trainables
from ablate.optimizer.muon import Muon
from ablate.testing.model import model_config

TOKENS = torch.randint(4, 60, (8, 16), generator=torch.Generator().manual_seed(0))
BASE = ("model/parametrisation=mup", "model.parametrisation.base_width=32",
        "model.parametrisation.base_head=8")  # fmt: skip
WIDTHS = (32, 512)
ADAM = {"betas": [0.9, 0.95], "eps": 1e-8, "weight_decay": 0.0, "decayed": [], "fused": True}
KINDS = [
    (),
    pytest.param(("model/embedding=separate",), marks=pytest.mark.slow),
    pytest.param(
        ("model/position=learned", "model.embedding.scaled=false"), marks=pytest.mark.slow
    ),
    ("model/position=rotary", "model/norm=rms_norm", "model/feed_forward=swiglu"),
]


def made(width, *words, size="decoder_only", adapt=None):
    config = model_config("model/residual=pre_ln", *words, size=size, small=False)
    config.d_model, config.d_ff, config.n_heads, config.n_layers = width, 4 * width, 4, 2
    config.dropout.rate = 0.0
    model = build(config, src_vocab=64, tgt_vocab=64, joint_vocab=True)
    initialise(model, 1)
    if adapt:
        adapt(model, 1)
    return model


def activations(model):
    """Return the output of every sub-layer, and the logits, by name."""
    seen = {}

    def note(name):
        return lambda module, inputs, output: seen.update({name: output})

    handles = [
        sublayer.register_forward_hook(note(f"{number}.{name}"))
        for number, layer in enumerate(model.stack.layers)
        for name, sublayer in layer.items()
    ]
    with torch.no_grad():
        seen["logits"] = model.head(model(Causal(TOKENS)))
    for handle in handles:
        handle.remove()
    return seen


def changes(width, *words, lr=0.01, adapt=None):
    """Return the mean change of an activation in four steps of Adam, by name."""
    model = made(width, *words, adapt=adapt)
    optimizer = AdamW(model, lr=lr, **ADAM)
    before = activations(model)
    for _ in range(4):
        logits = model.head(model(Causal(TOKENS)))[:, :-1]
        optimizer.zero_grad()
        F.cross_entropy(logits.flatten(0, 1), TOKENS[:, 1:].flatten()).backward()
        optimizer.step()
    after = activations(model)
    return {name: (after[name] - before[name]).abs().mean().item() for name in before}


def growth(*words, **settings):
    """Return by how much the change at the largest width exceeds that at the smallest, by name."""
    smallest, largest = (changes(width, *words, **settings) for width in WIDTHS)
    return {name: largest[name] / smallest[name] for name in smallest}


@pytest.mark.slow
@pytest.mark.parametrize("words", KINDS, ids=" ".join)
def test_steps_change_activations_alike_at_all_widths_under_mup_alone(words):
    by_mup, standard = growth(*words, *BASE), growth(*words)
    assert max(by_mup.values()) < 1.5
    assert min(standard.values()) > 2 and max(standard.values()) > 10


@pytest.mark.parametrize("rule", ["rate", "logits"])
def test_the_check_fails_where_a_rule_is_missing(rule, monkeypatch):
    if rule == "rate":
        monkeypatch.setattr(Mup, "rate", lambda self, role: 1.0)
        assert max(growth(*BASE).values()) > 4
    else:
        factor = property(lambda self: 1.0, lambda self, value: None)
        monkeypatch.setattr(Mup, "logit_factor", factor)
        assert growth(*BASE)["logits"] > 4


REFUSED = ["additive", "linear", "qk_norm"]


@pytest.mark.parametrize("kernel", [*REFUSED, "fused", "window"])
def test_scores_that_mup_cannot_divide_are_refused_in_wider_heads(kernel):
    words = (f"model/attention={kernel}", *BASE)
    made(64, *words, "model.parametrisation.base_head=16")
    if kernel not in REFUSED:
        made(64, *words)
        return
    with pytest.raises(UserError, match="base_head"):
        made(64, *words)


@pytest.mark.parametrize("size", ["decoder_only", "encoder_only", "prefix_lm", "micro"])
def test_at_the_base_width_it_is_the_standard(size):
    by_mup, standard = (made(32, *words, size=size) for words in (BASE, ()))
    for ours, theirs in zip(by_mup.parameters(), standard.parameters(), strict=True):
        assert torch.equal(ours, theirs)
    ours, theirs = (AdamW(model, lr=0.01, **ADAM).param_groups for model in (by_mup, standard))
    assert [group["lr"] for group in ours] == [0.01] * len(ours)
    assert len(ours) == len(theirs)
    if size == "decoder_only":
        tokens = Causal(TOKENS)
        assert torch.equal(by_mup.head(by_mup(tokens)), standard.head(standard(tokens)))


@pytest.mark.parametrize("width", [16, 64])
@pytest.mark.parametrize("size", ["decoder_only", "micro"])
def test_the_formulas(width, size):
    """Factors put into the weights of a standard model give its outputs and gradients."""
    words = ("model/embedding=separate",)
    by_mup, standard = (made(width, *words, *more, size=size) for more in (BASE, ()))
    standard.load_state_dict(by_mup.state_dict())
    ratio = width / 32
    with torch.no_grad():
        for table in (standard.embedding.src, standard.embedding.tgt):
            table.weight.div_(ratio**0.5)  # looked up times the root of the width
        standard.embedding.output.weight.div_(ratio)
        for name, parameter in standard.named_parameters():
            if ".query." in name:
                parameter.div_(ratio**0.5)
    inputs = Causal(TOKENS) if size == "decoder_only" else Seq2Seq(TOKENS, TOKENS.flip(0))
    gradients = []
    for model in (by_mup, standard):
        logits = model.head(model(inputs))
        name = next(n for n, _ in model.named_parameters() if n.endswith("key.weight"))
        key = dict(model.named_parameters())[name]
        gradients.append((logits, *torch.autograd.grad(logits.square().mean(), [key])))
    torch.testing.assert_close(*gradients, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("width", [16, 256])
def test_initial_values_and_rates_by_role(width):
    words = ("model/embedding=separate", "model/position=learned")
    model = made(width, *words, *BASE)
    for parameter, role, _, rate in trainables(model):
        assert rate == (32 / width if role == "matrices" else 1.0)
        if role == "matrices":
            assert parameter.std().item() == pytest.approx((2 / sum(parameter.shape)) ** 0.5, 0.1)
    assert model.embedding.tgt.weight.std().item() == pytest.approx(32**-0.5, 0.1)
    assert model.stack.position.table.std().item() == pytest.approx(32**-0.5, 0.1)
    assert model.embedding.output.weight.std().item() == pytest.approx((2 / (64 + 32)) ** 0.5, 0.1)


@pytest.mark.parametrize("optimizer", ["adam", "adamw", "muon"])
def test_an_optimizer_with_one_rate_is_refused(compose, optimizer):
    from ablate.config.construct import construct

    factory = construct(compose(f"optimizer={optimizer}").optimizer)
    with pytest.raises(UserError, match="adamw_by_role"):
        make_optimizer(factory, made(64, *BASE))
    assert isinstance(make_optimizer(factory, made(64)), Muon) == (optimizer == "muon")
