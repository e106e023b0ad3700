"""Measure to which words single heads of an encoder-decoder attend: grammatically linked words,
words at a distance, or the token itself.

Equation: two heads differ by the Jensen-Shannon divergence of their weights, JS(p, q) =
    H((p + q) / 2) - (H(p) + H(q)) / 2 in bits: 0 for equal heads, 1 for heads that share no key.
Source: Clark et al. 2019, arXiv:1906.04341, sections 3 and 6, for attention to the token itself and
    for differences between heads; Kobayashi et al. 2020, arXiv:2004.10102, for weights times norms.
What to expect: heads differ even without training, so compare every number with the untrained
    model.
"""

import math
from itertools import combinations
from typing import Annotated, Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from ablate.config.limits import Range
from ablate.data import PAD
from ablate.data.module import TextData
from ablate.measure import Measure
from ablate.model.transformer import Transformer
from ablate.process import stream
from experiments.shared.measure.gold import KINDS, sentences
from experiments.shared.measure.links import Seen, head_links, look

CHOICE = 4  # a query counts only if it can attend to at least this number of keys
FARTHEST = 20  # largest distance in tokens; larger distances are clamped
SHUFFLES = 5  # number of random permutations of the heads
TINY = 0.001  # attention weights below this value are tiny


class Heads(Measure):
    """A measurement of the attention weights of all heads.

    Args:
        sentences: number of validation sentences (to choose heads) and of test sentences (to
            measure).
    """

    measures = (
        *KINDS,
        *("range", "own_encoder", "own_decoder", "equal_shares_encoder", "equal_shares_decoder"),
        *("apart", "profiles_apart", "tiny_largest", "tiny_together", "tiny_found"),
    )
    reads_weights = True

    def __init__(self, *, sentences: Annotated[int, Range(100)]) -> None:
        self.sentences = sentences

    def __call__(self, model: Transformer, data: TextData) -> dict[str, float]:
        """Return measurements of grammatical links, attention distances, weights of tokens on
        themselves, differences between heads, and tiny weights.

        Returns:
            verb_subject, pronoun, ambiguous_noun: fraction of links between two words, such as a
                verb and its subject, that the best head predicts; see `head_links`.
            range: difference in words between the mean distances of the most distant and the most
                local head.
            own_encoder, own_decoder: fraction of tokens and heads whose largest weight is on the
                token itself, median over layers.
            equal_shares_encoder, equal_shares_decoder: mean weight of a token on itself as a
                multiple of the uniform weight, median over layers.
            apart: mean Jensen-Shannon divergence between the attention weights of two heads, in
                bits.
            profiles_apart: divergence between the heads' mean weights by distance, minus the value
                if the labels of the heads are permuted at random.
            tiny_largest: largest contribution of a key with a weight below TINY to a query of the
                encoder, as a fraction of the sum of weight times value norm over all keys.
            tiny_together: largest contribution of all such keys of a query together.
            tiny_found: fraction of weights that are below TINY.
        """
        chosen, judged = (
            look(model, data, sentences(split, self.sentences)) for split in ("validation", "test")
        )
        return (
            head_links(chosen, judged) | self_weights(judged) | differences(judged) | tiny(judged)
        )


def self_weights(seen: Seen) -> dict[str, float]:
    """Return how often a token's largest attention weight is on the token itself, and the mean
    weight of a token on itself.

    `seen` has the sentences and the recorded attention weights. Only tokens that can attend to at
    least `CHOICE` keys count.

    Returns:
        own_encoder, own_decoder: fraction of tokens and heads whose largest weight is on the token
            itself, median over layers.
        equal_shares_encoder, equal_shares_decoder: mean weight of a token on itself as a multiple
            of the uniform weight, median over layers.
    """
    measurements = {}
    for stack, tokens in zip(("encoder", "decoder"), seen.read.inputs, strict=True):
        visible = (tokens != PAD).sum(1)[:, None].expand(tokens.shape)
        if stack == "decoder":
            visible = torch.arange(1, tokens.size(1) + 1).expand(tokens.shape)
        asked = (tokens != PAD) & (visible >= CHOICE)
        layers = [
            a.weights for n, a in seen.attended.items() if n.startswith(stack) and "self" in n
        ]
        shares = [largest_is_own(weights, asked) for weights in layers]
        measurements[f"own_{stack}"] = float(torch.tensor(shares).quantile(0.5))
        equal = [w.diagonal(dim1=2, dim2=3) * visible[:, None] for w in layers]
        means = [float(x.transpose(1, 2)[asked].mean()) for x in equal]
        measurements[f"equal_shares_{stack}"] = float(torch.tensor(means).quantile(0.5))
    return measurements


