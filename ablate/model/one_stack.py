"""One stack of self-attention and feed-forward sub-layers between an embedding and a head.

The part that `decoder_only` and `encoder_only` share; they differ in the mask and in their inputs.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import ClassVar

from torch import nn

from ablate.model.attention.base import Kernel
from ablate.model.attention.multi_head import SelfAttention
from ablate.model.base import Model
from ablate.model.block.base import Block
from ablate.model.dropout import Rates
from ablate.model.embedding.base import Embedding
from ablate.model.feed_forward.base import FeedForward
from ablate.model.head.base import Head
from ablate.model.laws import WITHOUT_CAUSAL_MASK
from ablate.model.linear import remove_biases
from ablate.model.norm.base import Norm
from ablate.model.padding.base import Padding
from ablate.model.position.base import Position
from ablate.model.projections.base import Projections
from ablate.model.residual.base import Depth, Residual
from ablate.model.sizes import check_positive, head_width, shared_layers
from ablate.model.stack import Stack
from ablate.model.sublayer import Sublayer
from ablate.model.values.base import Values


class OneStack(Model):
    """Embedding, stack and head; a subclass says what it reads, and whether it decodes.

    Args:
        d_model: width of every layer.
        d_ff: inner width of feed-forward sub-layers.
        n_heads: attention heads.
        d_head: width of a head; None: d_model / n_heads.
        n_layers: layers.
        dropout: probability of each site.
        share_layers: none | pairs | all, the neighbouring layers that are one.
        bias: whether the linear maps of sub-layers have biases.
        causal: whether a mask over later tokens is there in training.
        position, residual, norm, attention, projections, padding, feed_forward, embedding, values,
        block, head: factories, as those of `ablate.model.transformer.Transformer`.
        src_vocab: size of the source vocabulary.
        tgt_vocab: size of the target vocabulary.
        joint_vocab: whether both are the same vocabulary.

    Raises:
        UserError: a size or probability that makes no model, or components that do not fit.
    """

    name: ClassVar[str]  # of the stack: encoder | decoder
    decodes: ClassVar[bool]  # whether it goes on token by token

    def __init__(  # noqa: PLR0913
        self,
        *,
        d_model: int,
        d_ff: int,
        n_heads: int,
        d_head: int | None,
        n_layers: int,
        share_layers: str,
        causal: bool,
        bias: bool,
        dropout: Rates,
        position: Callable[..., Position],
        residual: Callable[..., Residual],
        norm: Callable[..., Norm],
        attention: Callable[..., Kernel],
        projections: Callable[..., Projections],
        padding: Callable[..., Padding],
        feed_forward: Callable[..., FeedForward],
        embedding: Callable[..., Embedding],
        values: Callable[..., Values],
        block: Callable[..., Block],
        head: Callable[..., Head],
        src_vocab: int,
        tgt_vocab: int,
        joint_vocab: bool,
    ) -> None:
        super().__init__()
        self.causal = causal
        self.breaks = frozenset() if causal else WITHOUT_CAUSAL_MASK
        check_positive(d_model=d_model, d_ff=d_ff, n_layers=n_layers)
        d_head = head_width(d_model, n_heads, d_head)

        def layer(number: int) -> dict[str, Sublayer]:
            return {
                "self_attention": SelfAttention(
                    d_model=d_model,
                    n_heads=n_heads,
                    d_head=d_head,
                    kernel=attention(d_head=d_head, dropout=dropout.attention),
                    padding=padding(),
                    projections=projections,
                    causal=causal or self.decodes,
                    look_ahead=not causal,
                    layer=number,
                    values=values(),
                ),
                "feed_forward": feed_forward(
                    d_model=d_model, d_ff=d_ff, dropout=dropout.feed_forward
                ),
            }

        depth = {"encoder_layers": 0, "decoder_layers": 0, f"{self.name}_layers": n_layers}
        self.embedding = embedding(
            d_model=d_model, src_vocab=src_vocab, tgt_vocab=tgt_vocab, joint_vocab=joint_vocab
        )
        order = shared_layers(share_layers, n_layers)
        stack = Stack(
            [layer(number) for number in sorted(set(order))],
            order=order,
            d_model=d_model,
            position=position(d_model=d_model),
            residual=lambda n: residual(
                norm=partial(norm, d_model=d_model),
                dropout=dropout.residual,
                depth=Depth(self.name, n, **depth),
            ),
            block=block(),
            dropout=dropout.embedding,
        )
        self.add_module(self.name, stack)
        self.head = head(weight=self.embedding.output_weight)
        if not bias:
            remove_biases(self)

    @property
    def stack(self) -> Stack:
        """The only stack."""
        stack = getattr(self, self.name)
        assert isinstance(stack, Stack)
        return stack

    def attentions(self) -> Iterator[tuple[str, Kernel]]:
        """Yield the attention of each layer, as "decoder.0.self"."""
        for name, part in self.stack.layers.named_modules():
            if isinstance(part, SelfAttention):
                yield f"{self.name}.{name.partition('.')[0]}.self", part.kernel

    def layers(self) -> Iterator[tuple[str, list[nn.Parameter]]]:
        """Yield the parameters of each layer, as "decoder.0"."""
        for number, own in enumerate(self.stack.parameters_by_layer()):
            yield f"{self.name}.{number}", own
