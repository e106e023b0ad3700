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

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from ablate.errors import UserError
from ablate.model.attention import weights_of
from ablate.model.attention.explicit import Cosine
from ablate.model.attention.multi_head import MultiHeadAttention, SelfAttention
from ablate.model.padding import Mask
from ablate.model.transformer import Transformer
from experiments.dot_product_powers import hand_set_heads
from experiments.dot_product_powers.hand_set_heads import weights_and_scores
from experiments.dot_product_powers.identical_heads import identical_heads
from experiments.shared.probe.attention_loops import Asked, Asking, Words, projected
from experiments.shared.probe.draws import Measured, RandomModels, first_part, moved, randomised

PRODUCTS = 100_000  # number of products of two normal numbers


class DotProductPowers(RandomModels):
    """A probe of the scores of a single-head encoder, and of heads with weights set by hand.

    Raises:
        UserError: the model has several heads, or a head width other than the model's.
    """

    smallest = (
        *("separate_asymmetry", "roles_moved", "remixed_queries", "sigmoid_above_half"),
        *("pattern_moves", "two_heads_move", "conv_fewer_heads", "other_heads"),
    )
    largest = (
        *("equal_excess", "unequal_excess", "tied_excess", "separate_excess", "random_missed"),
        *("equal_order", "unequal_order", "opposed_order", "cosine_order"),
        *("symmetric_error", "weights_asymmetry", "roles_leak", "remixed_weights"),
        *("sharing_gap", "sum_gap", "above_half", "pattern_gap", "blind_spot", "conv_error"),
        *("identical_error", "dropout_between_heads", "product_kurtosis"),
    )

    def __call__(self, model: Transformer) -> dict[str, float]:
        """Return the largest or smallest value of each measurement over all random weights.

        Each function that makes measurements explains their names.
        """
        attention = first_part(model, SelfAttention)
        if attention.n_heads > 1 or attention.d_head != attention.query.in_features:
            raise UserError(
                f"probe=dot_product_powers looks at one head of the model's width, not at "
                f"{attention.n_heads} of width {attention.d_head}: set model.n_heads=1 and "
                "model.d_head=null"
            )
        return super().__call__(attention)

    def draw(self, attention: SelfAttention, generator: torch.Generator) -> Measured:
        """Yield the measurements of one attention with random weights.

        Each function that makes measurements explains their names.
        """
        width = attention.d_model
        x = torch.randn(self.length, width, generator=generator, dtype=torch.float64)
        yield from largest_with_itself(attention, x)
        yield from similarity(attention, x, generator)
        yield from symmetry(attention, x)
        yield from roles(attention, x, generator)
        yield from hand_set_heads.sharing(generator)
        yield from hand_set_heads.patterns(generator)
        yield from hand_set_heads.two_values(generator)
        yield from hand_set_heads.convolutions(generator)
        yield from identical_heads(x, generator)
        yield "product_kurtosis", kurtosis(generator)


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


def scores(attention: MultiHeadAttention, x: Asking, y: Asked) -> Float[Tensor, "Q K"]:
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


def largest_with_itself(attention: SelfAttention, x: Words) -> Measured:
    """Yield by how much the score of a word with another vector can exceed the score of the word
    with itself.

    The other vector has the same norm as the word, except in `unequal_excess`.

    Yields:
        equal_excess: excess without projections.
        tied_excess: excess with one projection for queries and keys.
        separate_excess: excess with two projections.
        unequal_excess: excess without projections, for the word's vector times 2.
        random_missed: 1 if a random word has a larger score with another random word than with
            itself (without projections), else 0.
    """
    plain, tied, separate = three_maps(attention)
    itself = scores(plain, x, x).diagonal()
    yield "equal_excess", worst(plain, x)
    yield "unequal_excess", scores(plain, x, 2 * x).diagonal() - itself
    yield "tied_excess", worst(tied, x)
    yield "separate_excess", worst(separate, x)
    yield "random_missed", scores(plain, x, x).amax(1) > itself


