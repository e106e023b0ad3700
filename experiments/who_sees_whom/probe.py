"""Check which states of a text depend on which tokens, for attention and recurrence.

Equation: for the states f of one stack and a text x, the influence of token j on state i is
    max |f_i(x) - f_i(x')|, where x' has another token j; for a permutation s of the tokens,
    |f(x)_s(i) - f(x_s)_i|; and the score q_i k_j of the same two words in the first layer, at
    growing distances.
Source: arXiv:1706.03762, section 4 and table 1: maximum path length 1 in self-attention, n in a
    recurrent layer.
What differs: random weights in float64. The decoder of `model=rnn` is read without attention to a
    source. The decoder of a Transformer attends to the encoder output of one source, which stays
    the same.
What to expect: a recurrent layer sees the past and its order; a bidirectional one sees everything;
    attention sees everything that is not masked, at any distance, but no order without positions.
    Then scores do not depend on distance, but weights shrink as sentences grow.
"""

from collections.abc import Callable
from functools import partial
from typing import Annotated, Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from ablate.config.limits import OneOf, Range
from ablate.data import PAD
from ablate.errors import UserError
from ablate.model import Model
from ablate.model.attention.multi_head import SelfAttention
from ablate.model.position import NoPosition, Position, Rotary
from ablate.model.position.added import Learned, Sinusoidal
from ablate.model.rnn import Layer, Recurrent
from ablate.model.stack import Stack
from ablate.model.transformer import Transformer
from ablate.probe import random_sentences
from experiments.shared.measure.kernels import scale_of
from experiments.shared.probe.draws import Measured, RandomModels, each_replaced, moved
from experiments.shared.probe.influence import influence
from experiments.word_order.probe import shuffled

FAR = 256  # number of tokens of a long text
POSITIONS: dict[str, Callable[..., Position]] = {
    "none": NoPosition,
    "sinusoidal": partial(Sinusoidal, layout="interleaved", spacing="half"),
    "learned": partial(Learned, max_length=FAR),
    "rotary": partial(Rotary, base=10000.0),
}
DISTANCES = (1, 2, 3, 5, 8, 20, 50, 100, 200)
SATURATING = -1e12  # input of a gate that makes the gate exactly 0
Read = Callable[[Tensor], Tensor]


