"""The output of a run, and its measured times."""

import json
import re
from pathlib import Path

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


def test_a_line_of_progress_has_the_training_loss_of_its_step_or_none(small, compose, capsys):
    steps = ("budget.steps=6", "budget.validate_every=3", "trainer.log_every_n_steps=2")
    config = compose(*small, *steps, "search=greedy", "trainer.enable_progress_bar=true")
    run(resolve(config))
    (record,) = Path(config.paths.results).glob("runs/*/metrics.jsonl")
    lines = map(json.loads, record.read_text().splitlines())
    losses = {line["step"]: line["train/nll"] for line in lines if "train/nll" in line}
    assert [*losses] == [2, 4, 6]
    printed = re.findall(r"^step (\d) of 6  (?:nll (\S+))?", capsys.readouterr().out, re.MULTILINE)
    assert printed == [("3", ""), ("6", f"{losses[6]:.4g}")]
