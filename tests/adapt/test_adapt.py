"""What holds for every adaptation, and what each one trains."""

import functools
from pathlib import Path

import hydra
import pytest
import torch
from hydra.utils import get_class
from omegaconf import OmegaConf
from torch.nn import functional as F

from ablate.config import CONF
from ablate.config.construct import construct
from ablate.initial import initialise
from ablate.model import Seq2Seq, build
from ablate.model.attention import attention_weights
from ablate.model.stack import LayerContext

ADAPTS = sorted(path.stem for path in CONF.glob("adapt/*.yaml"))
VOCAB = 20
ATTENTIONS = (
    "encoder.layers.0.self_attention",
    "decoder.layers.0.self_attention",
    "decoder.layers.0.cross_attention",
)
SIZES = ["model.n_layers=1", "model.d_model=16", "model.d_ff=24", "model.n_heads=2"]
every_adapt = pytest.mark.parametrize("level", ADAPTS)


@functools.cache
def model_config(*overrides):
    with hydra.initialize_config_dir(str(CONF), version_base="1.3"):
        return hydra.compose("config", [*SIZES, *overrides]).model


def made(embedding="separate", *overrides):
    """A model before its adaptation."""
    config = model_config(f"model/embedding={embedding}", *overrides)
    model = build(config, src_vocab=VOCAB, tgt_vocab=VOCAB, joint_vocab=True).eval()
    initialise(model, 1)
    return model


def adapt(model, level, seed=1, **settings):
    node = OmegaConf.load(CONF / f"adapt/{level}.yaml")
    construct(OmegaConf.merge(node, settings))(model, seed)
    return model


def batch():
    generator = torch.Generator().manual_seed(0)
    src, tgt_in = (torch.randint(4, VOCAB, (3, n), generator=generator) for n in (6, 9))
    src[1, 4:] = tgt_in[2, 5:] = 0
    return Seq2Seq(src, tgt_in)


def logits(model):
    return model.head(model(batch()))


def stepwise(model):
    src, tgt_in = batch()
    state = model.start(src, beams=1)
    return torch.stack([model.head(model.step(tokens, state)) for tokens in tgt_in.T], 1)


def trained(model):
    return {name for name, p in model.named_parameters() if p.requires_grad}


def shake(model):
    """Move whatever trains away from its initial values."""
    generator = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.requires_grad:
                parameter.add_(torch.randn(parameter.shape, generator=generator), alpha=0.2)


@every_adapt
def test_nothing_changes_before_the_first_step(level):
    kind = get_class(OmegaConf.load(CONF / f"adapt/{level}.yaml")._target_)
    assert torch.equal(logits(adapt(made(), level)), logits(made())) == kind.starts_unchanged


@every_adapt
def test_what_trains_has_a_gradient_and_all_else_stays(level):
    model = adapt(made(), level)
    shake(model)
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    objective = F.cross_entropy(logits(model).flatten(0, 1), batch().tgt_in.flatten())
    trainable = [p for p in model.parameters() if p.requires_grad]
    optimiser = torch.optim.SGD(trainable, lr=0.1)
    objective.backward()
    optimiser.step()
    moved = {name for name, p in model.named_parameters() if not torch.equal(p, before[name])}
    # the same number added to all scores of a query changes no weight
    assert {name for name in trained(model) - moved if not name.endswith("key.bias")} == set()
    assert moved <= trained(model)


@every_adapt
@torch.no_grad()
def test_what_was_trained_acts_in_training_scoring_and_search_alike(level):
    model = adapt(made(), level)
    shake(model)
    real = batch().tgt_in != 0
    torch.testing.assert_close(stepwise(model)[real], logits(model)[real])
    assert not torch.allclose(logits(model), logits(made()))
    shown = [name for name, kernel in model.attentions() if kernel.weights_are_probabilities]
    assert [*attention_weights(model, batch())] == shown
    assert len(shown) == (0 if level == "prefix" else 3)


@every_adapt
@torch.no_grad()
def test_adapted_weights_are_read_back(level):
    models = [adapt(made(), level, seed) for seed in range(2)]
    shake(models[0])
    models[1].load_state_dict(models[0].state_dict())
    assert torch.equal(logits(models[0]), logits(models[1]))


