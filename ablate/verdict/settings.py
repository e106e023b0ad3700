"""Find the settings in which the compared arms of a claim differ besides their names.

The label of an arm names its levels, such as a variant of a screen. The runs of the arm may have
further overrides: those of the variant besides its component, or the width that `study.match`
computes. A reader who knows only the labels would take the effect for that of the component.
"""

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence

from ablate.config.labels import arm_label
from ablate.config.screen import FACTOR
from ablate.evidence.types import Run, Study
from ablate.verdict.sides import Side

# keys of overrides that change no result, and the seed
BESIDE = frozenset(
    (
        *("seed", "name", "contest", "n_jobs", "without", "without_runs", "part", "fresh"),
        *("logger", "study", "paths", "trust", "engine", "hydra", "experiment", "trainer.devices"),
        *("budget.seeds", "trainer.enable_progress_bar", "checkpoint.save_every"),
    )
)
Words = dict[str, list[str]]  # the values of each key


def other_settings(arms: Sequence[Side], study: Study) -> dict[str, list[str]]:
    """Return the overrides by which the arms differ and that their labels do not name, as
    "key=value" by the label of the arm.

    The parameter that the study tunes is left out, because caveats describe its values.
    """
    tune: Mapping[str, object] = study.get("tune") or {}
    named = {*study["factors"], str(tune.get("key")), FACTOR}
    by_arm = [_overrides(side.every, named) for side in arms]
    keys = dict.fromkeys(key for words in by_arm for key in words)
    differing = [key for key in keys if any(w.get(key) != by_arm[0].get(key) for w in by_arm)]
    return {
        arm_label(side.levels): settings
        for side, words in zip(arms, by_arm, strict=True)
        if (settings := [*_unnamed(side, words, differing)])
    }


def _overrides(runs: Iterable[Run], named: set[str]) -> Words:
    """Return the values of the overrides of an arm's runs by key, except the keys in `named`."""
    values: dict[str, set[str]] = {}
    for run in runs:
        for word in _words(run["command"]):
            key, equals, value = word.lstrip("+").partition("=")
            outside = {key, key.partition(".")[0], key.partition("/")[0]} & BESIDE
            if (equals or word.startswith("~")) and key not in named and not outside:
                values.setdefault(key, set()).add(value)
    return {key: sorted(of_key) for key, of_key in values.items()}


def _words(command: str) -> list[str]:
    """Return the words of a command; [] if it is no command of a shell."""
    try:
        return shlex.split(command)
    except ValueError:
        return []


def _unnamed(side: Side, words: Words, keys: Iterable[str]) -> Iterator[str]:
    """Yield the overrides of an arm that its label does not name.

    The name of a variant, such as gated_attention, names the option `gated` that it chooses.
    """
    variant = str(side.levels.get(FACTOR, ""))
    for key in (key for key in keys if key in words):
        chosen = "." not in key and all(value in variant for value in words[key])
        if not chosen:
            yield f"{key}={' or '.join(words[key])}" if any(words[key]) else key
