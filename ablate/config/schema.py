"""The typed part of the config: every key that is not a component's own.

Hydra merges all YAML files into these classes, so a key that stands nowhere here is an error
before any work. Component nodes (`dict[str, Any]`) are checked against the signature of their
`_target_` by `ablate.config.check`.
"""

from dataclasses import dataclass, field
from typing import Annotated, Any

from hydra.core.config_store import ConfigStore
from omegaconf import II, MISSING, DictConfig, OmegaConf

from ablate.config.limits import Count, NotEmpty, OneOf, Range, Seed

Component = dict[str, Any]
Levels = dict[str, Any]  # of factors; OmegaConf takes no `object` here


@dataclass
class Batching:
    """How sentence pairs become batches."""

    tokens: int = 4096  # target tokens of a training batch, padding counted, per device
    eval_tokens: int = 8192
    bucket: bool = True  # batches of similar lengths; false: random ones, with more padding
    test_bucket: bool = True  # the same for testing alone; it trains nothing
    # columns of padding added to every source batch, in testing alone
    test_padding: Annotated[int, Range(0, 4096)] = 0
    max_length: int = 256  # longest sentence in tokens, EOS counted
    too_long: Annotated[str, OneOf(("skip", "truncate"))] = "skip"
    # tokens of a context: texts one behind the other are cut into contexts; null: a text is a row
    context: Annotated[int | None, Range(1)] = None


@dataclass
class Checkpoint:
    """Which weights are tested, and how many are averaged."""

    tested: Annotated[str, OneOf(("last", "best", "average"))] = "last"
    average: Count = 5
    every: Count = 100  # optimiser steps between the checkpoints that are averaged
    # steps between states to resume from; null: every validation
    save_every: Annotated[int | None, Range(1)] = None


@dataclass
class Budget:
    """How long a run trains, and on what it is tested; what every arm of an experiment shares."""

    steps: Annotated[int, Range(1, 2**31 - 1)] = 2000  # optimiser steps
    # a second, shorter budget: its run is the beginning of this one as far as their rates agree
    short: Annotated[int | None, Range(1)] = None
    warmup: Annotated[int, Range(0)] = 400  # steps to the peak rate, and from which it decays
    validate_every: Count = 500  # training batches between two validations
    seeds: int = 5  # replicates of an experiment
    test_sentences: Count = 1000  # of a generated corpus; more of them narrow the intervals of BLEU


@dataclass
class Claim:
    """One sentence of a document in its testable form, written before the runs.

    `where`, `treatment` and `baseline` give levels of the study's factors. Factors that a contrast
    leaves open are averaged over, seed by seed: that is a main effect. With `minus`, the same
    contrast at other levels is subtracted: that is an interaction.
    """

    id: str = MISSING  # of the ledger, where it has the claim
    statement: str = MISSING  # in our words
    source: str = MISSING  # document and section, paper
    # exact | superiority | equivalence | non_inferiority | stability | trend
    kind: str = MISSING
    metric: str = MISSING  # a key of the run's metrics
    where: Levels = field(default_factory=dict)  # levels that all its runs have
    treatment: Levels = field(default_factory=dict)  # levels of the one arm ...
    baseline: Levels = field(default_factory=dict)  # ... and of the other
    minus: Levels = field(default_factory=dict)  # levels in place of those of `where`
    # of a trend: the factor whose levels are numbers
    over: str = ""
    scale: str = "log"  # of a trend: linear | log (of the level) | log_log (of the metric too)
    better: str = "higher"  # higher | lower
    # smallest difference worth naming, in units of the metric; of an exact claim: what every case
    # must differ from 0 by, at least
    margin: float = 0.0
    margin_reason: str = ""
    alpha: float = 0.05
    tolerance: float = 0.0  # of an exact claim: largest absolute value, or difference of the arms
    control: str = ""  # of an exact claim: a metric that must exceed 0.001 for a case to count
    # of a claim that nothing is lost: levels of an arm of the same runs that loses more than margin
    loses: Levels = field(default_factory=dict)
    # whether this is about what an arm cannot do: not supported while one still learns
    cannot: bool = False
    # true effect for which seeds are planned; null: the margin, 0 where nothing is to be lost, a
    # fifth of the runs where it counts them
    plan_for: float | None = None
    reading: str = ""  # which reading of the sentence this is, where the ledger's claim has several
    measures: str = ""  # what the metric is for this claim, in words: "the largest change of ..."
    control_measures: str = ""  # what the control is, in words


@dataclass
class Published:
    """A number of the literature that a report puts beside ours."""

    arm: str = MISSING
    metric: str = MISSING
    value: float = MISSING
    regime: str = MISSING  # data, size, budget
    source: str = MISSING  # paper and table


@dataclass
class Tune:
    """A nuisance that every replicate of an arm chooses, on validation and with its own seed."""

    key: str = MISSING
    values: list[Any] = MISSING
    # one per replicate, not those of the verdict; too few are counted on from the largest
    seeds: list[int] = MISSING
    metric: str = "val/nll"
    better: str = "lower"  # higher | lower


