"""Language modelling: predict every token of a text from the tokens before it.

Equation: nll = -(1 / N) sum over t of log p(x_t | x_1 .. x_{t-1}), where EOS is one of the N
    tokens; perplexity = exp(nll); bits per byte = N nll / (ln 2 * bytes of the text).
Source: Bengio et al. 2003; perplexity of a held-out text as in arXiv:1602.02410; bits per byte as
    in arXiv:2101.00027, section 3.1; attention limited to the document as in arXiv:2402.13991.
What differs: if `batch.context` is not set, each line is a separate text. If it is set, the whole
    text is cut into contexts of this length (`ablate.data.packed`), and a token sees only its
    context. Positions are counted through a context, even if it contains several documents. In a
    parallel corpus, the targets are the text. Bytes are counted in the original text before it is
    split into documents: EOS stands for the separator. An unknown character costs 8 additional bits
    for each of its bytes.
What to expect: an nll between the unigram entropy (unigram_nll) and the entropy of the text. The
    nll of two models is comparable only if they have the same vocabulary; bits per byte are
    comparable for different vocabularies, too.
"""

from collections.abc import Mapping
from typing import Annotated, ClassVar

import numpy as np
from jaxtyping import Int
from torch import Tensor

from ablate.config.limits import OneOf
from ablate.data.batch import Batch, Draw, Ids
from ablate.data.vocabulary import BOS, EOS, PAD
from ablate.metric.table import METRICS, Metric
from ablate.model.base import Causal, CausalDocuments
from ablate.task.base import Task, Text, shifted, tensors
from ablate.task.likelihood import LIKELIHOOD, Likelihood


class LanguageModel(Task):
    """A task in which a model reads a text and predicts each next token.

    Args:
        attention: earlier tokens that a token attends to: context (all of its context) | document
            (those of its document).
    """

    reads_source = False
    packs = True
    writes = True
    main = "bpb"
    metrics: ClassVar[Mapping[str, Metric]] = {
        **LIKELIHOOD,
        **{name: METRICS[name] for name in ("bpb", "nll_per_character")},
    }

    def __init__(self, *, attention: Annotated[str, OneOf(("context", "document"))]) -> None:
        self.inputs = CausalDocuments if attention == "document" else Causal

    def batch(self, src: Ids, tgt: Ids, lines: Int[np.ndarray, " B"], draw: Draw) -> Batch:
        """Return a batch of texts, which are the targets of the corpus."""
        return self._batch(shifted(tgt, start=BOS, end=EOS, pad=PAD), tgt, lines)

    def pack(self, contexts: Ids, stretches: Int[np.ndarray, " B"]) -> Batch:
        """Return a batch of contexts; every token is predicted from the tokens before it."""
        return self._batch(contexts[:, :-1], contexts[:, 1:], stretches)

    def _batch(self, tokens: Ids, targets: Ids, lines: Int[np.ndarray, " B"]) -> Batch:
        read, wanted, index = tensors(tokens, targets, lines.copy())
        return Batch(self.inputs_of(read), wanted, index)

    def inputs_of(self, tokens: Int[Tensor, "B L"]) -> Causal | CausalDocuments:
        """Return the inputs of a model for these tokens.

        With attention=document, each EOS begins the next document.
        """
        if self.inputs is Causal:
            return Causal(tokens)
        return CausalDocuments(tokens, (tokens == EOS).cumsum(1))

    def longest(self, src: int, tgt: int) -> tuple[int, int]:
        """Return 0, because sources are not read, and the number of tokens of the longest text."""
        return 0, tgt

    def evaluation(self, language: str, *, thorough: bool) -> "TextLikelihood":
        """Return the evaluation of the texts of a split."""
        return TextLikelihood(thorough=thorough)


class TextLikelihood(Likelihood):
    """The nll of a text, and the same value in bits per byte and in nats per character."""

    def __init__(self, *, thorough: bool) -> None:
        super().__init__(thorough=thorough)
        self.text: Text | None = None

    def begin(self, text: Text) -> None:
        """Store the numbers of bytes and characters of the text."""
        self.text = text

    def compute(self) -> dict[str, float]:
        """Return every score by name, computed from the batches of all processes."""
        scores = super().compute()
        length = self.text and self.text.length
        if length is None:
            return scores
        nll = scores["nll"]
        return scores | {
            "bpb": length.bits_per_byte(nll),
            "nll_per_character": length.nats_per_character(nll),
        }
