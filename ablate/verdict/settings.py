"""Find the settings in which the compared arms of a claim differ besides their names.

The label of an arm names its levels, such as a variant of a screen. The runs of the arm may have
further overrides: those of the variant besides its component, or the width that `study.match`
computes. A reader who knows only the labels would take the effect for that of the component.
"""

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache

from ablate.config.labels import arm_label
from ablate.config.screen import FACTOR
from ablate.evidence.folder import Evidence
from ablate.evidence.types import Question, Run, Study
from ablate.verdict.sides import Side

# keys of overrides that change no result, and the seed
BESIDE = frozenset(
    (
        *("seed", "name", "contest", "n_jobs", "without", "without_runs", "part", "fresh"),
        *("logger", "study", "paths", "trust", "engine", "hydra", "experiment", "trainer.devices"),
        *("budget.seeds", "trainer.enable_progress_bar", "checkpoint.save_every"),
    )
)
RATE = "lr"  # last part of the config key of a learning rate
Words = dict[str, list[str]]  # the values of each key


def other_settings(arms: Sequence[Side], study: Study) -> dict[str, list[str]]:
    """Return the overrides by which the arms differ and that their labels do not name, as
    "key=value" by the label of the arm.

    The parameter that the study tunes is left out, because caveats describe its values.
    """
    if study.get("design"):  # recipes differ in the levels of all factors
        return {}
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


def untuned_rates(claim: Question, arms: Sequence[Side], evidence: Evidence) -> list[str]:
    """Return the learning rates, as "key=value", that the treatment of a claim has and with which
    the baseline was never trained in this study.

    A part of the effect may then be the effect of the learning rate.
    """
    if evidence.study.get("design"):  # rates are a factor
        return []
    tuned: Mapping[str, object] = evidence.study.get("tune") or {}
    words = {
        run["cell"]: _overrides([run], {str(tuned.get("key")), FACTOR}) for run in evidence.runs
    }
    rates = {key for of_run in words.values() for key in of_run if key.rpartition(".")[2] == RATE}
    untuned: dict[str, None] = {}
    for treatment, baseline in zip(arms[::2], arms[1::2], strict=False):
        for key in sorted(rates) if claim["kind"] != "trend" else ():
            alike = [words[run["cell"]] | {key: []} for run in baseline.every]
            trained = [of_run.get(key) for of_run in words.values() if of_run | {key: []} in alike]
            given = [words[run["cell"]].get(key) for run in treatment.every]
            untuned |= dict.fromkeys(_rate(key, rate) for rate in given if rate not in trained)
    return [*untuned]


def _rate(key: str, values: list[str] | None) -> str:
    return f"{key}={' or '.join(values)}" if values else f"the default of {key}"


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


@cache
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
