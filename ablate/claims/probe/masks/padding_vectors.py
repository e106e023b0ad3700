"""Padding as vectors of zeros: where they are zero, and what a zero is worth to a softmax.

Equation: a key of zeros has the score 0 and the weight e^0 / (sum of e^s over all keys).
Source: arXiv:1706.03762, equation 1; a row of zeros for PAD: padding_idx of torch.nn.Embedding.
What differs: random weights in float64; one self-attention and one cross-attention of the model,
    with and without its biases, its residual connection and its norm.
What to expect: a zero stays one through linear maps without bias, and through nothing else.
"""

import copy

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from ablate.claims.probe.dependence.wires import moved
from ablate.claims.probe.random_models import RandomModels
from ablate.data.vocabulary import PAD
from ablate.model.attention.explicit import Explicit
from ablate.model.attention.multi_head import CrossAttention, MultiHeadAttention
from ablate.model.embedding.table import Table
from ablate.model.inspect import weights_of
from ablate.model.padding.base import Mask
from ablate.model.padding.columns import Columns
from ablate.model.padding.none import NoPadding
from ablate.model.padding.rows_and_columns import RowsAndColumns
from ablate.model.sublayer import Memory, Place
from ablate.model.transformer import Transformer
from ablate.probe.sentences import random_sentences

# of all draws the largest counts, but for these the smallest
LEAST = (
    *("padding_vector", "zero_row_placed", "ordinary_error", "zero_weight"),
    *("memory_rows", "rows_with_bias", "rows_with_residual", "rows_with_norm", "unmasked_moves"),
)


