"""GPT-2's initial values: one standard deviation, and a smaller one into the residual stream."""

import pytest
import torch
from omegaconf import OmegaConf

from ablate.data.scheme import Byte
from ablate.data.tokenizer import Tokenizer, Tokenizers
from ablate.initial.drawn import Gpt2, Normal
from ablate.model.base import build


def made(compose, model, *words, std=0.02, seed=1, initial=Gpt2):
    sizes = ["model.d_model=64", "model.n_layers=3"]
    if model != "rnn":
        sizes += ["model.d_ff=128", "model.n_heads=2"]
    config = compose(f"model={model}", *sizes, *words)
    net = build(config.model, src_vocab=90, tgt_vocab=90, joint_vocab=True)
    vocabulary = Tokenizer(Byte(joint=True).train([]))
    initial(std=std)(net, Tokenizers(vocabulary, vocabulary), seed)
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


@pytest.mark.parametrize("level", ["separate", "grouped"])
def test_normal_gives_every_matrix_the_same_deviation(compose, level):
    words = [f"model/projections={level}", "model.d_model=128"]
    for name, parameter in made(compose, "decoder_only", *words, initial=Normal).items():
        if parameter.dim() > 1:
            assert parameter.std().item() == pytest.approx(0.02, rel=0.05), name


def test_values_follow_from_seed_and_name(compose):
    first, again, other = (made(compose, "decoder_only", seed=seed) for seed in (1, 1, 2))
    assert all(first[name].equal(again[name]) for name in first)
    weights = [name for name in first if first[name].dim() > 1]
    assert not any(first[name].equal(other[name]) for name in weights)
    tall = made(compose, "decoder_only", std=0.04)
    assert all(torch.allclose(2 * first[name], tall[name]) for name in weights)
    assert OmegaConf.to_container(compose("initial=gpt2").initial)["std"] == 0.02


@pytest.mark.parametrize(
    ("model", "words", "forget"),
    [("decoder_only", ["model/position=recurrent"], 0.0), ("rnn", ["model.forget_bias=2.0"], 2.0)],
)
def test_biases_of_recurrent_layers_are_0_except_for_one_gate(compose, model, words, forget):
    biases = {n: p for n, p in made(compose, model, *words).items() if ".bias_" in n}
    assert biases
    for name, bias in biases.items():
        gates = bias.view(-1, len(bias) // (3 if model == "decoder_only" else 4))
        wanted = forget if "bias_ih" in name else 0.0
        assert (gates[1] == wanted).all() and not gates[[0, 2]].any()
