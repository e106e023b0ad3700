"""The metrics that a run has: the one list by which the metric of a claim is checked."""

import difflib

from omegaconf import DictConfig

from ablate.construct import construct
from ablate.errors import UserError
from ablate.study.outcome import UNSTABLE

VALIDATED = ("nll", "bleu")
# `changed` is one of a pair of runs, of their sentences in this split
TESTED = (
    *(
        *VALIDATED,
        "bleu_tokenised",
        "chrf",
        "length_ratio",
        "unended",
        "calibration_error",
        "accuracy",
    ),
    "changed",
)
STACKS = ("encoder", "decoder")
TRAINED = ("unigram_nll", "parameters", "steps")
KNOWN = tuple(f"{level}/{name}" for level in ("chance", "bound") for name in ("nll", "accuracy"))
HEADS = ("heads/encoder_self", "heads/decoder_self", "heads/decoder_cross")


def metric_names(config: DictConfig) -> set[str]:
    """Keys of all metrics that a run with this config can have."""
    if config.probe is not None:
        return {"parameters", *(f"probe/{name}" for name in construct(config.probe).measures)}
    layers = zip(STACKS, (config.model.n_layers, config.model.n_decoder_layers), strict=True)
    parts = [f"{stack}.{i}" for stack, number in layers for i in range(number)]
    parts += [f"{stack}_ratio" for stack in STACKS]
    gradients = {f"gradient/{when}/{part}" for when in ("first", "last") for part in parts}
    scores = {f"{split}/{name}" for split in config.test_splits for name in TESTED}
    validated = {f"val/{name}" for name in VALIDATED}
    return {*TRAINED, *KNOWN, *HEADS, *UNSTABLE, *gradients, *scores, *validated}


def check_metric(key: str, metric: str, known: set[str]) -> None:
    """Raise UserError for a metric that no run has, with the nearest one that they have."""
    if metric in known:
        return
    near = difflib.get_close_matches(metric, sorted(known), n=1)
    hint = f"did you mean {near[0]}? " if near else ""
    shown = sorted(name for name in known if not name[-1].isdigit())  # without single layers
    raise UserError(f"{key}={metric} is measured in no run; {hint}allowed is {', '.join(shown)}")
