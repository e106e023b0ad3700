"""`scale=smoke` asks whether everything runs and connects, and nothing else.

So it gives no verdict, and has the seeds that the scale says: those of an experiment, which come
after the scale in the config, would make it as long as the real thing.
"""

from collections.abc import Sequence

import yaml

SMOKE = "smoke"
GIVEN = ("budget.seeds=", "seed=")
NO_VERDICT = (
    "scale=smoke shows that everything runs and connects; it gives no verdict. "
    "For one, type the command without it"
)


def with_own_seeds(words: Sequence[str]) -> list[str]:
    """Return the words of a command, with the seeds of scale=smoke where they say no others."""
    plain = [word.lstrip("+") for word in words]
    studies = any(word.startswith("experiment=") for word in plain)
    if not studies or f"scale={SMOKE}" not in plain or any(w.startswith(GIVEN) for w in plain):
        return [*words]
    from ablate.config.location import CONF  # Hydra, which ledger and judge do without

    scale = yaml.safe_load((CONF / "scale" / f"{SMOKE}.yaml").read_text(encoding="utf-8"))
    return [*words, f"budget.seeds={scale['budget']['seeds']}"]
