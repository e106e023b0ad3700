"""From the model's config to the model."""

import torch
from hydra.errors import InstantiationException
from hydra.utils import instantiate
from omegaconf import DictConfig

from ablate.errors import UserError
from ablate.model.transformer import Transformer


def build(config: DictConfig, src_vocab: int, tgt_vocab: int, joint_vocab: bool) -> Transformer:
    """Return the model that `config` (the node `model`) describes.

    It draws nothing from torch's global random numbers, so that whatever is random later does
    not depend on the arm; `ablate.model.initialise` sets the initial values. Under
    `torch.device("meta")` it only checks that everything fits.

    Raises:
        UserError: a wrong size, value or combination.
    """
    vocabularies = {"src_vocab": src_vocab, "tgt_vocab": tgt_vocab, "joint_vocab": joint_vocab}
    try:
        with torch.random.fork_rng(devices=[]):
            model: Transformer = instantiate(config, **vocabularies, _convert_="object")
    except InstantiationException as error:
        cause = user_error(error)
        if cause is None:
            raise
        raise cause from None
    return model


def user_error(error: BaseException | None) -> UserError | None:
    """Return the UserError behind an error that Hydra wrapped, if there is one."""
    while error is not None and not isinstance(error, UserError):
        error = error.__cause__ or error.__context__
    return error
