"""Check what a dot product measures, and what one head can represent.

Equation: the score of a query and a key is s_ij = (W_Q x_i + b_Q) (W_K x_j + b_K). Among all
    vectors u of the length of x, u = |x| W_K^T q / |W_K^T q| has the largest score with q = W_Q x
    (Cauchy-Schwarz).
Source: arXiv:1706.03762, sections 3.2.1 and 3.2.2; for heads as a convolution arXiv:1911.03584,
    theorem 1.
What differs: universal and impossible statements are decided by a computed worst case, or by
    hand-set weights; nothing is learned.
What to expect: among vectors of equal length, the dot product of a vector with itself is the
    largest, but not after projections; only W_Q^T W_K is identifiable; one head can split its
    weight and depend on the query's content, but returns a single mean per query.
"""

import copy

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from ablate.claims.probe.attention.attention_loops import projected
from ablate.claims.probe.attention.hand_set_heads import (
    convolutions,
    patterns,
    sharing,
    two_values,
    weights_and_scores,
)
from ablate.claims.probe.attention.identical_heads import identical_heads
from ablate.claims.probe.random_models import ExtremesOfModels, randomised
from ablate.errors import UserError
from ablate.model.attention.cosine import Cosine
from ablate.model.attention.multi_head import MultiHeadAttention, SelfAttention
from ablate.model.inspect import weights_of
from ablate.model.padding.base import Mask
from ablate.model.transformer import Transformer

PRODUCTS = 100_000  # number of products of two normal numbers


class DotProductPowers(ExtremesOfModels):
    """A probe of the scores of a single-head encoder, and of heads with weights set by hand.

    Raises:
        UserError: the model has several heads, or a head width other than the model's.
    """

    least = (
        *("separate_asymmetry", "roles_moved", "remixed_queries", "sigmoid_above_half"),
        *("pattern_moves", "two_heads_move", "conv_fewer_heads", "other_heads"),
    )
    measures = (
        *("equal_excess", "unequal_excess", "tied_excess", "separate_excess", "random_missed"),
        *("equal_order", "unequal_order", "opposed_order", "cosine_order"),
        *("symmetric_error", "separate_asymmetry", "weights_asymmetry"),
        *("roles_leak", "roles_moved", "remixed_weights", "remixed_queries"),
        *("sharing_gap", "sum_gap", "above_half", "sigmoid_above_half"),
        *("pattern_gap", "pattern_moves", "blind_spot", "two_heads_move"),
        *("conv_error", "conv_fewer_heads"),
        *("identical_error", "other_heads", "dropout_between_heads", "product_kurtosis"),
    )

    def __call__(self, model: Transformer) -> dict[str, float]:
        """Return, for each measurement in `measures`, the largest value over all random weights, or
        the smallest value if `least` names the measurement.

        Each function that makes measurements explains their names.
        """
        attention = next(part for part in model.modules() if isinstance(part, SelfAttention))
        if attention.n_heads > 1 or attention.d_head != attention.query.in_features:
            raise UserError(
                f"probe=dot_product_powers looks at one head of the model's width, not at "
                f"{attention.n_heads} of width {attention.d_head}: set model.n_heads=1 and "
                "model.d_head=null"
            )
        return super().__call__(attention)

    @torch.no_grad()
    def draw(self, attention: SelfAttention, generator: torch.Generator) -> dict[str, float]:
        """Return the measurements for one attention with random weights.

        Each function that makes measurements explains their names.
        """
        width = attention.d_model
        x = torch.randn(self.length, width, generator=generator, dtype=torch.float64)
        return {
            **largest_with_itself(attention, x),
            **similarity(attention, x, generator),
            **symmetry(attention, x),
            **roles(attention, x, generator),
            **sharing(generator),
            **patterns(generator),
            **two_values(generator),
            **convolutions(generator),
            **identical_heads(x, generator),
            "product_kurtosis": kurtosis(generator),
        }


def with_maps(
    attention: SelfAttention, query: Float[Tensor, "E D"], key: Float[Tensor, "E D"]
) -> SelfAttention:
    """Return a copy of an attention module with other weights of the query and key projections, and
    without their biases.
    """
    other = copy.deepcopy(attention)
    for of, weight in ((other.query, query), (other.key, key)):
        of.weight.copy_(weight)
        of.bias.zero_()
    return other


