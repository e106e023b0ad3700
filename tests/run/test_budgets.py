"""Two budgets from one training: each to the numbers of a run of that length alone."""

import json
from pathlib import Path

import pytest

from ablate.errors import UserError
from ablate.optimizer import Constant, Cosine, InverseSqrt, WarmupStableDecay
from ablate.train.module import Training
from ablate.train.resolve import resolve
from ablate.train.run import _steps_in_common, run, shared_steps

from .conftest import VOLATILE

BOTH = ("budget.steps=8", "budget.short=4")
TINY = ("data.n_validation=4", "data.n_test=4", "search=greedy", "search.max_extra=2")


@pytest.fixture
def go(small, compose, tmp_path):
    """Run with extra overrides in a results folder of this name."""

    def went(results, *overrides):
        folder = f"paths.results={tmp_path / results}"
        return run(resolve(compose(*small, *TINY, *overrides, folder)))

    return went


@pytest.fixture
def steps(monkeypatch):
    """Numbers of the steps that are trained, in order."""
    real, seen = Training.training_step, []

    def counted(task, *args):
        seen.append(task.global_step)
        return real(task, *args)

    monkeypatch.setattr(Training, "training_step", counted)
    return seen


def numbers(result):
    lines = (Path(result["folder"]) / "metrics.jsonl").read_text().splitlines()
    fields = {k: v for k, v in result.items() if k not in (*VOLATILE, "short")}
    return fields, [{k: v for k, v in json.loads(line).items() if k != "time"} for line in lines]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("more", "shared"),
    [
        ((), 4),
        (("schedule=wsd", "schedule.decay=0.5", "budget.warmup=1", "budget.validate_every=1"), 1),
        (("checkpoint.tested=best",), 4),
        (("checkpoint.tested=average", "checkpoint.every=1", "checkpoint.average=3"), 4),
    ],
    ids=["last", "wsd", "best", "average"],
)
def test_both_have_the_numbers_that_they_have_alone(go, steps, more, shared):
    both = go("both", *BOTH, *more)
    assert steps == [*range(4), *range(shared, 8)]
    assert numbers(both["short"]) == numbers(go("alone", "budget.steps=4", *more))
    assert numbers(both) == numbers(go("alone", "budget.steps=8", *more))
    assert {result["metrics"]["steps"] for result in (both, both["short"])} == {4, 8}
    del steps[:]
    again = go("both", *BOTH, *more)
    assert again["reused"] and again["short"]["reused"] and not steps


@pytest.mark.slow
def test_a_short_run_that_is_there_gives_no_state(go, steps):
    go("results", "budget.steps=4")
    longer = go("results", *BOTH)
    assert longer["short"]["reused"] and steps[4:] == [*range(8)]


def test_how_far_two_lengths_share_their_rates():
    noam, flat = InverseSqrt(warmup=2, decay_from=2), Constant()
    assert _steps_in_common(noam, noam, 600) == _steps_in_common(flat, flat, 600) == 600
    decays = [WarmupStableDecay(warmup=10, steps=n, decay=0.2) for n in (2400, 600)]
    # the first rate that falls is that of update 481, which the state after 480 holds
    assert _steps_in_common(*decays, 600) == 479
    assert _steps_in_common(*(Cosine(warmup=10, steps=n) for n in (2400, 600)), 600) == 9
    assert _steps_in_common(noam, flat, 600) <= 2


def test_nothing_is_shared_where_more_than_the_length_differs(compose):
    job = resolve(compose("logger=none", *BOTH))
    assert shared_steps(job, job.short) == 4
    other = compose("logger=none", "budget.steps=4", "batch.tokens=${budget.steps}00")
    assert shared_steps(job, resolve(other)) == 0


@pytest.mark.parametrize("wrong", ["budget.short=8", "budget.short=9", "trainer.max_steps=8"])
def test_a_short_budget_is_shorter(compose, wrong):
    with pytest.raises(UserError, match="budget.short="):
        resolve(compose("logger=none", *BOTH, wrong))


def test_a_probe_has_no_budget(compose):
    assert resolve(compose("logger=none", *BOTH, "probe=parameter_count")).short is None
