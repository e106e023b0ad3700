"""Readable labels of options and values: "Pre-LN", "no warm-up", "8 heads".

The YAML file of an option contains its label in a comment, `# label: Pre-LN`. A comment affects
neither the constructor nor the identity of a run. An option without a label, such as one of the
user, is named by its file; a value of a key that is not listed here is named by key and value.
"""

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from ablate.config.location import CONF

LABEL = re.compile(r"^# label: (.+)$", re.MULTILINE)
SPLIT = re.compile(r"[./_]+")

# `{}` is replaced by the value.
KEYS = {
    "adapt.rank": "rank {}",
    "batch.bucket": "bucketing by length {}",
    "batch.context": "context {}",
    "batch.max_length": "at most {} tokens",
    "batch.test_bucket": "test batches of similar lengths {}",
    "batch.test_padding": "{} more columns of padding",
    "batch.tokens": "{} tokens a batch",
    "budget.short": "also judged after {} steps",
    "budget.steps": "{} steps",
    "checkpoint.tested": "{} weights",
    "data.distance": "distance {}",
    "data.longest": "training lengths up to {}",
    "data.max_words": "at most {} words",
    "data.n_train": "{} training pairs",
    "data.pairs": "{} pairs to recall",
    "loss.smoothing": "smoothing {}",
    "measure.given": "reference positions {}",
    "measure.rotated": "rotated embeddings {}",
    "model.attention.feature_map": "feature map {}",
    "model.attention.fill": "masked scores: {}",
    "model.attention.normalised": "normalised weights {}",
    "model.attention.scale": "divisor of the scores: {}",
    "model.causal": "causal mask {}",
    "model.d_ff": "feed-forward width {}",
    "model.d_head": "head width {}",
    "model.d_model": "width {}",
    "model.dropout.embedding": "embedding dropout {}",
    "model.dropout.rate": "dropout {}",
    "model.dropout.residual": "sub-layer dropout {}",
    "model.embedding.scaled": "scaled embeddings {}",
    "model.n_decoder_layers": "{} decoder layers",
    "model.n_heads": "{} heads",
    "model.n_layers": "{} layers",
    "model.share_layers": "shared layers: {}",
    "optimizer.betas": "betas {}",
    "optimizer.lr": "learning rate {}",
    "optimizer.weight_decay": "weight decay {}",
    "probe.batching": "batches: {}",
    "probe.d_model": "width {}",
    "probe.deviation": "initial deviation {}",
    "probe.example": "printed example: {}",
    "probe.length": "length {}",
    "probe.listing": "printed code: {}",
    "probe.maps": "initial projections: {}",
    "probe.n_heads": "{} heads",
    "probe.position": "positions: {}",
    "probe.sentences": "{} sentences",
    "probe.stack": "{}",
    "probe.tgt_length": "target length {}",
    "probe.words": "{} words",
    "probe.work": "operation: {}",
    "replicate": "set {} of seeds",
    "search.length_penalty": "length penalty {}",
    "search.max_extra": "limit of {} extra tokens",
    "search.size": "beam of {}",
    "task.attention": "attention to the {}",
    "task.gold": "{} of inputs from the reference",
    "tokenizer.joint": "joint vocabulary {}",
    "tokenizer.vocab_size": "{} subwords",
    "trainer.precision": "precision {}",
    "weights": "{} weights",
}
# Labels of keys whose value is null.
NULLS = {"model.d_head": "head width d_model / n_heads"}
SINGULAR = {
    **{"1 heads": "1 head", "1 layers": "1 layer", "1 decoder layers": "1 decoder layer"},
    **{"1 sentences": "1 sentence"},
}
MEASURED = ("measure", "probe")  # groups whose options are no parts of a model


@cache
def option_label(group: str, option: str) -> str:
    """Return the label of an option, such as "Pre-LN" for pre_ln in model/residual.

    Args:
        group: the config group, without the place after an @.
        option: the name of the YAML file, without its ending.
    """
    path = CONF / group / f"{option}.yaml"
    label = LABEL.search(path.read_text(encoding="utf-8")) if path.is_file() else None
    return label[1].strip() if label else option.replace("_", " ")


def level_label(factor: str, level: Any) -> str:
    """Return a readable label for a level of a factor.

    Args:
        factor: a config group, with or without a place after an @, or a config key.
        level: the name of an option, or the value of the key.
    """
    if label := option_name(factor, level):
        group, _, place = factor.partition("@")
        part = place.removeprefix("model.").partition(".")[0]
        label = f"{label} ({part})" if part else label
        return f"measured: {label}" if group in MEASURED else label
    if level is None and factor in NULLS:
        return NULLS[factor]
    value = _value(level)
    if factor in KEYS:
        label = KEYS[factor].format(value)
        return SINGULAR.get(label, label)
    words = " ".join(SPLIT.split(factor)[-2:] if factor.startswith("probe") else _last(factor))
    return f"{words} {value}"


def option_name(factor: str, level: Any) -> str:
    """Return the label of a level that is an option of a config group; "" of any other."""
    group = factor.partition("@")[0]
    return option_label(group, level) if isinstance(level, str) and (CONF / group).is_dir() else ""


def arm_label(levels: Mapping[str, Any]) -> str:
    """Return a readable label for an arm: the labels of its levels, separated by commas."""
    return ", ".join(level_label(factor, level) for factor, level in levels.items())


def factor_label(factor: str) -> str:
    """Return what a person calls a factor: "heads" of model.n_heads, "residual" of its group."""
    group, _, place = factor.partition("@")
    if factor in KEYS:
        words = (
            " ".join(KEYS[factor].replace("{}", "").split())
            .strip(": ")
            .removesuffix(" of")
            .removesuffix(" to the")
        )
        return words.removeprefix("at most ").removeprefix("of ") or "option"
    name = " ".join(_last(group)).removeprefix("n ")
    return f"{name} ({place.removeprefix('model.').partition('.')[0]})" if place else name


def _last(factor: str) -> list[str]:
    """Return the words of the last part of a key."""
    return re.split(r"[./]", factor)[-1].split("_")


def _value(level: Any) -> str:
    if isinstance(level, bool):
        return "on" if level else "off"
    if isinstance(level, int):
        return f"{level:,}"
    if isinstance(level, Mapping):
        return " and ".join(f"{key} {_value(value)}" for key, value in level.items()) or "empty"
    return "none" if level is None else str(level).replace("_", " ")