@dataclass
class Match:
    """Arms made alike in size by another width, or in cost by another number of updates."""

    by: str = MISSING  # parameters | flops
    to: Levels = MISSING  # levels of the arm that the others are matched to
    key: str = "model.d_ff"  # of parameters: the width that is solved for


@dataclass
class Shown:
    """A figure that is made for a study: a metric against the levels of a factor."""

    metric: str = MISSING
    # the factor; its levels stand side by side, a line for each of the others. layer: the gradient
    # of every layer, metric gradient/first or gradient/last
    over: str = MISSING
    caption: str = MISSING  # the question that the figure answers, as a sentence
    where: Levels = field(default_factory=dict)  # of which runs


@dataclass
class Study:
    """What an experiment compares and what would count as an answer."""

    factors: list[str] = MISSING  # config groups or keys that differ between arms
    seeds: int = II("budget.seeds")  # planned replicates
    # stages after which a sweep looks at its verdicts; null: 3 with 10 seeds or more, else 1
    looks: int | None = None
    claims: list[Claim] = MISSING  # the first is the primary one
    nuisance: list[str] = field(default_factory=list)  # keys that may differ between arms as well
    tune: Tune | None = None
    match: Match | None = None
    expect: str = "different"  # different | identical: whether two arms may train alike
    fixed: list[str] = field(default_factory=list)  # = the caveats of the verdict
    literature: str = ""  # what others found, and in which regime
    published: list[Published] = field(default_factory=list)
    figures: list[Shown] = field(default_factory=list)  # before those that every study has


@dataclass
class Paths:
    """Folders, none of which is part of a run's identity."""

    results: Annotated[str, NotEmpty()] = "results"
    cache: Annotated[str, NotEmpty()] = "cache"
    experiments: Annotated[str, NotEmpty()] = "experiments"  # evidence that is kept


@dataclass
class Config:
    """The whole config."""

    name: str = "run"  # W&B group and folder of a sweep
    seed: Seed = 1
    replicate: Seed = 0  # another set of seeds: seed 1 of set 1 shares nothing with seed 1 of set 0
    contest: bool = False  # fresh seeds for a verdict that is there, judged by themselves alone
    threads: Annotated[int, Range(1, 1024)] = 1  # of one run; part of its identity
    n_jobs: int | None = None  # runs at a time in a sweep; null: CPU cores / threads
    without: list[Levels] = field(default_factory=list)  # arms of a sweep that do not run
    # of a study that is made in parts: evidence for `ablate join`, and no verdict before that
    part: bool = False
    # folder of a piece, or a list of them: a part without the runs that these have
    without_runs: Any = field(default_factory=list)
    fresh: bool = False  # run again even when the same run has finished before
    data: Component = MISSING
    tokenizer: Component = MISSING
    batch: Batching = field(default_factory=Batching)
    budget: Budget = field(default_factory=Budget)
    task: Component = MISSING
    model: Component = MISSING
    initial: Component = MISSING
    adapt: Component = MISSING
    loss: Component = MISSING
    optimizer: Component = MISSING
    schedule: Component = MISSING
    validation_search: Component = MISSING
    search: Component = MISSING  # for testing alone
    # none for the runs that choose a nuisance
    test_splits: list[str] = field(default_factory=lambda: ["test"])
    trainer: Component = MISSING
    engine: Component = MISSING  # where the workers of a sweep run
    checkpoint: Checkpoint = field(default_factory=Checkpoint)
    # validations without a better nll before stopping; null: never
    patience: Annotated[int | None, Range(1)] = None
    logger: Component | None = None
    # Lightning's, a node each: callbacks=[early_stopping,lr_monitor]
    callbacks: Component = field(default_factory=dict)
    probe: Component | None = None
    # of a tested model, beside its scores; and whether that is the trained one
    measure: Component | None = None
    weights: Annotated[str, OneOf(("trained", "initial"))] = "trained"
    # of one's own, a node each, beside those of the task
    metric: Component = field(default_factory=dict)
    study: Study | None = None
    paths: Paths = field(default_factory=Paths)
    trust: list[str] = field(default_factory=list)


def _schema() -> DictConfig:
    """The typed config; its trainer takes any key, which `check` holds to Lightning's signature."""
    schema: DictConfig = OmegaConf.structured(Config)
    trainer: Any = schema._get_node("trainer")
    OmegaConf.set_struct(trainer, False)
    return schema


def _run_seed(*, _root_: DictConfig) -> int:
    from ablate.seeding import seed_of  # torch

    return seed_of(_root_)


# what a probe draws by: `seed`, and in another set of seeds another number
OmegaConf.register_new_resolver("run_seed", _run_seed)
# under the name that config.yaml lists first
ConfigStore.instance().store(name="schema", node=_schema())
