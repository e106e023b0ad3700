"""A run constructs each of its components once, and all its stages use the same ones."""

import dataclasses
import functools
from collections import Counter

import pytest
from hydra.utils import get_class
from omegaconf import OmegaConf

from ablate.config import construct
from ablate.data.module import TextData
from ablate.train.module import Training
from ablate.train.resolve import resolve
from ablate.train.run import run

QUICK = ("search=greedy", "budget.steps=2", "budget.validate_every=2", "budget.warmup=1")
RUNS = [
    (),
    ("model=encoder_only", "task=masked_language_model", "initial=embeddings_uniform"),
    ("model=decoder_only", "task=language_model", "adapt=lora", "loss=label_smoothing"),
    ("metric=exact_match", "callbacks=[early_stopping,lr_monitor]", "logger=csv"),
    ("measure=embeddings", "weights=initial"),
]


def targets(node):
    """The nodes of the components of a run; those of a model are constructed by the model's."""
    named = [node[key] for key in node if key not in ("engine", "study")]
    groups = [
        part[key] for part in (node.metric, node.callbacks, node.logger or {}) for key in part
    ]
    return [part for part in [*named, *groups] if OmegaConf.is_dict(part) and "_target_" in part]


@pytest.fixture
def constructed(monkeypatch):
    """How often each node was constructed, and how often each class was called."""
    nodes, instances = Counter(), Counter()
    real = construct.instantiate

    def counted(node, **arguments):
        if node is not None:
            nodes[str(node)] += 1
        return real(node, **arguments)

    monkeypatch.setattr(construct, "instantiate", counted)

    def watch(kind):
        init = kind.__init__

        @functools.wraps(init)  # the config is checked by its signature
        def counting(self, *given, **named):
            instances[type(self)] += type(self) is kind
            init(self, *given, **named)

        monkeypatch.setattr(kind, "__init__", counting)

    return nodes, instances, watch


@pytest.mark.parametrize("overrides", RUNS, ids=lambda words: " ".join(words) or "translation")
def test_every_component_is_constructed_once(compose, small, constructed, overrides):
    nodes, instances, watch = constructed
    config = compose(*small, *QUICK, *overrides)
    parts = targets(config)
    made = [part for part in parts if not part.get("_partial_") and part is not config.model]
    kinds = Counter(get_class(part["_target_"]) for part in made)
    for kind in kinds:
        watch(kind)
    run(resolve(config))
    assert len(parts) > 10
    expected = Counter(str(part) for part in targets(config))  # with the settled precision
    expected[str(config.model)] += config.weights == "initial"  # which is built without training
    assert nodes == expected
    assert instances == kinds


@pytest.mark.parametrize("overrides", RUNS[1:4], ids=" ".join)
def test_training_uses_the_task_that_the_data_began(compose, small, monkeypatch, overrides):
    seen = {}

    def remember(kind, name, of):
        init = kind.__init__

        def kept(self, *given, **named):
            init(self, *given, **named)
            seen[name] = of(self)

        monkeypatch.setattr(kind, "__init__", kept)

    remember(TextData, "data", lambda data: data._collate.__self__)
    remember(Training, "training", lambda training: training.task)
    job = resolve(compose(*small, *QUICK, *overrides))
    begun = []
    begin = type(job.task).begin
    monkeypatch.setattr(
        type(job.task), "begin", lambda task, text: begun.append(task) or begin(task, text)
    )
    run(job)
    assert seen["data"] is seen["training"] is job.task
    assert len(begun) == 1 and begun[0] is job.task


@pytest.mark.parametrize("short", [2, 3, 4])
def test_two_budgets_share_no_component(compose, small, short):
    job = resolve(compose(*small, *QUICK, "budget.steps=5", f"budget.short={short}"))
    pairs = [
        (getattr(job, field.name), getattr(job.short, field.name))
        for field in dataclasses.fields(job)
        if field.name not in ("model", "short")
    ]
    assert job.short.config.budget.steps == short and job.short.short is None
    assert not [
        component
        for component, short_component in pairs
        if component is short_component and component is not None
    ]
