"""Settings of a config that depend on others or on the machine, put in before any work."""

from omegaconf import DictConfig

from ablate.config import precision, warmup


def settle(config: DictConfig) -> None:
    """Put in the precision and the warm-up that will run, before identities are taken.

    Raises:
        UserError: there is no GPU to ask, or the command gives a warm-up longer than the run.
    """
    precision.settle(config)
    warmup.settle(config)