class PaddingVectors(RandomModels):
    """Follows the vectors of padding from the embedding to the cross-attention."""

    measures = (
        *("padding_vector", "zero_row_placed", "zero_row"),
        *("zero_error", "ordinary_error", "zero_weight"),
        *("memory_rows", "bare_rows", "rows_with_bias", "rows_with_residual", "rows_with_norm"),
        "unmasked_moves",
    )

    def __call__(self, model: Transformer) -> dict[str, float]:
        """Return the extremes over all draws.

        Largest entry of a padding vector: padding_vector: as it enters the first layer;
        zero_row_placed and zero_row: when the row of PAD is zeros, with positions and before;
        memory_rows: behind the whole encoder, its rows of padding masked; bare_rows: behind one
        such self-attention without biases; rows_with_bias, _residual, _norm: with one of these.
        zero_error: how far the weight of a key of zeros is from e^0 over the sum; ordinary_error:
        the same of padding as the model has it; zero_weight: the least weight of a key of zeros;
        unmasked_moves: how far cross-attention to memory rows of zeros, without its mask and
        without biases, is from that with its mask.
        """
        found = [self.draw(*drawn) for drawn in self.models(model)]
        values = {name: torch.stack([one[name] for one in found]) for name in found[0]}
        return {k: float(v.min() if k in LEAST else v.max()) for k, v in values.items()}

    @torch.no_grad()
    def draw(self, model: Transformer, generator: torch.Generator) -> dict[str, Tensor]:
        """Return the measurements under one set of weights."""
        ids = random_sentences(model, [self.length, self.length // 2], generator)
        real = ids != PAD
        memory = memory_rows(model, ids, real)
        x = placed(model, ids)
        found = {"padding_vector": least(x[~real]), "memory_rows": least(memory[~real])}
        zero_pad(model)
        embedded = model.embedding.embed_src(ids)
        found["zero_row_placed"] = least(placed(model, ids)[~real])
        found["zero_row"] = embedded[~real].abs().max()
        return {**found, **weights(model, embedded, x, real), **rows(model, x, real)}


def least(vectors: Float[Tensor, "N D"]) -> Tensor:
    """Return the largest entry of the vector whose largest entry is smallest."""
    return vectors.abs().amax(-1).min()


def placed(model: Transformer, ids: Tensor) -> Float[Tensor, "B L D"]:
    """Return the embedded tokens with their positions."""
    at = torch.arange(ids.size(1))[None]
    return model.encoder.position.embed(model.embedding.embed_src(ids), at)


def zero_pad(model: Transformer) -> None:
    """Make the row of PAD zeros in every table."""
    for module in model.modules():
        if isinstance(module, Table):
            module.weight[PAD] = 0


def memory_rows(model: Transformer, ids: Tensor, real: Bool[Tensor, "B L"]) -> Tensor:
    """Return the memory when rows of padding are masked as well, and give zeros."""
    other = copy.deepcopy(model)
    for layer in other.encoder.layers:
        mask_rows(layer["self_attention"])  # type: ignore[index]
    return other.encoder(other.embedding.embed_src(ids), real)


def mask_rows(attention: MultiHeadAttention) -> None:
    """Let padding attend to nothing and give zeros."""
    attention.padding = RowsAndColumns()
    attention.kernel = Explicit(
        d_head=attention.d_head, dropout=0.0, scale="sqrt_d_head", fill="zero_output"
    )


def without_biases(attention: MultiHeadAttention) -> MultiHeadAttention:
    """Return a copy whose maps have biases of 0."""
    other = copy.deepcopy(attention)
    for part in (other.query, other.key, other.value, other.output):
        part.bias.zero_()
    return other


def weights(
    model: Transformer, embedded: Tensor, x: Tensor, real: Bool[Tensor, "B L"]
) -> dict[str, Tensor]:
    """Compare the unmasked weights of padding with what a score of 0 would give."""
    whole = [*model.encoder.layers][0]["self_attention"]
    zero, zero_error = zero_score(without_biases(whole), embedded, real)
    _, ordinary_error = zero_score(whole, x, real)
    return {"zero_weight": zero, "zero_error": zero_error, "ordinary_error": ordinary_error}


def zero_score(
    attention: MultiHeadAttention, x: Float[Tensor, "B L D"], real: Bool[Tensor, "B L"]
) -> tuple[Tensor, Tensor]:
    """Return the least weight on padding, and the largest distance from that of a score of 0."""
    maps = (attention.query, attention.key)
    q, k = (m(x).view(*x.shape[:2], attention.n_heads, -1).transpose(1, 2) for m in maps)
    padding = ~real[:, None, None].expand(-1, q.size(1), q.size(2), -1)
    got = weights_of(attention.kernel, q, k, k, Mask(), None)[padding]
    scores = (q @ k.mT * attention.d_head**-0.5).masked_fill(padding, 0.0)
    return got.min(), (got - scores.softmax(-1)[padding]).abs().max()


def rows(model: Transformer, x: Tensor, real: Bool[Tensor, "B L"]) -> dict[str, Tensor]:
    """Follow rows that are masked as a whole through one sub-layer, and into the next."""
    layer: dict[str, MultiHeadAttention] = [*model.encoder.layers][0]
    with_bias = copy.deepcopy(layer["self_attention"])
    mask_rows(with_bias)
    at = Place(torch.arange(x.size(1))[None], model.encoder.position, real, None)
    bare = without_biases(with_bias)(x, at)
    norm = model.encoder.residual.norms[0]
    cross: CrossAttention = [*model.decoder.layers][0]["cross_attention"]
    return {
        "bare_rows": bare[~real].abs().max(),
        "rows_with_bias": least(with_bias(x, at)[~real]),
        "rows_with_residual": least((x + bare)[~real]),
        "rows_with_norm": least(norm(bare)[~real]),
        "unmasked_moves": unmasked_moves(cross, x, Memory(bare, real), at),
    }


def unmasked_moves(cross: CrossAttention, x: Tensor, memory: Memory, at: Place) -> Tensor:
    """Return how far cross-attention to a memory moves when padding is not masked."""
    other = without_biases(cross)
    found = []
    for padding in (Columns(), NoPadding()):
        other.padding = padding
        found.append(other(x, at._replace(memory=memory)))
    half = ~memory.real.all(1)  # sentences with padding
    return moved(found[0][half], found[1][half])
