"""Set values of a config that depend on other values or on the machine, before any work."""

from omegaconf import DictConfig

from ablate.config import precision, replaced, screen, warmup


def settle(config: DictConfig) -> None:
    """Set the precision and the warm-up that a run will use, and turn a screen (a study that
    compares many variants with one baseline) into an ordinary study.

    This function must be called before the identities (config digests) of runs are computed.

    Raises:
        UserError: a screen is invalid, there is no GPU, or the command sets a warm-up longer than
            the run.
    """
    replaced.announce(config)
    screen.expand(config)
    precision.settle(config)
    warmup.settle(config)
