"""Positions that change the vectors of tokens, before the first layer or in every layer."""

from collections.abc import Callable
from typing import Annotated

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from ablate import process
from ablate.config.limits import Count, OneOf, Range, Seed
from ablate.errors import UserError
from ablate.model import State
from ablate.model.layers import Linear
from ablate.model.position import FixedVectors, Newest, OfVectors, Position, Positions, Tokens


class Constant(Position):
    """Add the same vector at every position, as a control: the sinusoids of position 0.

    Equation: x[pos] + p, p = sin(0), cos(0), sin(0), ... = (0, 1, 0, 1, ...).
    Source: a control for arXiv:1706.03762, section 3.5: its encoding of position 0 is added at
        every position.
    What differs: the added vector has the norm of sinusoids, but carries no position.
    What to expect: the results of `model/position=none`. A difference from `none` would be due to
        the size of the added vector, not to positions.
    """

    vector: Tensor

    def __init__(self, *, d_model: int) -> None:
        super().__init__()
        self.register_buffer("vector", (torch.arange(d_model) % 2).float(), persistent=False)

    def embed(self, x: Tokens, positions: Positions) -> Tokens:
        """Return x plus the sinusoids of position 0."""
        return x + self.vector


Layout = Annotated[str, OneOf(("interleaved", "halves"))]
Spacing = Annotated[str, OneOf(("half", "half_minus_one"))]


