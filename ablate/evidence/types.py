"""What a study, its runs and its verdicts hold: study.json, runs.jsonl, verdict.json.

They are plain dictionaries with a declared form, as they lie in files. What is read from a file is
checked against the same declarations (ablate.evidence.form).
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

Curve = dict[str, list[int | float | None]]  # by metric; updates below `step`; null: not finite


class Regime(TypedDict):
    """Where a study was run: what its effects hold for."""

    scale: str
    data: str
    corpus: NotRequired[str]  # files and size, as records name them; not in older evidence
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
    """What the book says of a claim (ablate.evidence.earlier_sweeps)."""

    looks: list[list[int]]
    tried: list[str]
    regimes: int


class Registration(TypedDict):
    """When a study was first written down, and what was seen of it before."""

    hash: str
    time: float
    earlier: list[str]
    looks: int
    asked: NotRequired[dict[str, Asked]]
    sweep: NotRequired[str]
    components: NotRequired[dict[str, str]]  # options of config groups that all arms have
    command: NotRequired[str]
    part: NotRequired[bool]  # of a study that is made in parts: there is no verdict yet


Seal = dict[str, str | dict[str, str]]  # digests by file; of runs, by cell


class About(TypedDict):
    """What study.json says; `registered` is read from beside it, empty where it is not kept."""

    name: str
    study: Study
    regime: Regime
    registration: Registration
    seal: NotRequired[Seal]
    registered: NotRequired[Mapping[str, object]]


class End(TypedDict):
    """What became of a run at one of its budgets."""

    identity: str
    status: str
    metrics: Metrics
    curve: Curve
    reused: bool
    ended: float
    seconds: float


class Run(End):
    """A cell of a sweep, with its run."""

    cell: int
    seed: int
    arm: str
    command: str
    levels: Levels
    versions: dict[str, str]
    commit: NotRequired[str]  # of ablate's source; older evidence lacks it
    code: NotRequired[str]  # digest of all that made the numbers, but for the config
    tuned: NotRequired[Tuned]
    matched: NotRequired[Levels]
    error: NotRequired[str]
    study: NotRequired[str]
    short: NotRequired[End]
    training: NotRequired[Curve]  # batches while they are trained on; none in evidence of before
    update_seconds: NotRequired[float]
    replicate: NotRequired[int]
    draws: NotRequired[int]  # random draws behind each value of a probe


class Failures(TypedDict):
    """Runs of an arm that failed to learn, and the exact interval of their rate."""

    runs: int
    of: int
    interval: list[float]


class Held(TypedDict):
    """What the control of a claim that nothing is lost came to."""

    arm: str
    effect: float
    interval: list[float]
    loses: bool


class Planned(TypedDict):
    """Seeds that decide with power .8 if this is the true effect; null: no number does."""

    effect: float
    seeds: int | None


Band = TypedDict("Band", {"from": float, "verdict": str, "grade": str})  # until the next begins


class Learning(TypedDict):
    """What the last quarter of the updates gained every arm, and which still learn."""

    metric: str
    gains: dict[str, float]
    still: list[str]


class Target(TypedDict):
    """Updates that a baseline needs; null: more than the long budget has."""

    metric: str
    updates: float | None
    interval: list[float | None] | None
    seeds: list[int]
    of_seeds: list[float | None]


class Cases(TypedDict):
    """The cases of an exact claim. One counts where its control responded."""

    of: int
    counted: int
    broken: int  # of those that count
    draws: int | None  # random draws behind each value
    control: float | None  # how far the control moved at least
    elsewhere: NotRequired[tuple[str, float]]  # an arm that breaks the rule, and its deviation
    holding: NotRequired[int]  # of a claim about trained models: seeds that satisfy it


class Found(TypedDict):
    """What the runs that count say of a question."""

    verdict: str
    grade: str
    effect: float | None
    interval: list[float] | None
    p: dict[str, float]
    p_adjusted: dict[str, float]
    p_look: dict[str, float]
    seeds: list[int]
    pairs: int
    differences: list[float | None]  # null: not finite
    failed_to_learn: NotRequired[dict[str, Failures]]  # by arm
    decided_by_failures: NotRequired[bool]
    false_rate: NotRequired[float]  # measured share of such verdicts that are false
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
    problem: NotRequired[str]  # why there is nothing to judge
    withheld: NotRequired[str]  # why it stays open what an arm cannot do
    sentences: NotRequired[int]  # of the tests, where they are part of the error
    cases: NotRequired[Cases]
    rates: NotRequired[
        list[tuple[int, int]]
    ]  # failed runs of runs, the arm that counts as plus first
    information: NotRequired[list[float]]  # of several looks: the share of the seeds at each
    interval_equivalence: NotRequired[list[float] | None]
    control: NotRequired[Held | None]


class Answer(Found):
    """What the runs say of a question at one budget."""

    failed_runs: int
    exploratory: bool
    older_cells: int
    steps: NotRequired[int]


class Short(Answer):
    """The answer at the short budget, and how long the baseline takes to get there."""

    time_to_target: Target | None


class Entry(Question, Answer):
    """A claim of verdict.json."""

    primary: bool
    arms: list[str]
    learning: NotRequired[Learning]
    short: NotRequired[Short]


class Told(Entry):
    """An entry with what the study says of its claim besides, as a report has it."""

    tolerance: float
    measures: NotRequired[str]
    control_measures: NotRequired[str]


class Spread(TypedDict):
    """A metric over the seeds of an arm; a single one has no standard deviation."""

    mean: float
    sd: float | None


class Arm(TypedDict):
    """An arm of verdict.json."""

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
    """What verdict.json holds."""

    experiment: str
    regime: Regime
    components: dict[str, str]  # options of config groups that all arms have
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
