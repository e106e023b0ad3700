"""Define the status and the grade of a verdict, and the content of verdict.json.

The status is supported, refuted or inconclusive. For a claim that an arm is better, the grade
states the size, from a fixed sequence of tests: *direction only* (above 0), then *large enough to
matter* (at least the margin). An effect below the margin refutes the claim, because the margin is
the smallest difference that the claim asserts. The grade is then *too small to matter*, or, for an
effect below 0, *the other way round*.
"""

from dataclasses import dataclass
from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict

from ablate.config.study import Levels, Question
from ablate.evidence.outcome import Caveat, Reason, Spread
from ablate.stats import above, at_most

COMBINATIONS = "combinations"  # method of effects over recipes
LEVEL = 0.95  # confidence level of the intervals of combinations
LARGEST = 5  # number of changes of the best recipe that are shown and confirmed


class CombinedChange(TypedDict):
    """The effect of a level against the first of its factor, positive if the level is better: at
    chosen learning rates, and on average; with half the width of the 95 % intervals.
    """

    level: dict[str, str]
    effect: float | None
    half_width: float | None
    average: float | None
    average_half_width: float | None


class CombinedPair(TypedDict):
    """The interaction of two levels, found on one half of the recipes and tested on the other."""

    levels: dict[str, str]
    selected: float
    effect: float
    error: float
    p: float


class PredictedPart(TypedDict):
    """A change of the best recipe: its predicted gain, and the predicted gain of the best recipe
    without this change.
    """

    level: dict[str, str]
    levels: Levels  # of the best recipe without this change, also of the learning rate
    gain: float
    error: float
    rest: float
    rest_error: float


class PredictedRecipe(TypedDict):
    """The best recipe, and its predicted gain over the recipe of all first levels."""

    first: Levels  # the first levels, also of the learning rate
    levels: Levels
    gain: float
    error: float
    df: float
    parts: list[PredictedPart]  # the largest predicted gain first


class Combined(TypedDict):
    """The results of a study of combinations that are about all of its factors
    (ablate.stats.combinations).
    """

    metric: str
    better: str
    runs: int
    recipes: int
    run_deviation: float | None
    interaction: float | None
    interaction_interval: list[float | None]
    pair_deviation: float | None
    share: float | None
    changes: list[CombinedChange]
    pairs: list[CombinedPair]
    unestimated: list[dict[str, str]]  # levels whose effect too few runs determine
    best: PredictedRecipe


Status = Literal["supported", "refuted", "inconclusive"]
Grade = Literal[
    "", "direction only", "large enough to matter", "too small to matter", "the other way round"
]
Method = Literal[
    "every case", "t", "skewed t", "moderated t", "sign test", "Barnard", "none",
    "Welch", "one sample", "contrast", "corrected Welch", "corrected one sample",
    "corrected contrast", "least squares", "combinations",
]  # fmt: skip
Noise = Literal[
    "seeds", "sentences", "groups of sentences", "blocks of text", "runs", "prediction"
]  # fmt: skip


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
    improved by at least half the margin of the claim (without a margin, half the effect), so that
    longer training might change the verdict.
    """

    metric: str
    gains: dict[str, float]
    still: list[str]


class Cases(TypedDict):
    """The number of cases of an exact claim, that is, a claim that a value is within a tolerance of
    0 in every case. A case is a run, or a pair of runs with the same seed.

    `of` is the number of all cases. `counted` is the number of cases that decide the claim. If the
    claim has a negative control, that is, a deliberate fault that must change the measured value,
    cases in which the fault changed nothing are not counted. `elsewhere` is an arm outside the
    claim that violates the rule, as a positive control does, with its deviation from 0.
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
    # runs of the baseline that count in addition to the pairs, if it has more seeds
    unpaired_runs: NotRequired[int]
    information: NotRequired[list[float]]  # fraction of the seeds at each interim analysis
    interval_equivalence: NotRequired[list[float] | None]
    control: NotRequired[ControlOutcome | None]
    failed_runs: int
    exploratory: bool
    older_cells: int
    steps: NotRequired[int | list[int]]  # several if the compared arms differ


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
    short: NotRequired[Answer]


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


SUPPORTED, REFUTED, INCONCLUSIVE = "supported", "refuted", "inconclusive"
DIRECTION, LARGE = "direction only", "large enough to matter"  # grades of supported claims
SMALL, OPPOSITE = "too small to matter", "the other way round"  # grades of refuted claims


@dataclass(frozen=True)
class Decision:
    """The decision on a claim: its status, and a grade that states the size of the effect.

    The status is supported, refuted or inconclusive. The grade, such as "large enough to matter",
    is "" for an inconclusive claim and for kinds of claims without grades.
    """

    status: str
    grade: str = ""


def status_of(p: dict[str, float], alpha: float) -> str:
    """Return the status of a verdict: refuted, supported or inconclusive.

    If both tests reject, the claim is refuted.

    Args:
        p: p-values of the tests that lead to "supported" and to "refuted", by these names. A
            p-value of a test at alpha / 2 is already doubled, so each is compared with alpha.
        alpha: the significance level.
    """
    if at_most(p[REFUTED], alpha):
        return REFUTED
    return SUPPORTED if at_most(p[SUPPORTED], alpha) else INCONCLUSIVE


def thresholds(*turns: tuple[float, *tuple[str, ...]]) -> list[Band]:
    """Return the margins of 0 and more at which a decision changes, ascending; the first is 0.

    A decision that holds for no margin of 0 or more is left out.

    Args:
        turns: margins, ascending, the first possibly negative. The status of the decision that
            holds from this margin on, and its grade if it has one, follow each margin.
    """
    ends = [*(margin for margin, *_ in turns[1:]), None]
    bands: list[Any] = [
        {"from": max(0.0, margin), "verdict": words[0], "grade": "".join(words[1:])}
        for (margin, *words), end in zip(turns, ends, strict=True)
        if end is None or above(end, max(0.0, margin))
    ]
    return bands
