"""The encoder-decoder Transformer (arXiv:1706.03762), its components given as factories."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from jaxtyping import Float, Int
from torch import Tensor, nn

from ablate.data.vocabulary import PAD
from ablate.model.attention.base import Kernel
from ablate.model.attention.multi_head import (
    CrossAttention,
    MultiHeadAttention,
    SelfAttention,
)
from ablate.model.base import Model, Seq2Seq
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
from ablate.model.stack import Stack, StackCache
from ablate.model.sublayer import Memory, Sublayer
from ablate.model.values.base import Values


@dataclass
class Own:
    """Components of one attention or stack in place of the model's; None: the model's."""

    attention: Callable[..., Kernel] | None
    padding: Callable[..., Padding] | None
    position: Callable[..., Position] | None = None
    projections: Callable[..., Projections] | None = None
    norm: Callable[..., Norm] | None = None


class Transformer(Model):
    """Source tokens to memory, memory and target tokens to states.

    Args:
        d_model: width of every layer.
        d_ff: inner width of feed-forward sub-layers.
        n_heads: attention heads.
        d_head: width of a head; None: d_model / n_heads.
        n_layers: layers of the encoder.
        n_decoder_layers: layers of the decoder.
        dropout: probability of each site.
        share_layers: none | pairs | all, the neighbouring layers of a stack that are one.
        bias: whether the linear maps of sub-layers have biases.
        causal: whether the decoder trains with a mask over later tokens.
        position, residual, norm, attention, projections, padding, feed_forward, embedding,
            values, block, head: factories, called once per use; the seam of each is the `base.py`
            of its folder.
        encoder, decoder: what self-attention, positions and norms of a stack have in their place.
        cross: the same of cross-attention, in which positions and norms do not act.
        src_vocab: size of the source vocabulary.
        tgt_vocab: size of the target vocabulary.
        joint_vocab: whether both are the same vocabulary.

    Raises:
        UserError: a size or probability that makes no model, or components that do not fit.
    """

    def __init__(  # noqa: PLR0913
        self,
        *,
        d_model: int,
        d_ff: int,
        n_heads: int,
        d_head: int | None,
        n_layers: int,
        n_decoder_layers: int,
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
        encoder: Own,
        decoder: Own,
        cross: Own,
        src_vocab: int,
        tgt_vocab: int,
        joint_vocab: bool,
    ) -> None:
        super().__init__()
        self.breaks = frozenset() if causal else WITHOUT_CAUSAL_MASK
        check_positive(
            d_model=d_model, d_ff=d_ff, n_layers=n_layers, n_decoder_layers=n_decoder_layers
        )
        d_head = head_width(d_model, n_heads, d_head)

        def parts(own: Own, layer: int) -> dict[str, Any]:
            return {
                **{"d_model": d_model, "n_heads": n_heads, "d_head": d_head},
                "kernel": (own.attention or attention)(d_head=d_head, dropout=dropout.attention),
                "padding": (own.padding or padding)(),
                "projections": own.projections or projections,
                "layer": layer,
            }

        def encoder_layer(number: int) -> dict[str, Sublayer]:
            return {
                "self_attention": SelfAttention(
                    **parts(encoder, number), values=values(), causal=False
                ),
                "feed_forward": new_feed_forward(),
            }

        def decoder_layer(number: int) -> dict[str, Sublayer]:
            return {
                "self_attention": SelfAttention(
                    **parts(decoder, number), causal=True, look_ahead=not causal, values=values()
                ),
                "cross_attention": CrossAttention(**parts(cross, number)),
                "feed_forward": new_feed_forward(),
            }

        new_feed_forward = partial(
            feed_forward, d_model=d_model, d_ff=d_ff, dropout=dropout.feed_forward
        )
        layers = {"encoder_layers": n_layers, "decoder_layers": n_decoder_layers}

        def new_residual(sublayers: int, own: Own, stack: str) -> Residual:
            new_norm = partial(own.norm or norm, d_model=d_model)
            depth = Depth(stack, sublayers, **layers)
            return residual(norm=new_norm, dropout=dropout.residual, depth=depth)

        self.embedding = embedding(
            d_model=d_model, src_vocab=src_vocab, tgt_vocab=tgt_vocab, joint_vocab=joint_vocab
        )
        order = shared_layers(share_layers, n_layers)
        self.encoder = Stack(
            [encoder_layer(number) for number in sorted(set(order))],
            order=order,
            d_model=d_model,
            position=(encoder.position or position)(d_model=d_model),
            residual=partial(new_residual, own=encoder, stack="encoder"),
            block=block(),
            dropout=dropout.embedding,
        )
        order = shared_layers(share_layers, n_decoder_layers)
        self.decoder = Stack(
            [decoder_layer(number) for number in sorted(set(order))],
            order=order,
            d_model=d_model,
            position=(decoder.position or position)(d_model=d_model),
            residual=partial(new_residual, own=decoder, stack="decoder"),
            block=block(),
            dropout=dropout.embedding,
        )
        self.head = head(weight=self.embedding.output_weight)
        if not bias:
            remove_biases(self)

    def forward(self, inputs: Seq2Seq) -> Float[Tensor, "B T D"]:
        """Return the states that predict what follows each target token."""
        return self.decode(inputs.tgt_in, self.encode(inputs.src))

    def encode(self, src: Int[Tensor, "B S"]) -> Memory:
        """Return the encoded source."""
        real = src != PAD
        return Memory(self.encoder(self.embedding.embed_src(src), real), real)

    def decode(self, tgt_in: Int[Tensor, "B T"], memory: Memory) -> Float[Tensor, "B T D"]:
        """Return the last hidden states of the decoder."""
        return self.decoder(self.embedding.embed_tgt(tgt_in), tgt_in != PAD, memory)

    def start(self, src: Int[Tensor, "B S"], beams: int) -> StackCache:
        """Encode the source; return what decoding remembers, `beams` rows per sentence."""
        return self.decoder.start(self.encode(src), beams)

    def step(self, tokens: Int[Tensor, " R"], cache: StackCache) -> Float[Tensor, "R D"]:
        """Return the states that predict what follows each row's newest token."""
        newest = tokens.view(-1, cache.slots.beams)
        return self.decoder.step(self.embedding.embed_tgt(newest), cache).flatten(0, 1)

    def limits(self) -> dict[str, int | None]:
        """Return the longest source and target that positions and kernels can take."""
        readers = [k.longest for name, k in self.attentions() if not name.startswith("decoder")]
        readers += [k.longest for name, k in self.attentions() if name.endswith("cross")]
        sources = [n for n in (self.encoder.position.longest, *readers) if n is not None]
        return {"source": min(sources, default=None), "target": self.decoder.position.longest}

    def attentions(self) -> Iterator[tuple[str, Kernel]]:
        """Yield every attention, as "encoder.0.self" and "decoder.0.cross"; shared ones once."""
        for stack in ("encoder", "decoder"):
            for name, part in getattr(self, stack).layers.named_modules():
                if isinstance(part, MultiHeadAttention):
                    number, kind = name.split(".")[:2]
                    yield f"{stack}.{number}.{kind.removesuffix('_attention')}", part.kernel

    def layers(self) -> Iterator[tuple[str, list[nn.Parameter]]]:
        """Yield the parameters of each layer, as "encoder.0"."""
        for stack in ("encoder", "decoder"):
            for number, own in enumerate(getattr(self, stack).parameters_by_layer()):
                yield f"{stack}.{number}", own
