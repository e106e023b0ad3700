"""Define the contents of study.json, runs.jsonl and verdict.json as typed dictionaries.

Files are checked against the same declarations (ablate.evidence.form).
"""

from collections.abc import Mapping
from typing import NotRequired, TypedDict

from ablate.config.study import Claim as Claim
from ablate.config.study import Levels as Levels
from ablate.config.study import Match as Match
from ablate.config.study import Published as Published
from ablate.config.study import Question as Question
from ablate.config.study import Screen as Screen
from ablate.config.study import Shown as Shown
from ablate.config.study import Study as Study
from ablate.config.study import Tune as Tune
from ablate.record.types import Metrics
from ablate.record.types import Tuned as Tuned

# by metric; optimiser steps under `step`; null means not finite
Curve = dict[str, list[int | float | None]]


class Regime(TypedDict):
    """The setting in which a study was run (data, size, budget, device); its effects hold there."""

    scale: str
    data: str
    corpus: NotRequired[str]  # files and size; missing in older evidence
    model: str
    device: str
    precision: str
    d_model: int
    n_layers: NotRequired[int]
    steps: int
    tokens_per_step: int
    threads: int
    test_sentences: dict[str, int]
    short: NotRequired[int]


class Asked(TypedDict):
    """The history of a claim in the analysis log (ablate.evidence.earlier_sweeps).

    `looks` has the seeds of each earlier analysis, `tried` the reasons why the claim is
    exploratory, and `regimes` the number of other settings in which the question was asked.
    """

    looks: list[list[int]]
    tried: list[str]
    regimes: int


class Registration(TypedDict):
    """The registration of a study: when it was first started, and what was analysed before."""

    hash: str
    time: float
    earlier: list[str]
    looks: int
    asked: NotRequired[dict[str, Asked]]
    sweep: NotRequired[str]
    components: NotRequired[dict[str, str]]  # options of config groups that all arms share
    command: NotRequired[str]
    part: NotRequired[bool]  # whether this is only a part of a study, without a verdict


Seal = dict[str, str | dict[str, str]]  # digests by file; for runs, by cell


class About(TypedDict):
    """The content of study.json.

    `registered` comes from another file and may be empty.
    """

    name: str
    study: Study
    regime: Regime
    registration: Registration
    seal: NotRequired[Seal]
    registered: NotRequired[Mapping[str, object]]


class End(TypedDict):
    """The outcome of a run at one of its budgets of training steps: at the full budget, or at the
    short budget, a smaller number of steps after which a study may test the run as well.
    """

    identity: str
    status: str
    metrics: Metrics
    curve: Curve
    reused: bool
    ended: float
    seconds: float


class Run(End):
    """A run of a sweep in runs.jsonl: its arm, its seed and its outcome."""

    cell: int
    seed: int
    arm: str
    command: str
    levels: Levels
    versions: dict[str, str]
    commit: NotRequired[str]  # commit of ablate's source; missing in older evidence
    code: NotRequired[str]  # digest of everything except the config that determines the numbers
    tuned: NotRequired[Tuned]
    matched: NotRequired[Levels]
    error: NotRequired[str]
    study: NotRequired[str]
    short: NotRequired[End]
    training: NotRequired[Curve]  # curve of the training nll; missing in older evidence
    update_seconds: NotRequired[float]
    replicate: NotRequired[int]
    draws: NotRequired[int]  # number of random draws behind each value of a probe


class Failures(TypedDict):
    """The number of runs of an arm that failed to learn, and the exact interval of their rate.

    `runs` is the number of runs that failed to learn. `of` is the number of all runs that ended.
    """

    runs: int
    of: int
    interval: list[float]


class ControlOutcome(TypedDict):
    """The outcome of a positive control, for a claim that nothing is lost.

    The control is an arm that should lose more than the margin. `loses` says whether it does.
    """

    arm: str
    effect: float
    interval: list[float]
    loses: bool


class Planned(TypedDict):
    """A number of seeds for power 0.8 if `effect` is true; null if no number suffices."""

    effect: float
    seeds: int | None


# valid until the next band begins
Band = TypedDict("Band", {"from": float, "verdict": str, "grade": str})


class Learning(TypedDict):
    """The gain of every arm in the last quarter of training, and the arms that still improve."""

    metric: str
    gains: dict[str, float]
    still: list[str]


