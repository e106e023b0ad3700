"""`ablate evaluate` and a test by another process give the numbers of the run's own test."""

from pathlib import Path

import pytest

from ablate.config.construct import construct
from ablate.train.resolve import resolve
from ablate.train.restore import restore, score
from ablate.train.run import run

TASKS = {
    "translation": ("batch.test_padding=3", "batch.test_bucket=false"),
    "language_model": ("task=language_model", "model=decoder_only"),
    "masked_language_model": ("task=masked_language_model", "model=encoder_only", "replicate=2"),
    "denoising": ("task=denoising", "seed=7", "threads=2"),
}
FEW = [("bf16-mixed", "translation"), ("64-true", "language_model")]
# every precision, and every task
PRECISIONS = ("32-true", "bf16-mixed", "16-mixed", "bf16-true", "16-true", "64-true")
MORE = [*zip(PRECISIONS, [*TASKS, *TASKS], strict=False)]


@pytest.mark.parametrize(
    ("precision", "task"),
    [*FEW, *(pytest.param(*case, marks=pytest.mark.slow) for case in MORE if case not in FEW)],
)
def test_an_evaluation_of_the_same_split_gives_the_same_numbers(small, compose, precision, task):
    words = (*small, *TASKS[task], f"trainer.precision={precision}", "optimizer.eps=1e-4")
    config = compose(*words, "optimizer.lr=0.01")
    result = run(resolve(config.copy()))
    tested = {k: v for k, v in result["metrics"].items() if k.startswith("test/")}
    restored = restore(Path(result["folder"]), {}, [], "cpu")
    again = score(restored, construct(config.data), "test", config.paths.cache)
    assert {f"test/{name}": value for name, value in again.items()} == tested
    Path(result["evaluation"], "result.json").unlink()
    other_process = run(resolve(config))
    assert not other_process["trained"]
    assert other_process["metrics"] == result["metrics"]
