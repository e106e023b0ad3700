"""`ablate plan` on a whole sweep."""

import json
import subprocess
import threading

import pytest

from ablate.plan.plan import _steps
from ablate.plan.sample import SHORT
from ablate.train.resolve import shorten

ONE = ("+experiment=relu_vs_linear", "budget.short=null")
SWEEP = (*ONE, "seed=0,1")


def test_a_plan_checks_everything_and_starts_nothing(small, command, compose, tmp_path):
    from ablate.train.resolve import resolve
    from ablate.train.run import run

    status, out, err = command("plan", *small, *SWEEP)
    assert (status, err) == (0, "")
    assert "relu_vs_linear: 4 runs of 2 arms, 2 seeds each; 0 are done" in out
    assert "time: unknown for 2 arms" in out
    assert "ffn_nonlinearity_needed, superiority: unknown: no earlier runs" in out
    assert not [*(tmp_path / "results").iterdir()]
    run(resolve(compose(*small, *ONE, "model/feed_forward=linear", "seed=1")))
    _, out, _ = command("plan", *small, *SWEEP, "minutes=1")
    assert "2 seeds each; 1 are done" in out
    assert "1 earlier run of this variant" in out
    assert "1 earlier run of other variants of this size" in out
    assert "wall time: " in out
    assert "; the time of one arm is taken from other arms, which may be slower" in out
    assert "interim" not in out
    assert "\nIn 1 minutes: " in out
    assert "The run-to-run variation is unknown for: ffn_nonlinearity_needed." in out
    _, out, _ = command("plan", *small, *ONE, "budget.seeds=12")
    assert "; less if interim analyses after 4 and 8 seeds end some arms" in out


def test_a_plan_is_printed_as_data(small, command):
    status, out, _ = command("plan", *small, *SWEEP, "--json")
    (plan,) = json.loads(out).values()
    assert status == 0
    assert (plan["name"], plan["seeds"]) == ("relu_vs_linear", 2)
    assert [(arm["cells"], arm["done"]) for arm in plan["arms"]] == [(2, 0), (2, 0)]
    assert len(plan["claims"]) == 1


def test_a_claim_is_named_with_its_reading(small, command):
    _, out, _ = command("plan", *small, *SWEEP, "study.claims.0.reading=alone")
    assert "ffn_nonlinearity_needed (alone), superiority: unknown" in out


def test_what_cannot_work_is_said_as_the_sweep_would(small, command):
    assert command("plan", *small, "+experiment=nothing")[0] == 2
    status, _, err = command("plan", *small, *SWEEP, "study.claims.0.kind=equality")
    assert status == 2
    assert "kind=equality; allowed is exact" in err
    status, _, err = command("plan", *small, *SWEEP, "minutes=soon")
    assert "ablate plan: minutes=soon: it must be a whole number, at least 1" in err


def test_every_variant_is_timed_once_by_a_short_run_of_its_own(
    small, command, monkeypatch, tmp_path
):
    asked = []

    def failing(words, **kwargs):
        asked.append(words)
        return subprocess.CompletedProcess(words, 2 * (len(asked) == 2), "", "ablate: no memory\n")

    monkeypatch.setattr("ablate.plan.sample.subprocess.run", failing)
    status, out, err = command("plan", *small, *SWEEP, "sample=true", "n_jobs=1", "-m")
    assert status == 2
    assert "the short run of model/feed_forward=linear" in err
    assert "failed: ablate: no memory" in err
    assert len(asked) == 2
    for words in asked:
        assert {"budget.steps=30", "study=null", "logger=none"} < set(words)
    places = {words[-1].rpartition("/")[0] for words in asked}
    assert places == {f"paths.results={tmp_path / 'results'}/samples"}
    assert len({words[-1] for words in asked}) == 2
    assert out.count("timing ") == 2


def test_an_arm_that_was_only_guessed_is_timed_too(small, command, compose, monkeypatch):
    from ablate.train.resolve import resolve
    from ablate.train.run import run

    run(resolve(compose(*small, *ONE, "model/feed_forward=linear", "seed=1")))
    asked = []

    def done(words, **kwargs):
        asked.append(words)
        return subprocess.CompletedProcess(words, 0, "", "")

    monkeypatch.setattr("ablate.plan.sample.subprocess.run", done)
    command("plan", *small, *SWEEP, "sample=true")
    (words,) = asked
    assert "model/feed_forward=linear" not in words


@pytest.mark.slow
def test_a_tuned_sweep_is_timed_with_its_test(small, command, tmp_path, monkeypatch):
    """Runs that choose a rate are not tested, and no run alone may go without a test."""
    asked = []

    def done(words, **kwargs):
        asked.append(words)
        return subprocess.CompletedProcess(words, 0, "", "")

    monkeypatch.setattr("ablate.plan.sample.subprocess.run", done)
    words = (
        "+experiment=norms_trained",
        *small,
        "budget.steps=4",
        "budget.short=2",
        f"paths.results={tmp_path / 'results'}",
    )
    status, _, err = command("plan", *words, "sample=true", "-m")
    assert (status, err) == (0, ""), err
    assert asked
    assert not any(word.startswith("test_splits") for words in asked for word in words)


def test_as_many_are_timed_at_once_as_the_sweep_will_run(small, command, monkeypatch):
    together = threading.Barrier(2)

    def meeting(words, **kwargs):
        together.wait(timeout=60)  # for ever, if one came after the other
        return subprocess.CompletedProcess(words, 0, "", "")

    monkeypatch.setattr("ablate.plan.sample.subprocess.run", meeting)
    status, _, err = command("plan", *small, *SWEEP, "sample=true", "n_jobs=2")
    assert (status, err) == (0, "")


def test_a_short_run_has_one_budget(small, compose):
    config = compose(*small, "budget.steps=100", "budget.short=50", *SHORT)
    assert shorten(config) is None


def test_both_budgets_of_a_run_are_counted(small, compose):
    words = (*small, "budget.steps=100", "budget.short=40", "schedule=noam")
    assert _steps(compose(*words)) == (100, 2)
    steps, budgets = _steps(compose(*words, "schedule=cosine"))
    assert 100 < steps <= 140
    assert budgets == 2
    assert _steps(compose(*words, "budget.short=null")) == (100, 1)
    assert _steps(compose(*words, "probe=parameter_count")) == (0, 1)
