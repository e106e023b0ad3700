"""Find the values of a tuned nuisance parameter, such as the learning rate, that were tried for
each run, and the seeds with which they were tried.
"""

import itertools
from collections.abc import Iterable
from typing import Any

from ablate.evidence.folder import Evidence
from ablate.evidence.types import Run, Tune


def screening_seeds(replicates: Iterable[int], tune: Tune) -> dict[int, int]:
    """Return, for every seed of the study, the seed of its tuning runs.

    If `tune` lists fewer seeds than the study has, further tuning seeds are added: the largest
    listed seed plus 1, plus 2 and so on.

    Args:
        replicates: seeds of the study.
        tune: the study's settings for tuning.
    """
    given = dict.fromkeys(tune["seeds"])
    counted = itertools.count(max(given) + 1)
    return dict(zip(sorted({*replicates}), itertools.chain(given, counted), strict=False))


def ordered(values: Iterable[Any]) -> bool:
    """Return whether all values are numbers and not booleans, so that they have an order."""
    return all(isinstance(x, int | float) and not isinstance(x, bool) for x in values)


def tried(evidence: Evidence) -> dict[int, list[Any]]:
    """Return, for every run, the values of the nuisance parameter that were tried to tune it.

    The keys are cell numbers; a cell is one run of a sweep, that is, one arm with one seed. If no
    tuning run is recorded for the arm and the seed, for example because the arm was tuned once for
    all seeds, the result has the values that the study lists.
    """
    tune = evidence.study.get("tune")
    assert tune is not None
    seeds = screening_seeds((run["seed"] for run in evidence.runs), tune)

    def values_of(run: Run) -> list[Any]:
        seed, levels = seeds[run["seed"]], run["levels"]
        screened = (x for x in evidence.screening if x["seed"] == seed and x["levels"] == levels)
        return [x["tuned"]["value"] for x in screened] or [*tune["values"]]

    return {run["cell"]: values_of(run) for run in evidence.runs}
