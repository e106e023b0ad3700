"""Settings of a config that depend on others or on the machine, put in before any work."""

from omegaconf import DictConfig

from ablate.config import precision, screen, warmup


def settle(config: DictConfig) -> None:
    """Write out a screen, and put in the precision and the warm-up that will run.

    This comes before identities are taken.

    Raises:
        UserError: a screen has a fault, there is no GPU to ask, or the command gives a warm-up
            longer than the run.
    """
    screen.expand(config)
    precision.settle(config)
    warmup.settle(config)
