"""Determine which values of a nuisance parameter were tried for each run."""

import itertools
from collections.abc import Iterable
from typing import Any

from ablate.evidence.folder import Evidence
from ablate.evidence.types import Run, Tune


def screening_seeds(replicates: Iterable[int], tune: Tune) -> dict[int, int]:
    """Return the screening seed of every replicate; missing ones continue after the largest."""
    given = dict.fromkeys(tune["seeds"])
    counted = itertools.count(max(given) + 1)
    return dict(zip(sorted({*replicates}), itertools.chain(given, counted), strict=False))


def ordered(values: Iterable[Any]) -> bool:
    """Return whether all values are numbers, so that they have an order; booleans are none."""
    return all(isinstance(x, int | float) and not isinstance(x, bool) for x in values)


def tried(evidence: Evidence) -> dict[int, list[Any]]:
    """Return the values that were tried for every run, by cell.

    If an arm tuned once for all replicates, or nothing is recorded, these are the values of the
    study.
    """
    tune = evidence.study.get("tune")
    assert tune is not None
    seeds = screening_seeds((run["seed"] for run in evidence.runs), tune)

    def values_of(run: Run) -> list[Any]:
        seed, levels = seeds[run["seed"]], run["levels"]
        screened = (x for x in evidence.screening if x["seed"] == seed and x["levels"] == levels)
        return [x["tuned"]["value"] for x in screened] or [*tune["values"]]

    return {run["cell"]: values_of(run) for run in evidence.runs}