def scores(
    attention: MultiHeadAttention, x: Float[Tensor, "Q D"], y: Float[Tensor, "K D"]
) -> Float[Tensor, "Q K"]:
    """Return the unscaled attention scores of a module with a single head."""
    q, k, _ = projected(attention, x, y)
    return (q @ k.mT)[0]


def three_maps(attention: SelfAttention) -> tuple[SelfAttention, SelfAttention, SelfAttention]:
    """Return three copies of an attention: without projections, with one projection shared by
    queries and keys, and with two separate projections.
    """
    same = torch.eye(attention.d_head, dtype=attention.query.weight.dtype)
    to_queries, to_keys = attention.query.weight, attention.key.weight
    maps = ((same, same), (to_queries, to_queries), (to_queries, to_keys))
    plain, tied, separate = (with_maps(attention, *pair) for pair in maps)
    return plain, tied, separate


def largest_with_itself(attention: SelfAttention, x: Float[Tensor, "L D"]) -> dict[str, float]:
    """Return by how much the score of a word with another vector can exceed the score of the word
    with itself.

    The other vector has the same norm as the word, except in `unequal_excess`.

    Returns:
        equal_excess: excess without projections.
        tied_excess: excess with one projection for queries and keys.
        separate_excess: excess with two projections.
        unequal_excess: excess without projections, for the word's vector times 2.
        random_missed: 1 if a random word has a larger score with another random word than with
            itself (without projections), else 0.
    """
    plain, tied, separate = three_maps(attention)
    itself = scores(plain, x, x).diagonal()
    return {
        "equal_excess": worst(plain, x),
        "unequal_excess": float((scores(plain, x, 2 * x).diagonal() - itself).max()),
        "tied_excess": worst(tied, x),
        "separate_excess": worst(separate, x),
        "random_missed": float((scores(plain, x, x).amax(1) > itself).any()),
    }


def worst(attention: SelfAttention, x: Float[Tensor, "L D"]) -> float:
    """Return the largest difference between the score of a word with a vector of the same norm and
    the score of the word with itself.

    The result is the maximum over the words in x and over all vectors with the word's norm.
    """
    towards = F.normalize(attention.query(x) @ attention.key.weight, dim=1)
    best = towards * x.norm(dim=1, keepdim=True)
    return float((scores(attention, x, best).diagonal() - scores(attention, x, x).diagonal()).max())


def similarity(
    attention: SelfAttention, x: Float[Tensor, "L D"], generator: torch.Generator
) -> dict[str, float]:
    """Compare the order of keys by attention score with their order by cosine with the query.

    Each value is 1 minus the rank correlation of the two orders.

    Returns:
        equal_order: for keys of equal norm, without projections.
        unequal_order: for keys of random norms, without projections.
        cosine_order: for keys of random norms, with the weights of cosine attention in place of the
            scores.
        opposed_order: for keys of equal norm, with W_K = -W_Q.
    """
    plain, _, _ = three_maps(attention)
    same = plain.query.weight
    opposed = with_maps(attention, same, -same)
    even = F.normalize(x, dim=1)
    lengths = torch.randn(len(x), 1, generator=generator, dtype=x.dtype).exp()
    cosines = (even[:1] @ even[1:].T)[0]
    kernel = Cosine(d_head=attention.d_head, dropout=0.0, scale=1.0, fill="zero_output").double()
    query, keys = even[None, None, :1], (lengths * even)[None, None, 1:]
    by_angle = weights_of(kernel, query, keys, keys, Mask(), None)[0, 0, 0]
    ordered = {
        "equal_order": scores(plain, even[:1], even[1:])[0],
        "unequal_order": scores(plain, even[:1], (lengths * even)[1:])[0],
        "opposed_order": scores(opposed, even[:1], even[1:])[0],
        "cosine_order": by_angle,
    }
    return {name: 1 - rank_correlation(values, cosines) for name, values in ordered.items()}


