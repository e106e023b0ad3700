"""Check which tensors of a Transformer depend on which others, by cutting one edge of a random
model at a time.

An edge is the residual stream before a sub-layer, or the encoder output (memory) that the decoder
reads.

Equation: a tensor Y depends only on an edge if Y does not change when the edge is fixed and every
    token is replaced; Y depends on the edge if Y changes when only the edge is replaced.
Source: arXiv:1706.03762, figure 1 and section 3.2.3.
What differs: random weights and sentences in float64. Edges are fixed and replaced. Gradients would
    not show the connections, because by gradients every tensor depends on every other tensor.
What to expect: self-attention depends on the layer below; cross-attention depends on the sub-layer
    before it and on the top of the encoder; no NaN.
"""

import itertools

import torch
from torch import Tensor

from ablate.claims.probe.dependence.influence import influence
from ablate.claims.probe.dependence.wires import (
    SUBLAYERS,
    Trace,
    changes,
    memories,
    moved,
    rewired,
    trace,
)
from ablate.claims.probe.random_models import ExtremesOfModels, each_replaced
from ablate.model.base import Seq2Seq
from ablate.model.transformer import Transformer
from ablate.probe.sentences import random_sentences

CROSS = 1  # index of cross-attention among the sub-layers of a decoder layer


class Dataflow(ExtremesOfModels):
    """A probe that fixes or replaces the residual stream before every sub-layer, and the encoder
    output.
    """

    least = (
        *("self_moved", "cross_moved", "query_beside_block", "block_moved", "layers_apart"),
        *("layerwise", "embedding_everywhere", "own_word", "source_on_first", "first_on_second"),
    )
    measures = (
        *("self_bypass", "self_moved"),
        *("cross_bypass", "cross_moved", "query_beside_block", "block_moved", "layers_apart"),
        *("beside_top", "layerwise", "embedding_bypass", "embedding_everywhere"),
        *("later_words", "own_word", "source_on_first", "source_on_attention", "first_on_second"),
    )

    @torch.no_grad()
    def draw(self, model: Transformer, generator: torch.Generator) -> dict[str, Tensor]:
        """Return the measurements for one model with random weights.

        An edge is the input of a sub-layer in the residual stream, or the encoder output that the
        decoder reads. To fix an edge means that every word of the sentences is replaced while the
        edge keeps its values. To replace an edge means that the words stay the same while the edge
        is set to random values.

        Returns:
            self_bypass, self_moved: see `Edges.self_attention`.
            cross_bypass, cross_moved, query_beside_block, block_moved, layers_apart: see
                `Edges.cross_attention`.
            beside_top, layerwise: see `Edges.top`.
            embedding_bypass, embedding_everywhere: see `Edges.bottom`.
            later_words, own_word, source_on_first, source_on_attention, first_on_second: see
                `words`.
        """
        src, tgt = (random_sentences(model, [self.length], generator) for _ in range(2))
        inputs = Seq2Seq(src, tgt)
        other_inputs = Seq2Seq(*(each_replaced(ids)[1:].diagonal()[None] for ids in inputs))
        noise = torch.randn(1, self.length, model.encoder.d_model, generator=generator)
        edges = Edges(model, inputs, other_inputs, noise.double())
        return {
            **edges.self_attention(),
            **edges.cross_attention(),
            **edges.top(),
            **edges.bottom(),
            **words(model, src, tgt),
        }


