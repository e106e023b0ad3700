"""Build attention heads with weights set by hand, to check what a single head can represent.

A softmax reaches a hard pattern only in the limit. The intended scores exceed all others by at
least LOGIT, so that each weight deviates from the pattern by less than exp(-LOGIT).
"""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from ablate.model.attention import weights_of
from ablate.model.attention.explicit import Explicit
from ablate.model.attention.multi_head import SelfAttention
from ablate.model.padding import Columns, Mask
from experiments.shared.probe.attention_loops import Words, projected, read
from experiments.shared.probe.draws import Measured, moved

LOGIT = 50.0
RELEVANT = (1, 2, 4)  # numbers of words that share the attention weight of a query
WIDTHS = (2, 3, 5)  # widths of convolutions
CONTENT = 3  # number of content features of a word, before its position features
WORDS = 9
INNER = slice(1, WORDS - 1)  # words with neighbours on both sides


def sharing(generator: torch.Generator) -> Measured:
    """Yield how well a query can attend equally to several marked words.

    Yields:
        sharing_gap: largest deviation of the weights from 1/m on the m marked words and from 0 on
            all other words.
        sum_gap: largest deviation of the output from the sum of the values of the marked words.
        above_half: largest difference between the second largest weight of a query and 1/2; 0 if
            it is negative.
        sigmoid_above_half: smallest difference between the second largest weight of a query and
            1/2, for two or more marked words, if weights are sigmoids of the scores.
    """
    for m in RELEVANT:
        head = asking_for_marked(m)
        marks = torch.randperm(WORDS, generator=generator) < m
        content = torch.randn(WORDS, CONTENT, generator=generator, dtype=torch.float64)
        x = torch.cat([content, marks[:, None], torch.ones(WORDS, 1)], 1)
        weights, scores = weights_and_scores(head, x)
        yield "sharing_gap", moved(weights, marks / m)
        yield "sum_gap", moved(read(head, x, x)[:, :CONTENT], content[marks].sum(0))
        yield "above_half", (weights.topk(2).values[:, 1] - 0.5).clamp(min=0)
        if m > 1:
            yield "sigmoid_above_half", (scores - LOGIT / 2).sigmoid().topk(2).values[:, 1] - 0.5


def asking_for_marked(m: int) -> SelfAttention:
    """Return a head in which every word attends to the marked words, and whose output is m times
    the mean of their values.

    A word consists of its content, its mark (0 or 1), and a 1.
    """
    query, key, value = (torch.zeros(CONTENT, CONTENT + 2) for _ in range(3))
    query[0, -1], key[0, -2] = LOGIT, 1
    value[:, :CONTENT] = torch.eye(CONTENT)
    return by_hand(query, key, value, F.pad(m * torch.eye(CONTENT), (0, 0, 0, 2)), n_heads=1)


def patterns(generator: torch.Generator) -> Measured:
    """Yield how well one head can attend to the previous word from words of one kind, and to the
    next word from words of another kind.

    The scores of both neighbours are higher by LOGIT * WORDS. In addition, scores increase or
    decrease by LOGIT per position, depending on the kind of the query's word.

    Yields:
        pattern_gap: largest deviation of the weights from this pattern.
        pattern_moves: smallest change of a query's weights if its word changes its kind.
    """
    place, index = torch.eye(WORDS), torch.arange(WORDS, dtype=torch.float32)
    both = place.roll(1, 0) + place.roll(-1, 0)
    query = F.pad(LOGIT * WORDS * both, (2, 0, 0, 1))
    query[-1, :2] = torch.tensor([-LOGIT, LOGIT])
    key = F.pad(torch.cat([place, index[None]]), (2, 0))
    head = by_hand(query, key, torch.zeros_like(key), torch.zeros(WORDS + 2, WORDS + 1), n_heads=1)
    kinds = torch.randint(2, (WORDS,), generator=generator)
    weights = []
    for kind in (kinds, 1 - kinds):
        x = torch.cat([F.one_hot(kind, 2), place], 1).double()
        weights.append(weights_and_scores(head, x)[0][INNER])
        wanted = place[(torch.arange(WORDS) + 2 * kind - 1) % WORDS][INNER]
        yield "pattern_gap", moved(weights[-1], wanted)
    yield "pattern_moves", (weights[0] - weights[1]).abs().amax(1)


