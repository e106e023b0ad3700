"""The values of a config by dotted keys, interpolations unresolved."""

from collections.abc import Iterator
from typing import Any

from omegaconf import DictConfig, OmegaConf


def leaves(config: DictConfig) -> dict[str, Any]:
    """Every value below a config, unresolved: what follows from another key is none of its own."""
    plain: Any = OmegaConf.to_container(config, resolve=False)
    return dict(_walk(plain, ""))


def _walk(node: Any, path: str) -> Iterator[tuple[str, Any]]:
    if not isinstance(node, dict):
        yield path, node
        return
    for key, value in node.items():
        yield from _walk(value, f"{path}.{key}" if path else str(key))
