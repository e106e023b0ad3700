"""The interface of positions, and the options that act on attention or not at all."""

from abc import ABC, abstractmethod
from typing import Annotated, Any, ClassVar

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from ablate import process
from ablate.config.limits import Range
from ablate.errors import UserError
from ablate.model import Cache, Law

Tokens = Float[Tensor, "B L D"]  # for each sentence, a vector for each token
Newest = Float[Tensor, "M N D"]  # for each sentence, the newest token of each hypothesis
Heads = Float[Tensor, "B H L E"]  # for each sentence and head, a vector for each token
Positions = Int[Tensor, "#B L"]  # the position of each token; sentences may share a single row


class Position(nn.Module, ABC):
    """Gives a stack the positions of its tokens; encoder and decoder have one object each.

    Built as `position(d_model=...)`. Positions can act on the embeddings (`embed`, and `step` in
    decoding), on the input of every self-attention (`embed_in_layer`), on queries and keys
    (`rotate`), and on attention scores (`bias`). An option overrides the methods that it needs.
    Positions are passed as arguments and not derived from shapes, because in decoding the tokens of
    several hypotheses are in one row. The scale of embeddings and dropout are separate factors.
    """

    breaks: ClassVar[frozenset[Law]] = frozenset()

    @property
    def longest(self) -> int | None:
        """The largest number of positions that a sequence may have; None: there is no limit."""
        return None

    def check_heads(self, d_head: int) -> None:
        """Raise UserError if `rotate` cannot rotate heads of this width."""
        return

    def extend(self, length: int) -> None:  # noqa: B027
        """Make sure that positions 0 to length - 1 have vectors, if the vectors are fixed."""

    def embed(self, x: Tokens, positions: Positions) -> Tensor:
        """Return the input of the stack: the embeddings, with positions added."""
        return x

    def cache(self) -> Cache:
        """Return the cache of decoding that `step` needs, before the first step."""
        return Cache()

    def step(self, x: Newest, positions: Int[Tensor, "#M N"], cache: Any) -> Tensor:
        """Return the input of the stack for the newest token of each hypothesis.

        There are N hypotheses of each of M sentences.
        """
        return self.embed(x, positions)

    def embed_in_layer(self, x: Tokens, positions: Positions) -> Tensor:
        """Return the input of self-attention in every layer: the tokens x, with positions added."""
        return x

    def prepare(self, positions: Positions, d_head: int, dtype: torch.dtype) -> Any:
        """Return what `rotate` receives as positions; all layers of a stack share the result."""
        return positions

    def rotate(self, heads: Heads, positions: Any) -> Tensor:
        """Return queries or keys of self-attention, rotated by their positions.

        `positions` is the result of `prepare`.
        """
        return heads

    def bias(
        self, n_heads: int, queries: Int[Tensor, "#B Q"], keys: Int[Tensor, "#B K"]
    ) -> Float[Tensor, "#B H #Q #K"] | None:
        """Return the bias that positions add to the scores of self-attention; None: no bias."""
        return None


class FixedVectors(Position):
    """Positions that add a fixed vector to each token, from a table that grows when needed."""

    table: Tensor

    def __init__(self, *, d_model: int) -> None:
        super().__init__()
        self.register_buffer("table", self.vectors(512, d_model), persistent=False)

    @abstractmethod
    def vectors(self, length: int, d_model: int) -> Float[Tensor, "L D"]:
        """Return the vectors of positions 0 to length - 1, which do not depend on `length`."""

    def embed(self, x: Tokens, positions: Positions) -> Tokens:
        """Return x plus the vector of each position."""
        on_cpu = process.uses_cpu_path(positions.device)
        self.extend(int(positions.max()) + 1 if on_cpu else positions.size(1))
        return x + self.table[positions]

    def extend(self, length: int) -> None:
        """Make sure that positions 0 to length - 1 have vectors."""
        if length > self.table.size(0):
            self.table = self.vectors(2 * length, self.table.size(1)).to(self.table)


class OfVectors(Position):
    """Positions that use the fixed or learned vectors of another option in a new way.

    Args:
        level: this option of model/position, for the message.
        of: the other option, whose method `embed` adds a vector to each token.

    Raises:
        UserError: `of` adds no vectors, or its output depends on earlier tokens.
    """

    def __init__(self, level: str, of: Position) -> None:
        super().__init__()
        kind = type(of)
        if kind.embed is Position.embed or kind.step is not Position.step:
            raise UserError(
                f"model.position.of is {kind.__name__}: model/position={level} needs positions "
                "that are vectors, such as model/position@model.position.of=learned"
            )
        self.of = of

    def extend(self, length: int) -> None:
        """Make sure that positions 0 to length - 1 have vectors."""
        self.of.extend(length)

    @property
    def longest(self) -> int | None:
        """The largest number of positions that have vectors; None: there is no limit."""
        return self.of.longest


