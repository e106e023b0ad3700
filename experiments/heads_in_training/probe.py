"""Check whether heads with identical initial weights diverge in training.

Equation: the largest |w_h - w_1| after some steps of gradient descent, over attentions, heads h and
    their rows w of W_Q, W_K and W_V, including biases.
Source: two heads with equal weights and equal columns of W_O have equal gradients;
    arXiv:1706.03762, section 3.2.2, whose heads are initialised independently.
What differs: a complete model in float64 that learns random pairs by plain gradient descent.
What to expect: identical heads stay identical. Any asymmetry separates them: different columns of
    W_O, or dropout of attention weights.
"""

from collections.abc import Iterator

import torch
from torch import Tensor, nn

from ablate.config.limits import Count
from ablate.model import Seq2Seq
from ablate.model.attention.multi_head import MultiHeadAttention
from ablate.model.transformer import Transformer
from ablate.probe import random_sentences
from experiments.shared.probe.draws import Measured, RandomModels, moved, seeded

SENTENCES = 4
RATE = 0.05
ALIKE = ("alike", "other_outputs", "dropped")  # experiments with equal heads


class HeadsInTraining(RandomModels):
    """A probe that trains random models whose heads start with equal weights.

    Args:
        draws: number of random models, each with its own random sentence pairs.
        length: number of tokens in each source and each target sentence.
        seed: seed of weights, sentence pairs and dropout.
        steps: number of steps of gradient descent.

    Raises:
        UserError: `draws` or `steps` is below 1, or `length` below 2.
    """

    largest = ("alike",)
    smallest = ("other_outputs", "dropped", "independent")

    steps: Count

    def draw(self, model: Transformer, generator: torch.Generator) -> Measured:
        """Yield how much the weights of the heads differ after training, for one random model in
        four experiments with different initial weights.

        `alike` is reported for the random model with the largest difference; the other three values
        are reported for the model with the smallest difference.

        Yields:
            alike: all heads of an attention begin with equal weights.
            other_outputs: the heads begin with equal query, key and value projections, but with
                different parts of the output projection.
            dropped: the heads begin with equal weights, and training uses the model's dropout.
            independent: all weights are random and independent.
        """
        drawn = {name: value.clone() for name, value in model.state_dict().items()}
        pairs = self.pairs(model, generator)
        for name in (*ALIKE, "independent"):
            model.load_state_dict(drawn)
            begin(model, name)
            model.train(name == "dropped")
            with seeded(generator):
                self.descend(model, *pairs)
            yield name, apart(model)

    def pairs(self, model: Transformer, generator: torch.Generator) -> tuple[Seq2Seq, Tensor]:
        """Return random sources with random targets as decoder input, and the next token at each
        target position.
        """
        lengths = [self.length] * SENTENCES
        src = random_sentences(model, lengths, generator)
        tgt = random_sentences(model, [self.length + 1] * SENTENCES, generator)
        return Seq2Seq(src, tgt[:, :-1]), tgt[:, 1:]

    @torch.enable_grad()
    def descend(self, model: Transformer, inputs: Seq2Seq, targets: Tensor) -> None:
        """Train the model on one batch by gradient descent."""
        optimizer = torch.optim.SGD(model.parameters(), lr=RATE)
        for _ in range(self.steps):
            optimizer.zero_grad()
            logits = model.head(model(inputs))
            loss = nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()


@torch.no_grad()
def begin(model: Transformer, name: str) -> None:
    """Set the initial weights of the heads of each attention, as one of four experiments requires.

    Args:
        model: the model, whose weights are changed in place.
        name: the experiment. For "alike" and "dropped", all heads receive the query, key and value
            projections of the first head, and its part of the output projection. For
            "other_outputs", all heads receive the projections of the first head, but keep different
            parts of the output projection. For "independent", nothing is changed.
    """
    for attention, rows in _heads(model):
        if name in ALIKE:
            for parameter in rows:
                parameter.copy_(parameter[:1].expand_as(parameter))
        if name in ("alike", "dropped"):
            width, heads = attention.output.weight.size(0), attention.n_heads
            columns = attention.output.weight.view(width, heads, -1)
            columns.copy_(columns[:, :1].clone().expand_as(columns))


def apart(model: Transformer) -> Tensor:
    """Return the largest difference between the projection weights of a head and of the first head
    of the same attention.
    """
    return torch.stack([moved(rows, rows[:1]) for _, of in _heads(model) for rows in of]).max()


def _heads(model: Transformer) -> Iterator[tuple[MultiHeadAttention, list[Tensor]]]:
    """Yield every attention module of the model, with the weights and biases (if there are any) of
    its query, key and value projections.

    Each tensor is a view of a parameter whose first dimension is the number of heads: entry h
    belongs to head h.
    """
    for part in model.modules():
        if isinstance(part, MultiHeadAttention):
            maps = (part.query, part.key, part.value)
            tensors = [t for of in maps for t in (of.weight, of.bias) if t is not None]
            yield part, [of.data.view(part.n_heads, -1, *of.shape[1:]) for of in tensors]