class Sinusoidal(FixedVectors):
    """Fixed sinusoids.

    Positions that add sines and cosines of geometrically spaced wavelengths.

    Equation: p[pos, channel of pair i] = sin(pos * w_i) and cos(pos * w_i), w_i = 10000^(-i / n).
        Layout `interleaved` puts pair i in channels 2i and 2i + 1, and `halves` in channels i and i
        + d_model/2. n is d_model/2 (spacing `half`) or d_model/2 - 1 (`half_minus_one`).
    Source: arXiv:1706.03762, section 3.5: interleaved, half (exponent 2i / d_model).
    What differs: nothing in option `sinusoidal`, only the layout in option `sinusoidal_halves`.
        Option `sinusoidal_concat` follows the authors' code, tensor2tensor (arXiv:1803.07416):
        layout halves, spacing half_minus_one.
    What to expect: all options have the same range of wavelengths, so differences beyond run-to-run
        variation would be a surprise. Sinusoids are defined at every length, but a trained model
        may not generalise beyond the lengths that it has seen.

    Args:
        d_model: width; even, and at least 4 with spacing half_minus_one.
        layout: order of the channels: interleaved (sine next to its cosine) | halves (all sines,
            then all cosines).
        spacing: n in the wavelengths 2 pi 10000^(i / n): half (d_model / 2) | half_minus_one
            (d_model / 2 - 1).

    Raises:
        UserError: an argument has a value that is not allowed.
    """

    def __init__(self, *, d_model: int, layout: Layout, spacing: Spacing) -> None:
        least = 4 if spacing == "half_minus_one" else 2
        if d_model % 2 or d_model < least:
            raise UserError(
                f"model.d_model is {d_model}: sinusoidal positions of spacing {spacing} need an "
                f"even number, at least {least}"
            )
        self.layout = layout
        self.n_steps = d_model // 2 - (spacing == "half_minus_one")
        super().__init__(d_model=d_model)

    def vectors(self, length: int, d_model: int) -> Float[Tensor, "L D"]:
        """Return the position vectors of positions 0 to length - 1."""
        # float64: at position 500 a float32 angle is already wrong in the fifth decimal
        return self.formula(torch.arange(length), d_model).float()

    def formula(self, positions: Int[Tensor, " L"], d_model: int) -> Float[Tensor, "L D"]:
        """Return the position vectors of any positions, in float64."""
        pair = torch.arange(d_model // 2, dtype=torch.float64)
        angle = positions[:, None] * 10000.0 ** (-pair / self.n_steps)
        axis = 2 if self.layout == "interleaved" else 1
        return torch.stack([angle.sin(), angle.cos()], axis).flatten(1)


class SinusoidalBand(Sinusoidal):
    """Sinusoids with only some of the wavelengths.

    Positions that add sinusoids to only a band of the channels.

    Equation: p as in `sinusoidal` for the pairs of channels from begin * d_model / 2 to end *
        d_model / 2, and 0 in the other channels.
    Source: introductions to arXiv:1706.03762, section 3.5, say that fast channels distinguish
        neighbours and slow ones distant tokens; the paper does not test it.
    What differs: fewer channels encode the position; the remaining ones keep their wavelengths and
        amplitudes.
    What to expect: the faster half of the channels has wavelengths up to 628, so it distinguishes
        all positions of a sentence; slow channels change their angle by less than 1 / 100 radian
        per token.

    Args:
        d_model: width; even.
        layout: order of the channels: interleaved (sine next to its cosine) | halves (all sines,
            then all cosines).
        spacing: n in the wavelengths 2 pi 10000^(i / n): half (d_model / 2) | half_minus_one
            (d_model / 2 - 1).
        begin: fraction of the wavelengths, from the shortest on, at which the kept band begins.
        end: fraction of the wavelengths, from the shortest on, at which the kept band ends.

    Raises:
        UserError: an argument is not allowed, or the band contains no pair.
    """

    def __init__(
        self,
        *,
        d_model: int,
        layout: Layout,
        spacing: Spacing,
        begin: Annotated[float, Range(0, 1)],
        end: Annotated[float, Range(0, 1)],
    ) -> None:
        pairs = d_model // 2
        self.kept = slice(round(begin * pairs), round(end * pairs))
        if self.kept.start >= self.kept.stop:
            raise UserError(
                f"model.position.begin={begin} and model.position.end={end} keep none of the "
                f"{pairs} pairs of model.d_model={d_model}"
            )
        super().__init__(d_model=d_model, layout=layout, spacing=spacing)

    def formula(self, positions: Int[Tensor, " L"], d_model: int) -> Float[Tensor, "L D"]:
        """Return the position vectors of any positions, in float64."""
        pairs = torch.zeros(d_model // 2, dtype=torch.float64)
        pairs[self.kept] = 1.0
        interleaved = self.layout == "interleaved"
        kept = pairs.repeat_interleave(2) if interleaved else pairs.repeat(2)
        return super().formula(positions, d_model) * kept


class Learned(Position):
    """Learned absolute positions.

    Adds a trained vector for each position.

    Equation: x[pos] + P[pos], where P is a trained matrix with max_length rows.
    Source: arXiv:1705.03122, section 3.1; row (E) of Table 3 in arXiv:1706.03762.
    What differs: encoder and decoder have separate matrices. Initial values are normal with
        standard deviation d_model^-0.5, as for embeddings before they are scaled.
    What to expect: as good as sinusoids at lengths seen in training (25.7 against 25.8 BLEU in
        Table 3); rows beyond these lengths are untrained, and longer sequences than max_length are
        rejected.

    Args:
        d_model: width.
        max_length: maximum number of tokens in a sequence, EOS or BOS counted; number of learned
            positions.
    """

    def __init__(self, *, d_model: int, max_length: Count) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.empty(max_length, d_model))
        self.draw_initial_values(self.table, None)

    @property
    def longest(self) -> int:
        """The largest number of positions that a sequence may have: the rows of the table."""
        return self.table.size(0)

    def draw_initial_values(self, parameter: Tensor, generator: torch.Generator | None) -> None:
        """Fill the table in place with normal random values of standard deviation d_model^-0.5."""
        nn.init.normal_(parameter, std=parameter.size(1) ** -0.5, generator=generator)

    def embed(self, x: Tokens, positions: Positions) -> Tokens:
        """Return x plus the learned vectors.

        Raises:
            UserError: the sequence is longer than the table.
        """
        on_cpu = process.uses_cpu_path(positions.device)
        if on_cpu and (end := int(positions.max()) + 1) > self.longest:
            raise UserError(
                f"a sequence of {end} tokens does not fit model.position.max_length="
                f"{self.longest}: learned positions end there; set it to at least {end}, "
                "keep sentences shorter, or use model/position=sinusoidal"
            )
        return x + F.embedding(positions, self.table)


class FixedRandom(FixedVectors):
    """Fixed random vectors: they distinguish positions, but lack the geometry of sinusoids.

    Positions that add a random vector of fixed norm.

    Equation: x[pos] + sqrt(d_model / 2) g[pos] / |g[pos]|, where g[pos] is drawn once from a normal
        distribution and never trained.
    Source: a control for arXiv:1706.03762, section 3.5, which hypothesises that sinusoids help
        because p[pos + k] is a linear function of p[pos].
    What differs: the vectors have the norm of sinusoids, but no linear map leads from p[pos] to
        p[pos + k] for all positions. Both stacks and all training seeds share the vectors.
    What to expect: most of the benefit of sinusoids, because positions can be told apart; less if
        distances matter, because a model must learn the distance of each pair of positions
        separately. Positions beyond the training lengths are unknown to the model.

    Args:
        d_model: width.
        draw: seed of the random vectors.
    """

    def __init__(self, *, d_model: int, draw: Seed) -> None:
        self.draw = draw
        super().__init__(d_model=d_model)

    def vectors(self, length: int, d_model: int) -> Float[Tensor, "L D"]:
        """Return the vectors of positions 0 to length - 1, which do not depend on `length`."""
        # numpy's numbers do not depend on how many are drawn; those of torch do
        normal = np.random.default_rng(self.draw).standard_normal((length, d_model))
        unit = normal / np.linalg.norm(normal, axis=1, keepdims=True)
        return torch.tensor(unit * (d_model / 2) ** 0.5, dtype=torch.float32)


class Concatenated(OfVectors):
    """Position vectors concatenated with the embeddings instead of added to them.

    Concatenates embeddings with position vectors, and maps the result to d_model channels.

    Equation: x'[pos] = W [x[pos]; p[pos]] + b, W has the shape "d_model 2 d_model". p is the
        position vector of another option, `of`.
    Source: the alternative to the sum in arXiv:1706.03762, section 3.5, whose encodings have
        d_model channels "so that the two can be summed".
    What differs: a learned linear map returns to d_model channels. W [x; p] = A x + C p, so the sum
        is the special case in which A and C are the identity. Each stack has 2 d_model^2 additional
        weights.
    What to expect: the results of the sum, although no channel has to represent words and positions
        at once.

    Args:
        d_model: width.
        of: factory of the position option that provides the vectors.

    Raises:
        UserError: `of` provides no vectors.
    """

    def __init__(self, *, d_model: int, of: Callable[..., Position]) -> None:
        super().__init__("concatenated", of(d_model=d_model))
        self.map = Linear(2 * d_model, d_model)

    def embed(self, x: Tokens, positions: Positions) -> Tokens:
        """Return W [x; p] + b."""
        p = self.of.embed(torch.zeros_like(x), positions)
        mapped: Tensor = self.map(torch.cat([x, p], -1))
        return mapped


class EveryLayer(OfVectors):
    """Position vectors added in every layer.

    Positions that add a position vector to the input of every self-attention.

    Equation: self-attention of each layer reads x[pos] + p[pos], where x is its input without
        positions. p is the position vector of another option, `of`.
    Source: arXiv:1808.04444, section 3 (positions added before each layer); arXiv:2005.12872,
        section A.3 (added in every attention, not to the residual stream).
    What differs: all layers share p, whereas the first paper learns a p for each layer. p is added
        to the input of queries, keys and values; the second paper does not add p to values. p is
        not added to the residual stream.
    What to expect: in shallow models, the quality of vectors that are added once; in deep models a
        better quality, because the layers need not preserve positions in the residual stream.

    Args:
        d_model: width.
        of: factory of the position option that provides the vectors.

    Raises:
        UserError: `of` provides no vectors.
    """

    def __init__(self, *, d_model: int, of: Callable[..., Position]) -> None:
        super().__init__("every_layer", of(d_model=d_model))

    def embed_in_layer(self, x: Tokens, positions: Positions) -> Tokens:
        """Return x plus the position vectors."""
        return self.of.embed(x, positions)


class Recurrent(Position):
    """A recurrent layer below the stack, in place of positions.

    Replaces embeddings by the states of a recurrent layer.

    Equation: the stack reads h_t = GRU(h_{t-1}, x_t) instead of the embeddings x_t, with h_0 = 0.
    Source: doi:10.18653/v1/K19-1031, section 3 (RNN-Transformer, a recurrent layer in place of
        positions); GRU: arXiv:1406.1078, section 2.3.
    What differs: there is one layer, from left to right in both stacks. Biases start at 0; the
        matrices of all gates together are initialised as one matrix, Xavier uniform.
    What to expect: the GRU represents word order also in sentences that are longer than any in
        training. In such sentences it is better than sinusoids, in others about as good. It has 6
        d_model^2 weights for each stack, and its steps cannot run in parallel.

    Args:
        d_model: width.
    """

    def __init__(self, *, d_model: int) -> None:
        from ablate.model.rnn import Layer  # other positions do not need it

        super().__init__()
        self.layer = Layer("gru", d_model, directions=1, forget_bias=0.0)

    def embed(self, x: Tokens, positions: Positions) -> Tokens:
        """Return the GRU's state after each token of whole sequences."""
        states, _ = self.layer(x, (x.new_zeros(1, len(x), x.size(2)),))
        return states

    def cache(self) -> State:
        """Return an empty cache for the state of the GRU."""
        return State()

    def step(self, x: Newest, positions: Int[Tensor, "#M N"], cache: State) -> Newest:
        """Return the GRU's states after the newest tokens, and store them in the cache."""
        before = x.new_zeros(x.shape) if cache.value is None else cache.value
        states, _ = self.layer(x.flatten(0, 1)[:, None], (before.flatten(0, 1)[None],))
        cache.value = states.view_as(x)
        return cache.value
