"""Choose, compose and check the runs of a sweep, from which it is registered, priced and executed.

A sweep leaves out the arms that `without` lists.

A sweep without a study asks which of the options that its command lists is best (`ask`). The
factors of the question are the swept keys without the seed. One claim compares each option of a
factor with the first option, averaged over the options of the other factors. The metric is the main
metric of the task. For translations after less than `SHORT` steps, it is the nll, because BLEU
rises later than the nll falls. Nobody has registered the question, so its verdicts are exploratory.
Everything that works for a study works for such a sweep.
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import replace
from io import StringIO
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import hydra
from hydra._internal.callbacks import Callbacks
from hydra._internal.hydra import Hydra
from hydra.core.config_search_path import SearchPathQuery
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.core.plugins import Plugins
from hydra.types import HydraContext, RunMode
from omegaconf import DictConfig, OmegaConf, read_write

from ablate.config import CONF, is_below, place
from ablate.config.check import check_groups, check_study_keys
from ablate.config.labels import arm_label
from ablate.config.limits import check_words
from ablate.config.screen import BASELINE, FACTOR, check_name, swept_values
from ablate.config.settle import SHORT, settle
from ablate.config.study import Study
from ablate.errors import UserError
from ablate.evidence.gather import SCREENING
from ablate.evidence.registration import arms_of, screening_seeds
from ablate.metric import metric_of
from ablate.record.results import cut, makes_arms, value_text
from ablate.record.results import key as text_key
from ablate.sweep.cell import SEED, Cell, first_of_each, plain_study, without_seed
from ablate.sweep.compose import PlannedSweep, compose
from ablate.verdict.conclude import check_study
from ablate.verdict.sides import ContrastError, slope

USUAL_NAME = "run"
SOURCE = "the options that the command compares"
# keys whose options cannot be compared in one metric
OTHER_METRICS = ("task", "scale", "probe", "measure", "test_splits")
# nodes whose options the nll does not compare: its tokens differ, or no translation affects it
WITHOUT_NLL = ("data", "tokenizer", "search")
OUTSIDE_OF_NAMES = re.compile(r"[^\w.+-]+", re.ASCII)
LONGEST = 60  # most characters of a name


def plan_runs(
    context: HydraContext, config: DictConfig, jobs: Sequence[Sequence[str]]
) -> PlannedSweep:
    """Compose and check all runs of a sweep; `jobs` has the overrides of each run.

    Raises:
        UserError: a run, or the combination of runs, is invalid.
    """
    study = plain_study(config) if config.study is not None else None
    folder = Path(config.hydra.sweep.dir)
    without: Any = OmegaConf.to_container(config.without, resolve=True)
    cells = leave_out(compose(context, config, jobs, count(), folder), without)
    sweep = PlannedSweep(context, config, study, cells, cells, [], {})
    if study is not None and not study.get("screen"):  # a screen may lack variants
        check_claims(cells, study)
    if match := study.get("match") if study else None:
        from ablate.sweep.adjust import matched_jobs  # imports torch

        numbers = [cell.number for cell in cells]
        cells = compose(context, config, matched_jobs(cells, match), numbers, folder)
    seeds, screening = sweep.seeds, sweep.screening
    if tune := sweep.tune:
        from ablate.sweep.adjust import screening_jobs  # imports torch

        seeds = screening_seeds(_replicates(sweep), tune)
        tuning, after = screening_jobs(cells, tune, seeds), count(len(jobs))
        screening = compose(context, config, tuning, after, folder / SCREENING, tune["key"])
    # here, because it imports torch, and the server imports torch at the same time
    from ablate.sweep.preflight import preflight

    checked = preflight(cells, screening)
    sweep = replace(sweep, cells=cells, screening=screening, seeds=seeds, checked=checked)
    return with_claims(sweep)


def leave_out(cells: Sequence[Cell], without: Iterable[Mapping[str, object]]) -> list[Cell]:
    """Return all runs except runs that have every level of a combination in `without`.

    Raises:
        UserError: a combination matches no run, or no run remains.
    """
    for arm in without:
        if not any(cell.levels.items() >= arm.items() for cell in cells):
            levels = sorted({word for cell in cells for word in words(cell.levels)})
            raise UserError(
                f"without: no run has {', '.join(words(arm))}; this sweep has {', '.join(levels)}"
            )
    kept = [c for c in cells if not any(c.levels.items() >= arm.items() for arm in without)]
    if cells and not kept:
        raise UserError(f"`without` leaves out all {len(cells)} runs: list fewer combinations")
    return kept


def check_claims(cells: Sequence[Cell], study: Study) -> None:
    """Raise UserError if an arm of a claim has no run, or if a trend has too few levels."""
    for claim in study["claims"]:
        for levels in arms_of(claim) or [claim["where"]]:
            if not any(cell.levels.items() >= levels.items() for cell in cells):
                missing = ", ".join(words(levels))
                raise UserError(f"study.claims, {claim['id']}: no run has {missing}")
        try:
            if claim["kind"] == "trend":
                slope(claim, [cell.levels for cell in cells])
        except ContrastError as error:
            where = f"study.claims, {claim['id']}: over={claim['over']}"
            raise UserError(f"{where}: {error}") from None


def _replicates(sweep: PlannedSweep) -> set[int]:
    """Return the seeds for which nuisance parameters are tuned: the seeds of the runs, and for a
    part of a study also all other planned seeds.

    The seed of a tuning run depends on the position of its seed among these seeds. With all planned
    seeds, a run is the same in a part and in a sweep of the whole study.
    """
    seeds = {cell.seed for cell in sweep.cells}
    return seeds.union(planned_seeds(sweep.config)) if sweep.is_part else seeds


def planned_seeds(config: DictConfig) -> list[int]:
    """Return the seeds that the experiment file plans, even if the command selects other seeds; []
    if the file plans none.
    """
    planned = swept_values(config).get("seed")
    if planned is None:
        return []
    (override,) = OverridesParser.create().parse_overrides([f"seed={planned}"])
    sweeps = override.is_sweep_override()
    texts = override.sweep_string_iterator() if sweeps else [str(override.value())]
    return [int(seed.strip("'\"")) for seed in texts]


def words(overrides: Mapping[str, object]) -> list[str]:
    """Return overrides, or levels of factors, as arguments of a command line."""
    return [f"{key}={value_text(value)}" for key, value in overrides.items()]


def with_changes(
    jobs: Iterable[Sequence[str]], changes: Mapping[str, Mapping[str, object]]
) -> list[list[str]]:
    """Return the overrides of every job, followed by the overrides of the variant that the job
    names by variant=NAME.

    Jobs name variants in a screen, that is, in a study that compares a list of variants with one
    baseline.

    Args:
        jobs: the overrides of each job.
        changes: the overrides of each variant of the screen, by its name.

    Raises:
        UserError: a job names an unknown variant.
    """
    named = [(job, _name_in(job) if changes else "") for job in jobs]
    for _, name in named:
        if name:
            check_name(name, changes)
    return [[*job, *words(changes.get(name, {}))] for job, name in named]


def _name_in(job: Sequence[str]) -> str:
    """Return the name of the variant in the overrides of a job; "" if they name none."""
    texts = [word.partition("=")[2] for word in job if word.startswith(f"{FACTOR}=")]
    return texts[-1].strip("'\"") if texts else ""


def with_baseline(jobs: Sequence[list[str]], study: DictConfig | None) -> list[list[str]]:
    """Return the overrides of every job, followed by jobs with further seeds of the baseline, if
    the baseline of a screen has more seeds than the variants.

    Jobs with only some of the planned seeds are a part of the study, and stay as they are.
    """
    of_baseline = [job for job in jobs if _name_in(job) == BASELINE]
    planned = study.get("baseline_seeds") if study else None
    if study is None or planned is None or len(of_baseline) != study.seeds:
        return [*jobs]
    seeds = [int(word.partition("=")[2]) for job in of_baseline for word in job if SEED.match(word)]
    first, job = max(seeds) + 1, without_seed(tuple(of_baseline[-1]))
    further = range(first, first + planned - len(seeds))
    return [*jobs, *([*job, f"seed={seed}"] for seed in further)]


def all_arms(planned: PlannedSweep, changes: Mapping[str, Mapping[str, object]]) -> list[Cell]:
    """Return a run of every arm of a sweep; for a screen also of the variants that the command does
    not run, because a part of a screen has the registration of the whole screen.

    Raises:
        UserError: the overrides of a variant that the command does not run cannot be composed.
    """
    arms = first_of_each(planned.composed, lambda cell: text_key(cell.levels))
    if not changes or not arms:
        return arms
    by_name = {str(arm.levels[FACTOR]): arm for arm in arms}
    left_out = [str(arm.get(FACTOR)) for arm in planned.config.without]
    names = [name for name in (BASELINE, *changes) if name not in left_out]
    missing = [name for name in names if name not in by_name]
    name, base = next(iter(by_name.items()))
    given = base.overrides[: len(base.overrides) - len(words(changes.get(name, {})))]
    kept = [word for word in given if not word.startswith(f"{FACTOR}=")]
    jobs = with_changes([[*kept, f"{FACTOR}={name}"] for name in missing], changes)
    with redirect_stdout(StringIO()):  # the messages are about runs that this command lacks
        more = compose(planned.context, planned.config, jobs, count(), planned.folder)
    by_name |= dict(zip(missing, more, strict=True))
    return [by_name[name] for name in names]


def add_study(config: DictConfig) -> None:
    """Add a study without claims to the config of a sweep without a study, and name the sweep after
    its options, so that comparisons with different settings are different groups in W&B.

    Nothing changes if the sweep compares no options, or if its runs have no common metric.
    """
    node = config.hydra
    given = node.sweeper.params or {}
    overrides = [*(f"{key}={given[key]}" for key in given), *node.overrides.task]
    loader = GlobalHydra.instance().config_loader()
    parsed = OverridesParser.create(loader).parse_overrides(overrides)
    typed = {str(each.input_line).lstrip("+~").partition("=")[0]: each for each in parsed}
    factors = [key for key, each in typed.items() if each.is_sweep_override() and key != "seed"]
    alike = all(makes_arms(key) and key.partition("@")[0] not in OTHER_METRICS for key in factors)
    tested = config.probe is None and "test" in config.test_splits
    if config.study is not None or not factors or not (alike and tested):
        return
    with read_write(config):
        if config.name == USUAL_NAME:
            config.name = _name({key: typed[key] for key in (*factors, *filter(makes_arms, typed))})
        study = {"factors": factors, "claims": [], "looks": 1, "exploratory": True}
        config.merge_with({"study": study})


def _name(typed: dict[str, Override]) -> str:
    """Return a name for a sweep, such as "position_sinusoidal_learned_steps_200"."""
    parts = (f"{re.split('[./]', key)[-1]}_{x.get_value_string()}" for key, x in typed.items())
    return cut(OUTSIDE_OF_NAMES.sub("_", "_".join(parts)).strip("-._"), LONGEST).replace("~", "-")


def with_claims(sweep: PlannedSweep) -> PlannedSweep:
    """Return the sweep with claims added to its study and to the configs of its runs. Only a study
    that `add_study` has created, which has no claims yet, is changed.

    The levels of a claim are those of the runs, because a config may convert the values that the
    command lists.
    """
    config, cells = sweep.config, sweep.cells
    if sweep.study is None or sweep.study["claims"]:
        return sweep
    task = next(iter(sweep.checked.jobs.values())).task
    steps = min(cell.arm.budget.steps for cell in cells)
    have_nll = not any(is_below(place(x), WITHOUT_NLL) for x in sweep.study["factors"])
    by_nll = task.generates and have_nll and steps < SHORT
    asked = ("test/nll", f" after {steps} steps") if by_nll else (f"test/{task.main}", "")
    claims = [*_claims(sweep, *asked)]
    seeds = len({cell.seed for cell in cells})
    for each in {id(config): config, **{id(cell.arm): cell.arm for cell in cells}}.values():
        with read_write(each):
            if claims:
                each.study.merge_with({"claims": claims, "seeds": seeds})
            else:  # `without` has left one arm
                each.study = None
    return replace(sweep, study=plain_study(config) if claims else None)


def _claims(sweep: PlannedSweep, metric: str, when: str) -> Iterator[dict[str, object]]:
    """Yield a claim for each option of each factor except the first option."""
    about = metric_of(metric)
    for factor in sweep.study["factors"] if sweep.study else ():
        levels = {text_key({factor: x}): x for x in (c.levels[factor] for c in sweep.cells)}
        first, *options = ({factor: level} for level in levels.values())
        for option in options:
            arm, other = arm_label(option), arm_label(first)
            yield {
                "id": f"{factor}={value_text(option[factor])}",
                "statement": f"{about.title} is {about.better} with {arm} than with {other}{when}.",
                "source": SOURCE,
                "kind": "superiority",
                "metric": metric,
                "better": about.better,
                "treatment": option,
                "baseline": first,
            }


def check_sweep(config: DictConfig) -> None:
    """Check the config of a sweep and its study; if it has no study, add a study without claims.

    Settings that depend on the machine, such as the precision, are resolved in `config`.

    Raises:
        UserError: no decision rule applies to the study, or the config selects a Hydra launcher
            other than ablate's.
    """
    check_groups(config)
    check_words(config, config.hydra.overrides.task)
    if config.trainer.get("fast_dev_run"):
        raise UserError("trainer.fast_dev_run stores no result that a sweep needs: leave out -m")
    check_plugins(config.hydra)
    settle(config)
    check_study_keys(config)
    if config.study is None:
        add_study(config)
    else:
        check_study(plain_study(config))


def check_plugins(settings: DictConfig) -> None:
    """Raise UserError if the command selects a launcher or a sweeper other than those of ablate, or
    lets runs change the working folder.
    """
    for name in ("launcher", "sweeper"):
        if not settings[name]._target_.startswith("hydra_plugins.ablate_plugins."):
            raise UserError(
                f"hydra/{name}={settings.runtime.choices[f'hydra/{name}']}: `ablate` has its own "
                f"{name}; leave hydra/{name} out, and choose engine=OPTION"
            )
    if settings.job.chdir:
        raise UserError(
            "hydra.job.chdir=true: a run finds its files from this folder; leave it out"
        )


class Composed(NamedTuple):
    """Hydra's context, the config of a sweep, and the overrides of each of its jobs."""

    context: HydraContext
    config: DictConfig
    jobs: list[list[str]]


