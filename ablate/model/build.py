"""From the model's config to the model."""

import torch
from hydra.utils import get_class
from omegaconf import DictConfig

from ablate.config.arguments import gathered
from ablate.config.construct import construct
from ablate.model.base import Model


def build(config: DictConfig, *, src_vocab: int, tgt_vocab: int, joint_vocab: bool) -> Model:
    """Return the model that `config` (the node `model`) describes.

    It draws nothing from torch's global random numbers, so that whatever is random later does
    not depend on the arm; `ablate.initial.seeded` sets the initial values. Under
    `torch.device("meta")` it only checks that everything fits.

    Raises:
        UserError: a wrong size, value or combination.
    """
    with torch.random.fork_rng(devices=[]):
        model: Model = construct(
            config,
            _target_=f"{__name__}.{assemble.__name__}",
            constructor=config["_target_"],
            src_vocab=src_vocab,
            tgt_vocab=tgt_vocab,
            joint_vocab=joint_vocab,
        )
    return model


def assemble(*, constructor: str, **given: object) -> Model:
    """Call the constructor of a model with what its config has, in the groups that it takes."""
    kind = get_class(constructor)
    model: Model = kind(**gathered(kind, given))
    return model
