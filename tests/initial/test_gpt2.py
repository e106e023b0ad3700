"""GPT-2's initial values: one standard deviation, and a smaller one into the residual stream."""

import pytest

from ablate.data.scheme import Byte
from ablate.data.tokenizer import Tokenizer, Tokenizers
from ablate.initial.drawn import Gpt2
from ablate.model import build

SIZES = ("model.d_model=64", "model.n_layers=3", "model.d_ff=128", "model.n_heads=2")


def made(compose, model, *words):
    config = compose(f"model={model}", *SIZES, *words)
    net = build(config.model, src_vocab=90, tgt_vocab=90, joint_vocab=True)
    vocabulary = Tokenizer(Byte(joint=True).train([]))
    Gpt2(std=0.02)(net, Tokenizers(vocabulary, vocabulary), 1)
    return dict(net.named_parameters())


@pytest.mark.parametrize(
    ("model", "words", "sublayers"),
    [
        ("decoder_only", ["model/position=learned"], {"decoder": 6}),
        ("decoder_only", ["model.share_layers=all"], {"decoder": 6}),
        ("encoder_only", ["model/projections=grouped"], {"encoder": 6}),
        ("micro", [], {"encoder": 6, "decoder": 9}),
    ],
)
def test_matrices_are_small_and_smaller_where_they_write(compose, model, words, sublayers):
    for name, parameter in made(compose, model, *words).items():
        if parameter.dim() > 1:
            writes = name.endswith(("attention.output.weight", "outer.weight"))
            depth = sublayers[name.partition(".")[0]] if writes else 1
            assert parameter.std().item() == pytest.approx(0.02 * depth**-0.5, rel=0.15), name
            assert abs(parameter.mean().item()) < 0.002
        else:
            assert (parameter == (0 if name.endswith("bias") else 1)).all()
