"""Whether heads that begin alike become different ones in training.

Equation: after some steps of gradient descent the largest |w_h - w_1| over attentions, heads h and
    the rows w of W_Q, W_K and W_V, biases too, that are a head's own.
Source: the gradients of two heads that have the same weights, and the same columns of W_O, are the
    same; arXiv:1706.03762, section 3.2.2, whose heads are drawn independently.
What differs: a whole model in float64 that learns random pairs, by plain gradient descent.
What to expect: heads that are alike in all stay alike. Any asymmetry parts them: other
    columns of W_O, or dropout of the weights of attention.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from ablate.claims.probe.random_models import RandomModels, seeded
from ablate.model.attention.multi_head import MultiHeadAttention
from ablate.model.base import Seq2Seq
from ablate.model.transformer import Transformer
from ablate.probe.sentences import random_sentences

SENTENCES = 4
RATE = 0.05
ALIKE = ("alike", "other_outputs", "dropped")  # how heads begin, where not independent


@dataclass(kw_only=True)
class HeadsInTraining(RandomModels):
    """Trains random models whose heads begin alike.

    Args:
        draws: weights and pairs that are tried.
        length: tokens of a sentence, on either side.
        seed: of weights, pairs and dropout.
        steps: of gradient descent.

    Raises:
        UserError: `draws` is below 1, or `length` below 2.
    """

    measures = (*ALIKE, "independent")

    steps: int

    def __call__(self, model: Transformer) -> dict[str, float]:
        """Return how far heads are apart after training.

        alike: all of a head begins as the others do; the largest of all draws.
        other_outputs, dropped: so, but for W_O, or with the model's dropout; the smallest.
        independent: all weights were drawn anew; the smallest.
        """
        found: dict[str, list[float]] = {name: [] for name in self.measures}
        for trained, generator in self.models(model):
            drawn = {name: value.clone() for name, value in trained.state_dict().items()}
            pairs = self.pairs(trained, generator)
            for name in self.measures:
                trained.load_state_dict(drawn)
                begin(trained, name)
                trained.train(name == "dropped")
                with seeded(generator):
                    self.descend(trained, *pairs)
                found[name].append(apart(trained))
        worst = {"alike": max}
        return {name: worst.get(name, min)(values) for name, values in found.items()}

    def pairs(self, model: Transformer, generator: torch.Generator) -> tuple[Seq2Seq, Tensor]:
        """Return random sources with random targets, and what follows each target token."""
        lengths = [self.length] * SENTENCES
        src = random_sentences(model, lengths, generator)
        tgt = random_sentences(model, [self.length + 1] * SENTENCES, generator)
        return Seq2Seq(src, tgt[:, :-1]), tgt[:, 1:]

    @torch.enable_grad()
    def descend(self, model: Transformer, inputs: Seq2Seq, targets: Tensor) -> None:
        """Train on the pairs."""
        optimizer = torch.optim.SGD(model.parameters(), lr=RATE)
        for _ in range(self.steps):
            optimizer.zero_grad()
            logits = model.head(model(inputs))
            loss = nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()


@torch.no_grad()
def begin(model: Transformer, name: str) -> None:
    """Make heads alike, as far as the name says."""
    for attention, rows in _heads(model):
        if name in ALIKE:
            for parameter in rows:
                parameter.copy_(parameter[:1].expand_as(parameter))
        if name in ("alike", "dropped"):
            width, heads = attention.output.weight.size(0), attention.n_heads
            columns = attention.output.weight.view(width, heads, -1)
            columns.copy_(columns[:, :1].clone().expand_as(columns))


def apart(model: Transformer) -> float:
    """Return how far a head is from the first one of its attention, at most."""
    each = [(rows - rows[:1]).abs().max() for _, of in _heads(model) for rows in of]
    return float(torch.stack(each).max())


def _heads(model: Transformer) -> Iterator[tuple[MultiHeadAttention, list[Tensor]]]:
    """Yield attentions with the weights and biases of their maps to heads, a row per head."""
    for part in model.modules():
        if isinstance(part, MultiHeadAttention):
            maps = (part.query, part.key, part.value)
            own = [tensor for of in maps for tensor in (of.weight, of.bias)]
            yield part, [of.data.view(part.n_heads, -1, *of.shape[1:]) for of in own]
