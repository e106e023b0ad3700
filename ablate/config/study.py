"""Define the form of a study once, for the config, for stored results and for verdicts.

A TypedDict declares each part of a study as it is stored in files, and `USUAL` has the defaults.
Hydra checks a config against dataclasses that `ablate.config.schema` derives from both.
"""

from typing import Any, NotRequired, TypedDict

Levels = dict[str, object]  # of factors, by config key


class Question(TypedDict):
    """The question of a claim, which is written before the runs: the statement, and how it is
    tested.

    `where`, `treatment` and `baseline` give levels of the study's factors. If the treatment and the
    baseline do not name a level of a factor, the results for all levels of the factor are averaged,
    seed by seed: this is a main effect. With `minus`, the same difference at other levels is
    subtracted: this is an interaction. Files of older versions lack the keys that were added later.
    A verdict has the keys in the order of this class.
    """

    id: str  # id of the claim; if the ledger has the claim, its id in the ledger
    statement: str  # the claim as a sentence
    source: str  # where the claim is from: document and section, or paper
    kind: str  # exact | superiority | equivalence | non_inferiority | stability | trend
    metric: str  # key of a metric
    better: str  # higher | lower
    # smallest difference that matters, in units of the metric; for an exact claim: smallest
    # distance from 0 that every case must have
    margin: float
    margin_reason: str  # why the margin has this size
    alpha: float  # chance of a false verdict that is allowed
    where: Levels  # levels that all runs of the claim have
    treatment: Levels  # levels of the arm that the claim is about
    baseline: Levels  # levels of the arm that the treatment is compared with
    minus: Levels  # of an interaction: levels at which the same contrast is subtracted
    over: str  # of a trend: the factor whose levels are numbers
    scale: str  # of a trend: linear | log (of the level) | log_log (of the metric too)
    # meaning of the sentence that is tested, if the claim in the ledger has several
    reading: NotRequired[str]
    # for equivalence and non-inferiority: levels of an arm that should lose more than the margin
    loses: NotRequired[Levels]
    # true: the claim says that an arm cannot learn; the claim is refuted if a run learns
    cannot: NotRequired[bool]
    # true effect for which the number of seeds is planned; null: the margin, but 0 for equivalence
    # and non-inferiority, and a fifth of the runs for counts
    plan_for: NotRequired[float | None]


class Claim(Question):
    """A claim of a study: its question, and how it is measured."""

    # for an exact claim: largest allowed absolute value, or difference of the arms
    tolerance: float
    control: str  # for an exact claim: a metric that must exceed 0.001 for a case to count
    # description of the metric in this claim: "the largest change of ..."
    measures: NotRequired[str]
    control_measures: NotRequired[str]  # description of the control


class Published(TypedDict):
    """A number from the literature, which a report shows beside the measured number."""

    arm: str  # the arm whose result it is compared with
    metric: str  # what was measured
    value: float  # the published number
    regime: str  # data, size, budget
    source: str  # paper and table


class Tune(TypedDict):
    """A hyperparameter that is tuned separately for every arm and every seed.

    Tuning uses validation data, and seeds that no verdict uses.
    """

    key: str  # the key that is tuned
    values: list[Any]  # the values that are tried
    # seeds of the tuning runs, one per replicate and different from the seeds of the verdict; if
    # these are too few, the numbers after the largest seed are used as well
    seeds: list[int]
    metric: str  # validation metric by which a value is chosen
    better: str  # higher | lower


class Match(TypedDict):
    """Settings that give all arms of a study the same number of parameters, or the same cost.

    The number of parameters is matched by changing a width, the cost by changing the number of
    steps.
    """

    by: str  # parameters | flops
    to: Levels  # levels of the arm to which the other arms are matched
    key: str  # with by=parameters: the width that is solved for


class Shown(TypedDict):
    """A figure that a study adds to the report: a metric against the levels of a factor."""

    metric: str  # metric on the vertical axis
    # factor on the horizontal axis; each combination of the other factors' levels is a line.
    # layer: the layers, with the metric gradient/first or gradient/last
    over: str
    caption: str  # the question that the figure answers, as a sentence
    where: Levels  # levels of the runs that are shown


class Screen(TypedDict):
    """A screen: many variants of one change each against one baseline; it is expanded into a study.

    Each variant becomes a claim with the settings below. A variant's settings in `claims` take
    precedence, and can also set the claim's id, statement and source.
    """

    # name: {key: value}, as overrides of the baseline, which is the config without change
    variants: dict[str, dict[str, Any]]
    kind: str  # kind of each claim
    metric: str  # metric of each claim
    better: str  # higher | lower
    margin: float  # smallest difference that matters
    margin_reason: str  # why the margin has this size
    alpha: float  # chance of a false verdict that is allowed
    source: str  # where the claims are from
    claims: dict[str, dict[str, Any]]  # by variant: settings of its claim


class Study(TypedDict):
    """A study: the arms that an experiment compares, and the claims that it tests."""

    factors: list[str]  # config groups or keys that differ between arms
    seeds: int  # planned replicates
    # number of analyses, including interim ones; null: 3 with 10 seeds or more, else 1
    looks: NotRequired[int | None]
    claims: list[Claim]  # the first is the primary one
    nuisance: list[str]  # keys that may differ between arms as well
    tune: NotRequired[Tune | None]  # a key that is tuned on validation data for every arm and seed
    match: NotRequired[Match | None]  # gives all arms the same number of parameters, or equal cost
    expect: str  # different | identical; different: two arms that train identically are an error
    fixed: list[str]  # settings that all runs share: the caveats of the verdict
    literature: str  # results of earlier work, with their setting (data, model size, budget)
    published: list[Published]  # numbers of the literature that a report shows
    screen: NotRequired[Screen | None]  # variants, from which factors and claims are made
    figures: NotRequired[list[Shown]]  # shown before the figures that every study has


USUAL: dict[Any, dict[str, Any]] = {
    Claim: {
        **{"where": {}, "treatment": {}, "baseline": {}, "minus": {}, "loses": {}},
        **{"over": "", "scale": "log", "better": "higher", "margin": 0.0, "margin_reason": ""},
        **{"alpha": 0.05, "tolerance": 0.0, "control": "", "cannot": False, "plan_for": None},
        **{"reading": "", "measures": "", "control_measures": ""},
    },
    Tune: {"metric": "val/nll", "better": "lower"},
    Match: {"key": "model.d_ff"},
    Shown: {"where": {}},
    Screen: {
        **{"kind": "superiority", "better": "lower", "margin": 0.0, "margin_reason": ""},
        **{"alpha": 0.05, "source": "the list of this screen", "claims": {}},
    },
    Study: {
        **{"seeds": "${budget.seeds}", "looks": None, "nuisance": [], "tune": None, "match": None},
        **{"expect": "different", "fixed": [], "literature": "", "published": [], "figures": []},
        "screen": None,
    },
}
