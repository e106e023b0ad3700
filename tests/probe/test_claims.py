"""Probes of exact claims: the shortest committed run, repeated, has the same outcomes."""

import gzip
import json

import pytest

from ..experiments import EXPERIMENTS

SHORT, LONGEST = 0.3, 2.1  # seconds of a run that a fast test and a slow one repeat
ROUNDING = 1e-12
OF_WORDS = ("initial_scale",)  # depends on the size of the vocabulary, which is another here


def shortest_runs():
    """Yield the shortest committed run of every probe about which claims are exact."""
    for name, path in EXPERIMENTS.items():
        text = path.read_text(encoding="utf-8")
        files = [*path.parents[2].glob(f"{name}/runs.jsonl*")]
        if not ("override /probe" in text and "kind: exact" in text and files):
            continue
        raw = files[0].read_bytes()
        lines = gzip.decompress(raw) if files[0].suffix == ".gz" else raw
        shortest = {}
        for row in map(json.loads, lines.splitlines()):
            probe = row["levels"].get("probe", name)
            shortest[probe] = min(row, shortest.get(probe, row), key=lambda row: row["seconds"])
        for probe, row in shortest.items():
            if row["seconds"] < LONGEST and probe not in OF_WORDS:
                slow = [pytest.mark.slow] * (row["seconds"] > SHORT)
                yield pytest.param(name, row, id=f"{name}-{probe}", marks=slow)


def outcomes(metrics, claims):
    """Return which values are within their tolerance; NaN, which files store as null, is not."""
    return {
        (key, claim.get("tolerance")): (
            metrics[key] is not None and metrics[key] <= max(claim.get("tolerance") or 0, ROUNDING)
        )
        for claim in claims
        for key in (claim.metric, claim.get("control"))
        if claim.kind == "exact" and str(key).startswith("probe/") and key in metrics
    }


@pytest.mark.parametrize(("name", "row"), [*shortest_runs()])
def test_a_repeated_run_has_the_outcomes_of_the_committed_one(compose, name, row):
    from ablate.config.construct import construct
    from ablate.initial import initialise
    from ablate.model import build

    levels = [f"{key}={value}" for key, value in row["levels"].items()]
    config = compose(f"+experiment={name}", f"seed={row['seed']}", *levels)
    model = build(config.model, src_vocab=30, tgt_vocab=30, joint_vocab=True)
    initialise(model, row["seed"])
    metrics = {f"probe/{key}": value for key, value in construct(config.probe)(model).items()}
    committed = outcomes(row["metrics"], config.study.claims)
    assert committed and outcomes(metrics, config.study.claims) == committed
