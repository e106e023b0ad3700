"""A run that was killed goes on to the numbers of one that was not, bit for bit."""

import os
import signal

import pytest

from ablate.record import files
from ablate.train.module import Training

MODES = {
    "last": ("checkpoint.save_every=2",),
    "accumulated": ("trainer.accumulate_grad_batches=2", "checkpoint.save_every=1"),
    "best": ("checkpoint.tested=best",),
    "average": ("checkpoint.tested=average", "checkpoint.every=2", "checkpoint.average=3"),
    "mean": (
        "+callbacks.mean._target_=pytorch_lightning.callbacks.EMAWeightAveraging",
        *("+callbacks.mean.decay=0.5", "optimizer.lr=0.01", "search=greedy"),
        *("checkpoint.tested=best", "checkpoint.save_every=2"),
    ),
    "early_stopping": (
        *("optimizer.lr=0.0", "budget.steps=40"),
        *("callbacks=early_stopping", "callbacks.early_stopping.patience=1"),
    ),
}
# Lives of one run; each ends where the name is called for the nth time since it was resumed.
LIVES = (
    (Training, "training_step", 5, False),
    (Training, "optimizer_step", 2, True),
    (Training, "validation_step", 1, False),
    (files, "write_bytes", 4, True),
    (Training, "on_validation_epoch_end", 1, True),
    (Training, "fix_weights", 1, True),
    (Training, "test_step", 1, True),
    (Training, "on_test_epoch_end", 1, True),
)


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
def test_a_run_that_is_killed_again_and_again_ends_as_if_it_were_not(go, kill, left, mode, whole):
    whole = left(whole(*MODES[mode]))
    for owner, name, nth, after in LIVES:
        kill("killed", owner, name, nth, *MODES[mode], after=after)
    result = go("killed", *MODES[mode])
    assert not result["trained"]
    assert left(result) == whole


@pytest.mark.slow
@pytest.mark.parametrize(("nth", "after"), [(n, n % 2 == 0) for n in range(1, 14)])
def test_killed_before_and_after_every_file_is_written(go, kill, left, nth, after, whole):
    whole = left(whole("checkpoint.save_every=4"))
    kill("killed", files, "write_bytes", nth, "checkpoint.save_every=4", after=after)
    assert left(go("killed", "checkpoint.save_every=4")) == whole


@pytest.mark.slow
@pytest.mark.parametrize(("nth", "every"), [(4, 1), (6, 3), (7, 2), (12, 2)])
def test_killed_in_any_batch_with_any_distance_of_states(go, kill, left, nth, every, whole):
    """An epoch has three batches, so states lie at its begin, its middle and its end."""
    saving = f"checkpoint.save_every={every}"
    whole = left(whole(saving))
    kill("killed", Training, "training_step", nth, saving)
    assert left(go("killed", saving)) == whole


@pytest.mark.slow
def test_killed_in_an_epoch_with_fewer_batches_than_others(go, kill, left, whole):
    """The epochs have 12, 11, 11, 12 batches: the fourth shows what limits them."""
    words = ("batch.bucket=false", "batch.tokens=84", "budget.steps=48", "search=greedy")
    kill("killed", Training, "training_step", 20, *words)
    assert left(go("killed", *words)) == left(whole(*words))


@pytest.mark.parametrize(
    ("number", "status"),
    [(signal.SIGTERM, 143), pytest.param(signal.SIGINT, 130, marks=pytest.mark.slow)],
)
def test_a_signal_loses_no_step(go, left, monkeypatch, resumed_after, number, status, whole):
    whole = left(whole())
    real, steps = Training.training_step, []

    def hit(task, *args):
        steps.append(task.global_step)
        if len(steps) == 8:
            os.kill(os.getpid(), number)
        return real(task, *args)

    monkeypatch.setattr(Training, "training_step", hit)
    with pytest.raises(SystemExit) as left_with:
        go("stopped")
    assert left_with.value.code == status
    result = go("stopped")
    assert resumed_after() == 8
    assert steps == list(range(12))  # none twice
    assert left(result) == whole


def test_a_signal_while_testing_ends_at_once_and_keeps_the_training(go, monkeypatch):
    with monkeypatch.context() as patch, pytest.raises(SystemExit):
        patch.setattr(Training, "test_step", lambda *args: os.kill(os.getpid(), signal.SIGTERM))
        go("stopped")
    assert not go("stopped")["trained"]


def test_a_diverged_run_that_was_killed_is_still_diverged(go, kill, whole):
    wild = ("optimizer.lr=1e30", "schedule=constant")
    whole = whole(*wild)
    kill("killed", files, "write_bytes", 5, *wild, after=False)
    result = go("killed", *wild)
    assert result["status"] == whole["status"] == "diverged"
    assert result["metrics"] == whole["metrics"]
    assert "evaluation" not in result


def cut(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def test_metrics_that_were_cut_are_those_of_the_state(go, left, half, whole):
    cut(half / "metrics.jsonl")
    assert left(go("half")) == left(whole())
