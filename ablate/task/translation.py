"""Translation: read a source sentence and predict its target sentence.

Source: arXiv:1409.0473, section 2.1 (maximum likelihood of the translation given its source); if
    `gold` is below 1, arXiv:1506.03099, section 2.4 (scheduled sampling).
What differs: with gold = 1 nothing: every target token is predicted from the true tokens before it
    (teacher forcing). With gold < 1, each input token of the decoder is replaced, with probability
    1 - gold, by the token that the model predicts as most likely from the earlier input tokens. The
    probability stays constant in training, and no gradient passes through the choice.
What to expect: evaluations report BLEU of whole translations and the nll of the references. With
    gold below 1, a batch takes as many decoding steps as its longest target has tokens. The input
    is no longer the true prefix of the predicted token, so the nll given true prefixes is worse.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor, nn

from ablate.config.limits import OneOf, Range
from ablate.config.settle import AUTO, BLEU_TOKENIZERS, bleu_tokenizer
from ablate.data import BOS, EOS, PAD
from ablate.data.batching import Batch, Draw, Ids
from ablate.metric import METRICS, Metric
from ablate.metric.corpus import WIDTH, corpus_scores, doubt
from ablate.model import Model, Seq2Seq
from ablate.search import Search
from ablate.task import (
    Task,
    TokenMean,
    TokenScores,
    of_all_processes,
    predictions,
    shifted,
    tensors,
)


class Translation(Task):
    """A task in which a model reads a source and predicts its target, token by token."""

    inputs = Seq2Seq
    generates = True
    main = "bleu"
    metrics: ClassVar[Mapping[str, Metric]] = {
        name: METRICS[name]
        for name in (
            *("nll", "bleu", "bleu_tokenised", "chrf", "length_ratio", "calibration_error"),
            *("accuracy", "changed", "unended", "decoder_passes"),
            *("word_f1", "stem_f1", "word_order"),
        )
    }

    def __init__(
        self,
        *,
        gold: Annotated[float, Range(0, 1)] = 1.0,
        tokenize: Annotated[str, OneOf(BLEU_TOKENIZERS)] = AUTO,
    ) -> None:
        self.gold = gold
        self.tokenize = tokenize

    def batch(self, src: Ids, tgt: Ids, lines: Int[np.ndarray, " B"], draw: Draw) -> Batch:
        """Return a batch of sources and targets; the decoder reads targets shifted by one step."""
        tgt_in = shifted(tgt, start=BOS, end=EOS, pad=PAD)
        source, target_in, target, index = tensors(src, tgt_in, tgt, lines.copy())
        return Batch(Seq2Seq(source, target_in), target, index)

    def training_inputs(self, model: Model, inputs: Seq2Seq) -> Seq2Seq:
        """Return the inputs; if `gold` is below 1, predictions replace some target tokens."""
        return inputs if self.gold == 1 else with_predicted_inputs(model, inputs, self.gold)

    def evaluation(self, language: str, *, for_tests: bool) -> "Translations":
        """Return the evaluation of a split: the nll of references, and scores of translations."""
        return Translations(language, for_tests=for_tests, tokenize=self.tokenize)


@torch.no_grad()
def with_predicted_inputs(model: Model, inputs: Seq2Seq, gold: float) -> Seq2Seq:
    """Return the inputs with some target tokens replaced by the model's predictions.

    A target token stays with probability `gold`. Otherwise it is replaced by the most likely token
    given the input tokens before it, which may be predictions as well. Predictions are made without
    dropout.
    """
    training = model.training
    model.eval()
    cache = model.start(inputs.src, 1)
    chosen = [inputs.tgt_in[:, 0]]
    for true in inputs.tgt_in.T[1:]:
        logits = model.head(model.step(chosen[-1], cache))
        logits[:, PAD] = -torch.inf
        drawn = torch.rand(true.shape, dtype=torch.float32, device=true.device)
        kept = (drawn < gold) | (true == PAD)
        chosen.append(torch.where(kept, true, logits.argmax(1)))
    model.train(training)
    return inputs._replace(tgt_in=torch.stack(chosen, 1))


class Translations(TokenScores):
    """The nll of the references, and scores of the model's translations.

    - nll: mean over the target tokens, including EOS (natural logarithm, no label smoothing).
    - bleu: BLEU with letter case, by the tokeniser of the target language.

    With `for_tests` also:

    - bleu_tokenised: BLEU as papers report it.
    - chrf: the score chrF.
    - length_ratio: number of tokens of all translations divided by that of all references.
    - unended: fraction of translations that reach the length limit of the search.
    - word_f1: F1 of the words that translations and references have in common.
    - stem_f1: the same for words without their last two letters, which are endings in data=toy.
    - word_order: Kendall's tau of the order of the words that occur once in both sentences.
    - accuracy: fraction of the target tokens that the model predicts, given the tokens before them.
    - calibration_error: mean difference between this accuracy and the probability that the model
      gives to its predictions.
    - decoder_passes: mean number of sequential decoder passes for a sentence, if the search counts
      them.
    """

    def __init__(self, language: str, *, for_tests: bool, tokenize: str = AUTO) -> None:
        super().__init__(for_tests=for_tests)
        self.unended = TokenMean()
        self.passes = TokenMean()
        tokenize = bleu_tokenizer(tokenize, language)
        self.scores: Any = nn.ModuleDict(corpus_scores(language, tokenize, for_tests=for_tests))

    def update(self, model: Model, batch: Batch, search: Search) -> None:
        """Translate the sources of a batch; add the scores, and the nll of the references."""
        real = batch.targets != PAD
        self.read(predictions(model.head, model(batch.inputs)[real], batch.targets[real]))
        hypotheses = search(model, batch.inputs.src)
        limits = search.limits(batch.inputs.src)
        steps = limits.new_zeros(0) if search.steps is None else search.steps
        self.passes.update(steps.float().mean(), len(limits) if len(steps) else 0)
        self.end(torch.tensor([len(ids) for ids in hypotheses], device=limits.device), limits)
        references = [self.text.references[line] for line in batch.lines.tolist()]
        self.add(batch.lines, self.text.tokenizers.tgt.decode_lines(hypotheses), references)

    def end(self, lengths: Int[Tensor, " B"], limits: Int[Tensor, " B"]) -> None:
        """Count the translations that reach the length limit of the search.

        Args:
            lengths: numbers of tokens of translations.
            limits: the length limits of these translations.
        """
        self.unended.update((lengths >= limits).float().mean(), len(lengths))

    def add(self, index: Int[Tensor, " B"], hypotheses: list[str], references: list[str]) -> None:
        """Add the scores of translations; `index` has the line numbers of the sentences."""
        counted = {
            name: score.statistics(hypotheses, references) for name, score in self.scores.items()
        }
        for name, rows in counted.items():
            self.scores[name].update(rows)
        if self.for_tests:
            kept = zip(hypotheses, counted["bleu"].tolist(), strict=True)
            self.rows.update(zip(index.tolist(), kept, strict=True))

    def compute(self) -> dict[str, float]:
        """Return every score by name, computed from the batches of all processes."""
        scores = {"nll": float(self.nll.compute())}
        scores |= {name: float(score.compute()) for name, score in self.scores.items()}
        if self.for_tests:
            sums = self.statistics()["bleu"].sum(0)
            scores["length_ratio"] = float(sums[0] / max(1, sums[1]))
            scores["unended"] = float(self.unended.compute())
            # every process must call this, even if a short split left it without a sentence
            passes = float(self.passes.compute())
            if not math.isnan(passes):
                scores["decoder_passes"] = passes
        return scores | self.calibrated()

    def doubt(self, references: Sequence[str]) -> str:
        """Return the reason why BLEU on these references would be meaningless, or ""."""
        return doubt(self.scores["bleu"], references)

    def signatures(self) -> dict[str, str]:
        """Return the sacreBLEU signature of each score."""
        return {name: score.signature for name, score in self.scores.items()}

    def hypotheses(self) -> list[str]:
        """Return the translations of the whole split in line order."""
        return [line for line, _ in self._gathered()]

    def statistics(self) -> dict[str, Int[np.ndarray, "n 10"]]:
        """Return the statistics of "bleu": ten integers for each sentence, in line order."""
        rows = [row for _, row in self._gathered()]
        return {"bleu": np.array(rows, dtype=np.int64).reshape(-1, WIDTH)}

    def _gathered(self) -> list[tuple[str, list[int]]]:
        parts = of_all_processes(self.rows)
        merged = {index: row for part in parts for index, row in part.items()}
        return [merged[index] for index in sorted(merged)]
