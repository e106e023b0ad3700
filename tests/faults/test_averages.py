"""Callbacks that swap weights: one set of weights is validated, tested, stored and evaluated."""

import json
from pathlib import Path

from ablate.config.construct import construct
from ablate.train.restore import restore, score

from .conftest import TINY
from .test_resume import MODES


def test_one_set_of_weights_is_validated_tested_and_stored(whole, compose, small):
    result = whole(*MODES["mean"])
    config = compose(*small, *TINY, *MODES["mean"])
    metrics, restored = result["metrics"], restore(Path(result["folder"]), {}, [], "cpu")
    for split, loss in (("validation", "val/nll"), ("test", "test/nll")):
        scores = score(restored, construct(config.data), split, config.paths.cache)
        assert scores["nll"] == metrics[loss]
    lines = Path(result["folder"], "metrics.jsonl").read_text().splitlines()
    curve = [line["val/nll"] for line in map(json.loads, lines) if "val/nll" in line]
    assert curve[-1] == min(curve)
