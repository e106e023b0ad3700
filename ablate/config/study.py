"""What a study is: declared once, for the config, for evidence and for verdicts.

A TypedDict says what each part holds, as files have it, and USUAL what a key is where it is not
given. Hydra checks a config against dataclasses that `ablate.config.schema` makes of both.
"""

from typing import Any, NotRequired, TypedDict

Levels = dict[str, object]  # of factors, by config key


class Question(TypedDict):
    """What a claim asks: one sentence of a document in its testable form, written before the runs.

    `where`, `treatment` and `baseline` give levels of the study's factors. Factors that a contrast
    leaves open are averaged over, seed by seed: that is a main effect. With `minus`, the same
    contrast at other levels is subtracted: that is an interaction. Older evidence lacks the keys
    that came later. A verdict keeps the order of the keys.
    """

    id: str  # of the ledger, where it has the claim
    statement: str  # in our words
    source: str  # document and section, paper
    kind: str  # exact | superiority | equivalence | non_inferiority | stability | trend
    metric: str  # a key of the run's metrics
    better: str  # higher | lower
    # smallest difference worth naming, in units of the metric; of an exact claim: what every case
    # must differ from 0 by, at least
    margin: float
    margin_reason: str
    alpha: float
    where: Levels  # that all its runs have
    treatment: Levels  # of the one arm ...
    baseline: Levels  # ... and of the other
    minus: Levels  # in place of those of `where`
    over: str  # of a trend: the factor whose levels are numbers
    scale: str  # of a trend: linear | log (of the level) | log_log (of the metric too)
    # which reading of the sentence this is, where the ledger's claim has several
    reading: NotRequired[str]
    # of a claim that nothing is lost: levels of an arm of the same runs that loses more than margin
    loses: NotRequired[Levels]
    # whether this is about what an arm cannot do: not supported while one still learns
    cannot: NotRequired[bool]
    # true effect for which seeds are planned; null: the margin, 0 where nothing is to be lost, a
    # fifth of the runs where it counts them
    plan_for: NotRequired[float | None]


class Claim(Question):
    """A claim of a study: what it asks, and how it is measured."""

    tolerance: float  # of an exact claim: largest absolute value, or difference of the arms
    control: str  # of an exact claim: a metric that must exceed 0.001 for a case to count
    # what the metric is for this claim, in words: "the largest change of ..."
    measures: NotRequired[str]
    control_measures: NotRequired[str]  # what the control is, in words


class Published(TypedDict):
    """A number of the literature that a report puts beside ours."""

    arm: str
    metric: str
    value: float
    regime: str  # data, size, budget
    source: str  # paper and table


class Tune(TypedDict):
    """A nuisance that every replicate of an arm chooses, on validation and with its own seed."""

    key: str
    values: list[Any]
    # one per replicate, not those of the verdict; too few are counted on from the largest
    seeds: list[int]
    metric: str
    better: str  # higher | lower


class Match(TypedDict):
    """Arms made alike in size by another width, or in cost by another number of updates."""

    by: str  # parameters | flops
    to: Levels  # of the arm that the others are matched to
    key: str  # of parameters: the width that is solved for


class Shown(TypedDict):
    """A figure that is made for a study: a metric against the levels of a factor."""

    metric: str
    # the factor; its levels stand side by side, a line for each of the others. layer: the gradient
    # of every layer, metric gradient/first or gradient/last
    over: str
    caption: str  # the question that the figure answers, as a sentence
    where: Levels  # of which runs


class Screen(TypedDict):
    """Many variants of one change each against one baseline, written out as a study.

    Each variant becomes a claim with the settings below. Its entry in `claims` can replace them,
    and can give the claim an id, a statement and a source of its own.
    """

    # name: {key: value}, as overrides of the config as it stands, which is the baseline
    variants: dict[str, dict[str, Any]]
    kind: str
    metric: str
    better: str  # higher | lower
    margin: float
    margin_reason: str
    alpha: float
    source: str
    claims: dict[str, dict[str, Any]]


class Study(TypedDict):
    """What an experiment compares and what would count as an answer."""

    factors: list[str]  # config groups or keys that differ between arms
    seeds: int  # planned replicates
    # stages after which a sweep looks at its verdicts; null: 3 with 10 seeds or more, else 1
    looks: NotRequired[int | None]
    claims: list[Claim]  # the first is the primary one
    nuisance: list[str]  # keys that may differ between arms as well
    tune: NotRequired[Tune | None]
    match: NotRequired[Match | None]
    expect: str  # different | identical: whether two arms may train alike
    fixed: list[str]  # = the caveats of the verdict
    literature: str  # what others found, and in which regime
    published: list[Published]
    screen: NotRequired[Screen | None]  # gives the factors and the claims of a screen
    figures: NotRequired[list[Shown]]  # before those that every study has


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
