"""Build a model from its config."""

import torch
from hydra.utils import get_class
from omegaconf import DictConfig

from ablate.config.arguments import gathered
from ablate.config.construct import construct
from ablate.model.base import Model


def build(config: DictConfig, *, src_vocab: int, tgt_vocab: int, joint_vocab: bool) -> Model:
    """Return the model that `config` (the node `model`) describes.

    Building uses no numbers of torch's global random generator, so that later random numbers do not
    depend on the arm; `ablate.initial.seeded` draws the initial values. Under
    `torch.device("meta")` the model gets no values, which is enough to check that its components
    fit.

    Raises:
        UserError: a size, a value or a combination of components is wrong.
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
    """Call the constructor of a model with the settings of its config, grouped as it expects."""
    kind = get_class(constructor)
    model: Model = kind(**gathered(kind, given))
    return model
