"""A recurrent layer below the stack, in place of positions.

Equation: the stack reads h_t = GRU(h_{t-1}, x_t) instead of the embeddings x_t, with h_0 = 0.
Source: doi:10.18653/v1/K19-1031, section 3 (RNN-Transformer, a recurrent layer in place of
    positions); GRU: arXiv:1406.1078, section 2.3.
What differs: there is one layer, from left to right in both stacks. Biases start at 0; the matrices
    of all gates together are initialised as one matrix, Xavier uniform.
What to expect: the GRU represents word order also in sentences that are longer than any in
    training. In such sentences it is better than sinusoids, in others about as good. It has 6
    d_model^2 weights for each stack, and its steps cannot run in parallel.
"""

from jaxtyping import Int
from torch import Tensor

from ablate.model.cache import State
from ablate.model.position.base import Newest, Position, Positions, Tokens
from ablate.model.rnn import Layer


class Recurrent(Position):
    """Replaces embeddings by the states of a recurrent layer.

    Args:
        d_model: width.
    """

    def __init__(self, *, d_model: int) -> None:
        super().__init__()
        self.layer = Layer("gru", d_model, directions=1, forget_bias=0.0)

    def embed(self, x: Tokens, positions: Positions) -> Tokens:
        """Return the GRU's state after each token of whole sequences."""
        states, _ = self.layer(x, (x.new_zeros(1, len(x), x.size(2)),))
        return states

    def cache(self) -> State:
        """Return an empty cache for the state of the GRU."""
        return State()

    def step(self, x: Newest, positions: Int[Tensor, "#M N"], cache: State) -> Newest:
        """Return the GRU's states after the newest tokens, and store them in the cache."""
        before = x.new_zeros(x.shape) if cache.value is None else cache.value
        states, _ = self.layer(x.flatten(0, 1)[:, None], (before.flatten(0, 1)[None],))
        cache.value = states.view_as(x)
        return cache.value
