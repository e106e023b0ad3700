"""The base class of probes that measure the cost of a workload (a part of a Transformer, or an
alternative to it; see `works`).
"""

from dataclasses import dataclass
from typing import Annotated

import torch

from ablate.config.limits import Count, OneOf
from ablate.errors import UserError
from ablate.model import Model
from ablate.probe import Probe
from experiments.shared.cost.works import WORKS, Sizes, Work


@dataclass(kw_only=True)
class OfWork(Probe):
    """A probe of a workload with given sizes; it ignores the model of the run.

    Args:
        work: workload that is measured, such as explicit (softmax attention) or multi_head.
        length: number of tokens in a sentence.
        sentences: number of sentences in a batch.
        d_model: width of the token vectors.
        n_heads: number of attention heads; must divide `d_model`.
        seed: seed of the inputs and weights of the workload.

    Raises:
        UserError: `work` is unknown, a number is below 1, or `n_heads` does not divide `d_model`.
    """

    needs = Model

    work: Annotated[str, OneOf(tuple(WORKS))]
    length: Count
    sentences: Count
    d_model: Count
    n_heads: Count
    seed: int

    def __post_init__(self) -> None:
        if self.d_model % self.n_heads:
            raise UserError(
                f"probe.n_heads is {self.n_heads}: it must divide probe.d_model, {self.d_model}"
            )
        self.sizes = Sizes(self.length, self.sentences, self.d_model, self.n_heads)


def made(work: str, sizes: Sizes, seed: int, dtype: torch.dtype = torch.float32) -> Work:
    """Return a workload with random weights and inputs, which depend on a seed.

    Two workloads that EQUAL lists as a pair receive the same inputs.

    Args:
        work: name of the workload, a key of WORKS.
        sizes: sizes of the inputs.
        seed: seed of the weights and inputs.
        dtype: number type of the weights and inputs.
    """
    before = torch.get_default_dtype()
    try:
        torch.set_default_dtype(dtype)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            return WORKS[work](sizes)
    finally:
        torch.set_default_dtype(before)