@contextmanager
def compose_sweep(
    words: Sequence[str],
    folder: str | None = None,
    main: str | None = None,
    name: str | None = None,
) -> Iterator[Composed]:
    """Compose a sweep as Hydra would, check its study, and yield the sweep.

    Hydra stays active until the block ends.

    Args:
        words: overrides.
        folder: --config-dir, an additional folder to search.
        main: --config-path, the folder of the main config; None for the folder of this package.
        name: --config-name, the name of the main config.

    Raises:
        UserError: no decision rule applies to the study.
    """
    with _initialise_hydra(folder, main or str(CONF)) as started:
        config = started.compose_config(name or "config", [*words], run_mode=RunMode.MULTIRUN)
        context = HydraContext(config_loader=started.config_loader, callbacks=Callbacks(config))
        check_sweep(config)
        sweeper: Any = Plugins.instance().instantiate_sweeper(
            config=config, hydra_context=context, task_function=lambda config: None
        )
        jobs = sweeper.jobs(config.hydra.overrides.task)
        yield Composed(context, config, jobs)


@contextmanager
def _initialise_hydra(extra_folder: str | None, main_folder: str) -> Iterator[Hydra]:
    """Initialise Hydra with the main config folder and, if one is given, an additional folder."""
    with hydra.initialize_config_dir(os.path.abspath(main_folder), version_base="1.3"):
        path = GlobalHydra.instance().config_loader().get_search_path()
        if extra_folder:
            place = f"file://{Path(extra_folder).resolve()}"
            path.prepend("command-line", place, SearchPathQuery("schema"))
        GlobalHydra.instance().clear()  # this instance has already read its search path
        yield Hydra.create_main_hydra2("plan", path)
