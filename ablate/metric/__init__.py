"""Metrics: a table with the name, unit, direction of each, and its value of diverged runs; the
interface of scores of a split, and the fraction of exact matches.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

NOTHING = "-"
MILLION = 1e6
STEPS_TO = "steps_to"  # prefix of metrics of the validation curve: steps_to/nll_1.0
RESULT = "result"  # the metric of a table of runs, whose column a claim names in `measures`
UNIGRAM_BPB = "unigram_bpb"
UNIGRAM = "unigram_nll"  # metric with the nll of a model without context


@dataclass(frozen=True)
class Metric:
    """The description of a metric.

    In a key such as "test/bleu", the last part identifies the metric; the part before it is the
    split or the time of measurement.

    Args:
        name: readable name.
        unit: unit of its values.
        digits: number of decimals to print.
        better: higher | lower, or "" if neither is better.
        split: "val" if validation and tests measure it, "test" if only tests do.
        wrong: value for a run that diverged or did not learn, or the key of another metric of the
            same run to use instead; None if such a run has no value.
        told_by: last part of the key of a metric, such as "nll", which shows whether the model
            learned anything on the same sentences; "" if no metric shows this.
        best: the best possible value, if the metric has one.
    """

    name: str
    unit: str
    digits: int = 2
    better: str = ""
    split: str = ""
    wrong: float | str | None = None
    told_by: str = ""
    best: float | None = None

    @property
    def axis(self) -> str:
        """The label of a plot's axis for this metric: name and unit, unless the name has the
        unit, or ends with another explanation in brackets.
        """
        explained = self.unit in self.name or self.name.endswith(")")
        return self.name if explained else f"{self.name} ({self.unit})"

    @property
    def title(self) -> str:
        """The name of the metric with a capital letter, for the start of a sentence."""
        return self.name[:1].upper() + self.name[1:]

    @property
    def heading(self) -> str:
        """The heading of a table's column for this metric: name with a capital letter, and unit."""
        return self.axis[:1].upper() + self.axis[1:]

    def say(self, value: float | None, *, sign: bool = False) -> str:
        """Return a value as text, with the number of decimals of this metric.

        `sign`: write a plus sign before positive values.
        """
        if value is None:
            return NOTHING
        value += 0.0  # 0 in place of -0
        plus = "+" if sign else ""
        if self.digits and abs(value) >= MILLION:
            return f"{value / MILLION:{plus},.1f}".removesuffix(".0") + " million"
        if value and abs(value) < 10**-self.digits:
            return format(value, f"{plus}.3g")
        return format(value, f"{plus},.{self.digits}f")

    def spread(self, mean: float | None, sd: float | None) -> str:
        """Return mean ± standard deviation as text; only the mean if `sd` is None."""
        return self.say(mean) if sd is None else f"{self.say(mean)} ± {self.say(sd)}"


def _score(name: str, split: str) -> Metric:
    return Metric(name, "points", 2, "higher", split, 0.0, "bleu", 100.0)


