"""What a dot product measures, and what one head can do.

Equation: the score of a query and a key is s_ij = (W_Q x_i + b_Q) (W_K x_j + b_K). Of all vectors
    u as long as x, u = |x| W_K^T q / |W_K^T q| has the largest with q = W_Q x (Cauchy-Schwarz).
Source: arXiv:1706.03762, sections 3.2.1 and 3.2.2; for heads as a convolution arXiv:1911.03584,
    theorem 1.
What differs: whether something is always so, or cannot be, is decided by the worst case, which is
    computed, or by weights that are set by hand; nothing is learned.
What to expect: a vector's dot product with itself is the largest among vectors of one length, but
    not after projections; W_Q and W_K are known only together, as W_Q^T W_K; one head can divide
    its weight, follow the content of the query, but returns one mean for a query.
"""

import copy

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from ablate.claims.probe.attention.attention_loops import projected
from ablate.claims.probe.attention.hand_set_heads import convolutions, patterns, sharing, two_values
from ablate.claims.probe.attention.identical_heads import identical_heads
from ablate.claims.probe.random_models import RandomModels, extremes, randomised
from ablate.errors import UserError
from ablate.model.attention.cosine import Cosine
from ablate.model.attention.multi_head import MultiHeadAttention, SelfAttention
from ablate.model.inspect import weights_of
from ablate.model.padding.base import Mask
from ablate.model.transformer import Transformer

PRODUCTS = 100_000  # of two normal numbers
LEAST = (
    *("separate_asymmetry", "roles_moved", "remixed_queries", "sigmoid_above_half"),
    *("pattern_moves", "two_heads_move", "conv_fewer_heads", "other_heads"),
)


class DotProductPowers(RandomModels):
    """Looks at the scores of the encoder's only head, and at heads that are set by hand.

    Raises:
        UserError: the model has several heads, or one of another width than its own.
    """

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
        """Return the extremes over all draws; the functions below say what they are of."""
        own = next(part for part in model.modules() if isinstance(part, SelfAttention))
        if own.n_heads > 1 or own.d_head != own.query.in_features:
            raise UserError(
                f"probe=dot_product_powers looks at one head of the model's width, not at "
                f"{own.n_heads} of width {own.d_head}: set model.n_heads=1 and model.d_head=null"
            )
        found = [self.draw(*drawn) for drawn in self.models(own)]
        return extremes(found, LEAST)

    @torch.no_grad()
    def draw(self, own: SelfAttention, generator: torch.Generator) -> dict[str, Tensor]:
        """Return the measurements under one set of weights."""
        width = own.d_model
        x = torch.randn(self.length, width, generator=generator, dtype=torch.float64)
        found = {
            **largest_with_itself(own, x),
            **similarity(own, x, generator),
            **symmetry(own, x),
            **roles(own, x, generator),
            **sharing(generator),
            **patterns(generator),
            **two_values(generator),
            **convolutions(generator),
            **identical_heads(x, generator),
            "product_kurtosis": kurtosis(generator),
        }
        return {name: torch.as_tensor(value, dtype=torch.float64) for name, value in found.items()}


def with_maps(
    own: SelfAttention, query: Float[Tensor, "E D"], key: Float[Tensor, "E D"]
) -> SelfAttention:
    """Return the attention with these maps to queries and keys, without biases."""
    other = copy.deepcopy(own)
    for of, weight in ((other.query, query), (other.key, key)):
        of.weight.copy_(weight)
        of.bias.zero_()
    return other


def scores(
    own: MultiHeadAttention, x: Float[Tensor, "Q D"], y: Float[Tensor, "K D"]
) -> Float[Tensor, "Q K"]:
    """Return what the module's only head multiplies."""
    q, k, _ = projected(own, x, y)
    return (q @ k.mT)[0]


def weights(own: MultiHeadAttention, x: Float[Tensor, "L D"]) -> Float[Tensor, "L L"]:
    """Return the weights of the module's only head."""
    q, k, v = (of[None] for of in projected(own, x, x))
    return weights_of(own.kernel, q, k, v, Mask(), None)[0, 0]


def three_maps(own: SelfAttention) -> tuple[SelfAttention, SelfAttention, SelfAttention]:
    """Return the attention without projections, with one for queries and keys, and with two."""
    same = torch.eye(own.d_head, dtype=own.query.weight.dtype)
    to_queries, to_keys = own.query.weight, own.key.weight
    maps = ((same, same), (to_queries, to_queries), (to_queries, to_keys))
    plain, tied, separate = (with_maps(own, *pair) for pair in maps)
    return plain, tied, separate


def largest_with_itself(own: SelfAttention, x: Float[Tensor, "L D"]) -> dict[str, float]:
    """Ask whether a word's score with itself is the largest, by the word whose score is.

    The excess of that word's score over the word's own, both equally long: without projections
    (equal_excess), with one for queries and keys (tied_excess), with two (separate_excess);
    unequal_excess: over the word's own without projections of a word twice as long. random_missed:
    whether in some row of random words another one has the largest score without projections.
    """
    plain, tied, separate = three_maps(own)
    itself = scores(plain, x, x).diagonal()
    return {
        "equal_excess": worst(plain, x),
        "unequal_excess": float((scores(plain, x, 2 * x).diagonal() - itself).max()),
        "tied_excess": worst(tied, x),
        "separate_excess": worst(separate, x),
        "random_missed": float((scores(plain, x, x).amax(1) > itself).any()),
    }


