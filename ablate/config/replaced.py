"""Print which keys of a chosen option the scale or the experiment overrides.

`scale=language` sets a learning rate, so `scale=language optimizer=muon` does not use Muon's.
"""

from collections.abc import Iterator
from typing import Any

from hydra.core.global_hydra import GlobalHydra
from omegaconf import DictConfig, OmegaConf

from ablate.config.leaves import leaves
from ablate.config.notice import say_once
from ablate.config.warmup import hydra_node, overridden


def announce(config: DictConfig) -> None:
    """Print a message, once, for each option of the command whose keys are overridden."""
    node = hydra_node(config)
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
    """Yield each key whose value in `config` differs from the file of an option, with both values.

    Keys that the command line sets are left out, and so are values that follow from other keys.
    """
    loader: Any = GlobalHydra.instance().config_loader()
    folder, _, place = group.partition("@")
    file = loader.repository.load_config(f"{folder}/{option}")
    if file is None:
        return
    given = overridden(config)
    for key, value in leaves(file.config).items():
        name = f"{place or folder.replace('/', '.')}.{key}"
        if name in given or "${" in str(value):
            continue
        current = OmegaConf.select(config, name, default=value)
        if current != value:
            yield f"{name} ({current} instead of {value})"
