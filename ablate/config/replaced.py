"""Say which keys of a chosen option have values of the scale or the experiment.

`scale=language` sets the sizes of its model, so `scale=language model=big` trains a small model.
"""

from collections.abc import Iterator
from typing import Any

from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig, OmegaConf

from ablate.config.leaves import leaves
from ablate.config.notice import say_once
from ablate.config.warmup import overridden

SET_LATER = ("auto",)  # values that the machine decides


def announce(config: DictConfig) -> None:
    """Print a message, once, for each option of the command whose keys were replaced."""
    node: Any = config.get("hydra")
    if node is None and HydraConfig.initialized():
        node = HydraConfig.get()
    if node is None or not GlobalHydra.instance().is_initialized():
        return
    choices = node.runtime.choices
    sources = [f"{name}={choices[name]}" for name in ("experiment", "scale") if choices.get(name)]
    for word in node.overrides.task:
        group, _, option = word.lstrip("+").partition("=")
        if group in ("experiment", "scale") or choices.get(group) != option:
            continue
        if replaced := [*_replaced(config, group, option)]:
            say_once(
                f"{word} does not set {', '.join(replaced)}: these values come from "
                f"{' or '.join(sources)}. To change a value, add it to the command"
            )


def _replaced(config: DictConfig, group: str, option: str) -> Iterator[str]:
    """Yield the keys, with their values in `config`, that differ from the file of an option.

    Keys of the command line are left out, and values that other keys or the machine decide.
    """
    loader: Any = GlobalHydra.instance().config_loader()
    folder, _, place = group.partition("@")
    file = loader.repository.load_config(f"{folder}/{option}")
    if file is None or file.header.get("package") is not None:
        return
    given = overridden(config)
    for key, value in leaves(file.config).items():
        name = f"{place or folder.replace('/', '.')}.{key}"
        if name in given or value in SET_LATER or "_" in (key[0], key[-1]) or "${" in str(value):
            continue
        current = OmegaConf.select(config, name, default=value)
        if current != value:
            yield f"{name} ({current} and not {value})"
