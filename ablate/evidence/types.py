"""Define the contents of study.json and runs.jsonl as typed dictionaries.

Files are checked against the same declarations (ablate.evidence.checks).
"""

from collections.abc import Mapping
from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict

from ablate.config.study import Claim as Claim
from ablate.config.study import Levels as Levels
from ablate.config.study import Match as Match
from ablate.config.study import Predicted as Predicted
from ablate.config.study import Question as Question
from ablate.config.study import Screen as Screen
from ablate.config.study import Shown as Shown
from ablate.config.study import Study as Study
from ablate.config.study import Tune as Tune
from ablate.record.results import Metrics
from ablate.record.results import Tuned as Tuned

RunStatus = Literal["finished", "diverged", "collapsed", "failed"]
Values = dict[str, Any]  # of a reason, by name
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


class TableClaim(Claim):
    """A claim about a table of runs that other programs made, with the design of its test.

    In the design "one sample", the runs of an arm are compared with the number `target`.
    """

    design: str  # paired | unpaired | one sample
    target: float | None
    test: str  # t test: corrected (for skewness) | textbook
    doubts: list[Reason]  # remarks on the runs of its arms


class End(TypedDict):
    """The outcome of a run after all of its training steps, or after the fewer steps of a short
    budget: its status, metrics and validation curve.
    """

    identity: str
    status: RunStatus
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
    rate: NotRequired[float]  # learning rate; missing in older evidence
    tuned: NotRequired[Tuned]
    matched: NotRequired[Levels]
    error: NotRequired[str]
    study: NotRequired[str]
    short: NotRequired[End]
    training: NotRequired[Curve]  # curve of the training nll; missing in older evidence
    replicate: NotRequired[int]
    draws: NotRequired[int]  # number of random draws behind each value of a probe


class Regime(TypedDict):
    """The setting in which a study was run: data, model size, training steps, device and so on. Its
    verdicts hold in this setting.
    """

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
    """The history of a claim in the analysis log (ablate.evidence.log).

    `looks` has the seeds of each earlier analysis, `tried` the reasons why the claim is
    exploratory, and `regimes` the number of other settings in which the question was asked.
    """

    looks: list[list[int]]
    tried: list[Reason]
    regimes: int


class Registration(TypedDict):
    """The registration of a study, that is, of the claims, arms and decision rules that were fixed
    before the runs, with the history of earlier analyses.

    `hash` identifies everything that was fixed. `time` is the unix time when a sweep of the study
    was first started, and `commit` the commit of the source at its last start. `earlier` lists the
    hashes of other versions of the study that were started before this time. `looks` is the largest
    number of earlier analyses of a claim, and `asked` has the history of each claim. `sweep` is the
    folder of the sweep.
    """

    hash: str
    time: float
    commit: NotRequired[str]
    earlier: list[str]
    looks: int
    asked: NotRequired[dict[str, Asked]]
    sweep: NotRequired[str]
    components: NotRequired[dict[str, str]]  # options of config groups that all arms share
    command: NotRequired[str]
    # labels of the user's options by GROUP=OPTION, and title and purpose of the user's experiment
    labels: NotRequired[dict[str, str]]
    part: NotRequired[bool]  # whether this is only a part of a study, without a verdict


Seal = dict[str, str]  # digests by name of file


class About(TypedDict):
    """The content of study.json: a study with its setting and its registration (the hash and the
    time of the study as it was fixed before the runs).

    `seal` has digests by which edited files are detected. `registered` is the content of
    registered.json, the study as it was fixed before the runs; it may be empty.
    """

    name: str
    study: Study
    regime: Regime
    registration: Registration
    seal: NotRequired[Seal]
    registered: NotRequired[Mapping[str, object]]


class Begun(TypedDict):
    """The content of study.json at the start of a sweep, which may lack a study, and whose setting
    lacks what the runs record.
    """

    name: str
    study: dict[str, object] | None
    regime: dict[str, object]
    registration: dict[str, object]
    seal: NotRequired[dict[str, object]]


class Spread(TypedDict):
    """Mean and standard deviation of a metric over the seeds of an arm.

    The standard deviation is null if there is a single seed.
    """

    mean: float
    sd: float | None
