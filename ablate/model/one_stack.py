"""The base class of models with a single stack between an embedding and a head.

`decoder_only` and `encoder_only` derive from this class; they differ in the mask and in their
inputs.
"""

from typing import ClassVar

from ablate.model.architecture import Architecture
from ablate.model.assembled import Assembled
from ablate.model.sizes import check_positive
from ablate.model.stack import Stack


class OneStack(Assembled):
    """A model of an embedding, one stack and a head.

    A subclass defines the inputs, and whether the model can decode step by step.

    Args:
        architecture: sizes of all layers, and factories of the components.
        n_layers: number of layers.
        causal: whether training masks later tokens.

    Raises:
        UserError: a size or probability is out of range, or components do not fit together.
    """

    name: ClassVar[str]  # name of the stack: encoder | decoder
    decodes: ClassVar[bool]  # whether the model generates token by token

    def __init__(self, *, architecture: Architecture, n_layers: int, causal: bool) -> None:
        check_positive(n_layers=n_layers)
        stack = architecture.make_stack(
            self.name,
            {self.name: n_layers},
            causal=causal or self.decodes,
            look_ahead=not causal,
        )
        super().__init__(architecture=architecture, stacks={self.name: stack}, causal=causal)
        self.causal = causal
        if not architecture.src_vocab:
            self.obsolete = frozenset({"embedding.src.weight"})

    @property
    def stack(self) -> Stack:
        """The only stack of the model: the encoder or the decoder."""
        stack = getattr(self, self.name)
        assert isinstance(stack, Stack)
        return stack
