"""Store Hydra's choices and overrides of a run, so that the run's name can be derived later."""

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
    """Return Hydra's choices and overrides in this process, and whether the run is part of a sweep.

    Choices and overrides are empty without Hydra.
    """
    task = HydraConfig.get().overrides.task if HydraConfig.initialized() else []
    return {"swept": is_swept(), "choices": choices(), "overrides": list(task)}


@contextmanager
def recomposed(kept: Composition) -> Iterator[None]:
    """Restore Hydra's choices and overrides in a `with` block, so that a run gets its first name
    again.

    Args:
        kept: the choices and overrides with which the run was composed.
    """
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
