"""Define the form of a study once, for the config, for stored results and for verdicts.

A TypedDict declares each part of a study as it is stored in files, and `USUAL` has the defaults.
Hydra checks a config against dataclasses that `ablate.config.schema` derives from both.
"""

from typing import Annotated, Any, NotRequired

from typing_extensions import TypedDict

from ablate.config.limits import NOT_EMPTY, Count, Limit, OneOf, Range

Levels = dict[str, object]  # of factors, by config key
Text = Annotated[str, NOT_EMPTY]
Direction = Annotated[str, Limit("be higher or lower", ("", "higher", "lower").__contains__)]
Tolerance = Annotated[float, Range(0)]
Alpha = Annotated[float, Limit("be between 0 and 0.5", lambda alpha: 0 < alpha < 0.5)]
# kinds of claims, each with a decision rule (ablate.verdict.kinds)
KINDS = ("exact", "superiority", "equivalence", "non_inferiority", "stability", "trend")


class Predicted(TypedDict):
    """The gain of a treatment over its baseline that an earlier study predicts; positive is better
    in the direction of the claim.
    """

    gain: float  # predicted gain, in units of the metric
    error: float  # standard error of the prediction
    df: float  # degrees of freedom of the standard error


class Question(TypedDict):
    """The question of a claim, which is written before the runs: the statement, and how it is
    tested.

    `where`, `treatment` and `baseline` give levels of the study's factors. If the treatment and the
    baseline do not name a level of a factor, the results for all levels of the factor are averaged,
    seed by seed: this is a main effect. With `minus`, the same difference at other levels is
    subtracted: this is an interaction. Files of older versions lack the keys that were added later.
    A verdict has the keys in the order of this class.
    """

    id: Text  # id of the claim; if it is in the ledger (list of all claims), its id there
    statement: Text  # the claim as a sentence
    source: str  # where the claim is from: document and section, or paper
    # test: exact | superiority | equivalence | non_inferiority | stability | trend
    kind: Annotated[str, OneOf(KINDS)]
    metric: Text  # metric that is compared, such as test/bleu
    # direction claimed for the treatment, which may be the worse arm: higher | lower; of a trend,
    # for rising levels; empty: the direction in which the metric is better
    better: Direction
    # smallest difference that matters, in units of the metric; exact claims: smallest distance from
    # 0 that every case must have
    margin: Tolerance
    margin_reason: str  # reason for the size of the margin
    alpha: Alpha  # significance level: allowed probability of a false verdict
    where: Levels  # levels of factors that all runs of the claim have, as {factor: level}
    treatment: Levels  # levels of the arm that the claim is about
    baseline: Levels  # levels of the arm that the treatment is compared with
    # interaction claims: levels at which the difference of treatment and baseline is subtracted
    minus: Levels
    over: str  # trend claims: factor over whose numeric levels the metric changes
    # trend claims: linear | log (logarithm of the level) | log_log (also of the metric)
    scale: Annotated[str, OneOf(("linear", "log", "log_log"))]
    # tested meaning of the statement, if the ledger (list of all claims) has several
    reading: NotRequired[str]
    # equivalence, non_inferiority: levels of a worse arm, to show that losses are detected
    loses: NotRequired[Levels]
    # true: the claim says that an arm cannot learn; not supported while an arm may still be
    # learning
    cannot: NotRequired[bool]
    # true effect for which the number of seeds is planned; null: the margin, but 0 for equivalence
    # and non_inferiority, and 0.2 for stability without a margin
    plan_for: NotRequired[float | None]
    # predicted gain; an equivalence claim tests whether the gain equals it within the margin, and a
    # superiority claim states it beside the gain
    predicted: NotRequired[Predicted | None]


class Claim(Question):
    """A claim of a study: its question, and how it is measured."""

    # exact claims: largest allowed absolute value of the metric, or of the arms' difference
    tolerance: Tolerance
    # exact claims: a case counts only if this metric exceeds 0.001, so that the check can fail
    control: str
    # description of the metric for this claim, such as "the largest change of ..."
    measures: NotRequired[str]
    control_measures: NotRequired[str]  # description of the metric `control`


def _differ(values: list[Any]) -> bool:
    plain = not any(isinstance(value, list | dict) for value in values)
    return bool(values) and plain and all(values.count(value) == 1 for value in values)


DIFFERENT = Limit("be a list of different numbers or words", _differ)
VALIDATED = Limit(
    "be a metric of validation, val/...", lambda name: not name.startswith(("test", "measure/"))
)


class Tune(TypedDict):
    """A hyperparameter that is tuned separately for every arm and every seed.

    Tuning uses validation data, and seeds that no verdict uses.
    """

    key: str  # config key that is tuned, such as optimizer.lr
    values: Annotated[list[Any], DIFFERENT]  # values of the key that are tried
    # seeds of the tuning runs, one for each seed of the study and different from these; if too few,
    # larger numbers follow
    seeds: Annotated[list[int], NOT_EMPTY]
    metric: Annotated[str, VALIDATED]  # validation metric by which a value is chosen
    # better values of `metric` are: higher | lower; empty: as the metric says
    better: Direction


class Match(TypedDict):
    """Settings that give all arms of a study the same number of parameters, by changing a width.

    The width `key` of every arm is adjusted until the arm has as many parameters as the arm with
    the levels `to`.
    """

    by: Annotated[str, OneOf(("parameters",))]  # quantity that all arms share: parameters
    to: Levels  # levels of the arm to which the other arms are matched
    key: str  # config key of the width that is adjusted