@pytest.mark.parametrize("place", ["self_attention", "cross_attention"])
@torch.no_grad()
def test_an_adapted_query_is_the_sum_of_its_matrices_wherever_it_is_used(place):
    plain = made()
    model = adapt(made(), "lora", rank=2, alpha=6, maps=[f"decoder.*.{place}.query"])
    shake(model)
    query = getattr(model.decoder.layers[0], place).query
    update = query.parametrizations.weight[0]
    merged = plain.decoder.layers[0][place].query.weight
    for row in range(len(merged)):
        for column in range(merged.size(1)):
            merged[row, column] += 3 * (update.b[row] * update.a[:, column]).sum()
    torch.testing.assert_close(logits(model), logits(plain))
    torch.testing.assert_close(stepwise(model), stepwise(plain))


@pytest.mark.parametrize("position", ["sinusoidal", "alibi"])
def test_a_prefix_is_read_before_the_tokens(position):
    model, plain = (made("separate", f"model/position={position}") for _ in range(2))
    adapt(model, "prefix", length=3)
    attention = model.decoder.layers[0]["self_attention"]
    prefix = dict(attention.kernel.named_parameters(recurse=False))
    assert trained(model) == {f"{n}.kernel.{p}" for n in ATTENTIONS for p in ("keys", "values")}
    x = torch.randn(2, 5, 16, requires_grad=True)
    real = torch.arange(5) < torch.tensor([5, 3])[:, None]
    at = LayerContext(torch.arange(5)[None], model.decoder.position, real, None)
    output = attention(x, at)
    heads = [part(x).view(2, 5, 2, 8).transpose(1, 2) for part in (attention.query, attention.key)]
    values = attention.value(x).view(2, 5, 2, 8).transpose(1, 2)
    keys = torch.cat([prefix["keys"].expand(2, -1, -1, -1), heads[1]], 2)
    values = torch.cat([prefix["values"].expand(2, -1, -1, -1), values], 2)
    scores = heads[0] @ keys.mT / 8**0.5
    hidden = ~(torch.ones(5, 5).tril().bool() & real[:, None, None])
    if position == "alibi":
        distance = (torch.arange(5)[:, None] - torch.arange(5)).abs()
        scores[..., 3:] -= torch.tensor([2**-4, 2**-8])[:, None, None] * distance
    scores[..., 3:] = scores[..., 3:].masked_fill(hidden, -torch.inf)
    expected = attention.output((scores.softmax(-1) @ values).transpose(1, 2).flatten(2))
    torch.testing.assert_close(output, expected)
    inputs = (x, *prefix.values())
    for tensor, other in zip(
        torch.autograd.grad(output.square().sum(), inputs),
        torch.autograd.grad(expected.square().sum(), inputs),
        strict=True,
    ):
        torch.testing.assert_close(tensor, other, rtol=1e-4, atol=1e-5)
    for name, tensor in plain.named_parameters():
        assert torch.equal(tensor, model.get_parameter(name))


def test_only_the_output_trains():
    assert trained(adapt(made(), "output_only")) == {"embedding.output.weight"}
    assert trained(adapt(made("tied_all"), "output_only")) == {"embedding.tgt.weight"}
    wide = ["model/parametrisation=mup", "model.parametrisation.base_width=8"]
    assert trained(adapt(made("separate", *wide), "output_only")) == {"embedding.output.weight"}


def test_patterns_name_parts():
    model = adapt(made(), "freeze", parts=["encoder", "decoder.*.query", "embedding.src"])
    every = trained(made())
    frozen = every - trained(model)
    assert frozen == {
        name
        for name in every
        if name.startswith(("encoder.", "embedding.src."))
        or (name.startswith("decoder.") and ".query." in name)
    }


@pytest.mark.slow
def test_a_lora_run_trains_goes_on_and_is_restored(compose, small):
    from ablate.train.resolve import resolve
    from ablate.train.restore import restore, translate
    from ablate.train.run import run

    settings = [*small, "adapt=lora", "adapt.rank=2"]
    result = run(resolve(compose(*settings)))
    assert result["status"] in ("finished", "collapsed")  # after four steps
    assert result["metrics"]["parameters"] == 2 * 3 * 2 * (2 * 16)
    other = compose(*settings, "search.size=2")  # tests the weights that were read back
    again = run(resolve(other))
    assert again["training"] == result["training"]
    assert again["metrics"]["test/nll"] == result["metrics"]["test/nll"]
    restored = restore(Path(result["folder"]), {}, [], "cpu", 1)
    assert len(translate(restored, ["ba de gi"])[0]) == 1
    query = restored.model.encoder.layers[0].self_attention.query
    assert query.parametrizations.weight[0].b.abs().max() > 0  # trained, and not as drawn
