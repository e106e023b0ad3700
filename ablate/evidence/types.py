"""Define the contents of runs.jsonl and verdict.json as typed dictionaries.

Files are checked against the same declarations (ablate.evidence.form).
"""

from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict

from ablate.config.study import Claim as Claim
from ablate.config.study import Levels as Levels
from ablate.config.study import Match as Match
from ablate.config.study import Predicted as Predicted
from ablate.config.study import Published as Published
from ablate.config.study import Question as Question
from ablate.config.study import Screen as Screen
from ablate.config.study import Shown as Shown
from ablate.config.study import Study as Study
from ablate.config.study import Tune as Tune
from ablate.evidence.combined import Combined
from ablate.record.types import Metrics
from ablate.record.types import Tuned as Tuned

Values = dict[str, Any]  # of a reason, by name
Status = Literal["supported", "refuted", "inconclusive"]
Grade = Literal[
    "", "direction only", "large enough to matter", "too small to matter", "the other way round"
]
Method = Literal[
    "every case", "t", "skewed t", "moderated t", "sign test", "Barnard", "none",
    "Welch", "one sample", "contrast", "corrected Welch", "corrected one sample",
    "corrected contrast", "stated noise", "least squares", "combinations",
]  # fmt: skip
Noise = Literal["seeds", "sentences", "groups of sentences", "runs", "prediction"]
# values by metric, and optimiser steps under the key `step`; None means not finite
Curve = dict[str, list[int | float | None]]


class Reason(TypedDict):
    """A reason as data: a code, and the values with which ablate.words writes the sentence."""

    code: str
    values: Values


class Caveat(Reason):
    """A caveat of a verdict: a reason, and the numbers of the claims that it is about, from 1; no
    numbers if it is about the whole study.
    """

    claims: list[int]


def reason(code: str, **values: object) -> Reason:
    """Return a reason as data."""
    return {"code": code, "values": values}


class StatedNoise(TypedDict):
    """The standard deviation of the runs of an arm, as the user states it, with its source."""

    sd: float
    source: str
    df: float | None  # degrees of freedom of the standard deviation; None if it is exact


class TableClaim(Claim):
    """A claim about a table of runs that other programs made, with the design of its test.

    In the design "one sample", the runs of an arm are compared with the number `target`.
    """

    design: str  # paired | unpaired | one sample
    target: float | None
    test: str  # t test: corrected (for skewness) | textbook
    doubts: list[Reason]  # remarks on the runs of its arms
    noise: StatedNoise | None


class Setting(TypedDict, total=False):
    """The setting of a verdict: the regime of its runs, with a list for each part that is a factor
    of the study.
    """

    scale: str | list[str]
    data: str | list[str]
    corpus: str
    model: str | list[str]
    device: str
    precision: str | list[str]
    d_model: int | list[int]
    n_layers: int | list[int]
    steps: int | list[int]
    tokens_per_step: int | list[int]
    threads: int | list[int]
    test_sentences: dict[str, int]
    short: int | list[int]


class End(TypedDict):
    """The outcome of a run after all of its training steps, or after the fewer steps of a short
    budget: its status, metrics and validation curve.
    """

    identity: str
    status: str
    metrics: Metrics
    curve: Curve
    reused: bool
    ended: float
    seconds: float


class Run(End):
    """A run of a sweep, as in runs.jsonl: its arm (a combination of levels), its seed, and its
    outcome.
    """

    cell: int
    seed: int
    arm: str
    command: str
    levels: Levels
    versions: dict[str, str]
    commit: NotRequired[str]  # commit of ablate's source; missing in older evidence
    processor: NotRequired[str]  # model of the processor; missing in older evidence
    instructions: NotRequired[str]  # instruction set of torch's kernels; missing in older evidence
    code: NotRequired[str]  # digest of everything that determines the results, except the config
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
    """The number of runs of an arm that failed to learn (`runs`), the number of runs of the arm
    that ended (`of`), and the exact confidence interval of the rate of failed runs.
    """

    runs: int
    of: int
    interval: list[float]


class ControlOutcome(TypedDict):
    """The outcome of a positive control, for a claim that a treatment is not worse than a baseline.

    The control is a further arm, which should be worse than the baseline by more than the margin.
    `loses` says whether the control is worse by that much.
    """

    arm: str
    effect: float
    interval: list[float | None]  # null: infinite
    loses: bool


class Planned(TypedDict):
    """A planned number of seeds, with which a decision has power 0.8 if the true effect is
    `effect`. The number is null if no number of seeds is enough.
    """

    effect: float
    seeds: int | None


# verdict if the margin were at least `from`; valid until the next band begins
Band = TypedDict("Band", {"from": float, "verdict": Status, "grade": Grade})


class Outcome(TypedDict):
    """A verdict with its grade."""

    verdict: Status
    grade: Grade


