"""Ask the question of a sweep without a study: which of the options that its command lists is best?

The factors of the question are the swept keys without the seed. One claim compares each option of a
factor with the first option, averaged over the options of the other factors. The metric is the main
metric of the task. Nobody has registered the question, so its verdicts are exploratory. Everything
that works for a study works for such a sweep.
"""

import re
from collections.abc import Iterator
from dataclasses import replace

from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from omegaconf import DictConfig, read_write

from ablate.config.labels import arm_label
from ablate.metric.table import metric_of
from ablate.record.arm import makes_arms
from ablate.record.label import key as text_key
from ablate.record.label import value_text
from ablate.sweep.cell import plain_study
from ablate.sweep.compose import PlannedSweep

USUAL_NAME = "run"
SOURCE = "the options that the command compares"
# keys whose options cannot be compared in one metric
OTHER_METRICS = ("task", "scale", "probe", "measure", "test_splits")
OUTSIDE_OF_NAMES = re.compile(r"[^\w.+-]+", re.ASCII)
LONGEST_NAME = 60


def ask(config: DictConfig) -> None:
    """Give a sweep without a study a study without claims, and a name; change the config in place.

    Nothing changes if the sweep compares no options, if its runs share no metric, or if it makes a
    part of a study.
    """
    node = config.hydra
    given = node.sweeper.params or {}
    words = [*(f"{key}={given[key]}" for key in given), *node.overrides.task]
    loader = GlobalHydra.instance().config_loader()
    swept = {
        str(word.input_line).lstrip("+").partition("=")[0]: word
        for word in OverridesParser.create(loader).parse_overrides(words)
        if word.is_sweep_override()
    }
    factors = [key for key in swept if key != "seed"]
    alike = all(makes_arms(key) and key.partition("@")[0] not in OTHER_METRICS for key in factors)
    tested = config.probe is None and "test" in config.test_splits
    if config.study is not None or not factors or not (alike and tested):
        return
    with read_write(config):
        if config.name == USUAL_NAME:
            config.name = _name({key: swept[key] for key in factors})
        study = {"factors": factors, "claims": [], "looks": 1, "exploratory": True}
        config.merge_with({"study": study})


def _name(swept: dict[str, Override]) -> str:
    """Return a name for a sweep, such as "position_sinusoidal_learned"."""
    keys = [re.split(r"[./]", key)[-1] for key in swept]
    options = (word.sweep_string_iterator() for word in swept.values())
    parts = ("_".join([key, *values]) for key, values in zip(keys, options, strict=True))
    whole, short = (OUTSIDE_OF_NAMES.sub("-", "_".join(each)) for each in (parts, keys))
    return (whole if len(whole) <= LONGEST_NAME else short[:LONGEST_NAME]).strip("-._")


def with_claims(sweep: PlannedSweep) -> PlannedSweep:
    """Return a checked sweep whose study has claims, in the configs of the sweep and of its runs,
    too; a study that `ask` has not made stays.

    The levels of a claim are those of the runs, because a config may convert the values that the
    command lists.
    """
    config, cells = sweep.config, sweep.cells
    if sweep.study is None or sweep.study["claims"]:
        return sweep
    task = next(iter(sweep.checked.jobs.values())).task
    claims = [*_claims(sweep, f"test/{task.main}")]
    seeds = len({cell.seed for cell in cells})
    for each in {id(config): config, **{id(cell.arm): cell.arm for cell in cells}}.values():
        with read_write(each):
            if claims:
                each.study.merge_with({"claims": claims, "seeds": seeds})
            else:  # `without` has left one arm
                each.study = None
    return replace(sweep, study=plain_study(config) if claims else None)


def _claims(sweep: PlannedSweep, metric: str) -> Iterator[dict[str, object]]:
    """Yield a claim for each option of each factor except the first option."""
    about = metric_of(metric)
    for factor in sweep.study["factors"] if sweep.study else ():
        levels = {text_key({factor: x}): x for x in (c.levels[factor] for c in sweep.cells)}
        first, *options = ({factor: level} for level in levels.values())
        for option in options:
            arm, other = arm_label(option), arm_label(first)
            yield {
                "id": f"{factor}={value_text(option[factor])}",
                "statement": f"{about.named} is {about.better} with {arm} than with {other}.",
                "source": SOURCE,
                "kind": "superiority",
                "metric": metric,
                "better": about.better,
                "treatment": option,
                "baseline": first,
            }
