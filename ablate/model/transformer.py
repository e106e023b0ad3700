"""The encoder-decoder Transformer (arXiv:1706.03762), its components given as factories."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

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
from ablate.model.dropout import Rates
from ablate.model.embedding.base import Embedding
from ablate.model.feed_forward.base import FeedForward
from ablate.model.head import LinearHead
from ablate.model.norm.base import Norm
from ablate.model.padding.base import Padding
from ablate.model.position.base import Position
from ablate.model.residual.base import Depth, Residual
from ablate.model.sizes import check_positive, head_width
from ablate.model.stack import Stack, StackCache
from ablate.model.sublayer import Memory, Sublayer


@dataclass
class Own:
    """Components of one attention or stack in place of the model's; None: the model's."""

    attention: Callable[..., Kernel] | None
    padding: Callable[..., Padding] | None
    position: Callable[..., Position] | None = None


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
        position, residual, norm, attention, padding, feed_forward, embedding: factories, called
            once per use; the seam of each is the `base.py` of its folder.
        encoder, decoder: what self-attention and positions of a stack have in their place.
        cross: the same of cross-attention, in which positions do not act.
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
        dropout: Rates,
        position: Callable[..., Position],
        residual: Callable[..., Residual],
        norm: Callable[..., Norm],
        attention: Callable[..., Kernel],
        padding: Callable[..., Padding],
        feed_forward: Callable[..., FeedForward],
        embedding: Callable[..., Embedding],
        encoder: Own,
        decoder: Own,
        cross: Own,
        src_vocab: int,
        tgt_vocab: int,
        joint_vocab: bool,
    ) -> None:
        super().__init__()
        check_positive(
            d_model=d_model, d_ff=d_ff, n_layers=n_layers, n_decoder_layers=n_decoder_layers
        )
        d_head = head_width(d_model, n_heads, d_head)

        sizes = {"d_model": d_model, "n_heads": n_heads, "d_head": d_head}

        def kernel(own: Own) -> Kernel:
            return (own.attention or attention)(d_head=d_head, dropout=dropout.attention)

        def self_attention(own: Own, *, causal: bool) -> SelfAttention:
            own_padding = (own.padding or padding)()
            return SelfAttention(**sizes, kernel=kernel(own), padding=own_padding, causal=causal)

        def cross_attention() -> CrossAttention:
            own_padding = (cross.padding or padding)()
            return CrossAttention(**sizes, kernel=kernel(cross), padding=own_padding)

        def encoder_layer() -> dict[str, Sublayer]:
            return {
                "self_attention": self_attention(encoder, causal=False),
                "feed_forward": new_feed_forward(),
            }

        def decoder_layer() -> dict[str, Sublayer]:
            return {
                "self_attention": self_attention(decoder, causal=True),
                "cross_attention": cross_attention(),
                "feed_forward": new_feed_forward(),
            }

        new_feed_forward = partial(
            feed_forward, d_model=d_model, d_ff=d_ff, dropout=dropout.feed_forward
        )
        new_residual = partial(
            residual, norm=partial(norm, d_model=d_model), dropout=dropout.residual
        )
        layers = {"encoder_layers": n_layers, "decoder_layers": n_decoder_layers}

        self.embedding = embedding(
            d_model=d_model, src_vocab=src_vocab, tgt_vocab=tgt_vocab, joint_vocab=joint_vocab
        )
        self.encoder = Stack(
            [encoder_layer() for _ in range(n_layers)],
            d_model=d_model,
            position=(encoder.position or position)(d_model=d_model),
            residual=new_residual(depth=Depth("encoder", 2 * n_layers, **layers)),
            dropout=dropout.embedding,
        )
        self.decoder = Stack(
            [decoder_layer() for _ in range(n_decoder_layers)],
            d_model=d_model,
            position=(decoder.position or position)(d_model=d_model),
            residual=new_residual(depth=Depth("decoder", 3 * n_decoder_layers, **layers)),
            dropout=dropout.embedding,
        )
        self.head = LinearHead(self.embedding.output_weight)

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
        """Return the longest source and target that there are positions for."""
        return {"source": self.encoder.position.longest, "target": self.decoder.position.longest}

    def attentions(self) -> Iterator[tuple[str, Kernel]]:
        """Yield every attention, as "encoder.0.self" and "decoder.0.cross"."""
        for stack in ("encoder", "decoder"):
            for number, layer in enumerate(getattr(self, stack).layers):
                for name, sublayer in layer.items():
                    if isinstance(sublayer, MultiHeadAttention):
                        yield f"{stack}.{number}.{name.removesuffix('_attention')}", sublayer.kernel

    def layers(self) -> Iterator[tuple[str, list[nn.Parameter]]]:
        """Yield the parameters of each layer, as "encoder.0"."""
        for stack in ("encoder", "decoder"):
            for number, own in enumerate(getattr(self, stack).parameters_by_layer()):
                yield f"{stack}.{number}", own
