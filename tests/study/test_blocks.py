"""The nll of a text in blocks: the interval covers other texts, and says so."""

import numpy as np
import pytest

from ablate.errors import UserError
from ablate.evidence.folder import BLOCKS, Evidence, contributions_of_blocks, in_blocks
from ablate.evidence.gather import _statistics
from ablate.record.files import write_arrays
from ablate.stats.estimate import estimate
from ablate.verdict.conclude import conclude
from ablate.verdict.contrast import contrast

CONTEXTS, TOKENS = 800, 128
SWEEPS = 400


def texts(rng, correlation, seeds):
    """The difference between two equal models on the contexts of a text, whose neighbours are
    correlated, for each seed.
    """
    steps = rng.standard_normal(CONTEXTS)
    for at in range(1, CONTEXTS):
        steps[at] = correlation * steps[at - 1] + (1 - correlation**2) ** 0.5 * steps[at]
    rest = rng.standard_normal((seeds, CONTEXTS))
    return 0.003 * rng.standard_normal((seeds, 1)) + 0.1 * steps + 0.05 * rest


def rows_of(nll):
    """Summed nll and number of tokens of contexts whose last one is short."""
    tokens = np.full(nll.shape, TOKENS)
    tokens[-1] = 40
    return np.stack([nll * tokens, tokens], axis=-1)


@pytest.mark.parametrize("correlation", [0.0, 0.6])
def test_intervals_over_seeds_and_blocks_have_their_level_and_those_over_seeds_do_not(correlation):
    rng, missed = np.random.default_rng(0), np.zeros(3)
    for _ in range(SWEEPS):
        of_contexts = texts(rng, correlation, 5)
        parts = np.stack([contributions_of_blocks(in_blocks(rows_of(x))) for x in of_contexts])
        ways = (parts, of_contexts, None)
        ends = [estimate(parts.mean(1), way).interval(0.95) for way in ways]
        missed += [not low <= 0 <= high for low, high in ends]
    of_blocks, each_context, of_seeds = missed / SWEEPS
    assert of_blocks <= 0.05 + 2.6 * (0.05 * 0.95 / SWEEPS) ** 0.5
    assert of_seeds > 0.12
    assert each_context > 0.12 or correlation < 0.6


@pytest.mark.parametrize("count", [1, 5, BLOCKS, BLOCKS + 1, 4096])
def test_blocks_have_every_row_once(count):
    rows = np.random.default_rng(1).gamma(3.0, size=(count, 2))
    blocks = in_blocks(rows)
    assert len(blocks) == min(count, BLOCKS)
    assert blocks.sum(0) == pytest.approx(rows.sum(0))
    assert contributions_of_blocks(blocks).mean() == pytest.approx(
        rows[:, 0].sum() / rows[:, 1].sum()
    )


@pytest.fixture
def written(run):
    """Runs of two language models, with their nll, bits per byte and statistics."""
    rng, runs, statistics = np.random.default_rng(2), [], {}
    text = 2 + 0.3 * rng.standard_normal(CONTEXTS)
    for arm, lift in (("post_ln", 0.0), ("pre_ln", 0.1)):
        effect = lift * (1 + rng.standard_normal(CONTEXTS))
        for seed in range(5):
            blocks = in_blocks(rows_of(text + effect + 0.01 * rng.standard_normal()))
            nll = float(blocks[:, 0].sum() / blocks[:, 1].sum())
            record = run({"model/residual": arm}, seed, **{"test/nll": nll, "test/bpb": 1.5 * nll})
            runs.append(record)
            statistics[record["identity"]] = {"test/nll": blocks}
    return runs, statistics


@pytest.mark.parametrize(("metric", "factor"), [("test/nll", 1.0), ("test/bpb", 1.5)])
def test_a_verdict_counts_blocks_and_says_so(claim, written, evidence, metric, factor):
    runs, statistics = written
    asked = claim(metric=metric)
    alone = conclude(evidence(runs, asked))
    whole = conclude(evidence(runs, asked, statistics=statistics))
    before, after = alone["claims"][0], whole["claims"][0]
    assert after["effect"] == pytest.approx(before["effect"])
    assert (before["noise"], after["noise"]) == (["seeds"], ["seeds", "blocks of text"])
    (low, high), (lower, higher) = before["interval"], after["interval"]
    assert lower < low < high < higher
    codes = [{caveat["code"] for caveat in x["caveats"]} for x in (alone, whole)]
    assert ["seeds_only" in x for x in codes] == [True, False]
    parts = contrast(asked, evidence(runs, asked, statistics=statistics)).parts
    assert parts.std() / factor == pytest.approx(
        contrast(claim(), evidence(runs, claim(), statistics=statistics)).parts.std()
    )


def test_a_run_that_diverged_contributes_its_score_to_every_block(claim, written, run, evidence):
    runs, statistics = written
    runs[0] = run({"model/residual": "post_ln"}, 0, "diverged")
    del statistics[runs[0]["identity"]]
    pairs = contrast(claim(), evidence(runs, statistics=statistics))
    assert pairs.parts.mean(1) == pytest.approx(pairs.differences)


def test_a_score_that_its_blocks_do_not_give_is_refused(claim, written, evidence):
    runs, statistics = written
    runs[4]["metrics"]["test/nll"] += 0.01
    with pytest.raises(UserError, match="post_ln 4"):
        contrast(claim(metric="test/bpb"), evidence(runs, statistics=statistics))


def test_blocks_survive_being_written(written, saved):
    runs, statistics = written
    loaded = Evidence.load(saved(runs, statistics=statistics)).statistics
    for identity, splits in statistics.items():
        assert loaded[identity]["test/nll"] == pytest.approx(splits["test/nll"], rel=1e-6)


def test_the_rows_that_a_test_kept_are_gathered_as_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr("ablate.evidence.gather._check", lambda *_: None)
    rows = np.random.default_rng(3).gamma(3.0, size=(4096, 2))
    write_arrays(tmp_path / "test.stats.npz", {"nll": rows})
    gathered = _statistics({"evaluation": str(tmp_path), "identity": ""})
    assert gathered.keys() == {"test/nll"}
    np.testing.assert_array_equal(gathered["test/nll"], in_blocks(rows))