def worst(attention: SelfAttention, x: Words) -> Tensor:
    """Return the largest difference between the score of a word with a vector of the same norm and
    the score of the word with itself.

    The result is the maximum over the words in x and over all vectors with the word's norm.
    """
    towards = F.normalize(attention.query(x) @ attention.key.weight, dim=1)
    best = towards * x.norm(dim=1, keepdim=True)
    return (scores(attention, x, best).diagonal() - scores(attention, x, x).diagonal()).max()


def similarity(attention: SelfAttention, x: Words, generator: torch.Generator) -> Measured:
    """Compare the order of keys by attention score with their order by cosine with the query.

    Each value is 1 minus the rank correlation of the two orders.

    Yields:
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
    for name, values in (
        ("equal_order", scores(plain, even[:1], even[1:])[0]),
        ("unequal_order", scores(plain, even[:1], (lengths * even)[1:])[0]),
        ("opposed_order", scores(opposed, even[:1], even[1:])[0]),
        ("cosine_order", weights_of(kernel, query, keys, keys, Mask(), None)[0, 0, 0]),
    ):
        yield name, 1 - rank_correlation(values, cosines)


def rank_correlation(values: Float[Tensor, " K"], other: Float[Tensor, " K"]) -> float:
    """Return Spearman's rank correlation of numbers without ties."""
    ranks = torch.stack([values.argsort().argsort(), other.argsort().argsort()]).double()
    return float(torch.corrcoef(ranks)[0, 1])


def symmetry(attention: SelfAttention, x: Words) -> Measured:
    """Yield how far matrices of attention scores and weights are from being symmetric.

    Yields:
        symmetric_error: asymmetry (largest difference from the transpose) of the scores without
            projections, and with one projection for queries and keys.
        separate_asymmetry: asymmetry of the scores with two projections.
        weights_asymmetry: asymmetry of the weights without projections, for vectors that are short
            enough that a word does not attend only to itself.
    """
    plain, tied, separate = three_maps(attention)
    for name, square in (
        ("symmetric_error", scores(plain, x, x)),
        ("symmetric_error", scores(tied, x, x)),
        ("separate_asymmetry", scores(separate, x, x)),
        ("weights_asymmetry", weights_and_scores(plain, x / attention.d_head**0.25)[0]),
    ):
        yield name, moved(square, square.T)


def roles(attention: SelfAttention, x: Words, generator: torch.Generator) -> Measured:
    """Yield how much the attention weights, the values and the queries change if one projection is
    replaced, or if two are changed together.

    Yields:
        roles_leak: change of the attention weights if W_V is replaced, or of the values if W_Q or
            W_K is replaced.
        roles_moved: change of the attention weights if W_Q or W_K is replaced, or of the values if
            W_V is replaced.
        remixed_weights: change of the attention weights if W_Q and W_K are multiplied by A^T and
            A^-1, where A is a random matrix.
        remixed_queries: change of the queries by the same multiplication.
    """
    weights, values = weights_and_scores(attention, x)[0], attention.value(x)
    for name in ("query", "key", "value"):
        other = copy.deepcopy(attention)
        setattr(other, name, randomised(getattr(attention, name), generator))
        changes = [moved(weights, weights_and_scores(other, x)[0]), moved(values, other.value(x))]
        yield "roles_leak", changes[name != "value"]
        yield "roles_moved", changes[name == "value"]
    remixed = copy.deepcopy(attention)
    mix = well_conditioned(attention.d_head, generator)
    for of, by in ((remixed.query, mix.T), (remixed.key, torch.linalg.inv(mix))):
        of.weight.copy_(by @ of.weight)
        of.bias.copy_(by @ of.bias)
    yield "remixed_weights", moved(weights, weights_and_scores(remixed, x)[0])
    yield "remixed_queries", moved(attention.query(x), remixed.query(x))


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
