"""Transformers, assembled from factories of components: encoder-decoder (arXiv:1706.03762),
decoder-only, encoder-only and prefix language model.
"""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from ablate.config.limits import Count
from ablate.data import PAD
from ablate.errors import UserError
from ablate.model import Bidirectional, Causal, CausalDocuments, Law, Seq2Seq
from ablate.model.architecture import Architecture, Assembled
from ablate.model.attention import Kernel
from ablate.model.attention.multi_head import MultiHeadAttention
from ablate.model.norm import Norm
from ablate.model.padding import Padding
from ablate.model.position import Position
from ablate.model.projections import Projections
from ablate.model.stack import Memory, Stack, StackCache


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


def override(architecture: Architecture, overrides: ComponentOverrides) -> Architecture:
    """Return a copy of the architecture in which `overrides` replaces some components."""
    replacements = {name: component for name, component in vars(overrides).items() if component}
    return dataclasses.replace(architecture, **replacements)


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

    def __init__(
        self,
        *,
        architecture: Architecture,
        n_layers: Count,
        n_decoder_layers: Count,
        causal: bool,
        encoder: ComponentOverrides,
        decoder: ComponentOverrides,
        cross: ComponentOverrides,
    ) -> None:
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

    def limits(self) -> dict[str, int | None]:
        """Return the largest numbers of source and target tokens that all components accept.

        The keys are "source" and "target"; None: there is no limit.
        """
        readers = [k.longest for name, k in self.attentions() if not name.startswith("decoder")]
        readers += [k.longest for name, k in self.attentions() if name.endswith("cross")]
        sources = [n for n in (self.encoder.position.longest, *readers) if n is not None]
        return {"source": min(sources, default=None), "target": self.decoder.position.longest}


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

    def __init__(self, *, architecture: Architecture, n_layers: Count, causal: bool) -> None:
        stack = architecture.make_stack(
            self.name, {self.name: n_layers}, causal=causal or self.decodes, look_ahead=not causal
        )
        super().__init__(architecture=architecture, stacks={self.name: stack}, causal=causal)
        self.causal = causal

    @property
    def stack(self) -> Stack:
        """The only stack of the model: the encoder or the decoder."""
        stack = getattr(self, self.name)
        assert isinstance(stack, Stack)
        return stack


class DecoderOnly(OneStack):
    """A decoder-only model: one causal stack, as a language model or as a translator.

    A causal stack without an encoder, for language modelling or translation.

    Equation: p(x_t | x_1 .. x_{t-1}) = softmax(W h_t), where h are the hidden states of a stack of
        causal self-attention and feed-forward sub-layers. To translate, x is the source, EOS, BOS
        and the target, and only the tokens of the target are predicted.
    Source: Radford et al. 2018 (GPT); with a source in front of the target arXiv:1801.10198, and
        "language model" in arXiv:1910.10683, section 3.2.1, figure 4.
    What differs: GPT's learned positions and gelu are options of their own factors. A source token
        sees only earlier source tokens; in `prefix_lm` all source tokens see each other. The tokens
        of the source are not predicted.
    What to expect: perplexity falls with width and depth. Translations are somewhat worse than
        those of an encoder-decoder with the same number of layers in each stack, which has about
        twice the weights.
    """

    takes = frozenset({Causal, CausalDocuments, Seq2Seq})
    reads = {"decoder": slice(None)}
    name = "decoder"
    decodes = True
    source_reads = "past"  # source tokens that a source token attends to: past | source

    def forward(self, inputs: Causal | CausalDocuments | Seq2Seq) -> Float[Tensor, "B T D"]:
        """Return the hidden states that predict the next tokens.

        For a text: the state of each token. For a source and a target: the state of each target
        token.
        """
        if isinstance(inputs, Seq2Seq):
            return self.translate(inputs.src, inputs.tgt_in)
        documents = inputs.documents if isinstance(inputs, CausalDocuments) else None
        embedded = self.embedding.embed_tgt(inputs.tokens)
        return self.stack(embedded, inputs.tokens != PAD, documents=documents)

    def translate(
        self, src: Int[Tensor, "B S"], tgt_in: Int[Tensor, "B T"]
    ) -> Float[Tensor, "B T D"]:
        """Return the hidden states of target tokens that follow their source in a single sequence.

        Padding lies between source and target; it takes up no positions.
        """
        embedded = [self.embedding.embed_src(src), self.embedding.embed_tgt(tgt_in)]
        real = torch.cat([src, tgt_in], 1) != PAD
        n = src.size(1)
        prefix = n if self.source_reads == "source" else 0
        states = self.stack(torch.cat(embedded, 1), real, positions=places(real, n), prefix=prefix)
        return states[:, n:]

    def start(self, src: Int[Tensor, "B S"], beams: int) -> StackCache:
        """Read the source; return the decoding cache, with `beams` rows per sentence."""
        causal = self.causal and self.source_reads == "past"
        return self.stack.start_after(
            self.embedding.embed_src(src), src != PAD, beams, causal=causal
        )

    def check_decoding(self) -> None:
        """Check that all components can decode step by step after a source.

        Raises:
            UserError: a component caches anything but past keys and values.
        """
        if type(self.stack.position).cache is not Position.cache:
            raise UserError(
                "model/position is recurrent, which would read the padding between a source and "
                "its target: with a source in front, choose other positions or another model"
            )
        for _, kernel in self.attentions():
            if type(kernel).cache is not Kernel.cache:
                raise UserError(
                    f"model/attention is {type(kernel).__name__}, which decodes without a cache of "
                    "keys and values, but model=decoder_only needs one to read a source: choose "
                    "another attention or model, or task=language_model"
                )
        for part in self.stack.modules():
            if isinstance(part, MultiHeadAttention) and Law.SOURCE_PADDING in part.padding.breaks:
                raise UserError(
                    f"model/padding is {type(part.padding).__name__}, with which tokens read the "
                    "padding between a source and its target, but step-by-step decoding skips this "
                    "padding: with a source in front, choose model/padding=columns or "
                    "rows_and_columns, or another model"
                )

    def check_documents(self) -> None:
        """Check that no component passes information between the documents of a row.

        Raises:
            UserError: a component passes information between documents.
        """
        if type(self.stack.position).cache is not Position.cache:
            raise UserError(
                "model/position is recurrent, which reads across the ends of documents: with "
                "task.attention=document choose other positions"
            )
        for _, kernel in self.attentions():
            if not kernel.keeps_pairs:
                raise UserError(
                    f"model/attention is {type(kernel).__name__}, which has no weight for each "
                    "pair of tokens and cannot be limited to a document: choose another "
                    "attention, or task.attention=context"
                )

    def limits(self) -> dict[str, int | None]:
        """Return the limit of source and target together, under the key "both"; None: no limit."""
        return {"source": None, "target": None, "both": self.stack.position.longest}


