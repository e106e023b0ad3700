"""The encoder-decoder Transformer (arXiv:1706.03762), assembled from factories of components."""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass

from jaxtyping import Float, Int
from torch import Tensor

from ablate.data import PAD
from ablate.model.architecture import Architecture, Assembled, check_positive
from ablate.model.attention import Kernel
from ablate.model.base import Seq2Seq
from ablate.model.norm import Norm
from ablate.model.padding import Padding
from ablate.model.position import Position
from ablate.model.projections import Projections
from ablate.model.stack import Stack, StackCache
from ablate.model.sublayer import Memory


@dataclass
class ComponentOverrides:
    """Components that replace the model's components in one stack or one kind of attention.

    None: the component of the model is used.
    """

    attention: Callable[..., Kernel] | None
    padding: Callable[..., Padding] | None
    position: Callable[..., Position] | None = None
    projections: Callable[..., Projections] | None = None
    norm: Callable[..., Norm] | None = None


Own = ComponentOverrides  # configs and identities of stored runs contain this name


def override(architecture: Architecture, overrides: ComponentOverrides) -> Architecture:
    """Return a copy of the architecture in which `overrides` replaces some components."""
    replacements = {
        field.name: getattr(overrides, field.name) for field in dataclasses.fields(overrides)
    }
    return dataclasses.replace(architecture, **{name: c for name, c in replacements.items() if c})


class Transformer(Assembled):
    """An encoder-decoder Transformer, which maps source and target tokens to hidden states.

    Args:
        architecture: sizes of all layers, and factories of the components.
        n_layers: number of layers of the encoder.
        n_decoder_layers: number of layers of the decoder.
        causal: whether the decoder trains with a mask over later tokens.
        encoder, decoder: overrides of self-attention, positions and norms in this stack.
        cross: overrides of cross-attention, which has no positions and norms.

    Raises:
        UserError: a size or probability is out of range, a stack has no layers, or components do
            not fit together.
    """

    encoder: Stack
    decoder: Stack

    def __init__(
        self,
        *,
        architecture: Architecture,
        n_layers: int,
        n_decoder_layers: int,
        causal: bool,
        encoder: ComponentOverrides,
        decoder: ComponentOverrides,
        cross: ComponentOverrides,
    ) -> None:
        check_positive(n_layers=n_layers, n_decoder_layers=n_decoder_layers)
        of_encoder, of_decoder, of_cross = (
            override(architecture, overrides) for overrides in (encoder, decoder, cross)
        )
        layers = {"encoder": n_layers, "decoder": n_decoder_layers}
        stacks = {
            "encoder": of_encoder.make_stack("encoder", layers, causal=False, look_ahead=False),
            "decoder": of_decoder.make_stack(
                "decoder", layers, of_cross, causal=True, look_ahead=not causal
            ),
        }
        super().__init__(architecture=architecture, stacks=stacks, causal=causal)

    def forward(self, inputs: Seq2Seq) -> Float[Tensor, "B T D"]:
        """Return for each target token the hidden state that predicts the next token."""
        return self.decode(inputs.tgt_in, self.encode(inputs.src))

    def encode(self, src: Int[Tensor, "B S"]) -> Memory:
        """Return the outputs of the encoder."""
        real = src != PAD
        return Memory(self.encoder(self.embedding.embed_src(src), real), real)

    def decode(self, tgt_in: Int[Tensor, "B T"], memory: Memory) -> Float[Tensor, "B T D"]:
        """Return the outputs of the decoder's last layer, one for each target token."""
        return self.decoder(self.embedding.embed_tgt(tgt_in), tgt_in != PAD, memory)

    def start(self, src: Int[Tensor, "B S"], beams: int) -> StackCache:
        """Encode the source; return the decoding cache, with `beams` rows per sentence."""
        return self.decoder.start(self.encode(src), beams)

    def step(self, tokens: Int[Tensor, " R"], cache: StackCache) -> Float[Tensor, "R D"]:
        """Return, for each row, the hidden state that predicts the row's next token.

        `tokens` has the newest token of each row. The cache stores the token for later steps.
        """
        newest = tokens.view(-1, cache.slots.beams)
        return self.decoder.step(self.embedding.embed_tgt(newest), cache).flatten(0, 1)

    def limits(self) -> dict[str, int | None]:
        """Return the largest numbers of source and target tokens that all components accept.

        The keys are "source" and "target"; None: there is no limit.
        """
        readers = [k.longest for name, k in self.attentions() if not name.startswith("decoder")]
        readers += [k.longest for name, k in self.attentions() if name.endswith("cross")]
        sources = [n for n in (self.encoder.position.longest, *readers) if n is not None]
        return {"source": min(sources, default=None), "target": self.decoder.position.longest}
