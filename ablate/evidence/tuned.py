"""Which values of a nuisance a replicate has tried, and whether its choice is the last of them."""

import itertools
from collections.abc import Iterable
from typing import Any

from ablate.evidence.folder import Evidence
from ablate.evidence.types import Run, Tune


def screening_seeds(replicates: Iterable[int], tune: Tune) -> dict[int, int]:
    """The screening seed of every replicate, in order; too few are counted on from the largest."""
    given = dict.fromkeys(tune["seeds"])
    counted = itertools.count(max(given) + 1)
    return dict(zip(sorted({*replicates}), itertools.chain(given, counted), strict=False))


def ordered(values: Iterable[Any]) -> bool:
    """Whether values are numbers, so that there is a largest and a smallest one."""
    return all(isinstance(x, int | float) and not isinstance(x, bool) for x in values)


def tried(evidence: Evidence) -> dict[int, list[Any]]:
    """The values that were tried for every run, by its cell; those of the study where nobody knows.

    Where an arm chose once for all of its replicates, these have no screening runs of their own.
    """
    tune = evidence.study.get("tune")
    assert tune is not None
    seeds = screening_seeds((run["seed"] for run in evidence.runs), tune)

    def own(run: Run) -> list[Any]:
        seed, levels = seeds[run["seed"]], run["levels"]
        found = (x for x in evidence.screening if x["seed"] == seed and x["levels"] == levels)
        return [x["tuned"]["value"] for x in found] or [*tune["values"]]

    return {run["cell"]: own(run) for run in evidence.runs}