def rank_correlation(values: Float[Tensor, " K"], other: Float[Tensor, " K"]) -> float:
    """Return Spearman's rank correlation of numbers without ties."""
    ranks = torch.stack([values.argsort().argsort(), other.argsort().argsort()]).double()
    return float(torch.corrcoef(ranks)[0, 1])


def symmetry(attention: SelfAttention, x: Float[Tensor, "L D"]) -> dict[str, float]:
    """Return how far matrices of attention scores and weights are from being symmetric.

    Returns:
        symmetric_error: asymmetry (largest difference from the transpose) of the scores without
            projections, or with one projection for queries and keys, whichever is larger.
        separate_asymmetry: asymmetry of the scores with two projections.
        weights_asymmetry: asymmetry of the weights without projections, for vectors that are short
            enough that a word does not attend only to itself.
    """
    plain, tied, separate = three_maps(attention)
    apart = {of: asymmetry(scores(of, x, x)) for of in (plain, tied, separate)}
    return {
        "symmetric_error": float(np.max([apart[plain], apart[tied]])),
        "separate_asymmetry": apart[separate],
        "weights_asymmetry": asymmetry(weights_and_scores(plain, x / attention.d_head**0.25)[0]),
    }


def asymmetry(square: Float[Tensor, "L L"]) -> float:
    """Return the largest absolute difference between a matrix and its transpose."""
    return float((square - square.T).abs().max())


def roles(
    attention: SelfAttention, x: Float[Tensor, "L D"], generator: torch.Generator
) -> dict[str, float]:
    """Return how much the attention weights, the values and the queries change if one projection is
    replaced, or if two are changed together.

    Returns:
        roles_leak: largest change of the attention weights if W_V is replaced, or of the values if
            W_Q or W_K is replaced.
        roles_moved: smallest change of the attention weights if W_Q or W_K is replaced, or of the
            values if W_V is replaced.
        remixed_weights: change of the attention weights if W_Q and W_K are multiplied by A^T and
            A^-1, where A is a random matrix.
        remixed_queries: change of the queries by the same multiplication.
    """
    moved = {}
    for name in ("query", "key", "value"):
        other = copy.deepcopy(attention)
        setattr(other, name, randomised(getattr(attention, name), generator))
        moved[name] = changes(attention, other, x)
    remixed = copy.deepcopy(attention)
    mix = well_conditioned(attention.d_head, generator)
    for of, by in ((remixed.query, mix.T), (remixed.key, torch.linalg.inv(mix))):
        of.weight.copy_(by @ of.weight)
        of.bias.copy_(by @ of.bias)
    together = changes(attention, remixed, x)
    query, key, value = moved["query"], moved["key"], moved["value"]
    return {
        "roles_leak": float(np.max([value["weights"], query["values"], key["values"]])),
        "roles_moved": float(np.min([value["values"], query["weights"], key["weights"]])),
        "remixed_weights": together["weights"],
        "remixed_queries": together["queries"],
    }


def changes(
    attention: SelfAttention, other: SelfAttention, x: Float[Tensor, "L D"]
) -> dict[str, float]:
    """Return the largest absolute differences of attention weights, values and queries between two
    attention modules.
    """
    differences = {
        "weights": weights_and_scores(attention, x)[0] - weights_and_scores(other, x)[0],
        "values": attention.value(x) - other.value(x),
        "queries": attention.query(x) - other.query(x),
    }
    return {name: float(difference.abs().max()) for name, difference in differences.items()}


def well_conditioned(size: int, generator: torch.Generator) -> Float[Tensor, "E E"]:
    """Return a random matrix with singular values from 1/2 to 2, so that its inverse is
    accurate.
    """
    drawn = torch.randn(2, size, size, generator=generator, dtype=torch.float64)
    left, right = torch.linalg.qr(drawn)[0]
    return left * torch.linspace(0.5, 2, size, dtype=torch.float64) @ right


def kurtosis(generator: torch.Generator) -> float:
    """Return the excess kurtosis of products of two normal numbers (0 for a normal
    distribution).
    """
    first, other = torch.randn(2, PRODUCTS, generator=generator, dtype=torch.float64)
    products = first * other
    return float(products.pow(4).mean() / products.square().mean() ** 2 - 3)
