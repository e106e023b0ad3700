"""Initial values of a whole model: zero and depth-scaled output projections, one deviation."""

import pytest
import torch
from torch.nn import functional as F

from ablate.config import CONF
from ablate.config.construct import construct
from ablate.data.scheme import Byte
from ablate.data.tokenizer import Tokenizer, Tokenizers
from ablate.initial.drawn import output_projections
from ablate.model import Causal, build
from ablate.testing.model import model_config

SIZES = ("model.d_model=32", "model.d_ff=64", "model.n_layers=3", "model.n_heads=2")
ENDS = ("attention.output.weight", "feed_forward.outer.weight")
MODELS = [
    ("decoder_only", [], {"decoder": 6}),
    ("decoder_only", ["model/block=parallel", "model/feed_forward=swiglu"], {"decoder": 6}),
    ("decoder_only", ["model.share_layers=pairs", "model/position=learned"], {"decoder": 6}),
    ("encoder_only", ["model/attention=gated"], {"encoder": 6}),
    ("micro", ["model/residual=post_ln", "model.n_decoder_layers=2"], {"encoder": 6, "decoder": 6}),
]


@pytest.fixture
def made(compose):
    """Return a function that builds a model with the initial values of an option."""

    def make(initial, *words, model="decoder_only", seed=1):
        of_initial = [word for word in words if word.startswith("initial")]
        of_model = [word for word in words if word not in of_initial]
        config = model_config(*SIZES, *of_model, size=model, small=False)
        net = build(config, src_vocab=40, tgt_vocab=40, joint_vocab=True)
        vocabulary = Tokenizer(Byte(joint=True).train([]))
        construct(compose(f"initial={initial}", *of_initial).initial)(
            net, Tokenizers(vocabulary, vocabulary), seed
        )
        return net

    return make


def values(net):
    return dict(net.named_parameters())


@pytest.mark.parametrize(
    ("of", "model", "words", "sublayers"),
    [*(("seeded", *case) for case in MODELS), ("normal", *MODELS[-1])],
)
def test_output_projections_alone_differ_from_the_rule(made, model, words, sublayers, of):
    words = [f"initial@initial.of={of}", *words]
    plain = values(made(of, *words[1:], model=model))
    zero = values(made("zero_output", *words, model=model))
    scaled = values(made("depth_scaled", *words, model=model))
    assert any(name.endswith(ENDS) for name in plain)
    for name, value in plain.items():
        if name.endswith(ENDS):
            depth = sublayers[name.partition(".")[0]]
            assert not zero[name].any()
            torch.testing.assert_close(scaled[name] * depth**0.5, value)
        else:
            assert zero[name].equal(value) and scaled[name].equal(value)


def test_depth_scaled_values_of_one_deviation_are_gpt2s(made):
    gpt2, composed = values(made("gpt2")), made("depth_scaled", "initial@initial.of=normal")
    for name, value in values(composed).items():
        torch.testing.assert_close(value, gpt2[name])


@pytest.mark.parametrize("norm", ["layer_norm", "rms_norm"])
@pytest.mark.parametrize("block", ["serial", "parallel"])
def test_a_stack_of_zero_outputs_is_its_last_norm(made, norm, block):
    net = made("zero_output", f"model/norm={norm}", f"model/block={block}").eval()
    tokens = torch.randint(4, 40, (3, 7))
    embedded = net.stack.position.embed(net.embedding.embed_tgt(tokens), torch.arange(7)[None])
    torch.testing.assert_close(net(Causal(tokens)), net.stack.residual.final_norm(embedded))
    logits = net.head(net(Causal(tokens)))
    F.cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten()).backward()
    moved = {n for n, p in net.named_parameters() if p.grad is not None and p.grad.any()}
    assert all(name in moved for name, _ in net.named_parameters() if name.endswith(ENDS))


RESIDUALS = sorted(path.stem for path in CONF.glob("model/residual/*.yaml"))


@pytest.mark.parametrize("residual", RESIDUALS)
def test_a_norm_of_the_output_alone_is_declared(made, residual):
    """The gradients of output projections of 0 are of the usual size, unless a norm follows."""
    net = made("seeded", f"model/residual={residual}").eval()
    tokens = torch.randint(4, 40, (3, 7), generator=torch.Generator().manual_seed(0))
    matrices = [matrix for matrix, _ in output_projections(net)]

    def largest_gradient():
        logits = net.head(net(Causal(tokens)))[:, :-1].flatten(0, 1)
        objective = F.cross_entropy(logits, tokens[:, 1:].flatten())
        return max(g.abs().max() for g in torch.autograd.grad(objective, matrices))

    usual = largest_gradient()
    with torch.no_grad():
        for matrix in matrices:
            matrix.zero_()
    assert (usual / 5 < largest_gradient() < usual * 5) != net.stack.residual.normalises_outputs
