"""The base class of probes that measure the cost of a workload (`works`)."""

import torch

from ablate.claims.probe.cost.works import WORKS, Sizes, Work
from ablate.errors import UserError
from ablate.model.base import Model
from ablate.probe.base import Probe


class OfWork(Probe):
    """A probe of a work of its own sizes; the model of the run is not asked.

    Every probe of a work has these arguments: `work`, one of WORKS; its Sizes, which are `length`
    in tokens, `sentences` of a batch, `d_model` and `n_heads`; and the `seed` of inputs and
    weights.

    Raises:
        UserError: another work, a number below 1, or heads that do not divide d_model.
    """

    needs = Model

    def __init__(self, sizes: Sizes, work: str, seed: int) -> None:
        if work not in WORKS:
            raise UserError(f"probe.work is {work}: allowed is {', '.join(WORKS)}")
        self.work, self.seed = work, seed
        self.sizes = sizes
        for key, value in sizes._asdict().items():
            if value < 1:
                raise UserError(f"probe.{key} is {value}: it must be at least 1")
        if sizes.d_model % sizes.n_heads:
            raise UserError(
                f"probe.n_heads is {sizes.n_heads}: it must divide probe.d_model, {sizes.d_model}"
            )


def made(work: str, sizes: Sizes, seed: int, dtype: torch.dtype = torch.float32) -> Work:
    """Return the work with the weights and inputs of a seed; another work of EQUAL has the same."""
    before = torch.get_default_dtype()
    try:
        torch.set_default_dtype(dtype)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            return WORKS[work](sizes)
    finally:
        torch.set_default_dtype(before)