class Learning(TypedDict):
    """How much every arm improved in the last quarter of its training steps.

    `metric` is the validation metric, such as "val/nll". `gains` has the mean improvement of each
    arm in the unit of this metric; a positive number is an improvement. `still` lists the arms that
    improved by at least half the margin of the claim, so that longer training might change the
    verdict.
    """

    metric: str
    gains: dict[str, float]
    still: list[str]


class Target(TypedDict):
    """The number of training steps that the baseline needs to reach a value of a metric, with an
    interval and with the number for each seed.

    A number is null if the baseline does not reach the value within its training.
    """

    metric: str
    updates: float | None
    interval: list[float | None] | None
    seeds: list[int]
    of_seeds: list[float | None]


class Cases(TypedDict):
    """The number of cases of an exact claim, that is, a claim that a value is within a tolerance of
    0 in every case. A case is a run, or a pair of runs with the same seed.

    `of` is the number of all cases. `counted` is the number of cases that decide the claim. If the
    claim has a negative control, that is, a deliberate fault that must change the measured value,
    cases in which the fault changed nothing are not counted.
    """

    of: int
    counted: int
    broken: int  # number of counted cases that violate the claim
    draws: int | None  # number of random draws behind each value
    control: float | None  # smallest deviation that the deliberate fault caused
    elsewhere: NotRequired[tuple[Levels, float]]  # an arm that violates the rule; its deviation
    holding: NotRequired[int]  # for a claim about trained models: number of seeds that satisfy it


class Answer(TypedDict):
    """The result of a claim: the verdict with its statistics, computed from all runs of the
    compared arms that are not excluded from the analysis.

    If the runs were tested after two numbers of training steps (budgets), the claim has a result
    for each of them.
    """

    verdict: Status
    grade: Grade
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
    method: Method
    noise: list[Noise]  # the sources of variation that the interval covers
    sign_flip: NotRequired[float | None]
    detectable: float | None
    seeds_needed: dict[str, Planned] | None
    sensitivity: list[Band]
    uncorrected: NotRequired[Outcome]  # the answer without Holm's correction, if it differs
    # the answer in words, for readers of the file; no code reads them (ablate.words)
    headline: NotRequired[str]
    evidence: NotRequired[str]
    problem: NotRequired[Reason]  # why the claim cannot be judged
    withheld: NotRequired[Reason]  # why a claim about the limits of an arm cannot be judged yet
    sentences: NotRequired[int]  # number of test sentences, if they contribute to the error
    cases: NotRequired[Cases]
    rates: NotRequired[list[tuple[int, int]]]  # unstable runs and all runs, first for the treatment
    counts: NotRequired[list[int]]  # runs of each arm, if the runs are not paired
    information: NotRequired[list[float]]  # fraction of the seeds at each interim analysis
    interval_equivalence: NotRequired[list[float] | None]
    control: NotRequired[ControlOutcome | None]
    failed_runs: int
    exploratory: bool
    older_cells: int
    steps: NotRequired[int | list[int]]  # several if the compared arms differ


class Short(Answer):
    """The result of a claim after the smaller of two numbers of training steps (the short budget),
    and its time to target.

    The time to target is the number of steps that the baseline needs to reach the treatment's
    score.
    """

    time_to_target: Target | None


class Entry(Question, Answer):
    """A claim in verdict.json: the question, that is, the compared arms, the metric and the margin,
    and the answer with its numbers.
    """

    tolerance: float  # of an exact claim; 0 for other claims
    fault: NotRequired[str]  # exact claims: metric of a deliberate fault (`control` of the claim)
    measures: NotRequired[str]
    control_measures: NotRequired[str]
    design: NotRequired[str]  # of a table of runs (TableClaim)
    target: NotRequired[float]  # the number with which an arm of a table is compared
    primary: bool
    arms: list[str]
    settings: NotRequired[dict[str, list[str]]]  # overrides that no label names, by arm
    learning: NotRequired[Learning]
    short: NotRequired[Short]


class Spread(TypedDict):
    """Mean and standard deviation of a metric over the seeds of an arm.

    The standard deviation is null if there is a single seed.
    """

    mean: float
    sd: float | None


class Arm(TypedDict):
    """An arm (a combination of levels) in verdict.json, with the numbers of its runs by outcome and
    its mean metrics.
    """

    arm: str
    label: str  # the arm's name in words
    levels: Levels
    seeds: int
    finished: int
    diverged: int
    collapsed: int
    failed: int
    metrics: dict[str, Spread]


class Verdict(TypedDict):
    """The content of verdict.json: the results of all claims of an experiment, with its setting,
    its registration, and the numbers of runs.
    """

    experiment: str
    rule: NotRequired[int]  # by which the error of effects was estimated; missing in older evidence
    regime: Setting
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
    caveats: list[Caveat]
    combined: NotRequired[Combined]  # of a study of combinations
    claims: list[Entry]
    arms: list[Arm]
