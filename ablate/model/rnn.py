"""Recurrent encoder and decoder, with or without attention.

Equation: h_t = cell(h_{t-1}, x_t) in n_layers layers; the decoder begins with the encoder's last
    states. m_1 .. m_S are the outputs of the encoder's top layer. With attention: a = softmax over
    s of score(h_t, m_s), c = sum over s of a_s m_s, and tanh(W [c; h_t]) replaces h_t. Scores: dot
    h.m, general h.(U m), additive v.tanh(Q h + U m).
Source: arXiv:1409.3215 (LSTM without attention); arXiv:1409.0473 (GRU, bidirectional, additive);
    arXiv:1508.04025, section 3.1 (attention after the decoder; dot, general); cells: torch.nn.LSTM,
    GRU.
What differs: attention follows the decoder, and its output is not an input of the next step, so
    that training computes all steps at once; in arXiv:1409.0473 attention comes before the cell.
    The directions of a bidirectional encoder have d_model / 2 each. Sources are not reversed.
    Matrices are Xavier uniform, all gates of a cell as one matrix. Biases are 0, except for the
    bias `forget_bias` of the forget gate in an LSTM and of the update gate in a GRU (Jozefowicz et
    al. 2015).
What to expect: attention gains most on long sentences (arXiv:1409.0473, figure 2); additive is
    slightly ahead of dot and general (arXiv:1703.03906).
"""

from collections.abc import Callable, Iterator
from typing import Annotated

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from ablate.config.limits import Count, OneOf
from ablate.data import PAD
from ablate.errors import UserError
from ablate.model import Cache, Model, Seq2Seq
from ablate.model.embedding import Embedding
from ablate.model.head import LinearHead
from ablate.model.layers import Dropout, Linear, Rate
from ablate.model.stack import Memory

CELLS: dict[str, type[nn.LSTM] | type[nn.GRU]] = {"lstm": nn.LSTM, "gru": nn.GRU}
States = tuple[Tensor, ...]  # each "1 B D": output and cell state of an LSTM, output of a GRU