class Edges:
    """Experiments that show which tensors of a model depend on which edges.

    An edge is the residual stream before a sub-layer, or the encoder output. The methods fix or
    replace an edge, and return how much other tensors change.

    Args:
        model: the model.
        inputs: a sentence pair.
        other_inputs: another sentence pair, with other words at every position.
        noise: random values that replace an edge.
    """

    def __init__(
        self, model: Transformer, inputs: Seq2Seq, other_inputs: Seq2Seq, noise: Tensor
    ) -> None:
        self.model, self.inputs, self.other_inputs, self.noise = model, inputs, other_inputs, noise
        self.base = trace(model, inputs)
        self.layers = {name: len(getattr(model, name).layers) for name in SUBLAYERS}

    def holding(self, stack: str, at: int) -> Trace:
        """Return the activations for the second sentence pair, with the residual stream before one
        sub-layer fixed to its values for the first sentence pair.

        Args:
            stack: "encoder" or "decoder".
            at: number of the sub-layer in the stack whose input is fixed.
        """
        return trace(self.model, self.other_inputs, {stack: (at, self.base.streams[stack][at])})

    def replacing(self, stack: str, at: int) -> Trace:
        """Return the activations for the original words, with the input of sub-layer number `at` of
        a stack replaced by random values.
        """
        return trace(self.model, self.inputs, {stack: (at, self.noise)})

    def self_attention(self) -> dict[str, Tensor]:
        """Return how much the queries, keys and values of self-attention change in two experiments.

        Returns:
            self_bypass: largest change if all words are replaced, while the input of the layer is
                held fixed.
            self_moved: smallest change if only the input of the layer is replaced, and the words
                are not.
        """
        bypass, control = [], []
        for stack, per_layer in SUBLAYERS.items():
            for layer in range(self.layers[stack]):
                at, name = per_layer * layer, f"{stack}.{layer}.self"
                base = self.base.heads[name]
                bypass.append(changes(base, self.holding(stack, at).heads[name]).max())
                control.append(changes(base, self.replacing(stack, at).heads[name]).min())
        return {"self_bypass": torch.stack(bypass).max(), "self_moved": torch.stack(control).min()}

    def cross_attention(self) -> dict[str, Tensor]:
        """Return how much the queries, keys and values of cross-attention change in several
        experiments.

        Returns:
            cross_bypass: largest change if all words are replaced, while the encoder output and the
                input of cross-attention are held fixed.
            cross_moved: smallest change if the words stay the same, while the encoder output and
                the input of cross-attention are replaced.
            query_beside_block: smallest change of the queries if only the input of cross-attention
                is replaced.
            block_moved: smallest change of the queries if only the input of the decoder layer is
                replaced.
            layers_apart: see `Edges.layers_apart`.
        """
        fixed_memory = trace(self.model, self.other_inputs, memory=self.base.memory).heads
        other = trace(self.model, self.inputs, memory=self.noise).heads
        bypass, control, beside, block = [], [], [], []
        for layer in range(self.layers["decoder"]):
            at, name = SUBLAYERS["decoder"] * layer, f"decoder.{layer}.cross"
            base = self.base.heads[name]
            query = self.holding("decoder", at + CROSS).heads[name].query
            bypass.append(changes(base, fixed_memory[name]._replace(query=query)).max())
            between = self.replacing("decoder", at + CROSS).heads[name].query
            control.append(changes(base, other[name]._replace(query=between)).min())
            beside.append(moved(base.query, between))
            block.append(moved(base.query, self.replacing("decoder", at).heads[name].query))
        return {
            "cross_bypass": torch.stack(bypass).max(),
            "cross_moved": torch.stack(control).min(),
            "query_beside_block": torch.stack(beside).min(),
            "block_moved": torch.stack(block).min(),
            **self.layers_apart(),
        }

    def layers_apart(self) -> dict[str, Tensor]:
        """Return `layers_apart`, the smallest difference between two decoder layers in the keys or
        in the values of cross-attention; an empty dictionary if there is only one layer.
        """
        heads = [heads for name, heads in self.base.heads.items() if name.endswith("cross")]
        apart = [changes(first, other) for first, other in itertools.combinations(heads, 2)]
        return {"layers_apart": torch.stack(apart)[:, 1:].min()} if apart else {}

    def top(self) -> dict[str, Tensor]:
        """Return changes of the decoder's output if the encoder reads another source while its
        final output is fixed.

        Returns:
            beside_top: change in the given model.
            layerwise: change in a model whose decoder layers read the encoder layer of the same
                number instead of the final output. It is missing if the encoder has only one layer,
                or if the decoder has another number of layers.
        """
        src = self.other_inputs._replace(tgt_in=self.inputs.tgt_in)
        beside = trace(self.model, src, memory=self.base.memory)
        measurements = {"beside_top": moved(self.base.states, beside.states)}
        if self.layers["encoder"] == self.layers["decoder"] > 1:
            measurements["layerwise"] = moved(self.layerwise(self.base), self.layerwise(beside))
        return measurements

    def layerwise(self, encoded: Trace) -> Tensor:
        """Return the output of the decoder if each of its layers, except the last, reads the
        encoder layer of the same number as recorded in `encoded`.

        The last decoder layer reads the final output of the encoder for the words of the probe.
        """
        levels = [*encoded.streams["encoder"][2::2], self.base.memory]
        with memories(self.model, levels):
            return trace(self.model, self.inputs).states

    def bottom(self) -> dict[str, Tensor]:
        """Return changes of a stack's output if all words are replaced while the input of one layer
        is fixed. Each layer except the first is fixed once.

        The result is empty if each stack has only one layer.

        Returns:
            embedding_bypass: largest change in the given model.
            embedding_everywhere: smallest change in a model that adds the embedded words to the
                input of every layer.
        """
        bypass, control = [], []
        for stack, per_layer in SUBLAYERS.items():
            for at in range(per_layer, per_layer * self.layers[stack], per_layer):
                bypass.append(
                    moved(self.output(stack, at), self.output(stack, at, self.other_inputs))
                )
                pair = (
                    self.everywhere(stack, at, words) for words in (self.inputs, self.other_inputs)
                )
                control.append(moved(*pair))
        if not bypass:
            return {}
        return {
            "embedding_bypass": torch.stack(bypass).max(),
            "embedding_everywhere": torch.stack(control).min(),
        }

    def output(self, stack: str, at: int, words: Seq2Seq | None = None) -> Tensor:
        """Return the output of the encoder or decoder for `words`, if the encoder output and the
        input of sub-layer number `at` keep the values that they have for the words of the probe.

        If `words` is None, the words of the probe are used.
        """
        fixed = {stack: (at, self.base.streams[stack][at])}
        traced = trace(self.model, words or self.inputs, fixed, self.base.memory)
        return traced.memory if stack == "encoder" else traced.states

    def everywhere(self, stack: str, at: int, words: Seq2Seq) -> Tensor:
        """Return the output of a stack for some words, as `output` does, but in a model that adds
        the embedded words to the input of every layer.
        """
        embedded = trace(self.model, words).streams[stack][0]

        def added(i: int, stream: Tensor) -> Tensor:
            return stream + embedded if i and i % SUBLAYERS[stack] == 0 else stream

        with rewired(getattr(self.model, stack), added):
            return self.output(stack, at, words)


