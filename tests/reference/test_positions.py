"""Positions against other ways to the same numbers, with gradients."""

import pytest
import torch

from .conftest import same


def rotated(position, heads, positions):
    return position.rotate(heads, position.prepare(positions, heads.size(3), heads.dtype))


def test_rotary_is_a_product_of_complex_numbers():
    from ablate.model.position import Rotary

    heads = torch.randn(2, 3, 7, 8, requires_grad=True)
    positions = torch.tensor([[0, 1, 2, 3, 4, 5, 600]])
    ours = rotated(Rotary(d_model=24, base=10000.0), heads, positions)
    angle = positions[0].double()[:, None] * torch.tensor([1.0, 0.1, 0.01, 0.001]).double()
    turned = torch.view_as_complex(heads.unflatten(-1, (4, 2)).double()) * torch.polar(
        torch.ones_like(angle), angle
    )
    theirs = torch.view_as_real(turned).flatten(-2).float()
    same(ours, theirs, heads)


@pytest.mark.parametrize(
    ("option", "relative"),
    [(name, True) for name in ("fused", "cosine", "gated", "qk_norm_first")]
    + [(name, True) for name in ("differential", "window")]
    + [(n, False) for n in ("qk_norm", "general", "additive", "linear", "delta_rule", "sink")],
)
@torch.no_grad()
def test_some_kernels_read_rotated_queries_by_their_positions_too(option, relative):
    from ablate.testing.model import model_config, small_model

    words = ("model/position=rotary", f"model/attention={option}")
    model = small_model(model_config(*words, size="decoder_only")).double()
    x, real = torch.randn(2, 9, 16).double(), torch.ones(2, 9, dtype=torch.bool)
    first, later = (model.stack(x, real, positions=torch.arange(9)[None] + n) for n in (0, 37))
    assert torch.allclose(first, later, rtol=1e-9, atol=1e-9) == relative


@pytest.mark.parametrize(
    "n_heads, slopes",
    [
        (1, [2**-8]),
        (2, [2**-4, 2**-8]),
        (8, [2**-h for h in range(1, 9)]),
        (6, [2**-2, 2**-4, 2**-6, 2**-8, 2**-1, 2**-3]),
    ],
)
def test_alibi_by_a_loop(n_heads, slopes):
    from ablate.model.position import Alibi

    queries, keys = torch.tensor([[0, 1, 2, 9]]), torch.tensor([[0, 1, 4], [3, 0, 7]])
    bias = Alibi(d_model=4).bias(n_heads, queries, keys)
    for b in range(2):
        for h in range(n_heads):
            for i, m in enumerate(queries[0].tolist()):
                for j, n in enumerate(keys[b].tolist()):
                    assert bias[b, h, i, j] == -slopes[h] * abs(m - n)


def test_random_vectors_have_one_norm_and_go_on_past_their_table():
    from ablate.model.position.added import FixedRandom

    positions = torch.arange(700)[None]
    drawn = FixedRandom(d_model=30, draw=0)
    zeros = torch.zeros(1, 700, 30)
    start = drawn.embed(zeros[:, :9], positions[:, :9])
    whole = drawn.embed(zeros, positions)
    assert torch.equal(whole[:, :9], start)
    torch.testing.assert_close(whole.norm(dim=-1), torch.full((1, 700), 15**0.5))
    other = FixedRandom(d_model=30, draw=1).embed(zeros, positions)
    assert not torch.allclose(whole, other)


def test_a_recurrent_layer_is_a_loop_of_cells():
    from ablate.initial import initialise
    from ablate.model.position.added import Recurrent

    ours = Recurrent(d_model=6)
    initialise(ours, 1)
    ours_gru = ours.layer.cell
    cell = torch.nn.GRUCell(6, 6)
    parameters = [getattr(ours_gru, f"{name}_l0") for name in ("weight_ih", "weight_hh")]
    assert not any(p.any() for name, p in ours.named_parameters() if "bias" in name)
    with torch.no_grad():
        for theirs, tensor in zip(cell.parameters(), parameters, strict=False):
            theirs.copy_(tensor)
        cell.bias_ih.zero_()
        cell.bias_hh.zero_()
    x = torch.randn(2, 5, 6, requires_grad=True)
    states = [torch.zeros(2, 6)]
    for t in range(5):
        states.append(cell(x[:, t], states[-1]))
    expected = torch.stack(states[1:], 1)
    output = ours.embed(x, torch.arange(5)[None])
    weights = torch.randn_like(output)
    ours_and_theirs = (
        torch.autograd.grad((output * weights).sum(), (x, *parameters)),
        torch.autograd.grad((expected * weights).sum(), (x, cell.weight_ih, cell.weight_hh)),
    )
    torch.testing.assert_close(output, expected)
    torch.testing.assert_close(*ours_and_theirs, rtol=1e-4, atol=1e-5)


@pytest.fixture
def learned():
    """Build a level whose vectors are learned ones."""
    from functools import partial

    from ablate.model.position.added import Learned

    return lambda kind: kind(d_model=6, of=partial(Learned, max_length=9))


def test_vectors_beside_the_embeddings_are_two_maps(learned):
    from ablate.model.position.added import Concatenated

    ours = learned(Concatenated)
    x, positions = torch.randn(2, 3, 6, requires_grad=True), torch.tensor([[0, 1, 4], [2, 0, 8]])
    a, c = ours.map.weight.split(6, 1)
    expected = torch.stack(
        [
            torch.stack([a @ x[b, i] + c @ ours.of.table[p] + ours.map.bias for i, p in row])
            for b, row in enumerate(map(enumerate, positions.tolist()))
        ]
    )
    assert ours.longest == 9
    same(ours.embed(x, positions), expected, x, *ours.parameters())


def test_vectors_of_every_layer_are_read_by_attention_alone(learned):
    from ablate.model.attention.explicit import Explicit
    from ablate.model.attention.multi_head import SelfAttention
    from ablate.model.padding import Columns
    from ablate.model.position import NoPosition
    from ablate.model.position.added import EveryLayer
    from ablate.model.stack import LayerContext

    ours = learned(EveryLayer)
    kernel = Explicit(d_head=3, dropout=0.0, scale="sqrt_d_head", fill="zero_output")
    sizes = {"d_model": 6, "n_heads": 2, "d_head": 3}
    attention = SelfAttention(**sizes, kernel=kernel, padding=Columns(), causal=True)
    x, positions = torch.randn(2, 3, 6, requires_grad=True), torch.tensor([[0, 1, 4]])
    assert ours.embed(x, positions) is x
    assert ours.longest == 9
    real = torch.ones(2, 3, dtype=torch.bool)
    output = attention(x, LayerContext(positions, ours, real, None))
    moved = torch.stack([x[:, i] + ours.of.table[p] for i, p in enumerate(positions[0])], 1)
    expected = attention(moved, LayerContext(positions, NoPosition(d_model=6), real, None))
    same(output, expected, x, *ours.parameters(), *attention.parameters())
