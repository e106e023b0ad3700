"""Plan a sweep whose runs have been composed and checked: what is left to run, and how long it
takes.

The seconds of a run are measured: by the newest earlier sweep of the same name in the same setting,
or by a short run.
"""

import json
import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from hydra.types import HydraContext
from omegaconf import DictConfig, read_write

from ablate.config.combinations import design_of, forecast
from ablate.config.combinations import plan_of as planned
from ablate.config.construct import construct
from ablate.config.labels import arm_label
from ablate.config.settle import SCORED
from ablate.config.study import Levels, Tune
from ablate.engine import PRELOADED, Engine, end_children, start_fork_server
from ablate.errors import UserError
from ablate.evidence.checks import ABOUT, file_of_runs, read_parts
from ablate.evidence.folder import Evidence
from ablate.evidence.gather import gather
from ablate.evidence.outcome import Run
from ablate.evidence.registration import shared_seeds
from ablate.phrases import counted
from ablate.record.files import read_sealed
from ablate.record.results import RESULT, Fingerprints, read_outcome, run_key, value_text
from ablate.sweep.adjust import WIDENINGS
from ablate.sweep.begin import regime
from ablate.sweep.cell import Cell, RunTask, without_seed
from ablate.sweep.compose import PlannedSweep
from ablate.sweep.preflight import records_of

OVERHEAD = 1.5  # wall time of a sweep without its runs, in multiples of the time of its plan
STEPS = 30  # of a short run
EVERY = 5  # steps between two lines of metrics, from which the time of a step is measured
SHORT = (
    *(f"budget.steps={STEPS}", "budget.short=null"),
    *(f"budget.validate_every={STEPS}", "budget.warmup=1"),
    *(f"trainer.log_every_n_steps={EVERY}", "fresh=true"),
)


@dataclass
class Arm:
    """The runs of a stage of a sweep that differ only in their seed, or in the value that tunes a
    nuisance parameter.

    Args:
        levels: the level of each factor.
        cells: the runs.
        done: number of runs whose stored result will be used again. Of runs that depend on a tuned
            parameter, only those count that have a value from an earlier sweep.
        seconds: measured time of a run; None if no run was timed.
    """

    levels: Levels
    cells: list[Cell]
    done: int
    seconds: float | None

    @property
    def n_left(self) -> int:
        """Number of runs that are not finished yet."""
        return len(self.cells) - self.done


@dataclass
class Plan:
    """A planned sweep.

    Args:
        sweep: the composed runs.
        stages: the arms that tune a nuisance parameter, and then the arms of the comparison.
        n_parallel: number of runs that execute at the same time.
        earlier: the evidence of the newest earlier sweep of the same name in the same setting, with
            the study of this sweep.
        setup_seconds: time that composing and checking the runs took; the sweep will need about the
            same time.
    """

    sweep: PlannedSweep
    stages: tuple[list[Arm], list[Arm]]
    n_parallel: int
    earlier: Evidence | None
    setup_seconds: float = 0.0

    @property
    def seeds(self) -> int:
        """Number of seeds of the comparison."""
        cells = ((cell.levels, cell.seed) for cell in self.sweep.cells)
        return len(shared_seeds(cells, self.sweep.study))

    @property
    def untimed(self) -> list[Arm]:
        """Arms that still have to run, and whose time is unknown."""
        return [arm for stage in self.stages for arm in stage if arm.seconds is None and arm.n_left]

    @property
    def wall(self) -> float | None:
        """Estimated wall time of the sweep in seconds; None if the time of a run is unknown.

        The runs of the comparison start after all runs that tune. Before the runs, the sweep does
        what this process has done. The start of worker processes and the report together take
        about half as long.
        """
        if self.untimed:
            return None
        stages = ([arm.seconds or 0.0 for arm in s for _ in range(arm.n_left)] for s in self.stages)
        runs = sum(max(sum(runs) / self.n_parallel, *runs) for runs in stages if runs)
        return OVERHEAD * self.setup_seconds + runs