class NoPosition(Position):
    """No positions.

    An option without positions: embeddings stay unchanged.

    Equation: x[pos].
    Source: arXiv:2203.16634 (what models without positions can and cannot learn).
    What differs: nothing is added in either stack.
    What to expect: the encoder sees a bag of words. The decoder can still infer the number of
        earlier tokens from its causal mask. BLEU is lower for languages in which word order carries
        meaning.
    """

    def __init__(self, *, d_model: int) -> None:
        super().__init__()


class Rotary(Position):
    """Rotary positions: queries and keys are rotated, embeddings stay unchanged.

    Positions that rotate pairs of channels by angles proportional to the position.

    Equation: channels (2i, 2i + 1) of a query or key at position m are rotated by the angle m w_i,
        w_i = base^(-2i / d_head), so that the dot product of a query at m and a key at n depends on
        the distance m - n alone.
    Source: arXiv:2104.09864, section 3.2, equations 15 and 16; base = 10000.
    What differs: the paper rotates the queries and keys of a single stack; here self-attention of
        both stacks rotates them. Cross-attention has no positions, because source and target are
        numbered separately. Kernels that transform the rotated queries or keys (qk_norm, general,
        additive, linear, delta_rule), or that add a key without a rotation (sink), have scores that
        also depend on m and n themselves.
    What to expect: at least the quality of sinusoids; relative distances need not be learned.

    Args:
        d_model: width of the stack, which has no effect here.
        base: base of the rotation frequencies; a larger base rotates more slowly.
    """

    def __init__(self, *, d_model: int, base: Annotated[float, Range(0, above=True)]) -> None:
        super().__init__()
        self.base = base

    def check_heads(self, d_head: int) -> None:
        """Raise UserError for an odd head width, which cannot be split into pairs of channels."""
        if d_head % 2:
            raise UserError(
                f"model.d_head is {d_head}: model/position=rotary turns pairs of channels, so it "
                "must be even"
            )

    def prepare(self, positions: Positions, d_head: int, dtype: torch.dtype) -> Tensor:
        """Return the cosine and the sine of each channel's angle, of shape "2 #B 1 L E".

        The sines of even-numbered channels are negated, as the rotation of a pair needs them.
        """
        # float64: at position 500 a float32 angle is already wrong in the fifth decimal
        pair = torch.arange(0, d_head, 2, dtype=torch.float64, device=positions.device)
        angle = positions[:, None, :, None] * self.base ** (-pair / d_head)
        cos, sin = angle.cos(), angle.sin()
        pairs = torch.stack([torch.stack([cos, cos], -1), torch.stack([-sin, sin], -1)])
        return pairs.flatten(-2).to(dtype)

    def rotate(self, heads: Heads, positions: Float[Tensor, "2 #B 1 L E"]) -> Heads:
        """Return the queries or keys, each pair of channels rotated by its angle."""
        cos, sin = positions
        pairs = heads.view(*heads.shape[:-1], heads.size(-1) // 2, 2)  # no -1: a batch may be empty
        swapped = pairs.flip(-1).flatten(-2)
        return heads * cos + swapped * sin


class Alibi(Position):
    """Attention with linear biases (ALiBi): scores fall with the distance between query and key.

    Positions that add a bias to each score: minus a slope times the distance.

    Equation: score(q_i, k_j) = scale * q_i k_j - slope_h * |i - j|, with the slopes of n heads
        2^(-8h / n), h = 1 to n. If n is no power of 2, let m be the largest power of 2 below n: the
        slopes are those of m heads, followed by every other slope of 2m heads.
    Source: arXiv:2108.12409, section 3; the slopes for an n that is no power of 2 are from the
        paper's code.
    What differs: the paper trains causal language models; here an encoder uses the same bias for
        both directions. Cross-attention has no positions.
    What to expect: the quality of sinusoids at lengths seen in training, and little loss beyond
        them. The encoder must learn word order from distances without a sign, which is harder.
    """

    def __init__(self, *, d_model: int) -> None:
        super().__init__()

    def bias(
        self, n_heads: int, queries: Int[Tensor, "#B Q"], keys: Int[Tensor, "#B K"]
    ) -> Float[Tensor, "#B H Q K"]:
        """Return the negative distances, multiplied by the slope of each head."""
        distance = (queries[:, None, :, None] - keys[:, None, None, :]).abs()
        head = torch.tensor(slopes(n_heads), device=queries.device)
        return -head[:, None, None] * distance


def slopes(n_heads: int) -> list[float]:
    """Return the slope of each head: 2^(-8h / n) for head h of n, if n is a power of 2.

    For other n, the docstring of `Alibi` has the rule.
    """
    below = 1 << (n_heads.bit_length() - 1)  # the largest power of 2 that is not above n_heads
    regular = [2 ** (-8 * h / below) for h in range(1, below + 1)]
    between = [2 ** (-4 * h / below) for h in range(1, 2 * below + 1, 2)]
    return regular + between[: n_heads - below]
