"""How noisy a corpus is: BLEU between seeds of one arm, and between samples of its test set.

python -m ablate.study.noise results/sweeps/NAME/TIME

For every arm of a sweep: mean and standard deviation over seeds, and the standard error that the
test set alone gives, by resampling its sentences (arXiv:2010.06595 for why both matter).
"""

import json
import statistics
import sys
from pathlib import Path
from typing import Any

import numpy as np

from ablate.errors import UserError
from ablate.metric.bleu import bleu_of_resamples
from ablate.study.table import arms
from ablate.sweep.cell import read_links, swept

RESAMPLES = 1000


def sentence_error(folder: Path, rng: np.random.Generator) -> float:
    """Standard deviation of a run's test BLEU over resamples of its sentences."""
    statistics_of = np.load(folder / "test.stats.npz")["bleu"]
    n = len(statistics_of)
    # how often each sentence is drawn: the sums are then one matrix product
    drawn = rng.multinomial(n, np.full(n, 1 / n), RESAMPLES)
    return float(bleu_of_resamples(drawn @ statistics_of).std())


def noise(sweep: Path) -> dict[str, dict[str, int | float]]:
    """Mean, between-seed deviation and sentence error of the finished runs of each arm.

    Raises:
        UserError: the folder is not that of a sweep with finished runs.
    """
    runs = [run for run in read_links(sweep) if run["status"] == "finished"]
    if not runs:
        raise UserError(f"{sweep} is not the folder of a sweep with finished runs")
    rng = np.random.default_rng(0)
    return {arm: _of_arm(members, rng) for arm, members in arms(runs, swept(runs)).items()}


def _of_arm(members: list[dict[str, Any]], rng: np.random.Generator) -> dict[str, int | float]:
    scores = [run["metrics"]["test/bleu"] for run in members]
    errors = [sentence_error(Path(run["folder"]), rng) for run in members]
    return {
        "seeds": len(scores),
        "mean": statistics.fmean(scores),
        "between_seeds": statistics.stdev(scores) if len(scores) > 1 else float("nan"),
        "between_samples_of_the_test_set": statistics.fmean(errors),
    }


if __name__ == "__main__":
    try:
        print(json.dumps(noise(Path(sys.argv[1])), indent=2))
    except (UserError, IndexError) as error:
        sys.exit(f"ablate: {error if isinstance(error, UserError) else __doc__}")