def plan_of(sweep: PlannedSweep) -> Plan:
    """Return the plan of a sweep whose runs have been composed and checked."""
    before, data = earlier_sweep(sweep.config), sweep.checked.data
    tuning_runs, runs = (before.screening, before.runs) if before else ([], [])
    settled = _tuned(sweep.cells, before, sweep.tune) if sweep.tune else sweep.cells
    tuning = [*_arms(sweep.screening, _done(sweep.screening, data), tuning_runs)]
    arms = [*_arms(sweep.cells, _done(settled, data), runs)]
    engine: Engine = construct(sweep.config.engine)
    earlier = replace(before, study=sweep.study) if before and sweep.study else before
    return Plan(sweep, (tuning, arms), engine.size(sweep.config), earlier)


def earlier_sweep(config: DictConfig) -> Evidence | None:
    """Return the evidence of the newest earlier sweep with the name and the setting of a sweep.

    Damaged sweeps are skipped. The result is None if there is no such sweep.
    """
    setting = regime(config).items()
    for folder in sorted(Path(config.paths.results).glob(f"sweeps/{config.name}/*/"), reverse=True):
        with suppress(UserError):
            if (folder / ABOUT).exists() and read_parts(folder)["regime"].items() >= setting:
                return Evidence.load(folder) if file_of_runs(folder).exists() else gather(folder)
    return None


def _tuned(cells: Iterable[Cell], earlier: Evidence | None, tune: Tune) -> Iterator[Cell]:
    """Yield each run whose tuned value an earlier sweep chose by this rule, with this value."""
    runs = earlier.runs if earlier and earlier.study.get("tune") == tune else []
    chosen = {run_key(r["levels"], r["seed"]): value_text(r["tuned"]["value"]) for r in runs}
    for cell in cells:
        if (run := run_key(cell.levels, cell.seed)) in chosen:
            yield replace(cell, overrides=(*cell.overrides, f"{tune['key']}={chosen[run]}"))


def _arms(cells: Iterable[Cell], done: Counter[str], earlier: Sequence[Run]) -> Iterable[Arm]:
    """Yield the arms of a stage.

    Args:
        cells: the runs of the stage.
        done: number of finished runs, by the levels of their arm.
        earlier: runs of this stage of an earlier sweep.
    """
    by_levels: dict[str, list[Cell]] = {}
    for cell in cells:
        by_levels.setdefault(str(cell.levels), []).append(cell)
    for arm, members in by_levels.items():
        levels = members[0].levels
        runs = [run for run in earlier if run["levels"].items() <= levels.items()]
        times = [run["seconds"] for run in runs if run["status"] != "failed"]
        yield Arm(levels, members, done[arm], statistics.median(times) if times else None)


def _done(cells: Iterable[Cell], data: dict[str, Fingerprints]) -> Counter[str]:
    """Return the number of runs whose stored result would be used again, by their levels."""
    alike: dict[tuple[str, ...], list[Cell]] = {}
    for cell in cells:
        if not cell.arm.fresh and any(Path(cell.arm.paths.results).glob("runs/*")):
            alike.setdefault(without_seed(cell.overrides), []).append(cell)
    done: Counter[str] = Counter()
    for members in alike.values():
        stored = (record.stored_result() for record in records_of(members, data))
        done[str(members[0].levels)] += sum(result is not None for result in stored)
    return done


