"""Construct several components of one kind that a user adds by name: `callbacks=[first,second]`."""

from typing import Any, TypeVar

from hydra.utils import get_object
from omegaconf import DictConfig

from ablate.config.construct import construct
from ablate.errors import UserError

Kind = TypeVar("Kind")


def named(config: DictConfig, group: str, kind: type[Kind]) -> dict[str, Kind]:
    """Construct the components in the config node `group`, and return them by their keys.

    A node whose `_target_` is not a `kind` is rejected before anything is called.

    Raises:
        UserError: a node has no `_target_`, or a `_target_` of another class; or a constructor
            rejected its arguments.
    """
    nodes: Any = config[group]
    if "_target_" in nodes:
        raise UserError(
            f"{group}._target_={nodes['_target_']}: an option of {group} needs a name; make "
            f"`# @package {group}.NAME` the first line of its file, above any other comment"
        )
    for name, node in nodes.items():
        _check_kind(f"{group}.{name}", node, kind)
    return {str(name): construct(node) for name, node in nodes.items()}


def _check_kind(key: str, node: Any, kind: type) -> None:
    if not isinstance(node, DictConfig) or "_target_" not in node:
        raise UserError(f"{key} has no _target_; set it to the class to construct")
    target = get_object(str(node["_target_"]))
    if not isinstance(target, type) or not issubclass(target, kind):
        raise UserError(
            f"{key}._target_={node['_target_']}: it must be a subclass of "
            f"{kind.__module__}.{kind.__name__}"
        )
