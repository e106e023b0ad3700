"""The typed part of the config: all keys that do not belong to a component.

Hydra merges all YAML files into these classes, so an unknown key is an error before any work. Nodes
of components are checked against the signature of their `_target_` by `ablate.config.check`.
"""

from copy import copy
from dataclasses import dataclass, field, make_dataclass
from typing import Annotated, Any, NotRequired, get_args, get_origin, get_type_hints

from hydra._internal import defaults_list
from hydra.core.config_store import ConfigStore
from omegaconf import MISSING, DictConfig, OmegaConf

from ablate.config.limits import FILE_NAME, NOT_EMPTY, PAIRS, Count, OneOf, Range, Seed
from ablate.config.study import (
    CONFIG_DEFAULTS,
    Claim,
    Levels,
    Match,
    Predicted,
    RateGrid,
    Screen,
    Shown,
    Study,
    Tune,
)

Component = dict[str, Any]
TYPES: dict[Any, Any] = {Levels: dict[str, Any]}  # replacements of types that OmegaConf rejects


Tokens = Annotated[int, Range(2, 2**31 - 1)]  # room for a token and EOS


@dataclass
class Batching:
    """Settings of the batches: their size in tokens, and the sentences in them."""

    # maximum size of a training batch per device: sentences * tokens of the longest sentence
    tokens: Tokens = 4096
    # maximum size of a validation or test batch: sentences * tokens of the longest sentence
    eval_tokens: Tokens = 8192
    # validation and tests score only the first target tokens of a split, about this many; null: all
    scored_tokens: Annotated[int | None, Range(1)] = None
    # whether a training batch has sentences of similar lengths; false: random, with more padding
    bucket: bool = True
    # whether a test batch has sentences of similar lengths; false: random, with more padding
    test_bucket: bool = True
    # number of padding columns added to the sources of every test batch; training is not affected
    test_padding: Annotated[int, Range(0, 4096)] = 0
    # maximum tokens of a source or target, EOS counted; longer ones are skipped or truncated
    max_length: Tokens = 256
    # treatment of a training pair that is longer than `max_length`: skip or truncate it
    too_long: Annotated[str, OneOf(("skip", "truncate"))] = "skip"
    # language models: join all texts and cut them into contexts of this many tokens; null: each
    # text is a separate row
    context: Annotated[int | None, Range(1)] = None


@dataclass
class Checkpoint:
    """Settings of the weights that are tested, and of the checkpoints that are averaged."""

    # weights that are tested: of the last step, of the lowest validation nll (best), or the average
    # of the last checkpoints
    tested: Annotated[str, OneOf(("last", "best", "average"))] = "last"
    average: Count = 5  # number of last checkpoints that are averaged, if checkpoint.tested=average
    every: Count = 100  # optimiser steps between checkpoints, if checkpoint.tested=average
    # optimiser steps between saved states for resuming, in addition to those saved at validations;
    # null: only at validations
    save_every: Annotated[int | None, Range(1)] = None


@dataclass
class Budget:
    """Settings of the length of training and of the size of tests; all arms of an experiment share
    them.
    """

    steps: Annotated[int, Range(1, 2**31 - 1)] = 2000  # number of optimiser steps in training
    # optimiser steps of a second, shorter training, which is tested too; null: none. Steps with
    # equal learning rates in both are trained once
    short: Annotated[int | None, Range(1)] = None
    warmup: Annotated[int, Range(0)] = 400  # steps in which the learning rate rises to its peak
    validate_every: Count = 500  # training batches between two validations
    seeds: Count = 5  # number of seeds with which each arm of an experiment is trained
    # number of test pairs of a generated corpus; more pairs give narrower intervals of BLEU
    test_sentences: Annotated[int, PAIRS] = 1000


def _node(form: Any, **parts: Any) -> Any:
    """Return a dataclass with the fields of a TypedDict, for Hydra; `parts` are the types of nested
    nodes.
    """
    usual = CONFIG_DEFAULTS.get(form, {})
    fields = [
        (name, parts.get(name, TYPES.get(hint, hint)), _default(usual.get(name, MISSING)))
        for name, hint in map(_required, get_type_hints(form, include_extras=True).items())
    ]
    node = make_dataclass(f"{form.__name__}Node", fields)
    node.__module__ = __name__  # the module where pickle looks for it
    return node


def _required(field: tuple[str, Any]) -> tuple[str, Any]:
    name, hint = field
    return name, get_args(hint)[0] if get_origin(hint) is NotRequired else hint


def _default(value: Any) -> Any:
    return field(default_factory=lambda: copy(value)) if value in ([], {}) else field(default=value)