class Sample(NamedTuple):
    """The seconds that a short run took: for a step, a validation, a test, and everything else."""

    step: float
    validation: float
    test: float
    rest: float

    def seconds(self, config: DictConfig) -> float:
        """Return the seconds of a run with this config; the training of a short budget counts as
        separate.
        """
        if config.probe is not None:
            return self.rest
        short = config.budget.short or 0
        validations = -(-config.budget.steps // config.budget.validate_every)
        tests = int(bool(config.test_splits)) * (2 if short else 1)
        steps = config.budget.steps + short
        return self.rest + steps * self.step + validations * self.validation + tests * self.test


def time_arms(plan: Plan) -> None:
    """Set the time of each arm that was not timed, from a short run of it.

    As many short runs execute at the same time as in the sweep, because cores share memory and
    caches.

    Raises:
        UserError: a short run failed.
    """
    # an arm of the comparison replaces its tuning runs, which are not tested
    firsts = {str(arm.levels): arm.cells[0] for arm in plan.untimed}
    start_fork_server([PRELOADED])
    with ThreadPoolExecutor(plan.n_parallel) as pool:
        try:
            times = pool.map(partial(_time, plan.sweep.context), firsts.values())
            samples = dict(zip(firsts, times, strict=True))
        except UserError:
            pool.shutdown(cancel_futures=True)
            raise
        finally:
            end_children()
    for arm in plan.untimed:
        arm.seconds = samples[str(arm.levels)].seconds(arm.cells[0].bare_config())


def _time(context: HydraContext, cell: Cell) -> Sample:
    print(f"timing {cell.label}", flush=True)
    with TemporaryDirectory() as results:
        arm = cell.config
        with read_write(arm), read_write(arm.hydra):
            arm.paths.results, arm.hydra.sweep.dir, arm.logger = results, results, None
        words = (*SHORT, f"{SCORED}={arm.batch.scored_tokens or 'null'}")
        short = replace(cell, arm=arm, overrides=(*cell.overrides, *words))
        RunTask(context, short)()
        outcome = read_outcome(short.outcome_path)
        if outcome["status"] == "failed":
            raise UserError(f"the short run of {cell.label} failed: {outcome['error']}")
        return _read(Path(outcome["folder"]))


def _read(folder: Path) -> Sample:
    """Return the times in the record of a short run.

    The first steps are left out of the time of a step, because they also allocate and compile.
    """
    wall = read_sealed(folder / RESULT)["wall_seconds"]
    test = sum(read_sealed(path)["wall_seconds"] for path in folder.glob(f"tests/*/{RESULT}"))
    path = folder / "metrics.jsonl"
    lines = [json.loads(line) for line in path.read_bytes().splitlines()] if path.exists() else []
    training = [line for line in lines if "val/nll" not in line]
    if len(training) < 2:  # a probe
        return Sample(0.0, 0.0, 0.0, wall + test)
    first, last = training[0], training[-1]
    step = (last["time"] - first["time"]) / (last["step"] - first["step"])
    validation = lines[-1]["time"] - last["time"]
    return Sample(step, validation, test, max(0.0, wall - STEPS * step - validation))


def lines_of(plan: Plan, noise: float, interaction: float) -> list[str]:
    """Return the number of runs and their times as lines of text.

    Args:
        plan: the plan.
        noise: assumed standard deviation between runs of a recipe, for a study of combinations.
        interaction: assumed standard deviation of the interaction of each two changes.
    """
    config, (tuning, arms) = plan.sweep.config, plan.stages
    runs = sum(len(arm.cells) for arm in (*tuning, *arms))
    done = f"{sum(arm.done for arm in (*tuning, *arms))} are done"
    tune, further = plan.sweep.tune, WIDENINGS * sum(arm.n_left for arm in arms)
    if further and tune and len(tune["values"]) > 1:
        done += f"; up to {further} more if the first or last value to tune is best"
    rows: list[tuple[str, ...]] = [("arm", "runs", "done", "seconds each")]
    rows += [_row(arm, "tuning: ") for arm in tuning] + [_row(arm) for arm in arms]
    design = design_of(config)
    described = forecast(design, planned(design), noise, interaction) if design else aligned(rows)
    wall = f"unknown for {counted(len(plan.untimed), 'arm')}; sample=true times a few steps of each"
    if plan.wall is not None:
        wall = f"{duration(plan.wall)}, {plan.n_parallel} at a time"
    seeds = counted(plan.seeds, "seed")
    sizes = f"{counted(runs, 'run')} of {counted(len(arms), 'arm')} and {seeds}; {done}"
    return [f"{config.name}: {sizes}", "", *described, "", f"time: {wall}"]


def _row(arm: Arm, before: str = "") -> tuple[str, ...]:
    label = f"{before}{arm_label(arm.levels) or 'baseline'}"
    seconds = "-" if arm.seconds is None else f"{arm.seconds:,.1f}"
    return label, str(len(arm.cells)), str(arm.done), seconds


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return rows of cells as lines with aligned columns: the first to the left, others to the
    right.
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    form = "  ".join(["{:<%d}", *["{:>%d}"] * (len(widths) - 1)]) % tuple(widths)
    return [form.format(*row).rstrip() for row in rows]


def duration(seconds: float) -> str:
    """Return a duration as text, in seconds, minutes or hours."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