class WhoSeesWhom(RandomModels):
    """A probe that replaces and permutes tokens of random texts that an encoder or decoder reads.

    Args:
        draws: number of models with random weights, each with a random text.
        length: number of tokens in a short text; long texts have 256 tokens.
        stack: stack that reads the texts: encoder | decoder.
        position: position encoding of the probed model: none | sinusoidal | learned | rotary; for
            model=rnn only none.
        seed: seed of weights and texts.

    Raises:
        UserError: `stack` or `position` is not one of these words, `draws` is below 1, or `length`
            is below 3.
    """

    needs = Model
    largest = ("later", "order_largest", "reset", "score")
    smallest = (
        *("earlier", "other", "order", "order_control", "far", "reset_control", "skipping"),
        *("score_control", "weight", "weight_control"),
    )

    length: Annotated[int, Range(3)]
    stack: Annotated[str, OneOf(("encoder", "decoder"))]
    position: Annotated[str, OneOf(tuple(POSITIONS))]

    def __call__(self, model: Model) -> dict[str, float]:
        """Return the largest or smallest measurements over all draws of random weights and texts.

        Raises:
            UserError: the model is neither recurrent nor a Transformer, it is recurrent and
                `position` is not none, or its attention scores are not scaled dot products.
        """
        self.check(model)
        return super().__call__(model)

    def check(self, model: Model) -> None:
        """Raise UserError for a model that is neither recurrent nor a Transformer, for a recurrent
        model if the probe has positions, and for attention that is not scaled dot-product
        attention.
        """
        if not isinstance(model, Recurrent | Transformer):
            raise UserError(
                f"probe=who_sees_whom works only with model=rnn or a Transformer, but model is "
                f"{type(model).__name__}: choose model=rnn or a Transformer"
            )
        if isinstance(model, Recurrent) and self.position != "none":
            raise UserError(
                f"probe.position is {self.position!r}: model=rnn has no positions, so it must be "
                "none"
            )
        if isinstance(model, Transformer):
            scale_of(self.attention(model).kernel)

    def draw(self, model: Model, generator: torch.Generator) -> Measured:
        """Yield measurements of one model with random weights.

        The influence of a token on a state is the change of the state if the token is replaced.
        Recurrent models have also the measurements of `across_reset`, unless they read in both
        directions. Transformers have also those of `pair_scores`.

        Yields:
            later: influence of a token on an earlier state.
            earlier: influence of an earlier token on a later state.
            other: influence of any token on the state of another token.
            far: influence of the first of FAR tokens on the last state.
            order, order_largest, order_control: see `order`.
            skipping: for attention, the value of `far` if all tokens between the first and the last
                are masked.
        """
        near, far, source = (
            random_sentences(model, [n], generator) for n in (self.length, FAR, self.length)
        )
        read = self.reader(model, source, generator)
        diagonal = torch.eye(self.length, dtype=torch.bool)
        effects = influence(read(each_replaced(near)))
        yield "later", effects.triu(1)
        yield "earlier", effects[diagonal.logical_not().tril()]
        yield "other", effects[~diagonal]
        pair = replaced_at(far, 0)
        yield "far", moved(*read(pair)[:, -1])
        yield from order(read, near, generator)
        if isinstance(model, Transformer):
            pair[:, 1:-1] = PAD
            yield "skipping", moved(*read(pair)[:, -1])
            yield from pair_scores(self.attention(model), read, far, self.length)
        elif isinstance(model, Recurrent) and self.stack == "decoder":
            yield from across_reset(model, far)

    def reader(self, model: Model, source: Int[Tensor, "1 S"], generator: torch.Generator) -> Read:
        """Return a function that computes the states of the model's encoder or decoder, as the
        setting `stack` says, for the ids of texts.

        The position encodings of a Transformer are replaced first.

        Args:
            model: the model, which is changed.
            source: the source that the decoder of a Transformer attends to.
            generator: source of random numbers for the values of learned positions.
        """
        embedding: Any = model.embedding
        if isinstance(model, Recurrent):
            if self.stack == "encoder":
                return lambda ids: model.encode(ids)[0].states
            return lambda ids: model.decode(embedding.embed_tgt(ids), zeros(model, len(ids)))[0]
        assert isinstance(model, Transformer)
        for stack in (model.encoder, model.decoder):
            stack.position = self.positions(embedding.output_weight().size(1), generator)
        if self.stack == "encoder":
            return lambda ids: model.encode(ids).states
        return lambda ids: model.decode(ids, model.encode(source.expand(len(ids), -1)))

    def positions(self, d_model: int, generator: torch.Generator) -> Position:
        """Return a position component in float64; learned positions get new random values."""
        position = POSITIONS[self.position](d_model=d_model).double()
        if isinstance(position, Learned):
            with torch.no_grad():
                position.draw_initial_values(position.table, generator)
        return position

    def attention(self, model: Any) -> SelfAttention:
        """Return the first self-attention of the model's encoder or decoder, as the setting `stack`
        says.
        """
        stack = getattr(model, self.stack)
        assert isinstance(stack, Stack)
        first = stack.sublayers[0]
        assert isinstance(first, SelfAttention)
        return first


def replaced_at(ids: Int[Tensor, "1 L"], place: int) -> Int[Tensor, "2 L"]:
    """Return a text, and the same text with another token at one position."""
    return each_replaced(ids)[[0, place + 1]]


def order(read: Read, ids: Int[Tensor, "1 L"], generator: torch.Generator) -> Measured:
    """Yield how much the states change by a permutation of the tokens, and by another first token.

    Yields:
        order, order_largest: change if the tokens are permuted, and the states are then put into
            the original order.
        order_control: change if the first token is replaced.
    """
    permutation = shuffled(ids.size(1), generator)
    states, permuted, other = read(torch.cat([ids, ids[:, permutation], replaced_at(ids, 0)[1:]]))
    for name in ("order", "order_largest"):
        yield name, moved(states[permutation], permuted)
    yield "order_control", moved(states, other)