PredictedNode = _node(Predicted)
ClaimNode = _node(Claim, predicted=PredictedNode | None)
ShownNode = _node(Shown)
TuneNode = _node(Tune)
MatchNode = _node(Match)
ScreenNode = _node(Screen)
RateGridNode = _node(RateGrid)
StudyNode = _node(
    Study,
    claims=list[ClaimNode],  # type: ignore[valid-type]
    figures=list[ShownNode],  # type: ignore[valid-type]
    tune=TuneNode | None,
    match=MatchNode | None,
    screen=ScreenNode | None,
    rate=RateGridNode | None,
)


@dataclass
class Paths:
    """Folders of results, cache and experiments; they do not affect the identity (config digest) of
    a run.
    """

    results: Annotated[str, NOT_EMPTY] = "results"  # folder for runs, sweeps and reports
    cache: Annotated[str, NOT_EMPTY] = "cache"  # folder for token ids and downloads
    experiments: Annotated[str, NOT_EMPTY] = "experiments"  # folder for evidence in git


@dataclass
class Config:
    """The typed part of the config: all top-level keys."""

    # name of the experiment; names its sweep folder and W&B group
    name: Annotated[str, FILE_NAME] = "run"
    seed: Seed = 1  # random seed of initial weights, order of the data, and dropout
    # number of a set of seeds; in another set, the same `seed` gives independent random numbers
    replicate: Seed = 0
    variant: str = "baseline"  # name of the variant that is trained, if the study is a screen
    # true (set by `ablate reproduce`): the verdict uses only the runs of this sweep
    contest: bool = False
    # CPU threads of one run; runs with different numbers of threads are different runs
    threads: Annotated[int, Range(1, 1024)] = 1
    # library that multiplies float32 matrices on a CPU: blas (that of torch), onednn, or auto
    # (onednn if torch has it and the processor has more than AVX2)
    products: Annotated[str, OneOf(("blas", "onednn", "auto"))] = "blas"
    # number of runs of a sweep at a time; null: CPU cores / (threads * devices), or 1 on a GPU
    n_jobs: Annotated[int | None, Range(1)] = None
    # arms that a sweep leaves out, each as {factor: level, ...}
    without: list[dict[str, Any]] = field(default_factory=list)
    fresh: bool = False  # true: train again, even if a result of the same run is stored
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
    # names of the splits that are tested, such as test or validation
    test_splits: list[Annotated[str, FILE_NAME]] = field(default_factory=lambda: ["test"])
    trainer: Component = MISSING
    engine: Component = MISSING  # where the workers of a sweep run
    checkpoint: Checkpoint = field(default_factory=Checkpoint)
    logger: Component | None = None
    # Lightning's callbacks, one node each: callbacks=[early_stopping,lr_monitor]
    callbacks: Component = field(default_factory=dict)
    probe: Component | None = None
    measure: Component | None = None
    # weights that are tested: trained, or initial (the weights before training)
    weights: Annotated[str, OneOf(("trained", "initial"))] = "trained"
    # metrics of the user, one node each, in addition to those of the task
    metric: Component = field(default_factory=dict)
    study: StudyNode | None = None  # type: ignore[valid-type]
    paths: Paths = field(default_factory=Paths)
    # your own packages and classes that `ablate` may import when it reads a stored config
    trust: list[str] = field(default_factory=list)


def _schema() -> DictConfig:
    """Return the typed config; its trainer accepts any key, which `check` verifies later."""
    schema: DictConfig = OmegaConf.structured(Config)
    trainer: Any = schema._get_node("trainer")
    OmegaConf.set_struct(trainer, False)
    return schema


_defaults: Any = defaults_list
_choices_for: Any = getattr(_defaults, "_create_interpolation_map", None)


def _choices_if_needed(overrides: Any, entries: list[Any], self_added: bool) -> Any:
    """Return what Hydra's own function returns, but only for entries that refer to other choices.

    Hydra 1.3 calls the function for every file, and copying all choices takes a quarter of the time
    of a composition. Hydra 1.4 does not call it.
    """
    return _choices_for(overrides, entries, self_added) if "${" in repr(entries) else None


_defaults._create_interpolation_map = _choices_if_needed


def _run_seed(*, _root_: DictConfig) -> int:
    from ablate.process import seed_of  # imports torch

    return seed_of(_root_)


# seed of a probe's random draws: depends on `seed` and on the set of seeds
OmegaConf.register_new_resolver("run_seed", _run_seed)
# the name that config.yaml lists first
ConfigStore.instance().store(name="schema", node=_schema())
