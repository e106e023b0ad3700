"""Simulate sweeps, judge them by the rules for real sweeps, and count the wrong verdicts."""

import os
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context

import numpy as np
from rich.progress import track

from ablate.stats.estimate import Estimate
from lab.calibration.fishing import ROUTES, fishing
from lab.calibration.planned import PROMISES, of_translations, promised
from lab.calibration.sequential import CASES, sequential
from lab.calibration.simulate import KINDS, Design
from lab.calibration.tables import Promises, Results, Tried, noise_of
from lab.calibration.trial import Marks, SimulatedSweep

SENTENCES = 3000
MARGIN = 2.0  # BLEU
CHUNK = 50  # sweeps per step of the progress bar
SEED = 0


def simulate(kind: str, seeds: int, sweeps: int, number: int = 0) -> Marks:
    """Return the sum of the marks of `sweeps` simulated sweeps (`lab.calibration.trial`).

    Args:
        kind: kind of noise, a key of KINDS.
        seeds: seeds per arm.
        sweeps: number of sweeps.
        number: number of this chunk of sweeps; different chunks have different random numbers.
    """
    rng = np.random.default_rng([SEED, list(KINDS).index(kind), seeds, number])
    design = Design.with_effects(KINDS[kind], (0.0, 0.0, MARGIN))
    trial = SimulatedSweep(design, seeds, SENTENCES, MARGIN)
    return total(trial.run(rng) for _ in range(sweeps))


def total(marks: Iterable[Marks]) -> Marks:
    """Return the sum of each mark, by its name."""
    totals: Marks = {}
    for chunk in marks:
        for name, mark in chunk.items():
            totals[name] = totals.get(name, 0.0) + mark
    return totals


def calibrate(sweeps: int, seeds: list[int]) -> Results:
    """Return the mean of each mark over the sweeps, for every kind of noise and number of seeds.

    For most marks, the mean is the proportion of sweeps with an event, such as a false verdict. The
    result is the same for any number of cores, because every chunk of sweeps has its own random
    generator.
    """
    os.environ["OMP_NUM_THREADS"] = "1"  # for the processes that are started below
    rows = [(kind, n) for kind in KINDS for n in seeds]
    starts = list(enumerate(range(0, sweeps, CHUNK)))
    with ProcessPoolExecutor(os.cpu_count(), get_context("spawn")) as pool:
        chunks = {
            row: [pool.submit(simulate, *row, min(CHUNK, sweeps - at), k) for k, at in starts]
            for row in rows
        }
        waiting = [chunk for row in rows for chunk in chunks[row]]
        for _ in track(as_completed(waiting), "simulated sweeps", total=len(waiting)):
            pass
    sums = {row: total(chunk.result() for chunk in chunks[row]) for row in rows}
    return {row: {name: mark / sweeps for name, mark in sums[row].items()} for row in rows}


def keep(results: Results, sweeps: int) -> Promises:
    """Return the measured power with the recommended number of seeds, for every kind of noise.

    Args:
        results: result of `calibrate`, from which the noise is taken.
        sweeps: number of simulated sweeps for each kind of noise and promise.
    """
    rows = [(kind, name) for kind in reversed(KINDS) for name in PROMISES]  # slowest first
    noises = [noise_of(results, kind, SENTENCES) for kind, _ in rows]
    promises: Promises = {kind: {} for kind in KINDS}
    with ProcessPoolExecutor(os.cpu_count(), get_context("spawn")) as pool:
        marks = pool.map(_keep, rows, noises, [sweeps] * len(rows))
        for (kind, _), pairs in zip(rows, track(marks, "promised power", len(rows)), strict=True):
            promises[kind] |= pairs
    return promises


def tried(sweeps: int) -> Tried:
    """Return how often interim analyses decide, and how often repeated attempts succeed."""
    numbers = range(sweeps)
    with ProcessPoolExecutor(os.cpu_count(), get_context("spawn")) as pool:
        staged = pool.map(sequential, CASES, [numbers] * len(CASES))
        fished = pool.map(fishing, ROUTES, [numbers] * len(ROUTES))
        shares = [{name: mark / sweeps for name, mark in marks.items()} for marks in staged]
        false = [count / sweeps for count in fished]
    return Tried(dict(zip(CASES, shares, strict=True)), dict(zip(ROUTES, false, strict=True)))


def _keep(row: tuple[str, str], noise: Estimate, sweeps: int) -> Marks:
    kind, name = row
    numbers = list(KINDS).index(kind), list(PROMISES).index(name)
    draw = of_translations(kind, SENTENCES, np.random.default_rng([SEED, len(KINDS), *numbers]))
    return promised(name, noise, MARGIN, draw, sweeps)