class Target(TypedDict):
    """The number of steps that a baseline needs to reach a value of a metric.

    The number is null if it exceeds the long budget.
    """

    metric: str
    updates: float | None
    interval: list[float | None] | None
    seeds: list[int]
    of_seeds: list[float | None]


class Cases(TypedDict):
    """The cases of an exact claim, each a value that must be within a tolerance.

    A case counts if its check detected a deliberate fault.
    """

    of: int
    counted: int
    broken: int  # violations among the cases that count
    draws: int | None  # number of random draws behind each value
    control: float | None  # smallest deviation that the deliberate fault caused
    elsewhere: NotRequired[tuple[str, float]]  # an arm that violates the rule, and its deviation
    holding: NotRequired[int]  # for a claim about trained models: number of seeds that satisfy it


class ClaimResult(TypedDict):
    """The result of a claim: the verdict with its statistics, computed from all runs of the
    compared arms that are not excluded from the analysis.
    """

    verdict: str
    grade: str
    effect: float | None
    interval: list[float] | None
    p: dict[str, float]
    p_adjusted: dict[str, float]
    p_look: dict[str, float]
    seeds: list[int]
    pairs: int
    differences: list[float | None]  # null means not finite
    failed_to_learn: NotRequired[dict[str, Failures]]  # by arm
    decided_by_failures: NotRequired[bool]
    false_rate: NotRequired[float]  # measured rate of false verdicts of this kind
    method: str
    levels_of_noise: str
    sign_flip: NotRequired[float | None]
    detectable: float | None
    seeds_needed: dict[str, Planned] | None
    sensitivity: list[Band]
    uncorrected: NotRequired[str]  # the answer without Holm's correction, where it is another
    headline: NotRequired[str]  # the layers of the answer (ablate.verdict.wording)
    evidence: NotRequired[str]
    details: NotRequired[dict[str, str]]
    problem: NotRequired[str]  # why the claim cannot be judged
    withheld: NotRequired[str]  # why a claim about the limits of an arm cannot be judged yet
    sentences: NotRequired[int]  # number of test sentences, if they contribute to the error
    cases: NotRequired[Cases]
    rates: NotRequired[list[tuple[int, int]]]  # unstable runs and all runs, first for the treatment
    information: NotRequired[list[float]]  # with interim analyses: the fraction of seeds at each
    interval_equivalence: NotRequired[list[float] | None]
    control: NotRequired[ControlOutcome | None]


class Answer(ClaimResult):
    """The result of a claim after a number of training steps, the full number or the short one."""

    failed_runs: int
    exploratory: bool
    older_cells: int
    steps: NotRequired[int]


class Short(Answer):
    """The result of a claim at the short budget of steps, after which its runs were tested as well,
    and its time to target.

    The time to target is the number of steps that the baseline needs to reach the treatment's
    score.
    """

    time_to_target: Target | None


class Entry(Question, Answer):
    """A claim in verdict.json: the question and its answer."""

    primary: bool
    arms: list[str]
    learning: NotRequired[Learning]
    short: NotRequired[Short]


class ReportedClaim(Entry):
    """A claim in verdict.json with further fields of the study, for a report."""

    tolerance: float
    measures: NotRequired[str]
    control_measures: NotRequired[str]


class Spread(TypedDict):
    """Mean and standard deviation of a metric over seeds.

    The deviation of a single seed is null.
    """

    mean: float
    sd: float | None


class Arm(TypedDict):
    """An arm in verdict.json: its levels, its numbers of runs by outcome, and its mean metrics."""

    arm: str
    label: str  # what a person calls it
    levels: Levels
    seeds: int
    finished: int
    diverged: int
    collapsed: int
    failed: int
    metrics: dict[str, Spread]


class Verdict(TypedDict):
    """The content of verdict.json."""

    experiment: str
    regime: Regime
    components: dict[str, str]  # options of config groups that all arms share
    study_hash: str
    registered: float
    looks: int
    alpha_spent: float
    versions: dict[str, str | list[str]]
    exploratory: bool
    runs: int
    failed_runs: int
    reused_runs: int
    older_runs: int
    caveats: list[str]
    claims: list[Entry]
    arms: list[Arm]
