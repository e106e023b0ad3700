"""A model that a user might add, as short as possible."""

import torch
from torch import nn

from ablate.data import PAD
from ablate.model import Cache, Model
from ablate.model.embedding import TiedAll
from ablate.model.head import LinearHead


class Recurrent(Model):
    """A GRU that reads the source and goes on with the target."""

    def __init__(self, *, d_model, src_vocab, tgt_vocab, joint_vocab):
        super().__init__()
        vocabularies = {"src_vocab": src_vocab, "tgt_vocab": tgt_vocab, "joint_vocab": joint_vocab}
        self.embedding = TiedAll(d_model=d_model, scaled=True, **vocabularies)
        self.reader = nn.GRUCell(d_model, d_model)
        self.writer = nn.GRU(d_model, d_model, batch_first=True)
        self.head = LinearHead(self.embedding.output_weight)

    def read(self, src):
        state = torch.zeros(len(src), self.reader.hidden_size, device=src.device)
        embedded = self.embedding.embed_src(src)
        for column in range(src.size(1)):
            new = self.reader(embedded[:, column], state)
            state = torch.where((src[:, column] != PAD)[:, None], new, state)
        return state

    def forward(self, inputs):
        return self.writer(self.embedding.embed_tgt(inputs.tgt_in), self.read(inputs.src)[None])[0]

    def start(self, src, beams):
        return Hidden(self.read(src).repeat_interleave(beams, 0), beams)

    def step(self, tokens, cache):
        embedded = self.embedding.embed_tgt(tokens[:, None])
        states, cache.state = self.writer(embedded, cache.state[None])[0], None
        cache.state = states[:, 0]
        return states[:, 0]


class Hidden(Cache):
    """The last state of every row."""

    def __init__(self, state, beams):
        self.state, self.beams = state, beams

    def reorder(self, rows):
        self.state = self.state[rows]

    def keep(self, sentences):
        rows = sentences[:, None] * self.beams + torch.arange(self.beams)
        self.state = self.state[rows.flatten()]
