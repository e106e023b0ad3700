"""Check that a config node describes a component of the right class.

A class of another kind could be constructed, but would fail in the middle of a run. The same is
true of an object in place of a factory (`_partial_: true`), or of a factory in place of an object.
"""

from collections.abc import Callable
from types import UnionType
from typing import Any, get_args, get_origin

from hydra.utils import get_object
from omegaconf import DictConfig

from ablate.errors import UserError

INTERFACES = {  # of nodes at the top of the config; imports would be circular, so these are names
    "data": "ablate.data.corpus.Corpus",
    "tokenizer": "ablate.data.scheme.Scheme",
    "task": "ablate.task.Task",
    "model": "ablate.model.base.Model",
    "initial": "ablate.initial.Initial",
    "adapt": "ablate.adapt.Adapt",
    "loss": "ablate.loss.Loss",
    "schedule": "ablate.schedule.Schedule",
    "validation_search": "ablate.search.Search",
    "search": "ablate.search.Search",
    "engine": "ablate.engine.base.Engine",
    "probe": "ablate.probe.Probe",
    "measure": "ablate.measure.Measure",
}
FACTORIES = {
    "optimizer": "torch.optim.Optimizer",
    "trainer": "pytorch_lightning.Trainer",
}
# of each named node within a node of the config, such as callbacks.first and callbacks.second
NAMED = {
    "callbacks": "pytorch_lightning.callbacks.Callback",
    "metric": "ablate.metric.SplitMetric",
}


def check_interface(key: str, node: DictConfig, annotation: Any) -> None:
    """Raise UserError if the `_target_` or the `_partial_` of a node does not fit its key.

    Args:
        key: full key of the node.
        node: a mapping of the config.
        annotation: type of the constructor argument that receives the node; ignored for nodes at
            the top of the config.

    Raises:
        UserError: the node names a class of another kind, or describes an object in place of a
            factory (or the reverse).
    """
    partial = node.get("_partial_", False)
    if not isinstance(partial, bool):
        raise UserError(f"{key}._partial_={partial}: it must be true or false")
    if key in NAMED and "_target_" in node:
        raise UserError(
            f"{key}._target_={node['_target_']}: an option of {key} needs a name; make "
            f"`# @package {key}.NAME` the first line of its file, above any other comment"
        )
    kind, factory = _wanted(key, node, annotation)
    if kind is None:
        return
    if "_target_" not in node:
        raise UserError(
            f"{key}={node}: it has no _target_; choose an option (`ablate options` "
            f"lists them), or set {key}._target_ to the class to construct"
        )
    if partial is not factory:
        raise UserError(f"{key}._partial_={partial}: it must be {str(factory).lower()} here")
    target = get_object(str(node["_target_"]))
    is_class = isinstance(target, type)
    if not (issubclass(target, kind) if is_class else key.rpartition(".")[0] not in NAMED):
        raise UserError(
            f"{key}._target_={node['_target_']}: it must be a subclass of "
            f"{kind.__module__}.{kind.__name__}"
        )


def _wanted(key: str, node: DictConfig, annotation: Any) -> tuple[type | None, bool]:
    """Return the class that a config key requires (None if any), and whether a factory is
    required.
    """
    name = {**INTERFACES, **FACTORIES}.get(key) or NAMED.get(key.rpartition(".")[0])
    if name is not None:
        return get_object(name), key in FACTORIES
    for kind in get_args(annotation) if isinstance(annotation, UnionType) else (annotation,):
        if get_origin(kind) is Callable and isinstance(get_args(kind)[1], type):
            return get_args(kind)[1], True
        if "_target_" in node and getattr(kind, "__module__", "").startswith("ablate."):
            return kind, False
    return None, False
