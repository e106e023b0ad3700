"""The base class of models with a single stack between an embedding and a head.

`decoder_only` and `encoder_only` derive from this class; they differ in the mask and in their
inputs.
"""

from typing import ClassVar

from ablate.model.base import Model
from ablate.model.components import Components, Sizes, Vocabularies
from ablate.model.laws import WITHOUT_CAUSAL_MASK
from ablate.model.linear import remove_biases
from ablate.model.sizes import check_positive, shared_layers
from ablate.model.stack import Stack
from ablate.model.sublayer import Sublayer


class OneStack(Model):
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
        super().__init__()
        self.causal = causal
        if not vocabularies.src_vocab:
            self.obsolete = frozenset({"embedding.src.weight"})
        self.breaks = frozenset() if causal else WITHOUT_CAUSAL_MASK
        check_positive(n_layers=n_layers)

        def layer(number: int) -> dict[str, Sublayer]:
            masks = {"causal": causal or self.decodes, "look_ahead": not causal}
            return {
                "self_attention": components.make_self_attention(sizes, number, **masks),
                "feed_forward": components.make_feed_forward(sizes),
            }

        depths = {"encoder_layers": 0, "decoder_layers": 0, f"{self.name}_layers": n_layers}
        self.embedding = components.make_embedding(sizes, vocabularies)
        order = shared_layers(share_layers, n_layers)
        stack = components.make_stack(sizes, self.name, order, layer, **depths)
        self.add_module(self.name, stack)
        self.head = components.make_head(sizes, self.embedding)
        self.parametrisation = components.make_parametrisation(sizes)
        if not sizes.bias:
            remove_biases(self)

    def adjust_initial_values(self) -> None:
        """Rescale the initial values as the parametrisation requires."""
        self.parametrisation.adjust(self)

    @property
    def stack(self) -> Stack:
        """The only stack of the model: the encoder or the decoder."""
        stack = getattr(self, self.name)
        assert isinstance(stack, Stack)
        return stack
