"""Projections against loops over single heads, with the gradients of every parameter."""

import pytest
import torch

from ablate.model.attention.explicit import Explicit
from ablate.model.attention.multi_head import CrossAttention
from ablate.model.padding import Columns
from ablate.model.position import NoPosition
from ablate.model.stack import LayerContext, Memory

from .conftest import same

D, HEADS = 12, 4
E = D // HEADS
OUTPUT = {"output.weight", "output.bias"}


def both(*names):
    return {f"{name}.{part}" for name in names for part in ("weight", "bias")}


# parameters, and where head h finds its queries, keys and values: a map and the number of a block
OWN = {use: (use, lambda h: h) for use in ("query", "key", "value")}
GROUPS = {use: (f"{use}.group", lambda h: h // 2) for use in ("key", "value")}
ONE = {use: (f"{use}.group", lambda h: 0) for use in ("query", "key", "value")}
LEVELS = {
    "separate": ({}, both("query", "key", "value") | OUTPUT, OWN),
    "no_output": ({}, both("query", "key", "value"), OWN),
    "queries_are_keys": ({}, both("query", "value") | OUTPUT, {**OWN, "key": OWN["query"]}),
    "keys_are_values": ({}, both("query", "key") | OUTPUT, {**OWN, "value": OWN["key"]}),
    "tied": ({}, both("query") | OUTPUT, dict.fromkeys(OWN, OWN["query"])),
    "none": ({}, set(), {}),
    "none and output": ({"output": "learned"}, OUTPUT, {}),
    "grouped": ({"groups": 2}, both("query", "key.group", "value.group") | OUTPUT, OWN | GROUPS),
    "one_set": ({}, both("query.group", "key.group", "value.group") | OUTPUT, ONE),
}


@pytest.fixture
def attention():
    """Build cross-attention with a level of projections, all its parameters drawn at random."""
    from hydra.utils import instantiate
    from omegaconf import OmegaConf

    from ablate.config import CONF

    def built(level, **options):
        config = OmegaConf.load(f"{CONF}/model/projections/{level}.yaml")
        kernel = Explicit(d_head=E, dropout=0.0, scale="sqrt_d_head", fill="zero_output")
        made = CrossAttention(
            d_model=D,
            n_heads=HEADS,
            d_head=E,
            kernel=kernel,
            padding=Columns(),
            projections=instantiate(config, **options),
        )
        for parameter in made.parameters():
            torch.nn.init.normal_(parameter)
        return made.double()

    return built


def head(x, parameters, use, h):
    """Return the vectors of one head: channels of x where there is no map."""
    if use is None:
        return x[:, h * E : (h + 1) * E]
    name, block = use
    rows = slice(block(h) * E, (block(h) + 1) * E)
    return x @ parameters[f"{name}.weight"][rows].T + parameters[f"{name}.bias"][rows]


@pytest.mark.parametrize("case", LEVELS)
def test_a_level_equals_a_loop_over_heads(attention, case):
    options, names, uses = LEVELS[case]
    ours = attention(case.partition(" ")[0], **options)
    parameters = dict(ours.named_parameters())
    assert parameters.keys() == names
    x, memory = (torch.randn(1, n, D, dtype=torch.float64, requires_grad=True) for n in (5, 7))
    everywhere, real = torch.ones(1, 5, dtype=torch.bool), torch.ones(1, 7, dtype=torch.bool)
    at = LayerContext(
        torch.arange(5)[None], NoPosition(d_model=D), everywhere, Memory(memory, real)
    )
    output = ours(x, at)[0]
    heads = []
    for h in range(HEADS):
        q = head(x[0], parameters, uses.get("query"), h)
        k, v = (head(memory[0], parameters, uses.get(use), h) for use in ("key", "value"))
        heads.append((q @ k.T / E**0.5).softmax(1) @ v)
    expected = torch.cat(heads, 1)
    if "output.weight" in names:
        expected = expected @ parameters["output.weight"].T + parameters["output.bias"]
    same(output, expected, x, memory, *parameters.values())
