"""Measure what the word "it" attends to, and whether the translation depends on this attention.

Equation: a sentence has a twin with an adjective that applies to the other noun. A head flips if in
    both sentences "it" attends more to the antecedent than to the other noun. Attention from "it"
    to a noun is cut by setting the weight to 0 in every head and layer and renormalising.
Source: the figure of arXiv:1706.03762, appendix ("it" and its antecedent); Voita et al. 2018,
    arXiv:1805.10163, section 5.2, for attention to antecedents; arXiv:1902.10186 for the warning
    that weights are not explanations, hence the cut of attention.
What differs: twins rather than selected sentences; the head is chosen on one half of the twins.
What to expect: a head that always prefers one noun never flips; a head that guesses flips in a
    quarter of twins. If cross-attention identifies the noun, the cut has no effect.
"""

from contextlib import AbstractContextManager
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from ablate.config.limits import Count
from ablate.data.module import TextData
from ablate.errors import UserError
from ablate.measure import Measure
from ablate.model.attention import Kernel, weights_of
from ablate.model.transformer import Transformer
from experiments.pronouns.corpus import (
    ANSWER,
    GENDERS,
    PRONOUN,
    Pronouns,
    antecedent,
    gender,
    turned,
)
from experiments.shared.measure.gold import Gold
from experiments.shared.measure.inside import watched
from experiments.shared.measure.kernels import hooked
from experiments.shared.measure.words import Read, read


class Antecedent(Measure):
    """A measurement of the attention of "it" in test sentences whose two nouns differ in gender,
    and in the twin of each sentence.

    The twin is the same sentence with an adjective that makes "it" refer to the other noun.

    Args:
        sentences: maximum number of test sentences.
    """

    knows = Pronouns
    measures = ("right", "flips", "edge_worth", "cross_edge_worth")
    reads_weights = True

    def __init__(self, *, sentences: Count) -> None:
        self.sentences = sentences

    def check(self, data: TextData) -> None:
        """Raise UserError unless every word of the corpus is one token, and at least two sentences
        have nouns that differ in gender.

        The positions of the nouns and of the pronoun are counted in words.
        """
        text, *_ = twins(data.sources("test")[: self.sentences], data)
        spans = [span for words in (*text.src, *text.tgt) for span in words]
        if any(end - start != 1 for start, end in spans):
            raise UserError(
                "measure=antecedent finds tokens by the number of the word, so each word must be a "
                "single token, but the tokenizer splits some words: choose tokenizer=word"
            )

    def __call__(self, model: Transformer, data: TextData) -> dict[str, float]:
        """Return fractions of test sentences and their twins, or differences of such fractions.

        The twin of a sentence is the same sentence with another adjective, which makes "it" refer
        to the other of two nouns.

        Returns:
            right: the correct pronoun is more likely in the translation than the other pronoun.
            flips: in the sentence and in its twin, the best head attends more to the noun that "it"
                refers to than to the other noun; see `flipping`.
            edge_worth: decrease of `right` if "it" cannot attend to the noun that "it" refers to,
                minus the decrease if "it" cannot attend to the other noun.
            cross_edge_worth: the same difference for cross-attention, at the step that predicts the
                pronoun.
        """
        text, meant, rival = twins(data.sources("test")[: self.sentences], data)
        with watched(model) as attended:
            right = rightly(model, text, data)
        flips = flipping(
            [attention.weights for name, attention in attended.items() if inside(name)], meant
        )
        worth = {}
        for name, query, chosen in (("", PRONOUN, inside), ("cross_", ANSWER, across)):
            shares = []
            for keys in (rival, meant):
                with cut(model, chosen, query, keys):
                    shares.append(rightly(model, text, data).double().mean())
            worth[f"{name}edge_worth"] = float(shares[0] - shares[1])
        return {"right": float(right.double().mean()), "flips": flips, **worth}


def inside(name: str) -> bool:
    """Return whether the name of an attention module is that of a self-attention of the encoder."""
    return name.startswith("encoder")


