"""Support `scale=smoke`, a quick test that an experiment runs, which gives no verdict.

A smoke test uses the number of seeds in scale/smoke.yaml. The experiment's own number of seeds
comes later in the config, and would make the test as long as the experiment.
"""

from collections.abc import Sequence

import yaml

SMOKE = "smoke"
GIVEN = ("budget.seeds=", "seed=")
NO_VERDICT = (
    "scale=smoke only tests that everything runs; it gives no verdict. "
    "For a verdict, run the command without it"
)


def with_own_seeds(words: Sequence[str]) -> list[str]:
    """Return the words of a command line, with the number of seeds of scale=smoke appended if
    necessary.

    It is necessary if the words choose an experiment and this scale, but set no seeds.
    """
    plain = [word.lstrip("+") for word in words]
    studies = any(word.startswith("experiment=") for word in plain)
    if not studies or f"scale={SMOKE}" not in plain or any(w.startswith(GIVEN) for w in plain):
        return [*words]
    from ablate.config.location import CONF  # imports Hydra, which ledger and judge do not need

    scale = yaml.safe_load((CONF / "scale" / f"{SMOKE}.yaml").read_text(encoding="utf-8"))
    return [*words, f"budget.seeds={scale['budget']['seeds']}"]
