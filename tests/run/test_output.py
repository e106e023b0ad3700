"""What the times of a run are."""

from ablate.train.module import Training
from ablate.train.resolve import resolve
from ablate.train.run import run


def test_validations_do_not_count_as_training(small, compose, monkeypatch):
    moments = [0.0]

    def clock():  # which only evaluations move by more than a microsecond
        moments[0] += 1e-6
        return moments[0]

    monkeypatch.setattr("time.perf_counter", clock)
    score = Training.validation_step

    def slow(self, *arguments):
        moments[0] += 1.0
        return score(self, *arguments)

    for step in ("validation_step", "test_step"):
        monkeypatch.setattr(Training, step, slow)
    seconds = run(resolve(compose(*small)))["seconds"]
    assert seconds["training"] < 0.1
    assert seconds["validation"] >= 2.0  # two validations, each of at least a batch
    assert seconds["test"] >= 1.0