def across(name: str) -> bool:
    """Return whether the name of an attention module is that of a cross-attention."""
    return name.endswith("cross")


def twins(lines: Any, data: TextData) -> tuple[Read, Int[Tensor, " N"], Int[Tensor, " N"]]:
    """Return tokenised sentences followed by their twins, and for each sentence the position of the
    antecedent of "it" and the position of the other noun.

    The twin of a sentence has an adjective that makes "it" refer to the other noun. Only sentences
    whose nouns differ in gender are used.

    Args:
        lines: source sentences.
        data: the data module, whose tokenizers are used.

    Raises:
        UserError: there are fewer than two sentences whose nouns differ in gender.
    """
    sentences = [line.split() for line in lines]
    asked = [src for src in sentences if len({gender(src[k]) for k in antecedent(src)}) == 2]
    if len(asked) < 2:
        raise UserError(
            f"the nouns differ in gender in {len(asked)} of the first {len(sentences)} test "
            "sentences, but measure=antecedent needs two such sentences, to choose a head and to "
            "measure it: set measure.sentences higher"
        )
    both = [*asked, *(turned(src) for src in asked)]
    places = [antecedent(src) for src in both]
    targets = [
        [*(word.upper() for word in src[:ANSWER]), gender(src[meant])]
        for src, (meant, _) in zip(both, places, strict=True)
    ]
    gold = [Gold(src, tgt, {}, []) for src, tgt in zip(both, targets, strict=True)]
    meant, rival = torch.tensor(places).unbind(1)
    return read(gold, data.tokenizers), meant, rival


@torch.no_grad()
def rightly(model: Transformer, text: Read, data: TextData) -> Bool[Tensor, " N"]:
    """Return for each sentence whether the correct pronoun is more likely than the other pronoun,
    given all preceding tokens.
    """
    he, she = (ids[0] for ids in data.tokenizers.tgt.encode_batch(list(GENDERS)))
    logits: Float[Tensor, "N T V"] = model.head(model(text.inputs))
    answer = text.targets[:, ANSWER]
    other = torch.where(answer == he, she, he)
    at = logits[:, ANSWER]
    return (at.gather(1, answer[:, None]) > at.gather(1, other[:, None]))[:, 0]


def flipping(layers: list[Float[Tensor, "N H Q K"]], meant: Int[Tensor, " N"]) -> float:
    """Return the fraction of sentence pairs (twins) in which the best head attends more to the
    antecedent than to the other noun in both sentences.

    The best head of all layers is chosen on the first half of the pairs and evaluated on the second
    half.

    Args:
        layers: attention weights of each layer.
        meant: position of the antecedent in each sentence.
    """
    weights = torch.cat([layer[:, :, PRONOUN] for layer in layers], 1)  # N H K
    n = len(meant) // 2
    first, second = (weights[torch.arange(2 * n), :, k] for k in (meant, meant.roll(n)))
    both = (first > second).view(2, n, -1).all(0).double()
    best = both[: n // 2].mean(0).argmax()
    return float(both[n // 2 :, best].mean())


def cut(
    model: Transformer, chosen: Any, query: int, keys: Int[Tensor, " N"]
) -> AbstractContextManager[None]:
    """Set the weight of one query on one key to 0 in every head of some attentions, within a `with`
    block.

    Args:
        model: the model.
        chosen: function that returns whether the attention with a given name is changed.
        query: position of the query.
        keys: position of the key in each sentence.
    """

    def hook(kernel: Kernel, inputs: tuple[Any, ...], output: Tensor) -> Tensor:
        weights = weights_of(kernel, *inputs).clone()
        weights[torch.arange(len(keys)), :, query, keys] = 0
        values: Float[Tensor, "N H K E"] = inputs[2]
        return weights / weights.sum(-1, keepdim=True) @ values

    return hooked([kernel for name, kernel in model.attentions() if chosen(name)], hook)
