"""The base class of models with a single stack between an embedding and a head.

`decoder_only` and `encoder_only` derive from this class; they differ in the mask and in their
inputs.
"""

from typing import ClassVar

from ablate.model.assembled import Assembled
from ablate.model.components import Components, Sizes, Vocabularies
from ablate.model.sizes import check_positive
from ablate.model.stack import Stack


class OneStack(Assembled):
    """A model of an embedding, one stack and a head.

    A subclass defines the inputs, and whether the model can decode step by step.

    Args:
        sizes: sizes of all layers.
        components: factories of the stack and its attention sub-layers.
        vocabularies: vocabularies of source and target.
        n_layers: number of layers.
        share_layers: none | pairs | all: which neighbouring layers share their weights.
        causal: whether training masks later tokens.

    Raises:
        UserError: a size or probability is out of range, or components do not fit together.
    """

    name: ClassVar[str]  # name of the stack: encoder | decoder
    decodes: ClassVar[bool]  # whether the model generates token by token

    def __init__(
        self,
        *,
        sizes: Sizes,
        components: Components,
        vocabularies: Vocabularies,
        n_layers: int,
        share_layers: str,
        causal: bool,
    ) -> None:
        check_positive(n_layers=n_layers)
        stack = components.make_stack(
            sizes,
            self.name,
            {self.name: n_layers},
            share_layers,
            causal=causal or self.decodes,
            look_ahead=not causal,
        )
        super().__init__(
            sizes=sizes,
            components=components,
            vocabularies=vocabularies,
            stacks={self.name: stack},
            causal=causal,
        )
        self.causal = causal
        if not vocabularies.src_vocab:
            self.obsolete = frozenset({"embedding.src.weight"})

    @property
    def stack(self) -> Stack:
        """The only stack of the model: the encoder or the decoder."""
        stack = getattr(self, self.name)
        assert isinstance(stack, Stack)
        return stack
