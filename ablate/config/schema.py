"""The typed part of the config: all keys that do not belong to a component.

Hydra merges all YAML files into these classes, so an unknown key is an error before any work. Nodes
of components are checked against the signature of their `_target_` by `ablate.config.check`.
"""

from copy import copy
from dataclasses import dataclass, field, make_dataclass
from typing import Annotated, Any, get_type_hints

from hydra.core.config_store import ConfigStore
from omegaconf import MISSING, DictConfig, OmegaConf

from ablate.config.limits import PAIRS, Count, NotEmpty, OneOf, Range, Seed, Size
from ablate.config.study import USUAL, Claim, Levels, Match, Published, Screen, Shown, Study, Tune

Component = dict[str, Any]
TYPES: dict[Any, Any] = {Levels: dict[str, Any]}  # replacements of types that OmegaConf rejects


@dataclass
class Batching:
    """Settings of the batches: their size in tokens, and the sentences in them."""

    tokens: Size = 4096  # target tokens of a training batch, padding counted, per device
    eval_tokens: Size = 8192  # target tokens of a batch in validation and testing
    bucket: bool = True  # batches of similar lengths; false: random ones, with more padding
    test_bucket: bool = True  # whether test batches have similar lengths; training is not affected
    # columns of padding added to every source batch, in testing alone
    test_padding: Annotated[int, Range(0, 4096)] = 0
    max_length: Size = 256  # longest sentence in tokens, EOS counted
    # what happens to a longer sentence of the training text
    too_long: Annotated[str, OneOf(("skip", "truncate"))] = "skip"
    # tokens of a context of a language model: all texts are joined and cut into contexts of this
    # length; null: each text is a row of its own
    context: Annotated[int | None, Range(1)] = None


@dataclass
class Checkpoint:
    """Settings of the weights that are tested, and of the checkpoints that are averaged."""

    # weights that are tested: of the last step, of the best validation, or the mean of checkpoints
    tested: Annotated[str, OneOf(("last", "best", "average"))] = "last"
    average: Count = 5  # number of last checkpoints that are averaged, with tested=average
    every: Count = 100  # optimiser steps between the checkpoints that are averaged
    # steps between resumable states; null: at every validation
    save_every: Annotated[int | None, Range(1)] = None


@dataclass
class Budget:
    """Settings of the length of training and of the size of tests; all arms of an experiment share
    them.
    """

    steps: Annotated[int, Range(1, 2**31 - 1)] = 2000  # optimiser steps
    # steps of a second, shorter budget, which is tested too; the first steps, in which both budgets
    # have the same learning rates, are trained only once
    short: Annotated[int | None, Range(1)] = None
    warmup: Annotated[int, Range(0)] = 400  # steps to the peak of the learning rate
    validate_every: Count = 500  # training batches between two validations
    seeds: int = 5  # seeds of each arm of an experiment
    # test sentences of a generated corpus; more of them narrow the intervals of BLEU
    test_sentences: Annotated[int, PAIRS] = 1000


def _node(form: Any, **parts: Any) -> Any:
    """Return a dataclass with the fields of a TypedDict, for Hydra; `parts` are the types of nested
    nodes.
    """
    usual = USUAL.get(form, {})
    fields = [
        (name, parts.get(name, TYPES.get(hint, hint)), _default(usual.get(name, MISSING)))
        for name, hint in get_type_hints(form).items()
    ]
    node = make_dataclass(f"{form.__name__}Node", fields)
    node.__module__ = __name__  # the module where pickle looks for it
    return node


def _default(value: Any) -> Any:
    return field(default_factory=lambda: copy(value)) if value in ([], {}) else field(default=value)


ClaimNode = _node(Claim)
PublishedNode = _node(Published)
ShownNode = _node(Shown)
TuneNode = _node(Tune)
MatchNode = _node(Match)
ScreenNode = _node(Screen)
StudyNode = _node(
    Study,
    claims=list[ClaimNode],  # type: ignore[valid-type]
    published=list[PublishedNode],  # type: ignore[valid-type]
    figures=list[ShownNode],  # type: ignore[valid-type]
    tune=TuneNode | None,
    match=MatchNode | None,
    screen=ScreenNode | None,
)


@dataclass
class Paths:
    """Folders of results, cache and experiments; they do not affect the identity (config digest) of
    a run.
    """

    results: Annotated[str, NotEmpty()] = "results"  # runs, sweeps and reports
    cache: Annotated[str, NotEmpty()] = "cache"  # tokens of corpora, and downloads
    experiments: Annotated[str, NotEmpty()] = "experiments"  # committed evidence


@dataclass
class Config:
    """The typed part of the config: all top-level keys."""

    name: str = "run"  # name of the experiment: the folder of its sweeps, and its group in W&B
    seed: Seed = 1  # seed of initial weights, order of the data, and dropout
    replicate: Seed = 0  # another set of seeds: seed 1 of set 1 shares nothing with seed 1 of set 0
    variant: str = "baseline"  # in a screen: name of the variant that is trained
    contest: bool = False  # set by `ablate reproduce`: the verdict uses only the runs of this sweep
    threads: Annotated[int, Range(1, 1024)] = 1  # CPU threads of one run; part of its identity
    # library that multiplies float32 matrices on a CPU: the BLAS of torch, oneDNN (twice as fast on
    # an AMD with AVX-512), or auto: oneDNN where this torch has it
    products: Annotated[str, OneOf(("blas", "onednn", "auto"))] = "blas"
    n_jobs: int | None = None  # runs at a time in a sweep; null: CPU cores / threads
    without: list[dict[str, Any]] = field(default_factory=list)  # arms that a sweep leaves out
    # true: this sweep is a part of a study, which gets its verdict after `ablate join`
    part: bool = False
    # folder with evidence, or a list of folders: the sweep leaves out the runs in these folders
    without_runs: Any = field(default_factory=list)
    fresh: bool = False  # true: train again although the same run has finished before
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
    # splits that are tested
    test_splits: list[str] = field(default_factory=lambda: ["test"])
    trainer: Component = MISSING
    engine: Component = MISSING  # where the workers of a sweep run
    checkpoint: Checkpoint = field(default_factory=Checkpoint)
    # validations without a lower negative log-likelihood before training stops; null: never
    patience: Annotated[int | None, Range(1)] = None
    logger: Component | None = None
    # Lightning's callbacks, one node each: callbacks=[early_stopping,lr_monitor]
    callbacks: Component = field(default_factory=dict)
    probe: Component | None = None
    measure: Component | None = None
    # weights that are tested: those after training, or those before it
    weights: Annotated[str, OneOf(("trained", "initial"))] = "trained"
    # metrics of the user, one node each, in addition to those of the task
    metric: Component = field(default_factory=dict)
    study: StudyNode | None = None  # type: ignore[valid-type]
    paths: Paths = field(default_factory=Paths)
    # packages of your own whose components a stored config may name
    trust: list[str] = field(default_factory=list)


def _schema() -> DictConfig:
    """Return the typed config; its trainer accepts any key, which `check` verifies later."""
    schema: DictConfig = OmegaConf.structured(Config)
    trainer: Any = schema._get_node("trainer")
    OmegaConf.set_struct(trainer, False)
    return schema


def _run_seed(*, _root_: DictConfig) -> int:
    from ablate.seeding import seed_of  # imports torch

    return seed_of(_root_)


# seed of a probe's random draws: depends on `seed` and on the set of seeds
OmegaConf.register_new_resolver("run_seed", _run_seed)
# the name that config.yaml lists first
ConfigStore.instance().store(name="schema", node=_schema())
