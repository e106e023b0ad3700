"""Follow the key of an override through a config, and say where the key ends."""

from typing import Any

from omegaconf import DictConfig, OmegaConf


def obstacle(word: str, config: DictConfig) -> str:
    """Return a sentence that names the first part of an override's key that has no such subkey: the
    part is null, a single value, or a list without the item. Return "" if there is no such part.

    Args:
        word: the override.
        config: the config without this override.
    """
    key = word.partition("=")[0].lstrip("+~")
    if "/" in key or "@" in key:
        return ""
    node: Any = config
    path = ""
    for name in key.split("."):
        if end := _end(node, path, name):
            return f"{word}: {end}"
        if OmegaConf.is_list(node) and word.partition("=")[0] == f"~{path}.{name}":
            return f"{word}: a list keeps its items; set {path}=[...] with the items that remain"
        part: Any = int(name) if OmegaConf.is_list(node) else name
        absent = OmegaConf.is_dict(node) and name not in [*node]
        if absent or OmegaConf.is_interpolation(node, part) or OmegaConf.is_missing(node, part):
            break
        node = node[part]
        path = f"{path}.{name}" if path else name
    return ""


def _end(node: Any, path: str, name: str) -> str:
    """Return a sentence if a node of a config cannot have `name` as a part; else "".

    Args:
        node: the node.
        path: full key of the node.
        name: key in the node, or number of an item.
    """
    if node is None:
        return f"{path} is null in this config, so it has no keys"
    if OmegaConf.is_list(node):
        return _missing_item(path, name, len(node))
    if OmegaConf.is_dict(node):
        return ""
    return f"{path} is a single value, so it has no keys; set {path}=VALUE"


def _missing_item(path: str, name: str, length: int) -> str:
    if name.isdecimal() and int(name) < length:
        return ""
    if not length:
        return f"{path} is an empty list, so it has no item {name}; set {path}=[...]"
    last = f"{path}.{length - 1}"
    items = f"one item, {last}" if length == 1 else f"{length} items, {path}.0 to {last}"
    return f"{path} is a list with {items}; give one of these, or set the list, {path}=[...]"