def zeros(model: Recurrent, rows: int) -> list[tuple[Tensor, ...]]:
    """Return the initial states, which are zero, of a recurrent decoder for `rows` texts."""
    begin = torch.zeros(1, rows, model.embedding.output_weight().size(1), dtype=torch.float64)
    lstm = isinstance(model.decoder[0].cell, nn.LSTM)
    return [(begin, begin) if lstm else (begin,) for _ in model.decoder]


def across_reset(model: Recurrent, ids: Int[Tensor, "1 L"]) -> Measured:
    """Yield how much later states of a recurrent decoder change if an earlier token is replaced,
    in a forward pass over the whole text.

    Yields:
        reset: change if a token between them resets the state of the first layer.
        reset_control: change with an ordinary token between them.
    """
    half, layer = ids.size(1) // 2, model.decoder[0]
    assert isinstance(layer, Layer)
    pair = model.embedding.embed_tgt(replaced_at(ids, half - 1))
    fixed = pair.clone()
    fixed[:, half] = resetting_input(layer.cell)
    for name, x in (("reset", fixed), ("reset_control", pair)):
        yield name, moved(*model.decode(x, zeros(model, 2))[0][:, half:])


def resetting_input(cell: nn.LSTM | nn.GRU) -> Float[Tensor, " D"]:
    """Return an input after which the state of a cell no longer depends on its state before.

    The forget gate of an LSTM, or the update gate of a GRU, becomes 0. The inputs of all other
    gates are so large that the previous output cannot change them.
    """
    weight = cell.get_parameter("weight_ih_l0").view(-1, cell.hidden_size, cell.input_size)[1]
    closed = torch.full((cell.hidden_size,), SATURATING, dtype=weight.dtype)
    return torch.linalg.solve(weight, closed)


def pair_scores(
    attention: SelfAttention, read: Read, ids: Int[Tensor, "1 L"], short: int
) -> Measured:
    """Yield how the attention score and weight of a pair of words in the first layer depend on the
    positions of the words.

    The later word is the query, and the earlier word is the key.

    Yields:
        score: change of the score of a head if the distance between the words changes.
        score_control: largest change of the score of a head if the earlier word is replaced.
        weight: relative decrease of the weight of a head from a text of `short` tokens to
            the long text.
        weight_control: largest weight of a head in the text of `short` tokens.
    """
    word, query, other = ids[0, 0], ids[0, -1], replaced_at(ids, 0)[1, 0]
    texts = ids[:, 1:-1].repeat(len(DISTANCES) + 1, 1)
    texts[torch.arange(len(DISTANCES)), -torch.tensor(DISTANCES)] = word
    texts[-1, -1] = other
    whole = torch.cat([texts, query.expand(len(texts), 1)], 1)
    scores = recorded(attention, read, whole)
    keys = torch.tensor([-1 - d for d in (*DISTANCES, 1)])
    pairs = scores[torch.arange(len(keys)), :, keys]
    long = scores[0].softmax(-1)[:, -2]
    near = recorded(attention, read, whole[:1, -short:])[0].softmax(-1)[:, -2]
    yield "score", moved(pairs[:-1], pairs[0])
    yield "score_control", moved(pairs[-1], pairs[0])
    yield "weight", 1 - long / near
    yield "weight_control", near.max()


def recorded(
    attention: SelfAttention, read: Read, ids: Int[Tensor, "M L"]
) -> Float[Tensor, "M H K"]:
    """Return the scores between the last token and every key, for each text and head: the product
    of query and key, scaled as the attention scales it.
    """
    records: list[Tensor] = []

    def record(kernel: Any, inputs: tuple[Any, ...]) -> None:
        q, k = inputs[:2]
        records.append(scale_of(kernel) * (q[:, :, -1:] @ k.transpose(-2, -1))[:, :, 0])

    with attention.kernel.register_forward_pre_hook(record):
        read(ids)
    return records[0]
