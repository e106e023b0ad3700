"""The encoder-decoder Transformer (arXiv:1706.03762), its components given as factories."""

from collections.abc import Callable
from functools import partial

from jaxtyping import Float, Int
from torch import Tensor, nn

from ablate.data.vocabulary import PAD
from ablate.model.attention.base import Kernel
from ablate.model.attention.multi_head import MultiHeadAttention
from ablate.model.decoder import Decoder, DecoderLayer
from ablate.model.decoder_state import DecoderState
from ablate.model.embedding.base import Embedding
from ablate.model.encoder import Encoder, EncoderLayer
from ablate.model.feed_forward.base import FeedForward
from ablate.model.memory import Memory
from ablate.model.norm.base import Norm
from ablate.model.padding.base import Padding
from ablate.model.position.base import Position
from ablate.model.residual.base import Residual
from ablate.model.sizes import check_dropout, check_positive, head_width
from ablate.schema import Dropout


class Transformer(nn.Module):
    """Source tokens to memory, memory and target tokens to logits.

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
        dropout: Dropout,
        position: Callable[..., Position],
        residual: Callable[..., Residual],
        norm: Callable[..., Norm],
        attention: Callable[..., Kernel],
        padding: Callable[..., Padding],
        feed_forward: Callable[..., FeedForward],
        embedding: Callable[..., Embedding],
        src_vocab: int,
        tgt_vocab: int,
        joint_vocab: bool,
    ) -> None:
        super().__init__()
        check_positive(
            d_model=d_model, d_ff=d_ff, n_layers=n_layers, n_decoder_layers=n_decoder_layers
        )
        check_dropout(dropout)
        d_head = head_width(d_model, n_heads, d_head)

        def new_attention() -> MultiHeadAttention:
            kernel = attention(d_head=d_head, dropout=dropout.attention)
            return MultiHeadAttention(
                d_model=d_model, n_heads=n_heads, d_head=d_head, kernel=kernel
            )

        new_feed_forward = partial(
            feed_forward, d_model=d_model, d_ff=d_ff, dropout=dropout.feed_forward
        )
        new_norm = partial(norm, d_model=d_model)
        new_residual = partial(residual, norm=new_norm, dropout=dropout.residual)

        self.embedding = embedding(
            d_model=d_model, src_vocab=src_vocab, tgt_vocab=tgt_vocab, joint_vocab=joint_vocab
        )
        self.encoder = Encoder(
            [
                EncoderLayer(new_attention(), new_feed_forward(), new_residual)
                for _ in range(n_layers)
            ],
            final_norm=new_residual().final_norm(new_norm),
            position=position(d_model=d_model),
            padding=padding(),
            dropout=dropout.embedding,
        )
        self.decoder = Decoder(
            [
                DecoderLayer(new_attention(), new_attention(), new_feed_forward(), new_residual)
                for _ in range(n_decoder_layers)
            ],
            final_norm=new_residual().final_norm(new_norm),
            position=position(d_model=d_model),
            padding=padding(),
            dropout=dropout.embedding,
        )

    def forward(
        self, src: Int[Tensor, "B S"], tgt_in: Int[Tensor, "B T"]
    ) -> Float[Tensor, "B T V"]:
        """Return the logits of the token after each target token."""
        return self.project(self.decode(tgt_in, self.encode(src)))

    def encode(self, src: Int[Tensor, "B S"]) -> Memory:
        """Return the encoded source."""
        real = src != PAD
        return Memory(self.encoder(self.embedding.embed_src(src), real), real)

    def decode(self, tgt_in: Int[Tensor, "B T"], memory: Memory) -> Float[Tensor, "B T D"]:
        """Return the last hidden states of the decoder."""
        return self.decoder(self.embedding.embed_tgt(tgt_in), tgt_in != PAD, memory)

    def project(self, states: Float[Tensor, "*N D"]) -> Float[Tensor, "*N V"]:
        """Return the logits of hidden states."""
        return self.embedding.project(states)

    def start(self, memory: Memory, beams: int) -> DecoderState:
        """Return the state of an incremental decoding of `beams` rows per sentence."""
        return self.decoder.start(memory, beams)

    def step(self, tokens: Int[Tensor, " R"], state: DecoderState) -> Float[Tensor, "R V"]:
        """Return the logits of the token after each row's newest one, and advance the state."""
        return self.project(self.decoder.step(self.embedding.embed_tgt(tokens[:, None]), state))
