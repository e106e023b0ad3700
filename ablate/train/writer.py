"""Generate text with a language model, as a continuation of a prompt."""

from dataclasses import dataclass

import torch
from jaxtyping import Int
from omegaconf import DictConfig
from torch import Tensor

from ablate.data.tokenizer import Tokenizer
from ablate.data.vocabulary import BOS, EOS
from ablate.model.base import Model
from ablate.search.sampling import Sampling
from ablate.task.base import Task

BETWEEN = "\n\n"  # text in place of an end token between two documents


@dataclass(frozen=True)
class Writer:
    """A language model with its vocabulary, which generates text.

    Args:
        context: largest number of tokens that the model reads.
        packed: whether the model was trained on contexts in which documents follow each other. If
            not, a text begins with BOS and ends with the first end token.
        separator: text between two documents of a prompt; None: a prompt is a single document.
    """

    model: Model
    tokenizer: Tokenizer
    task: Task
    context: int
    packed: bool
    separator: str | None = None

    def documents(self, prompt: str) -> list[str]:
        """Return the documents of a prompt; the model continues the last of them."""
        return prompt.split(self.separator) if self.separator else [prompt]

    @torch.no_grad()
    def __call__(
        self, prompt: str, *, count: int, tokens: int, sampling: Sampling, seed: int
    ) -> list[str]:
        """Return `count` continuations of a prompt, each of at most `tokens` tokens.

        The model stays in its training or evaluation mode, and no global random state changes.
        """
        generator = torch.Generator().manual_seed(seed)
        rows = self.tokenizer.encode_batch(self.documents(prompt)) if prompt else [[]]
        ids = [EOS if self.packed else BOS, *rows[0]]
        for row in rows[1:]:
            ids += [EOS, *row]
        training = self.model.training
        self.model.eval()
        texts = torch.tensor([ids] * count)
        for _ in range(tokens):
            texts = torch.cat([texts, self._next(texts, sampling, generator)[:, None]], 1)
        self.model.train(training)
        # decoded together with the last document, so that a space between them is kept
        begin, shown = len(ids) - len(rows[-1]), len(self._text(rows[-1]))
        return [self._text(row)[shown:] for row in texts[:, begin:].tolist()]

    def _next(
        self, texts: Int[Tensor, "B L"], sampling: Sampling, generator: torch.Generator
    ) -> Int[Tensor, " B"]:
        device = next(self.model.parameters()).device
        inputs = self.task.inputs_of(texts[:, -self.context :].to(device))
        return sampling(self.model.head(self.model(inputs)[:, -1]).cpu(), generator)

    def _text(self, ids: list[int]) -> str:
        documents: list[list[int]] = [[]]
        for token in ids:
            if token == EOS:
                documents.append([])
            else:
                documents[-1].append(token)
        texts = self.tokenizer.decode_batch(documents)
        return BETWEEN.join(texts) if self.packed else texts[0]


def make_writer(
    config: DictConfig,
    model: Model,
    tokenizer: Tokenizer,
    task: Task,
    separator: str | None = None,
) -> Writer:
    """Return the text generator of a run, whose prompts have documents between separators.

    The model reads at most as many tokens as in training, and never more than it has positions for.
    """
    limits = [config.batch.context or config.batch.max_length]
    limits += [limit for limit in model.limits().values() if limit is not None]
    packed = config.batch.context is not None
    return Writer(model, tokenizer, task, min(limits), packed, separator)