class Recurrent(Model):
    """A recurrent encoder and a recurrent decoder, with or without attention.

    Args:
        cell: type of the recurrent layers: lstm | gru.
        bidirectional: whether the encoder reads in both directions, each with width d_model / 2.
        attention: scores of decoder attention: none (no attention) | additive | dot | general.
        forget_bias: initial bias of the forget gate (LSTM) or the update gate (GRU).
        d_model: width of embeddings and layers.
        n_layers: number of encoder layers, and number of decoder layers.
        dropout: dropout probability of embeddings and between layers.
        embedding: factory of the embedding, as in the Transformer.
        src_vocab: size of the source vocabulary.
        tgt_vocab: size of the target vocabulary.
        joint_vocab: whether both are the same vocabulary.

    Raises:
        UserError: `d_model` is odd although the encoder is bidirectional.
    """

    def __init__(  # noqa: PLR0913
        self,
        *,
        cell: Annotated[str, OneOf(("lstm", "gru"))],
        bidirectional: bool,
        attention: Annotated[str, OneOf(("none", "additive", "dot", "general"))],
        forget_bias: float,
        d_model: Count,
        n_layers: Count,
        dropout: Rate,
        embedding: Callable[..., Embedding],
        src_vocab: int,
        tgt_vocab: int,
        joint_vocab: bool,
    ) -> None:
        super().__init__()
        if bidirectional and d_model % 2:
            raise UserError(
                "model.d_model is odd: the two directions of a bidirectional encoder share it, so "
                "it must be even, or model.bidirectional=false"
            )

        def layers(directions: int) -> nn.ModuleList:
            return nn.ModuleList(
                Layer(cell, d_model, directions, forget_bias) for _ in range(n_layers)
            )

        self.embedding = embedding(
            d_model=d_model, src_vocab=src_vocab, tgt_vocab=tgt_vocab, joint_vocab=joint_vocab
        )
        self.encoder, self.decoder = layers(1 + bidirectional), layers(1)
        self.attention = None if attention == "none" else Attention(attention, d_model)
        self.dropout = Dropout(dropout)
        self.head = LinearHead(self.embedding.output_weight)

    def forward(self, inputs: Seq2Seq) -> Float[Tensor, "B T D"]:
        """Return for each target token the hidden state that predicts the next token."""
        memory, states = self.encode(inputs.src)
        x, _ = self.decode(self.embedding.embed_tgt(inputs.tgt_in), states)
        return (
            x if self.attention is None else self.attention(x, memory, self.attention.keys(memory))
        )

    def encode(self, src: Int[Tensor, "B S"]) -> tuple[Memory, list[States]]:
        """Return the outputs of the encoder, and the last states of each of its layers."""
        real = src != PAD
        x, lengths, last = self.embedding.embed_src(src), real.sum(1), []
        for layer in self.encoder:
            assert isinstance(layer, Layer)
            x, states = layer.read(self.dropout(x), lengths)
            last.append(states)
        return Memory(x, real), last

    def decode(
        self, x: Float[Tensor, "B T D"], states: list[States]
    ) -> tuple[Float[Tensor, "B T D"], list[States]]:
        """Return the outputs of the decoder's top layer, and the last states of each of its layers.

        Args:
            x: embedded target tokens.
            states: the states of each layer before the first token.
        """
        last = []
        for layer, begin in zip(self.decoder, states, strict=True):
            x, end = layer(self.dropout(x), begin)
            last.append(end)
        return self.dropout(x), last

    @torch.no_grad()
    def start(self, src: Int[Tensor, "B S"], beams: int) -> "RecurrentCache":
        """Encode the source; return the decoding cache, with `beams` rows per sentence."""
        memory, states = self.encode(src)
        keys = memory.states if self.attention is None else self.attention.keys(memory)
        each = [tuple(s.repeat_interleave(beams, 1) for s in layer) for layer in states]
        return RecurrentCache(beams, memory, keys, each)

    @torch.no_grad()
    def step(self, tokens: Int[Tensor, " R"], cache: "RecurrentCache") -> Float[Tensor, "R D"]:
        """Return, for each row, the hidden state that predicts the row's next token.

        `tokens` has the newest token of each row. The cache stores the token for later steps.
        """
        newest = self.embedding.embed_tgt(tokens[:, None])
        x, cache.states = self.decode(newest, cache.states)
        if self.attention is None:
            return x[:, 0]
        queries = x.view(-1, cache.beams, x.size(2))
        return self.attention(queries, cache.memory, cache.keys).flatten(0, 1)

    def layers(self) -> Iterator[tuple[str, list[nn.Parameter]]]:
        """Yield each layer's name, such as "encoder.0", and the list of its parameters."""
        for stack, layers in (("encoder", self.encoder), ("decoder", self.decoder)):
            for number, layer in enumerate(layers):
                yield f"{stack}.{number}", list(layer.parameters())


