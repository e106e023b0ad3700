"""Define the results of a study of combinations in verdict.json as typed dictionaries."""

from typing_extensions import TypedDict

from ablate.config.study import Levels


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
