"""What the encoder hands to the decoder."""

from typing import NamedTuple

from jaxtyping import Bool, Float
from torch import Tensor


class Memory(NamedTuple):
    """Encoded source sentences; `real` is False at padding."""

    states: Float[Tensor, "B S D"]
    real: Bool[Tensor, "B S"]