def places(real: Bool[Tensor, "B L"], n_source: int) -> Int[Tensor, "B L"]:
    """Return the position of each token; the target directly follows the last real source token.

    Args:
        real: False at padding, for source and target in one row.
        n_source: number of columns of the source.
    """
    columns = torch.arange(real.size(1), device=real.device)
    padding = n_source - real[:, :n_source].sum(1, keepdim=True)
    return columns - padding * (columns >= n_source)


class EncoderOnly(OneStack):
    """An encoder-only model: one stack without a causal mask, which sees a whole text at once.

    A stack without a causal mask, and a head that predicts the token at each position.

    Equation: p(x_t | corrupted x) = softmax(W h_t), where h are the hidden states of a stack of
        self-attention and feed-forward sub-layers without a causal mask.
    Source: arXiv:1810.04805, section 3 (BERT).
    What differs: there is no segment embedding. W, which may be the embedding matrix, is applied
        directly to the hidden states; the authors' code has a further layer, a norm and a bias
        before W. BERT's learned positions and gelu are options of their own factors.
    What to expect: predicts masked tokens better than a causal model of the same size; it cannot
        generate text.
    """

    takes = frozenset({Bidirectional})
    reads = {"encoder": slice(None)}
    name = "encoder"
    decodes = False

    def forward(self, inputs: Bidirectional) -> Float[Tensor, "B T D"]:
        """Return the hidden states that predict the token at each position."""
        return self.stack(self.embedding.embed_tgt(inputs.tokens), inputs.tokens != PAD)

    def limits(self) -> dict[str, int | None]:
        """Return the limit of the tokens of a text, under the key "target"; None: no limit."""
        readers = (kernel.longest for _, kernel in self.attentions())
        limits = [n for n in (self.stack.position.longest, *readers) if n is not None]
        return {"source": None, "target": min(limits, default=None)}


class PrefixLM(DecoderOnly):
    """A prefix language model: a causal stack, except that every token sees the whole source.

    A decoder-only model whose source tokens attend to the whole source.

    Equation: as in `decoder_only`, p(y_t | x, y_1 .. y_{t-1}), where every token of the source x
        attends to all of x, and every token of the target y to x and to the tokens of y before it.
    Source: arXiv:1910.10683, section 3.2.1, figure 4 (prefix LM); arXiv:1905.03197 (sequence to
        sequence by the mask alone).
    What differs: the tokens of the source are not predicted; there are no further objectives with
        other masks.
    What to expect: better translations than `decoder_only`, whose source tokens cannot see later
        ones; somewhat worse than an encoder-decoder with the same number of layers in each stack
        and twice the weights.
    """

    takes = frozenset({Seq2Seq})
    source_reads = "source"