class Layer(nn.Module):
    """A recurrent layer (LSTM or GRU) whose outputs have d_model channels.

    If `directions` is 2, each direction has d_model / 2 channels.
    """

    def __init__(self, cell: str, d_model: int, directions: int, forget_bias: float) -> None:
        super().__init__()
        width = d_model // directions
        self.cell = CELLS[cell](d_model, width, batch_first=True, bidirectional=directions == 2)
        self.forget_bias = forget_bias

    def train(self, mode: bool = True) -> "Layer":
        """Set the mode of this layer; its cell, which has no dropout, stays in training mode.

        cuDNN computes gradients of a cell in training mode only.
        """
        super().train(mode)
        self.cell.train()
        return self

    def forward(
        self, x: Float[Tensor, "B T D"], states: States
    ) -> tuple[Float[Tensor, "B T D"], States]:
        """Return the outputs and the last states, starting from `states`.

        Padding must be on the right.
        """
        if not len(x):
            return x, states
        begin = tuple(s.contiguous() for s in states)
        x, end = self.cell(x, begin if isinstance(self.cell, nn.LSTM) else begin[0])
        return x, end if isinstance(end, tuple) else (end,)

    def read(
        self, x: Float[Tensor, "B S D"], lengths: Int[Tensor, " B"]
    ) -> tuple[Float[Tensor, "B S D"], States]:
        """Return the outputs for padded sequences, and the last state of each sequence.

        `lengths` has the numbers of tokens without padding. The last state is the state after the
        last of these tokens.
        """
        if not len(x):  # torch packs no empty batch
            return x, (x.new_zeros(1, 0, x.size(2)),) * (1 + isinstance(self.cell, nn.LSTM))
        packed = pack_padded_sequence(
            x, lengths.clamp(min=1).cpu(), batch_first=True, enforce_sorted=False
        )
        read, end = self.cell(packed)
        states, _ = pad_packed_sequence(read, batch_first=True, total_length=x.size(1))
        last = end if isinstance(end, tuple) else (end,)
        return states, tuple(s.transpose(0, 1).flatten(1)[None] for s in last)

    def adjust_initial_values(self) -> None:
        """Set the bias of one gate to `forget_bias`, and the biases of all other gates to 0.

        This gate is the forget gate of an LSTM, or the update gate of a GRU.
        """
        for name, parameter in self.cell.named_parameters():
            if name.startswith("bias"):
                parameter.zero_()
            if name.startswith("bias_ih"):
                gates = parameter.view(-1, self.cell.hidden_size)
                # order of the gates: input, forget, cell, output (LSTM); reset, update, new (GRU)
                gates[1] = self.forget_bias


class Attention(nn.Module):
    """Attention of the decoder's outputs over the memory, which is the encoder's outputs."""

    def __init__(self, score: str, d_model: int) -> None:
        super().__init__()
        self.score = score
        if score != "dot":
            self.key = nn.Linear(d_model, d_model, bias=False)
        if score == "additive":
            self.query = nn.Linear(d_model, d_model, bias=False)
            self.weigh = nn.Linear(d_model, 1, bias=False)
        self.output = Linear(2 * d_model, d_model)

    def keys(self, memory: Memory) -> Float[Tensor, "B S D"]:
        """Return the keys of the memory (the encoder's outputs), computed once per source."""
        return memory.states if self.score == "dot" else self.key(memory.states)

    def forward(
        self, x: Float[Tensor, "B T D"], memory: Memory, keys: Float[Tensor, "B S D"]
    ) -> Float[Tensor, "B T D"]:
        """Return tanh(W [c; x]) for each decoder output x.

        c is the mean of the encoder's outputs, weighted by the attention of x. `keys` is the result
        of the method `keys`.
        """
        if self.score == "additive":
            sums = self.query(x)[:, :, None] + keys[:, None]
            scores = self.weigh(sums.tanh())[..., 0]
        else:
            scores = x @ keys.transpose(1, 2)
        weights = scores.masked_fill(~memory.real[:, None], -torch.inf).softmax(-1)
        context = weights.to(memory.states.dtype) @ memory.states
        return self.output(torch.cat([context, x], -1)).tanh()


class RecurrentCache(Cache):
    """The states of every hypothesis, and the encoder's outputs for each sentence."""

    def __init__(
        self, beams: int, memory: Memory, keys: Float[Tensor, "M S D"], states: list[States]
    ) -> None:
        self.beams, self.memory, self.keys, self.states = beams, memory, keys, states

    def reorder(self, rows: Int[Tensor, " R"]) -> None:
        """Replace the state of row i by the state of row `rows[i]` of the same sentence."""
        self.states = [tuple(s.index_select(1, rows) for s in layer) for layer in self.states]

    def keep(self, sentences: Int[Tensor, " M"]) -> None:
        """Keep the rows of the given sentences and drop all other rows."""
        self.memory = Memory(*(part.index_select(0, sentences) for part in self.memory))
        self.keys = self.keys.index_select(0, sentences)
        beams = torch.arange(self.beams, device=sentences.device)
        self.reorder((sentences[:, None] * self.beams + beams).flatten())
