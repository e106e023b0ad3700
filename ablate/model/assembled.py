"""The base class of models that consist of an embedding, stacks of layers, and a head."""

from collections.abc import Mapping

from ablate.model.architecture import Architecture
from ablate.model.base import Model
from ablate.model.laws import WITHOUT_CAUSAL_MASK
from ablate.model.linear import remove_biases
from ablate.model.stack import Stack


class Assembled(Model):
    """A model of an embedding, stacks of Transformer layers, and a head.

    A subclass makes the stacks, and defines the inputs and the path of the data.

    Args:
        architecture: sizes of all layers, and factories of the components.
        stacks: the stacks by name: encoder, decoder, or both.
        causal: whether training masks later tokens.

    Raises:
        UserError: components do not fit together.
    """

    def __init__(
        self,
        *,
        architecture: Architecture,
        stacks: Mapping[str, Stack],
        causal: bool,
    ) -> None:
        super().__init__()
        self.breaks = frozenset() if causal else WITHOUT_CAUSAL_MASK
        self.embedding = architecture.make_embedding()
        for name, stack in stacks.items():
            self.add_module(name, stack)
        self.head = architecture.make_head(self.embedding)
        self.parametrisation = architecture.make_parametrisation()
        if not architecture.bias:
            remove_biases(self)

    def adjust_initial_values(self) -> None:
        """Rescale the initial values as the parametrisation requires."""
        self.parametrisation.adjust(self)