def two_values(generator: torch.Generator) -> Measured:
    """Yield how much the output at a word changes if its neighbours change as follows: a vector
    times the right neighbour's weight is subtracted from the left neighbour, and the vector times
    the left neighbour's weight is added to the right neighbour.

    Yields:
        blind_spot: change of the output of one head with random weights, which depend on positions.
        two_heads_move: change of the output of two heads that attend to one neighbour each.
    """
    maps = torch.randn(2, CONTENT, CONTENT, generator=generator)
    single = attending_to_offsets([(-1, 1)], maps[:1])
    single.query.weight[:, CONTENT:] = torch.randn(WORDS, WORDS, generator=generator)
    two = attending_to_offsets([(-1,), (1,)], maps)
    x = standing(torch.randn(WORDS, CONTENT, generator=generator, dtype=torch.float64))
    other = x.clone()
    taken = torch.randn(CONTENT, generator=generator, dtype=torch.float64)
    left, right = weights_and_scores(single, x)[0][1, [0, 2]]
    other[0, :CONTENT] -= right * taken
    other[2, :CONTENT] += left * taken
    for name, heads in (("blind_spot", single), ("two_heads_move", two)):
        yield name, moved(read(heads, other, other)[1], read(heads, x, x)[1])


def convolutions(generator: torch.Generator) -> Measured:
    """Compare a circular convolution of width w with w heads that attend to one offset each.

    Yields:
        conv_error: largest deviation of the heads from the convolution, over all widths.
        conv_fewer_heads: deviation without the last head, for the width with the smallest
            deviation.
    """
    for width in WIDTHS:
        taps = torch.randn(width, CONTENT, CONTENT, generator=generator)
        content = torch.randn(WORDS, CONTENT, generator=generator, dtype=torch.float64)
        round_the_end = F.pad(content.T[None], (0, width - 1), mode="circular")
        wanted = F.conv1d(round_the_end, taps.movedim(0, 2).double())[0].T
        x = standing(content)
        for name, heads in (("conv_error", width), ("conv_fewer_heads", width - 1)):
            attention = attending_to_offsets([(offset,) for offset in range(heads)], taps[:heads])
            yield name, moved(read(attention, x, x)[:, :CONTENT], wanted)


def standing(content: Float[Tensor, "L C"]) -> Words:
    """Return the vectors of words, each followed by a one-hot vector of the word's position."""
    return torch.cat([content, torch.eye(len(content), dtype=content.dtype)], 1)


def attending_to_offsets(
    offsets: list[tuple[int, ...]], maps: Float[Tensor, "H C C"]
) -> SelfAttention:
    """Return self-attention whose heads attend to fixed offsets.

    Args:
        offsets: for each head, the offsets of the words to which the head attends equally.
        maps: for each head, the projection of its values. The output is the sum over the heads.
    """
    place = torch.eye(WORDS)
    query = torch.cat(
        [LOGIT * torch.stack([place.roll(o, 0) for o in of]).sum(0) for of in offsets]
    )
    key, value = place.repeat(len(offsets), 1), torch.eye(WORDS, CONTENT).repeat(len(offsets), 1)
    output = torch.cat([F.pad(value_map, (0, WORDS - CONTENT, 0, WORDS)) for value_map in maps], 1)
    where, what = (CONTENT, 0), (0, WORDS)
    return by_hand(
        F.pad(query, where), F.pad(key, where), F.pad(value, what), output, n_heads=len(offsets)
    )


@torch.no_grad()
def by_hand(
    query: Float[Tensor, "E D"],
    key: Float[Tensor, "E D"],
    value: Float[Tensor, "E D"],
    output: Float[Tensor, "D E"],
    *,
    n_heads: int,
) -> SelfAttention:
    """Return self-attention with these weights, without biases and without scaling."""
    d_head = len(query) // n_heads
    kernel = Explicit(d_head=d_head, dropout=0.0, scale="none", fill="zero_output")
    sizes: Any = {"d_model": query.size(1), "n_heads": n_heads, "d_head": d_head}
    attention = SelfAttention(**sizes, kernel=kernel, padding=Columns(), causal=False).double()
    for name, weight in (("query", query), ("key", key), ("value", value), ("output", output)):
        attention.get_parameter(f"{name}.weight").copy_(weight)
        attention.get_parameter(f"{name}.bias").zero_()
    return attention.eval()


def weights_and_scores(
    head: SelfAttention, x: Words
) -> tuple[Float[Tensor, "L L"], Float[Tensor, "L L"]]:
    """Return the attention weights of a module with a single head, and its unscaled scores."""
    q, k, v = projected(head, x, x)
    return weights_of(head.kernel, q[None], k[None], v[None], Mask(), None)[0, 0], (q @ k.mT)[0]
