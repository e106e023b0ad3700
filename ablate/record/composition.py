"""How Hydra composed the config of a run, kept so that names can be made of it later."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from hydra.conf import HydraConf
from hydra.core.hydra_config import HydraConfig
from hydra.core.singleton import Singleton
from hydra.types import RunMode
from omegaconf import OmegaConf

from ablate.record.arm import choices, is_swept
from ablate.record.types import Composition


def composition() -> Composition:
    """Return the choices and overrides of this process; nothing is chosen without Hydra."""
    task = HydraConfig.get().overrides.task if HydraConfig.initialized() else []
    return {"swept": is_swept(), "choices": choices(), "overrides": list(task)}


@contextmanager
def recomposed(kept: Composition) -> Iterator[None]:
    """Let this process name a run as the process did that Hydra composed its config for."""
    config: Any = OmegaConf.create({"hydra": OmegaConf.structured(HydraConf)})
    config.hydra.mode = RunMode.MULTIRUN if kept["swept"] else RunMode.RUN
    config.hydra.overrides.task = kept["overrides"]
    config.hydra.runtime.choices = kept["choices"]
    before = Singleton.get_state()
    HydraConfig.instance().set_config(config)
    try:
        yield
    finally:
        Singleton.set_state(before)