def largest_is_own(weights: Float[Tensor, "B H L L"], asked: Bool[Tensor, "B L"]) -> float:
    """Return the fraction of queries and heads whose largest weight is on the query's own token.

    `asked` is true at the queries that count.
    """
    is_own = weights.argmax(-1) == torch.arange(weights.size(2))
    return float(is_own.transpose(1, 2)[asked].double().mean())


def differences(seen: Seen) -> dict[str, float]:
    """Return how much the attention weights of the heads of an encoder layer differ, averaged over
    layers.

    Returns:
        apart: mean divergence between two heads, in bits.
        profiles_apart: see the function `profiles_apart`.
    """
    real = seen.read.inputs.src != PAD
    weights = (attention.weights for attention in seen.encoder())
    each = torch.tensor([[distance(w, real), profiles_apart(w, real)] for w in weights])
    apart, profiles = each.mean(0).tolist()
    return {"apart": apart, "profiles_apart": profiles}


def profiles_apart(weights: Float[Tensor, "B H L L"], real: Bool[Tensor, "B L"]) -> float:
    """Return how much heads differ in their mean weights by distance, minus the value if heads
    differed only by chance.

    The difference is the mean Jensen-Shannon divergence in bits. If heads differed only by chance,
    their labels could be permuted in every query, so the second value uses permuted labels.
    """
    by_distance = at_distances(weights)[real]  # N H O
    generator = torch.Generator().manual_seed(stream(0, "profiles_apart"))
    observed = divergence(by_distance)
    null = []
    for _ in range(SHUFFLES):
        order = torch.rand(by_distance.shape[:2], generator=generator).argsort(1)
        null.append(divergence(by_distance.gather(1, order[..., None].expand_as(by_distance))))
    return observed - sum(null) / SHUFFLES


def at_distances(weights: Float[Tensor, "B H L L"]) -> Float[Tensor, "B L H O"]:
    """Return the summed weight of each query and head at each signed distance from the query;
    distances beyond FARTHEST are counted as FARTHEST.
    """
    at = torch.arange(weights.size(2))
    apart = (at - at[:, None]).clamp(-FARTHEST, FARTHEST) + FARTHEST
    by_distance = weights.new_zeros(*weights.shape[:3], 2 * FARTHEST + 1)
    return by_distance.scatter_add_(3, apart.expand_as(weights), weights).transpose(1, 2)


def divergence(profiles: Float[Tensor, "N H O"]) -> float:
    """Return how much heads differ in their mean weight at each distance.

    The result is the Jensen-Shannon divergence between two heads in bits, averaged over all pairs
    of heads. `profiles` has the weight of each of N queries and H heads at each of O distances. The
    mean weight is a mean over the queries.
    """
    # `distance` compares weights on keys; here the distances take the place of the keys
    mean = profiles.mean(0)[None, :, None]
    return distance(mean, torch.ones(1, 1, dtype=torch.bool))


def distance(weights: Float[Tensor, "B H Q K"], real: Bool[Tensor, "B Q"]) -> float:
    """Return the mean Jensen-Shannon divergence in bits between the weights of pairs of heads.

    `real` is False at queries that are padding; these queries are ignored.
    """
    heads: Any = weights.double().transpose(0, 1)[:, real]  # H N K
    entropies = [entropy(head) for head in heads]
    pairs = [
        float((entropy((heads[i] + heads[j]) / 2) - (entropies[i] + entropies[j]) / 2).mean())
        for i, j in combinations(range(len(heads)), 2)
    ]
    return sum(pairs) / len(pairs) if pairs else 0.0


def entropy(p: Float[Tensor, "N K"]) -> Float[Tensor, " N"]:
    """Return the entropy of each row in bits."""
    return -torch.special.xlogy(p, p).sum(-1) / math.log(2)


def tiny(seen: Seen) -> dict[str, float]:
    """Return how much keys with attention weights below TINY contribute to the encoder's
    self-attention.

    A contribution is a fraction of the sum of weight times value norm over all keys.

    Returns:
        tiny_largest: largest contribution of such a key to a query.
        tiny_together: largest contribution of all such keys of a query together.
        tiny_found: fraction of weights that are below TINY, mean over layers.
    """
    real = seen.read.inputs.src != PAD
    single, together, fractions = [], [], []
    for attention in seen.encoder():
        norms = attention.weights * attention.v.norm(dim=-1)[:, :, None]
        shares = norms / norms.sum(-1, keepdim=True)
        is_tiny = (attention.weights < TINY) & real[:, None, None] & real[:, None, :, None]
        kept = (shares * is_tiny).transpose(1, 2)[real]
        single.append(kept.max())
        together.append(kept.sum(-1).max())
        fractions.append(is_tiny.sum() / (is_tiny.size(1) * (real.sum(1) ** 2).sum()))
    return {
        "tiny_largest": float(torch.stack(single).max()),
        "tiny_together": float(torch.stack(together).max()),
        "tiny_found": float(torch.stack(fractions).mean()),
    }