class Shown(TypedDict):
    """A figure that a study adds to the report: a metric against the levels of a factor."""

    metric: str  # metric on the vertical axis
    # factor on the horizontal axis, or layer (for the metrics gradient/first and gradient/last);
    # other factors give separate lines
    over: str
    caption: str  # the question that the figure answers, as a sentence
    where: Levels  # levels of factors of the runs that are shown, as {factor: level}


class Screen(TypedDict):
    """A screen: many variants of one change each against one baseline; it is expanded into a study.

    Each variant becomes a claim with the settings below. A variant's settings in `claims` take
    precedence, and can also set the claim's id, statement and source.
    """

    # overrides of each variant, as {name: {key: value}}; the baseline has no overrides
    variants: dict[str, dict[str, Any]]
    kind: str  # kind of test of each claim, such as superiority
    metric: str  # metric that each claim compares, such as test/bleu
    # whether each variant is claimed to have a higher or a lower metric than the baseline, even if
    # that is worse: higher | lower; empty: the direction in which the metric is better
    better: Direction
    margin: float  # smallest difference that matters, in units of the metric
    margin_reason: str  # reason for the size of the margin
    alpha: float  # significance level: allowed probability of a false verdict
    source: str  # where the claims are from: document and section, or paper
    claims: dict[str, dict[str, Any]]  # other settings of single claims, as {variant: {key: value}}


# overrides of the levels of each factor, as {factor: {level: {key: value}}}
FactorLevels = dict[str, dict[str, dict[str, Any]]]


class RateGrid(TypedDict):
    """The learning rates of a study of combinations, which depend on the level of a factor."""

    key: str  # config key of the learning rate
    by: str  # factor on whose level the rates depend, such as the optimizer
    values: dict[str, list[float]]  # rates that are tried, as {level: [rate, ...]}


class Study(TypedDict):
    """A study: the arms that an experiment compares, and the claims that it tests."""

    factors: list[str]  # config groups or keys that differ between arms
    seeds: Count  # planned number of seeds of each arm
    # number of seeds of the baseline of a screen, at least `seeds`; null: `seeds` times the square
    # root of the number of variants, if `seeds` is at least 3
    baseline_seeds: NotRequired[int | None]
    # number of analyses, interim ones included; null: 3 with 10 seeds or more, else 1
    looks: NotRequired[int | None]
    claims: list[Claim]  # claims that the study tests; the first one is the primary claim
    nuisance: list[str]  # config keys besides the factors that may differ between arms
    # config key that is tuned on validation data, separately for every arm and seed
    tune: NotRequired[Tune | None]
    # settings that give all arms the same number of parameters
    match: NotRequired[Match | None]
    # expected training of the arms: different (identical arms are an error) | identical (allowed)
    expect: Annotated[str, OneOf(("different", "identical"))]
    fixed: list[str]  # sentences about settings that all runs share, as caveats of the verdict
    literature: str  # results of earlier work, with their setting (data, model size, budget)
    # variants, each compared with the baseline; factors and claims are made from them
    screen: NotRequired[Screen | None]
    figures: NotRequired[list[Shown]]  # figures that the report shows before its usual figures
    # combinations: every recipe takes a random level of every factor; null: arms
    design: NotRequired[str | None]
    recipes: NotRequired[int]  # combinations: number of recipes
    # combinations: number of recipes that run twice, which measures run-to-run variation
    repeated: NotRequired[int]
    drawn_with: NotRequired[int]  # combinations: seed of the random plan
    third: NotRequired[int | None]  # combinations: train only this third, 1 to 3; null: all runs
    # combinations: overrides of the levels, as {factor: {level: {key: value}}}; the first level of
    # a factor is the baseline
    levels: NotRequired[FactorLevels]
    rate: NotRequired[RateGrid | None]  # combinations: learning rates; null: one rate
    # combinations: pairs of levels that no recipe has, as {factor: level, factor: level}
    excluded: NotRequired[list[dict[str, str]]]
    # true (set for a sweep without a study): not registered, so all verdicts are exploratory
    exploratory: NotRequired[bool]


USUAL: dict[Any, dict[str, Any]] = {
    Claim: {
        **{"where": {}, "treatment": {}, "baseline": {}, "minus": {}, "loses": {}},
        **{"over": "", "scale": "log", "better": "higher", "margin": 0.0, "margin_reason": ""},
        **{"alpha": 0.05, "tolerance": 0.0, "control": "", "cannot": False, "plan_for": None},
        "predicted": None,
        **{"reading": "", "measures": "", "control_measures": ""},
    },
    Tune: {"metric": "val/nll", "better": "lower"},
    Match: {"by": "parameters", "key": "model.d_ff"},
    Shown: {"where": {}},
    Screen: {
        **{"kind": "superiority", "better": "lower", "margin": 0.0, "margin_reason": ""},
        **{"alpha": 0.05, "source": "the list of this screen", "claims": {}},
    },
    Study: {
        **{"seeds": "${budget.seeds}", "looks": None, "nuisance": [], "tune": None, "match": None},
        **{"expect": "different", "fixed": [], "literature": "", "figures": []},
        **{"screen": None, "baseline_seeds": None, "exploratory": False},
        **{"design": None, "recipes": 0, "repeated": 0, "drawn_with": 0, "third": None},
        **{"levels": {}, "rate": None, "excluded": []},
    },
}
# A config leaves `better` to the metric. A stored study that lacks it was tested as `USUAL` says.
CONFIG_DEFAULTS = USUAL | {form: USUAL[form] | {"better": ""} for form in (Claim, Screen, Tune)}
