"""Combine the stored results of a training and of its evaluation."""

from pathlib import Path
from typing import Any, cast

from ablate.record.types import CombinedResult, Result


def join_results(
    folder: Path, trained: Result, tests: Path, tested: Result | None
) -> CombinedResult:
    """Return the combined result of a training and of its evaluation.

    Args:
        folder: folder of the training.
        trained: result of the training.
        tests: folder of the evaluation.
        tested: result of the evaluation; None if the run is not tested.
    """
    whole = {key: value for key, value in trained.items() if key != "files"}
    whole |= {"training": trained["identity"], "folder": str(folder)}
    if tested is None:
        return cast(CombinedResult, {"signatures": {}, **whole})
    used: list[Any] = [part.get("processor_seconds") for part in (trained, tested)]
    both = {
        **whole,
        "identity": tested["identity"],
        "evaluation": str(tests),
        "metrics": {**trained["metrics"], **tested["metrics"]},
        "signatures": tested["signatures"],
        "seconds": {**trained["seconds"], **tested["seconds"]},
        "wall_seconds": round(trained["wall_seconds"] + tested["wall_seconds"], 3),
        "processor_seconds": None if None in used else round(sum(used), 3),
        "ended": max(trained["ended"], tested["ended"]),
    }
    return cast(CombinedResult, both)