METRICS = {
    "nll": Metric("nll", "nats per token", 3, "lower", "val", UNIGRAM, "nll"),
    "perplexity": Metric("perplexity", "per token", 2, "lower", "val", told_by="nll"),
    "bpb": Metric("bits per byte", "", 4, "lower", "val", UNIGRAM_BPB, "nll"),
    "nll_per_character": Metric("nll per character", "nats", 4, "lower", "val", told_by="nll"),
    "bleu": _score("BLEU", "val"),
    "bleu_tokenised": _score("BLEU, lower-cased tokens", "test"),
    "chrf": _score("chrF", "test"),
    "length_ratio": Metric(
        "length ratio", "translation / reference tokens", 3, split="test", told_by="bleu"
    ),
    "calibration_error": Metric(
        "expected calibration error", "probability", 3, "lower", "test", told_by="nll"
    ),
    "accuracy": Metric(
        "top-1 accuracy", "proportion", 3, "higher", "test", told_by="nll", best=1.0
    ),
    "skill": Metric(
        "skill", "0 is chance, 1 the best possible", 3, "higher", "test", 0.0, "nll", 1.0
    ),
    # compares the translations of two runs
    "changed": Metric(
        "sentences translated differently", "proportion", 3, split="test", told_by="bleu"
    ),
    "decoder_passes": Metric(
        "sequential decoder passes", "per sentence", 2, "lower", "test", told_by="bleu"
    ),
    "unended": Metric(
        "translations that do not end", "proportion", 3, "lower", "test", told_by="bleu"
    ),
    "word_f1": Metric("F1 of words", "proportion", 3, "higher", "test", 0.0, "bleu", 1.0),
    "stem_f1": Metric("F1 of stems", "proportion", 3, "higher", "test", 0.0, "bleu", 1.0),
    "word_order": Metric(
        "order of shared words", "Kendall's tau", 3, "higher", "test", 0.0, "bleu", 1.0
    ),
    "objective": Metric("objective", "nats per token", 3, "lower"),
    UNIGRAM: Metric("nll of the unigram model", "nats per token", 3),
    UNIGRAM_BPB: Metric("bits per byte of the unigram model", "", 4),
    "parameters": Metric("parameters", "count", 0),
    "steps": Metric("optimiser steps", "count", 0),
    "diverged": Metric("diverged runs", "proportion"),
    "collapsed": Metric("collapsed runs", "proportion"),
    "unstable": Metric("diverged or collapsed runs", "proportion"),
    "encoder_ratio": Metric("ratio of gradient norms in the encoder", "largest / smallest layer"),
    "decoder_ratio": Metric("ratio of gradient norms in the decoder", "largest / smallest layer"),
    "encoder_self": Metric("divergence between heads, encoder self-attention", "bits", 3),
    "decoder_self": Metric("divergence between heads, decoder self-attention", "bits", 3),
    "decoder_cross": Metric("divergence between heads, cross-attention", "bits", 3),
    "added_most": Metric("most that a sub-layer adds", "proportion of the stream", 3),
    "added_least": Metric("least that a sub-layer adds", "proportion of the stream", 3),
    "drift": Metric("drift of what sub-layers read", "Bhattacharyya distance", 4, "lower"),
    "attention_block": Metric("parameters of an attention block", "count", 0),
    "attention_all": Metric("parameters of all attention blocks", "count", 0),
    "model": Metric("parameters of the model", "count", 0),
    "microseconds": Metric("training time", "microseconds per token", 3),
    "bytes": Metric("memory in training", "bytes per token", 3),
    "block_excess": Metric("parameters of a block above 4 d_model² + 4 d_model", "count", 0),
}
PLACES = {
    "train": "training",
    "val": "validation",
    "test_long": "{} on long test sequences",
    "gap": "training-to-test gap in",
    "gradient/first": "first-step",
    "gradient/last": "last-step",
    "heads": "",
    "residual": "",
    "measure": "",
    "probe": "",
}


def metric_of(key: str) -> Metric:
    """Return the description of the metric with a key such as "test/bleu".

    For an unknown metric, the key is used as its name.
    """
    place, _, last = key.rpartition("/")
    if place == STEPS_TO:
        nll = last.removeprefix("nll_")
        return Metric(f"steps to a validation nll of {nll}", "steps", 0, "lower")
    if key == RESULT:
        return Metric(key, "", 4)
    definition = METRICS.get(last)
    if definition is None:
        return Metric(key.replace("_", " "), "", 3)
    name = PLACES.get(place, place)
    name = name.format(definition.name) if "{}" in name else f"{name} {definition.name}".strip()
    return Metric(name, definition.unit, definition.digits, definition.better)


def metric_in_words(key: str, words: str | None = "") -> Metric:
    """Return the description of a metric, under the name that a claim gives the metric.

    Args:
        key: the metric, such as "test/bleu".
        words: the name in the claim, such as "the largest change of the output"; None or "" if the
            claim gives no name, so that the metric keeps its usual name.
    """
    metric = metric_of(key)
    return replace(metric, name=words) if words else metric


