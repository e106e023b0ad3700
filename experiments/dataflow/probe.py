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
from functools import partial

import torch
from torch import Tensor

from ablate.model import Seq2Seq
from ablate.model.transformer import Transformer
from experiments.dataflow.wires import SUBLAYERS, Trace, changes, memories, rewired, trace
from experiments.shared.probe.draws import Measured, RandomModels, each_replaced, moved
from experiments.shared.probe.influence import influence

CROSS = 1  # index of cross-attention among the sub-layers of a decoder layer


class Dataflow(RandomModels):
    """A probe that fixes or replaces the residual stream before every sub-layer, and the encoder
    output.

    An edge is the input of a sub-layer in the residual stream, or the encoder output that the
    decoder reads. To fix an edge means that every word of the sentences is replaced while the edge
    keeps its values. To replace an edge means that the words stay the same while the edge is set to
    random values.
    """

    largest = (
        *("self_bypass", "cross_bypass", "beside_top", "embedding_bypass"),
        *("later_words", "source_on_attention"),
    )
    smallest = (
        *("self_moved", "cross_moved", "query_beside_block", "block_moved", "layers_apart"),
        *("layerwise", "embedding_everywhere", "own_word", "source_on_first", "first_on_second"),
    )

    def draw(self, model: Transformer, generator: torch.Generator) -> Measured:
        """Yield the measurements of one model with random weights.

        The methods of `Edges` and the function `words` describe them.
        """
        src, tgt = self.sentence_pair(model, generator)
        inputs = Seq2Seq(src, tgt)
        other_inputs = Seq2Seq(*(each_replaced(ids)[1:].diagonal()[None] for ids in inputs))
        noise = torch.randn(1, self.length, model.encoder.d_model, generator=generator)
        edges = Edges(model, inputs, other_inputs, noise.double())
        yield from edges.self_attention()
        yield from edges.cross_attention()
        yield from edges.top()
        yield from edges.bottom()
        yield from words(model, src, tgt)


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

    def self_attention(self) -> Measured:
        """Yield how much the queries, keys and values of each self-attention change in two
        experiments.

        Yields:
            self_bypass: change if all words are replaced, while the input of the layer is fixed.
            self_moved: change if only the input of the layer is replaced, and the words are not.
        """
        for stack, per_layer in SUBLAYERS.items():
            for layer in range(self.layers[stack]):
                at, name = per_layer * layer, f"{stack}.{layer}.self"
                base = self.base.heads[name]
                yield "self_bypass", changes(base, self.holding(stack, at).heads[name])
                yield "self_moved", changes(base, self.replacing(stack, at).heads[name])

    def cross_attention(self) -> Measured:
        """Yield how much the queries, keys and values of each cross-attention change in several
        experiments.

        Yields:
            cross_bypass: change if all words are replaced, while the encoder output and the input
                of cross-attention are fixed.
            cross_moved: change if the words stay the same, while the encoder output and the input
                of cross-attention are replaced.
            query_beside_block: change of the queries if only the input of cross-attention is
                replaced.
            block_moved: change of the queries if only the input of the decoder layer is replaced.
            layers_apart: difference between two decoder layers in the keys or in the values of
                cross-attention; missing if there is only one layer.
        """
        fixed_memory = trace(self.model, self.other_inputs, memory=self.base.memory).heads
        other = trace(self.model, self.inputs, memory=self.noise).heads
        for layer in range(self.layers["decoder"]):
            at, name = SUBLAYERS["decoder"] * layer, f"decoder.{layer}.cross"
            base = self.base.heads[name]
            query = self.holding("decoder", at + CROSS).heads[name].query
            yield "cross_bypass", changes(base, fixed_memory[name]._replace(query=query))
            between = self.replacing("decoder", at + CROSS).heads[name].query
            yield "cross_moved", changes(base, other[name]._replace(query=between))
            yield "query_beside_block", moved(base.query, between)
            block = self.replacing("decoder", at).heads[name].query
            yield "block_moved", moved(base.query, block)
        crosses = [heads for name, heads in self.base.heads.items() if name.endswith("cross")]
        for pair in itertools.combinations(crosses, 2):
            yield "layers_apart", changes(*pair)[1:]

    def top(self) -> Measured:
        """Yield changes of the decoder's output if the encoder reads another source while its final
        output is fixed.

        Yields:
            beside_top: change in the given model.
            layerwise: change in a model whose decoder layers read the encoder layer of the same
                number instead of the final output. It is missing if the encoder has only one layer,
                or if the decoder has another number of layers.
        """
        src = self.other_inputs._replace(tgt_in=self.inputs.tgt_in)
        beside = trace(self.model, src, memory=self.base.memory)
        yield "beside_top", moved(self.base.states, beside.states)
        if self.layers["encoder"] == self.layers["decoder"] > 1:
            yield "layerwise", moved(self.layerwise(self.base), self.layerwise(beside))

    def layerwise(self, encoded: Trace) -> Tensor:
        """Return the output of the decoder if each of its layers, except the last, reads the
        encoder layer of the same number as recorded in `encoded`.

        The last decoder layer reads the final output of the encoder for the words of the probe.
        """
        levels = [*encoded.streams["encoder"][2::2], self.base.memory]
        with memories(self.model, levels):
            return trace(self.model, self.inputs).states

    def bottom(self) -> Measured:
        """Yield changes of a stack's output if all words are replaced while the input of one layer
        is fixed. Each layer except the first is fixed once.

        Yields:
            embedding_bypass: change in the given model.
            embedding_everywhere: change in a model that adds the embedded words to the input of
                every layer.
        """
        both = self.inputs, self.other_inputs
        for stack, per_layer in SUBLAYERS.items():
            for at in range(per_layer, per_layer * self.layers[stack], per_layer):
                yield "embedding_bypass", moved(*map(partial(self.output, stack, at), both))
                yield "embedding_everywhere", moved(*map(partial(self.everywhere, stack, at), both))

    def output(self, stack: str, at: int, words: Seq2Seq) -> Tensor:
        """Return the output of the encoder or decoder for `words`, if the encoder output and the
        input of sub-layer number `at` keep the values that they have for the words of the probe.
        """
        fixed = {stack: (at, self.base.streams[stack][at])}
        traced = trace(self.model, words, fixed, self.base.memory)
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


def words(model: Transformer, src: Tensor, tgt: Tensor) -> Measured:
    """Yield effects of single words on two states of the decoder: its output, and the residual
    stream after its first self-attention.

    The effect of a word on a state is the change of the state if the word is replaced.

    Yields:
        later_words: effect of a later target word on either state at an earlier position.
        own_word: largest effect of a target word on a state at its own position, for either state.
        first_on_second: effect of the first target word on either state at the second position.
        source_on_first: effect of a source word on the output at the first position.
        source_on_attention: effect of a source word on the residual stream after the first
            self-attention, at the first position.
    """
    by_target, by_source = each_replaced(tgt), each_replaced(src)
    traced = trace(model, Seq2Seq(src.expand_as(by_target), by_target))
    for effects in map(influence, (traced.states, traced.streams["decoder"][CROSS])):
        yield "later_words", effects[torch.ones_like(effects, dtype=torch.bool).triu(1)]
        yield "own_word", effects.diagonal().max()
        yield "first_on_second", effects[1, 0]
    source = trace(model, Seq2Seq(by_source, tgt.expand_as(by_source)))
    yield "source_on_first", influence(source.states)[0]
    yield "source_on_attention", influence(source.streams["decoder"][CROSS])[0]
