"""Check zero vectors for padding: where they stay zero, and their weight in a softmax.

Equation: a key of zeros has the score 0 and the weight e^0 / (sum of e^s over all keys).
Source: arXiv:1706.03762, equation 1; a row of zeros for PAD: padding_idx of torch.nn.Embedding.
What differs: random weights in float64; one self-attention and one cross-attention of the model,
    with and without its biases, its residual connection and its norm.
What to expect: only linear maps without bias keep zero vectors.
"""

import copy

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from ablate.data import PAD
from ablate.model.attention import weights_of
from ablate.model.attention.explicit import Explicit
from ablate.model.attention.multi_head import MultiHeadAttention
from ablate.model.embedding import Table
from ablate.model.padding import Columns, Mask, NoPadding, RowsAndColumns
from ablate.model.stack import LayerContext, Memory
from ablate.model.transformer import Transformer
from ablate.probe import random_sentences
from experiments.shared.measure.kernels import scale_of
from experiments.shared.probe.draws import Measured, RandomModels, moved


class PaddingVectors(RandomModels):
    """A probe that follows the vectors of padding from the embedding to the cross-attention."""

    largest = ("zero_row", "zero_error", "bare_rows")
    smallest = (
        *("padding_vector", "zero_row_placed", "ordinary_error", "zero_weight", "memory_rows"),
        *("rows_with_bias", "rows_with_residual", "rows_with_norm", "unmasked_moves"),
    )

    def draw(self, model: Transformer, generator: torch.Generator) -> Measured:
        """Yield the measurements of one model with random weights and one random text.

        PAD is the token of padding, and a padding vector is the vector at a position of PAD. The
        size of a vector is its largest absolute entry. An attention is row-masked if padding
        queries attend to nothing and their outputs are zeros.

        Yields:
            padding_vector: smallest size of a padding vector at the input of the first layer.
            zero_row_placed: smallest size there if the embedding of PAD is zero.
            zero_row: largest size of an embedded PAD, without positions, if its embedding is zero.
            memory_rows: smallest size of a padding vector of the encoder output if each
                self-attention of the encoder is row-masked.
            bare_rows: largest size of a padding vector after the first self-attention alone, if it
                is row-masked and its projections have no biases.
            rows_with_bias, rows_with_residual, rows_with_norm: smallest size if the biases, the
                residual connection or the norm are added.
            zero_error: largest deviation of the weight of a zero key from e^0 / (sum of e^s over
                all keys).
            ordinary_error: largest such deviation for padding with an ordinary embedding.
            zero_weight: smallest weight of a zero key.
            unmasked_moves: largest change of the output of cross-attention (without biases) if the
                zero vectors of padding that it reads are not masked.
        """
        ids = random_sentences(model, [self.length, self.length // 2], generator)
        real = ids != PAD
        yield "memory_rows", sizes(memory_rows(model, ids, real)[~real])
        x = placed(model, ids)
        yield "padding_vector", sizes(x[~real])
        zero_pad(model)
        yield "zero_row_placed", sizes(placed(model, ids)[~real])
        embedded = model.embedding.embed_src(ids)
        yield "zero_row", sizes(embedded[~real])
        yield from weights(model, embedded, x, real)
        yield from rows(model, x, real)


def sizes(vectors: Float[Tensor, "N D"]) -> Float[Tensor, " N"]:
    """Return the largest absolute entry of each vector."""
    return vectors.abs().amax(-1)


def placed(model: Transformer, ids: Tensor) -> Float[Tensor, "B L D"]:
    """Return the embedded tokens with their positions."""
    at = torch.arange(ids.size(1))[None]
    return model.encoder.position.embed(model.embedding.embed_src(ids), at)


def zero_pad(model: Transformer) -> None:
    """Set the embedding of PAD to zero in every table."""
    for module in model.modules():
        if isinstance(module, Table):
            module.weight[PAD] = 0


def memory_rows(model: Transformer, ids: Tensor, real: Bool[Tensor, "B L"]) -> Tensor:
    """Return the encoder output if padding queries attend to nothing, so that their outputs in each
    self-attention are zeros.
    """
    other = copy.deepcopy(model)
    for layer in other.encoder.layers:
        mask_rows(layer["self_attention"])  # type: ignore[index]
    return other.encoder(other.embedding.embed_src(ids), real)


def mask_rows(attention: MultiHeadAttention) -> None:
    """Change an attention module so that padding queries attend to nothing and their outputs are
    zeros.
    """
    attention.padding = RowsAndColumns()
    attention.kernel = Explicit(
        d_head=attention.d_head, dropout=0.0, scale="sqrt_d_head", fill="zero_output"
    )


def without_biases(attention: MultiHeadAttention) -> MultiHeadAttention:
    """Return a copy of an attention module in which all biases are zero."""
    other = copy.deepcopy(attention)
    for part in (other.query, other.key, other.value, other.output):
        if part.bias is not None:
            part.bias.zero_()
    return other


def weights(model: Transformer, embedded: Tensor, x: Tensor, real: Bool[Tensor, "B L"]) -> Measured:
    """Yield the attention weights of padding that is not masked, compared with the weight of a key
    whose score is 0.

    Args:
        model: the model, whose first self-attention computes the weights.
        embedded: embedded tokens without positions; zero at padding.
        x: tokens with positions, and with an ordinary embedding of PAD.
        real: mask of the tokens, False at padding.

    Yields:
        zero_weight: weight of padding with zero vectors, without biases.
        zero_error: largest difference between such a weight and the weight of a score of 0.
        ordinary_error: the same difference for padding with ordinary vectors, with biases.
    """
    whole = [*model.encoder.layers][0]["self_attention"]
    got, expected = zero_score(without_biases(whole), embedded, real)
    yield "zero_weight", got
    yield "zero_error", moved(got, expected)
    yield "ordinary_error", moved(*zero_score(whole, x, real))


def zero_score(
    attention: MultiHeadAttention, x: Float[Tensor, "B L D"], real: Bool[Tensor, "B L"]
) -> tuple[Tensor, Tensor]:
    """Return the attention weights on padding, and the weights that scores of 0 would have there.

    Raises:
        UserError: the attention scores are not scaled dot products.
    """
    maps = (attention.query, attention.key)
    q, k = (m(x).view(*x.shape[:2], attention.n_heads, -1).transpose(1, 2) for m in maps)
    padding = ~real[:, None, None].expand(-1, q.size(1), q.size(2), -1)
    got = weights_of(attention.kernel, q, k, k, Mask(), None)[padding]
    scores = (q @ k.mT * scale_of(attention.kernel)).masked_fill(padding, 0.0)
    return got, scores.softmax(-1)[padding]


def rows(model: Transformer, x: Tensor, real: Bool[Tensor, "B L"]) -> Measured:
    """Yield sizes (largest absolute entries) of padding vectors after the encoder's first
    self-attention, if padding queries attend to nothing.

    Yields:
        bare_rows: size if the projections have no biases.
        rows_with_bias, rows_with_residual, rows_with_norm: size if the biases, the residual
            connection or the norm are added.
        unmasked_moves: change of the output of cross-attention to the vectors of `bare_rows` if
            padding is not masked.
    """
    layer: dict[str, MultiHeadAttention] = [*model.encoder.layers][0]
    with_bias = copy.deepcopy(layer["self_attention"])
    mask_rows(with_bias)
    at = LayerContext(torch.arange(x.size(1))[None], model.encoder.position, real, None)
    bare = without_biases(with_bias)(x, at)
    yield "bare_rows", sizes(bare[~real])
    yield "rows_with_bias", sizes(with_bias(x, at)[~real])
    yield "rows_with_residual", sizes((x + bare)[~real])
    yield "rows_with_norm", sizes(model.encoder.residual.norms[0](bare)[~real])
    cross = without_biases([*model.decoder.layers][0]["cross_attention"])
    half, outputs = ~real.all(1), []  # sentences with padding
    for padding in (Columns(), NoPadding()):
        cross.padding = padding
        outputs.append(cross(x, at._replace(memory=Memory(bare, real)))[half])
    yield "unmasked_moves", moved(*outputs)