def words(model: Transformer, src: Tensor, tgt: Tensor) -> dict[str, Tensor]:
    """Return effects of single words on two states of the decoder: its output, and the residual
    stream after its first self-attention.

    The effect of a word on a state is the change of the state if the word is replaced.

    Returns:
        later_words: largest effect of a later target word on either state at an earlier position.
        own_word: largest effect of a target word on a state at its own position, for the state with
            the smaller effect.
        source_on_first: smallest effect of a source word on the output at the first position.
        source_on_attention: largest effect of a source word on the residual stream after the first
            self-attention, at the first position.
        first_on_second: effect of the first target word on a state at the second position, for the
            state with the smaller effect.
    """
    by_target = each_replaced(tgt)
    traced = trace(model, Seq2Seq(src.expand_as(by_target), by_target))
    whole, attended = (influence(x) for x in (traced.states, traced.streams["decoder"][CROSS]))
    by_source = each_replaced(src)
    source = trace(model, Seq2Seq(by_source, tgt.expand_as(by_source)))
    later = torch.ones_like(whole, dtype=torch.bool).triu(1)
    return {
        "later_words": torch.maximum(whole[later].max(), attended[later].max()),
        "own_word": torch.minimum(whole.diagonal().max(), attended.diagonal().max()),
        "source_on_first": influence(source.states)[0].min(),
        "source_on_attention": influence(source.streams["decoder"][CROSS])[0].max(),
        "first_on_second": torch.minimum(whole[1, 0], attended[1, 0]),
    }