GAPS = ("nll", "bleu", "accuracy")
DRAWN = {"train", "test"}  # splits to which the theoretical values of a corpus apply


def derived_metrics(scores: Mapping[str, float], levels: Mapping[str, float]) -> dict[str, float]:
    """Compute metrics from other metrics: skill above chance, and the gap between train and test.

    Return derived metrics by name, such as "test/skill" and "gap/nll".

    Equation: skill = (accuracy - chance) / (bound - chance), where chance and bound are the
        accuracies of guessing and of a perfect model on the corpus. gap = the difference by which a
        metric is worse on test than on train.
    Source: Cohen 1960, doi:10.1177/001316446002000104 (agreement beyond chance); the generalisation
        gap of arXiv:1611.03530.
    What differs: chance is the best accuracy of a model that has not learned the task, as the
        corpus defines it. The bound may be below 1. Both splits are evaluated without dropout, with
        the last weights.
    What to expect: tokens that are trivial to predict, such as EOS, do not contribute to skill. A
        skill of 0 means that nothing was learned, and 1 that the task is solved.

    Skill needs the theoretical values of the corpus. A gap needs the metric on both train and test.

    Args:
        scores: values by split and metric, such as "test/nll".
        levels: theoretical values of the corpus, such as "chance/accuracy"; {} if unknown.
    """
    metrics = {}
    if levels:
        chance, bound = (levels[f"{level}/accuracy"] for level in ("chance", "bound"))
        room = bound > chance  # false for random targets, on which no skill is possible
        for split in _splits(scores, "accuracy") & DRAWN if room else ():
            metrics[f"{split}/skill"] = (scores[f"{split}/accuracy"] - chance) / (bound - chance)
    for name in GAPS:
        if {"train", "test"} <= _splits(scores, name):
            sign = 1 if METRICS[name].better == "higher" else -1
            metrics[f"gap/{name}"] = sign * (scores[f"train/{name}"] - scores[f"test/{name}"])
    return metrics


def derived_names(scores: Iterable[str]) -> set[str]:
    """Return the names of the metrics that `derived_metrics` computes from scores with these
    names.
    """
    ones = dict.fromkeys(scores, 0.0)
    return set(derived_metrics(ones, {"chance/accuracy": 0.0, "bound/accuracy": 1.0}))


def _splits(scores: Iterable[str], name: str) -> set[str]:
    return {split for split, _, last in (key.rpartition("/") for key in scores) if last == name}


class SplitMetric(ABC):
    """Computes a score of the translations of a test split; an option of `metric`.

    In the results of a run, the score on the test split is called test/NAME, where NAME is the key
    of this metric under `metric` in the config. Claims can use this score like any other metric,
    with intervals over seeds. A metric is also called once before training, with the references as
    hypotheses, and must keep no state between calls.
    """

    @abstractmethod
    def __call__(
        self, sources: Sequence[str], hypotheses: Sequence[str], references: Sequence[str]
    ) -> float:
        """Return the score of a whole split.

        Line i of all three arguments belongs to the same sentence.
        """


class ExactMatch(SplitMetric):
    """Compute the fraction of translations that equal their reference.

    The fraction of translations that equal their reference, 0 to 1.

    Equation: (1 / n) sum_i [hypothesis_i = reference_i], ignoring surrounding spaces.
    Source: arXiv:1606.05250, section 6 (exact match of answers).
    What differs: letter case and punctuation count.
    What to expect: near 0 on free text; on synthetic corpora, the fraction of solved sentences.
    """

    def __call__(
        self, sources: Sequence[str], hypotheses: Sequence[str], references: Sequence[str]
    ) -> float:
        """Return the fraction of translations that equal their reference; 0 without lines."""
        pairs = zip(hypotheses, references, strict=True)
        return sum(hypothesis.strip() == other.strip() for hypothesis, other in pairs) / max(
            1, len(references)
        )
