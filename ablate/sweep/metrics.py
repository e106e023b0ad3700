"""The metrics that a run has: the one list by which the metric of a claim is checked."""

import difflib
from typing import Any

from hydra.utils import get_class
from omegaconf import DictConfig

from ablate.config.construct import construct
from ablate.errors import UserError
from ablate.metric.table import measured
from ablate.study.outcome import UNSTABLE

TRAINED = ("unigram_nll", "parameters", "steps")
HEADS = ("heads/encoder_self", "heads/decoder_self", "heads/decoder_cross")


def metric_names(config: DictConfig) -> set[str]:
    """Keys of all metrics that a run with this config can have."""
    if config.probe is not None:
        return {"parameters", *(f"probe/{name}" for name in construct(config.probe).measures)}
    model: Any = get_class(config.model["_target_"])
    task: Any = get_class(config.task["_target_"])
    layers = {stack: config.model[key] for stack, key in model.stacks.items()}
    parts = [f"{stack}.{i}" for stack, number in layers.items() for i in range(number)]
    parts += [f"{stack}_ratio" for stack in layers]
    gradients = {f"gradient/{when}/{part}" for when in ("first", "last") for part in parts}
    scores = {f"{split}/{name}" for split in config.test_splits for name in task.scores}
    only_tested = {*measured("test")} - {*measured("val")}
    validated = {f"val/{name}" for name in task.scores - only_tested}
    return {*TRAINED, *HEADS, *UNSTABLE, *gradients, *scores, *validated}


def check_metric(key: str, metric: str, known: set[str]) -> None:
    """Raise UserError for a metric that no run has, with the nearest one that they have."""
    if metric in known:
        return
    near = difflib.get_close_matches(metric, sorted(known), n=1)
    hint = f"did you mean {near[0]}? " if near else ""
    shown = sorted(name for name in known if not name[-1].isdigit())  # without single layers
    raise UserError(f"{key}={metric} is measured in no run; {hint}allowed is {', '.join(shown)}")
