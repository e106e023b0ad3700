"""The typed part of the config: every key that is not a component's own.

Hydra merges all YAML files into these classes, so a key that stands nowhere here is an error
before any work. Component nodes (`dict[str, Any]`) are checked against the signature of their
`_target_` by `ablate.config_check`.
"""

from dataclasses import dataclass, field
from typing import Any

from hydra.core.config_store import ConfigStore
from omegaconf import II, MISSING

Component = dict[str, Any]


@dataclass
class Dropout:
    """Dropout probability of each site; all follow `rate` unless set on their own."""

    rate: float = 0.1
    residual: float = II(".rate")
    attention: float = II(".rate")
    feed_forward: float = II(".rate")
    embedding: float = II(".rate")


@dataclass
class Model:
    """Sizes and components of the encoder-decoder."""

    _target_: str = "ablate.model.transformer.Transformer"
    d_model: int = MISSING
    d_ff: int = MISSING
    n_heads: int = MISSING
    d_head: int | None = None  # null: d_model / n_heads
    n_layers: int = MISSING
    n_decoder_layers: int = II(".n_layers")
    dropout: Dropout = field(default_factory=Dropout)
    position: Component = MISSING
    residual: Component = MISSING
    norm: Component = MISSING
    attention: Component = MISSING
    padding: Component = MISSING
    feed_forward: Component = MISSING
    embedding: Component = MISSING


@dataclass
class Batching:
    """How sentence pairs become batches."""

    tokens: int = 4096  # target tokens of a training batch, padding counted, per device
    eval_tokens: int = 8192
    bucket: bool = True  # batches of similar lengths; false: random ones, with more padding
    max_length: int = 256  # longest sentence in tokens, EOS counted
    too_long: str = "skip"  # skip | truncate


@dataclass
class Checkpoint:
    """Which weights are tested, and how many are averaged."""

    tested: str = "last"  # last | best | average
    average: int = 5
    every: int = 100  # optimiser steps between the checkpoints that are averaged


@dataclass
class Budget:
    """How long a run trains; what every arm of an experiment shares."""

    steps: int = 2000  # optimiser steps
    warmup: int = 400  # steps to the peak rate, and from which it decays
    validate_every: int = 500  # training batches between two validations
    seeds: int = 5  # replicates of an experiment


@dataclass
class Claim:
    """One sentence of a document in its testable form, written before the runs."""

    id: str = MISSING
    statement: str = MISSING  # in our words
    source: str = MISSING  # document and section, paper
    kind: str = MISSING  # exact | superiority
    metric: str = MISSING  # a key of the run's metrics
    where: dict[str, Any] = field(default_factory=dict)  # levels that all its runs have
    treatment: dict[str, Any] = field(default_factory=dict)  # levels of the one arm ...
    baseline: dict[str, Any] = field(default_factory=dict)  # ... and of the other
    better: str = "higher"  # higher | lower
    margin: float = 0.0  # smallest difference worth naming, in units of the metric
    margin_reason: str = ""
    alpha: float = 0.05
    tolerance: float = 0.0  # of an exact claim: largest absolute value of the metric


@dataclass
class Study:
    """What an experiment compares and what would count as an answer."""

    factors: list[str] = MISSING  # config groups or keys that differ between arms
    seeds: int = II("budget.seeds")  # planned replicates
    claims: list[Claim] = MISSING  # the first is the primary one
    fixed: list[str] = field(default_factory=list)  # = the caveats of the verdict
    literature: str = ""  # what others found, and in which regime


@dataclass
class Paths:
    """Folders, none of which is part of a run's identity."""

    results: str = "results"
    cache: str = "cache"


@dataclass
class Config:
    """The whole config."""

    name: str = "run"  # W&B group and folder of a sweep
    seed: int = 1
    threads: int = 1  # of one run; part of its identity
    n_jobs: int | None = None  # runs at a time in a sweep; null: CPU cores / threads
    fresh: bool = False  # run again even when the same run has finished before
    data: Component = MISSING
    tokenizer: Component = MISSING
    batch: Batching = field(default_factory=Batching)
    budget: Budget = field(default_factory=Budget)
    model: Model = MISSING
    loss: Component = MISSING
    optimizer: Component = MISSING
    schedule: Component = MISSING
    search: Component = MISSING
    test_splits: list[str] = field(default_factory=lambda: ["test"])
    trainer: Component = MISSING
    checkpoint: Checkpoint = field(default_factory=Checkpoint)
    patience: int | None = None  # validations without a better nll before stopping; null: never
    logger: Component | None = None
    probe: Component | None = None
    study: Study | None = None
    paths: Paths = field(default_factory=Paths)
    trust: list[str] = field(default_factory=list)


def register() -> None:
    """Make the schema known to Hydra under the name that config.yaml lists first."""
    ConfigStore.instance().store(name="schema", node=Config)
