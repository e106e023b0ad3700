"""Construct several named components of one kind: `callbacks=[one,another]`."""

from typing import Any, TypeVar

from hydra.utils import get_object
from omegaconf import DictConfig

from ablate.config.construct import construct
from ablate.errors import UserError

Kind = TypeVar("Kind")


def named(config: DictConfig, group: str, kind: type[Kind]) -> dict[str, Kind]:
    """Construct the components below a group, by name.

    Classes of another kind are rejected without being called.

    Raises:
        UserError: a node has no target, or one of another kind; or a constructor rejected its
            settings.
    """
    nodes: Any = config[group]
    for name, node in nodes.items():
        _check_kind(f"{group}.{name}", node, kind)
    return {str(name): construct(node) for name, node in nodes.items()}


def _check_kind(key: str, node: Any, kind: type) -> None:
    if not isinstance(node, DictConfig) or "_target_" not in node:
        raise UserError(f"{key} has no _target_; set it to the class to construct")
    target = get_object(str(node["_target_"]))
    if not isinstance(target, type) or not issubclass(target, kind):
        raise UserError(
            f"{key}._target_={node['_target_']}: it must be a {kind.__module__}.{kind.__name__}"
        )