def worst(own: SelfAttention, x: Float[Tensor, "L D"]) -> float:
    """Return the most by which a vector as long as a word can score above the word itself."""
    towards = F.normalize(own.query(x) @ own.key.weight, dim=1)
    best = towards * x.norm(dim=1, keepdim=True)
    return float((scores(own, x, best).diagonal() - scores(own, x, x).diagonal()).max())


def similarity(
    own: SelfAttention, x: Float[Tensor, "L D"], generator: torch.Generator
) -> dict[str, float]:
    """Compare the order of keys by score with that by cosine, as 1 - the rank correlation.

    Of one query and of keys that are equally long (equal_order), or of random lengths
    (unequal_order), without projections; of these in cosine attention (cosine_order); of equally
    long ones with W_K = -W_Q (opposed_order).
    """
    plain, _, _ = three_maps(own)
    same = plain.query.weight
    opposed = with_maps(own, same, -same)
    even = F.normalize(x, dim=1)
    lengths = torch.randn(len(x), 1, generator=generator, dtype=x.dtype).exp()
    cosines = (even[:1] @ even[1:].T)[0]
    kernel = Cosine(d_head=own.d_head, dropout=0.0, scale=1.0, fill="zero_output").double()
    query, keys = even[None, None, :1], (lengths * even)[None, None, 1:]
    by_angle = weights_of(kernel, query, keys, keys, Mask(), None)[0, 0, 0]
    ordered = {
        "equal_order": scores(plain, even[:1], even[1:])[0],
        "unequal_order": scores(plain, even[:1], (lengths * even)[1:])[0],
        "opposed_order": scores(opposed, even[:1], even[1:])[0],
        "cosine_order": by_angle,
    }
    return {name: 1 - rank_correlation(values, cosines) for name, values in ordered.items()}


def rank_correlation(one: Float[Tensor, " K"], other: Float[Tensor, " K"]) -> float:
    """Return Spearman's rank correlation of numbers without ties."""
    ranks = torch.stack([one.argsort().argsort(), other.argsort().argsort()]).double()
    return float(torch.corrcoef(ranks)[0, 1])


def symmetry(own: SelfAttention, x: Float[Tensor, "L D"]) -> dict[str, float]:
    """Compare scores and weights with their transposes.

    symmetric_error: of scores without projections and with one for queries and keys;
    separate_asymmetry: with two; weights_asymmetry: of the weights without projections, words made
    so short that a wide one does not attend to itself alone.
    """
    plain, tied, separate = three_maps(own)
    apart = {of: asymmetry(scores(of, x, x)) for of in (plain, tied, separate)}
    return {
        "symmetric_error": max(apart[plain], apart[tied]),
        "separate_asymmetry": apart[separate],
        "weights_asymmetry": asymmetry(weights(plain, x / own.d_head**0.25)),
    }


def asymmetry(square: Float[Tensor, "L L"]) -> float:
    """Return the largest distance from the transposed matrix."""
    return float((square - square.T).abs().max())


def roles(
    own: SelfAttention, x: Float[Tensor, "L D"], generator: torch.Generator
) -> dict[str, float]:
    """Change one projection at a time, and two together.

    roles_leak: how far another W_V moves the weights, or another W_Q or W_K the values;
    roles_moved: the least that W_Q and W_K move the weights, and W_V the values. remixed_weights:
    how far W_Q A and W_K A^-T, A a random matrix, move the weights; remixed_queries: the queries.
    """
    moved = {}
    for name in ("query", "key", "value"):
        other = copy.deepcopy(own)
        setattr(other, name, randomised(getattr(own, name), generator))
        moved[name] = changes(own, other, x)
    remixed = copy.deepcopy(own)
    mix = well_conditioned(own.d_head, generator)
    for of, by in ((remixed.query, mix.T), (remixed.key, torch.linalg.inv(mix))):
        of.weight.copy_(by @ of.weight)
        of.bias.copy_(by @ of.bias)
    together = changes(own, remixed, x)
    asked = ("query", "key")
    return {
        "roles_leak": max(moved["value"]["weights"], *(moved[name]["values"] for name in asked)),
        "roles_moved": min(moved["value"]["values"], *(moved[name]["weights"] for name in asked)),
        "remixed_weights": together["weights"],
        "remixed_queries": together["queries"],
    }


def changes(own: SelfAttention, other: SelfAttention, x: Float[Tensor, "L D"]) -> dict[str, float]:
    """Return the largest changes from one module to another."""
    differences = {
        "weights": weights(own, x) - weights(other, x),
        "values": own.value(x) - other.value(x),
        "queries": own.query(x) - other.query(x),
    }
    return {name: float(difference.abs().max()) for name, difference in differences.items()}


def well_conditioned(size: int, generator: torch.Generator) -> Float[Tensor, "E E"]:
    """Return a random matrix that stretches by 1/2 to 2, so that its inverse is exact."""
    drawn = torch.randn(2, size, size, generator=generator, dtype=torch.float64)
    left, right = torch.linalg.qr(drawn)[0]
    return left * torch.linspace(0.5, 2, size, dtype=torch.float64) @ right


def kurtosis(generator: torch.Generator) -> float:
    """Return the excess kurtosis of products of two normal numbers; normal ones have 0."""
    one, other = torch.randn(2, PRODUCTS, generator=generator, dtype=torch.float64)
    products = one * other
    return float(products.pow(4).mean() / products.square().mean() ** 2 - 3)
