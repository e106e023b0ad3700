"""The config: its schema, its checks, and the options of its groups."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from omegaconf import DictConfig


def leaves(tree: "Mapping[str, object] | DictConfig") -> dict[str, object]:
    """Return every value of a nested mapping by its dotted key; empty mappings are omitted.

    Interpolations are not resolved.
    """
    if isinstance(tree, dict):
        return dict(_leaves(tree, ""))
    from omegaconf import OmegaConf  # slow to import, and readers of evidence do not need it

    return dict(_leaves(OmegaConf.to_container(tree), ""))


def _leaves(node: object, path: str) -> Iterator[tuple[str, object]]:
    if not isinstance(node, dict):
        yield path, node
        return
    for key, value in node.items():
        yield from _leaves(value, f"{path}.{key}" if path else str(key))
