"""How a report says things: names and units of the metrics, numbers, and text inside Markdown."""

import re
from dataclasses import dataclass
from typing import Any

NOTHING = "-"


@dataclass(frozen=True)
class Measure:
    """What a metric is called, its unit, and how many decimals are worth printing."""

    name: str
    unit: str
    digits: int = 2

    @property
    def axis(self) -> str:
        """Label of an axis of values."""
        return f"{self.name} ({self.unit})" if self.unit else self.name

    @property
    def named(self) -> str:
        """The name at the beginning of a sentence."""
        return self.name[:1].upper() + self.name[1:]

    def say(self, value: float | None, *, sign: bool = False) -> str:
        """A value with as many decimals as are worth printing."""
        if value is None:
            return NOTHING
        plus = "+" if sign else ""
        if value and (abs(value) < 10**-self.digits or (self.digits and abs(value) >= 1e6)):
            return format(value, f"{plus}.3g")
        return format(value, f"{plus},.{self.digits}f")

    def spread(self, mean: float | None, sd: float | None) -> str:
        """Mean and standard deviation; the mean alone where there is no spread to show."""
        return self.say(mean) if sd is None else f"{self.say(mean)} ± {self.say(sd)}"


# By the last part of a metric's key; the part before it says on which sentences, or when.
MEASURES = {
    "bleu": Measure("BLEU", "points"),
    "bleu_tokenised": Measure("BLEU, lower-cased tokens", "points"),
    "chrf": Measure("chrF", "points"),
    "nll": Measure("nll", "nats per token", 3),
    "perplexity": Measure("perplexity", "per token"),
    "length_ratio": Measure("length ratio", "translation / reference tokens", 3),
    "calibration_error": Measure("expected calibration error", "probability", 3),
    "accuracy": Measure("accuracy of the likeliest token", "share", 3),
    "changed": Measure("sentences translated differently", "share", 3),
    "unigram_nll": Measure("nll of the unigram model", "nats per token", 3),
    "parameters": Measure("parameters", "count", 0),
    "steps": Measure("optimiser steps", "count", 0),
    "diverged": Measure("diverged runs", "share"),
    "collapsed": Measure("collapsed runs", "share"),
    "unstable": Measure("diverged or collapsed runs", "share"),
    "encoder_ratio": Measure("ratio of gradient norms in the encoder", "largest / smallest layer"),
    "decoder_ratio": Measure("ratio of gradient norms in the decoder", "largest / smallest layer"),
    "encoder_self": Measure("divergence between heads, encoder self-attention", "bits", 3),
    "decoder_self": Measure("divergence between heads, decoder self-attention", "bits", 3),
    "decoder_cross": Measure("divergence between heads, cross-attention", "bits", 3),
    "attention_block": Measure("parameters of an attention block", "count", 0),
    "attention_all": Measure("parameters of all attention blocks", "count", 0),
    "model": Measure("parameters of the model", "count", 0),
    "block_excess": Measure("parameters of a block above 4 d_model² + 4 d_model", "count", 0),
}
PLACES = {
    "val": "validation",
    "test_long": "long test",
    "gradient/first": "first-step",
    "gradient/last": "last-step",
    "heads": "",
    "probe": "",
}


def measure(metric: str) -> Measure:
    """Name and unit of a metric by its key; a key that is not known is its own name."""
    place, _, last = metric.rpartition("/")
    known = MEASURES.get(last)
    if known is None:
        return Measure(metric.replace("_", " "), "", 3)
    name = f"{PLACES.get(place, place)} {known.name}".strip()
    return Measure(name, known.unit, known.digits)


def probability(value: float | None) -> str:
    """A p-value."""
    if value is None:
        return NOTHING
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def interval(measured: Measure, ends: list[float] | None) -> str:
    """Both ends of an interval of differences; none where the runs are too few for any."""
    if ends is None:
        return NOTHING
    return f"[{', '.join(measured.say(end, sign=True) for end in ends)}]"


def listed(items: list[Any], last: str = "and") -> str:
    """Items as a person lists them: `a, b and c`."""
    words = [str(item) for item in items]
    return f" {last} ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


SPECIAL = re.compile(r"([\\`*<|$~]|\](?=[(\[:])|(?<!\w)_|_(?!\w)|&(?=#?\w+;))")
BLOCK = re.compile(r"^(\d*)([#+=.)>-])(?=[\s#+=-]|$)")  # what would open a list or a heading
ARXIV = re.compile(r"arXiv:(\d{4}\.\d{4,5})")


def text(plain: Any) -> str:
    """Plain text as Markdown that shows it unchanged, on one line; arXiv numbers become links."""
    escaped = SPECIAL.sub(r"\\\1", " ".join(str(plain).split()))
    escaped = BLOCK.sub(r"\1\\\2", escaped)
    return ARXIV.sub(r"[arXiv:\1](https://arxiv.org/abs/\1)", escaped)


def code(plain: Any) -> str:
    """Plain text for Markdown's code, on one line and without the marks that would end it."""
    return " ".join(str(plain).split()).replace("`", "'")
