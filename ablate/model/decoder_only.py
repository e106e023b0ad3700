"""One causal stack that continues what it reads: a language model, or a translator.

Equation: p(x_t | x_1 .. x_{t-1}) = softmax(W h_t), h the states of a stack of causal self-attention
    and feed-forward sub-layers. To translate, x is the source, EOS, BOS and the target, and the
    target's tokens alone are predicted.
Source: Radford et al. 2018 (GPT); with a source in front of the target arXiv:1801.10198, and
    "language model" in arXiv:1910.10683, section 3.2.1, figure 4.
What differs: GPT's learned positions and gelu are components to choose. The source is read causally
    too: `prefix_lm` lets the source's tokens see each other. The source's tokens are not predicted.
What to expect: perplexity falls with width and depth; as a translator, somewhat below an
    encoder-decoder with as many layers on each side, which has about twice the weights.
"""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from ablate.data.vocabulary import PAD
from ablate.errors import UserError
from ablate.model.attention.base import Kernel
from ablate.model.base import Causal, CausalDocuments, Seq2Seq
from ablate.model.one_stack import OneStack
from ablate.model.position.base import Position
from ablate.model.stack import StackCache


class DecoderOnly(OneStack):
    """A decoder without an encoder."""

    takes = frozenset({Causal, CausalDocuments, Seq2Seq})
    reads = {"decoder": slice(None)}
    name = "decoder"
    decodes = True
    source_reads = "past"  # of the source in front of a target: past | source

    def forward(self, inputs: Causal | CausalDocuments | Seq2Seq) -> Float[Tensor, "B T D"]:
        """Return the states that predict what follows each token, of a pair each target token."""
        if isinstance(inputs, Seq2Seq):
            return self.translate(inputs.src, inputs.tgt_in)
        documents = inputs.documents if isinstance(inputs, CausalDocuments) else None
        embedded = self.embedding.embed_tgt(inputs.tokens)
        return self.stack(embedded, inputs.tokens != PAD, documents=documents)

    def translate(
        self, src: Int[Tensor, "B S"], tgt_in: Int[Tensor, "B T"]
    ) -> Float[Tensor, "B T D"]:
        """Return the states of targets that stand behind their sources.

        Between them is the padding of the source, which takes up no positions.
        """
        embedded = [self.embedding.embed_src(src), self.embedding.embed_tgt(tgt_in)]
        real = torch.cat([src, tgt_in], 1) != PAD
        n = src.size(1)
        prefix = n if self.source_reads == "source" else 0
        states = self.stack(torch.cat(embedded, 1), real, positions=places(real, n), prefix=prefix)
        return states[:, n:]

    def start(self, src: Int[Tensor, "B S"], beams: int) -> StackCache:
        """Read the source; return what decoding remembers, `beams` rows per sentence."""
        causal = self.causal and self.source_reads == "past"
        return self.stack.start_after(
            self.embedding.embed_src(src), src != PAD, beams, causal=causal
        )

    def step(self, tokens: Int[Tensor, " R"], cache: StackCache) -> Float[Tensor, "R D"]:
        """Return the states that predict what follows each row's newest token."""
        newest = tokens.view(-1, cache.slots.beams)
        return self.stack.step(self.embedding.embed_tgt(newest), cache).flatten(0, 1)

    def check_decoding(self) -> None:
        """Refuse parts whose state in decoding is not the keys and values of the past."""
        if type(self.stack.position).cache is not Position.cache:
            raise UserError(
                "model/position is recurrent, which would read the padding between a source and "
                "its target: with a source in front, choose other positions or another model"
            )
        for _, kernel in self.attentions():
            if type(kernel).cache is not Kernel.cache:
                raise UserError(
                    f"model/attention is {type(kernel).__name__}, which decodes from a state of "
                    "its own: model=decoder_only can begin with a source only where that is keys "
                    "and values, so choose another attention or model, or task=language_model"
                )

    def check_documents(self) -> None:
        """Refuse parts through which a token would learn of other documents.

        Raises:
            UserError: there is one.
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
        """Return how many tokens of both sides together there are positions for."""
        return {"source": None, "target": None, "both": self.stack.position.longest}


def places(real: Bool[Tensor, "B L"], n_source: int) -> Int[Tensor, "B L"]:
    """Return positions that count on from each source's last real token."""
    columns = torch.arange(real.size(1), device=real.device)
    padding = n_source - real[:, :n_source].sum(1, keepdim=True)
    return columns - padding * (columns >= n_source)
