"""Simulate users who try in ten ways to support a false claim, and count how often they succeed.

Two equal arms are compared. Their runs have normal noise. Every try goes through the code of a real
sweep: it is written into the log, each interim analysis spends alpha, and the claim is decided. A
way to try is called a route. A route ends with the first verdict "supported" that is not
exploratory, or after its last try.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from ablate.evidence.folder import Evidence
from ablate.evidence.log import Sweep, analysed_seeds, registration, with_history
from ablate.evidence.registration import questions, study_hash
from ablate.record.files import digest
from ablate.verdict.contrast import history_of
from ablate.verdict.judge import decide
from ablate.verdict.types import SUPPORTED

SEEDS, TRIES = 10, 10
ARMS = ("treatment", "baseline")
CLAIM: Any = {
    **{"id": "false", "kind": "superiority", "metric": "test/nll", "better": "lower"},
    **{"margin": 0.0, "alpha": 0.05, "where": {}, "minus": {}, "over": "", "scale": "log"},
    **{arm: {"arm": arm} for arm in ARMS},
}


@dataclass(frozen=True)
class Try:
    """A sweep that a user starts to support the false claim.

    Attributes:
        seeds: seeds of the sweep.
        planned: number of seeds in the study's plan.
        replicate: number of the replicate, which has fresh random numbers for the same seeds.
        rate: learning rate of both arms.
        inside: a setting of the treatment that can change while the arm keeps its name.
        name: name of the study.
        margin: margin of the claim.
        failed: seeds whose runs the user stopped by hand.
        contest: whether the sweep is a replication of an existing verdict.
    """

    seeds: tuple[int, ...] = tuple(range(SEEDS))
    planned: int = SEEDS
    replicate: int = 0
    rate: float = 0.0
    inside: float = 0.0
    name: str = "study"
    margin: float = 0.0
    failed: tuple[int, ...] = ()
    contest: bool = False


@dataclass
class PHackingSimulation:
    """A user with an analysis log and with the results of all sweeps that the user started.

    Attributes:
        rng: random generator of the runs' results.
        sweeps: the sweeps of the log, with their analyses.
        scores: result of each run, by the settings that determine it.
    """

    rng: np.random.Generator
    sweeps: list[Sweep] = field(default_factory=list)
    scores: dict[tuple[Any, ...], float] = field(default_factory=dict)

    def succeeds(self, trial: Try) -> bool:
        """Run a sweep, and return whether its verdict is "supported" and not exploratory."""
        evidence = self.judged(trial)
        if history_of(CLAIM, evidence)["tried"]:
            return False
        ((_, _, decision),) = decide(evidence)
        return decision.status == SUPPORTED

    def judged(self, trial: Try) -> Evidence:
        """Run a sweep, log it, and return its evidence with the history of its claim."""
        study: Any = {"factors": ["arm"], "seeds": trial.planned, "tune": None}
        study |= {"claims": [{**CLAIM, "margin": trial.margin}]}
        number = len(self.sweeps)
        settings: dict[str, object] = {"optimizer.lr": trial.rate}
        form = digest([study_hash(study), settings, trial.inside])
        sweep = Sweep(
            *(trial.name, float(number), str(number), form, {}, settings),
            *(trial.replicate, sorted(trial.seeds), questions(study), trial.contest),
            {f"arm={ARMS[0]}": {"arm.steps": trial.inside}},
        )
        self.sweeps.append(sweep)
        runs = [self.run(trial, arm, seed) for arm in ARMS for seed in sweep.seeds]
        registered = registration(sweep, self.sweeps)
        evidence = Evidence.synthetic(study, runs, name=trial.name, registration=registered)
        judged = with_history(evidence, sweep, self.sweeps)
        seeds, _ = analysed_seeds(evidence, sweep)
        sweep.looks.append(frozenset(seeds))
        return judged

    def run(self, trial: Try, arm: str, seed: int) -> dict[str, Any]:
        """Return a simulated run; a run with the same settings always has the same result."""
        key = (
            trial.replicate,
            seed,
            trial.rate,
            arm,
            trial.inside if arm == ARMS[0] else 0.0,
        )
        score = self.scores.setdefault(key, float(self.rng.standard_normal()))
        return {
            **{"levels": {"arm": arm}, "arm": arm, "seed": seed, "identity": str(key)},
            **{
                "cell": len(self.scores),
                "status": "failed" if seed in trial.failed else "finished",
            },
            **{"metrics": {"test/nll": score, "unigram_nll": 9.0}},
        }

    def worst(self, many: int) -> tuple[int, ...]:
        """Return the `many` seeds of the first replicate that are least favourable to the claim.

        The default sweep must have been run before.
        """
        loss = {
            s: self.scores[0, s, 0.0, ARMS[0], 0.0] - self.scores[0, s, 0.0, ARMS[1], 0.0]
            for s in range(SEEDS)
        }
        return tuple(sorted(loss, key=lambda seed: -loss[seed])[:many])


Route = Callable[[PHackingSimulation], Iterator[Try]]


def _peeks(user: PHackingSimulation) -> Iterator[Try]:
    for many in (5, 10, 15, 20):
        yield Try(seeds=tuple(range(many)), planned=20)


def _further(user: PHackingSimulation) -> Iterator[Try]:
    for many in range(SEEDS, SEEDS * 3 + 1, 4):
        yield Try(seeds=tuple(range(many)))


def _dropped(many: int, user: PHackingSimulation) -> Iterator[Try]:
    yield Try()
    for count in range(1, many + 1):
        out = user.worst(count)
        yield Try(seeds=tuple(seed for seed in range(SEEDS) if seed not in out))


def _stopped(user: PHackingSimulation) -> Iterator[Try]:
    yield Try()
    yield Try(failed=user.worst(1))


def _inside(user: PHackingSimulation) -> Iterator[Try]:
    for number in range(TRIES):
        yield Try(inside=float(number))


def _fresh(change: Callable[[int], dict[str, Any]], user: PHackingSimulation) -> Iterator[Try]:
    for number in range(TRIES):
        yield replace(Try(replicate=number), **change(number))


ROUTES: dict[str, Route] = {
    "looks within the plan": _peeks,
    "more seeds than planned": _further,
    "one seed dropped": partial(_dropped, 1),
    "two seeds dropped": partial(_dropped, 2),
    "a seed stopped by hand": _stopped,
    "another replicate": partial(_fresh, lambda number: {}),
    "another learning rate": partial(_fresh, lambda number: {"rate": float(number)}),
    "a renamed study": partial(_fresh, lambda number: {"name": f"study {number}"}),
    "another margin": partial(_fresh, lambda number: {"margin": number / 20}),
    "a level changed under its name": _inside,
}


def fishing(route: str, users: Iterable[int]) -> int:
    """Return how many users reach a false verdict by this route.

    Args:
        route: a key of ROUTES.
        users: numbers of the users, which select their random numbers.
    """
    place = list(ROUTES).index(route)
    simulations = (
        PHackingSimulation(np.random.default_rng([4, place, number])) for number in users
    )
    return sum(any(user.succeeds(trial) for trial in ROUTES[route](user)) for user in simulations)
