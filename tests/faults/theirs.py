"""Components that a user might add to every config group, as short as possible."""

from typing import ClassVar

import torch
from torch import nn
from torch.nn.utils import parametrize

from ablate.adapt import Adapt
from ablate.data import PAD
from ablate.initial import initialise
from ablate.metric.table import Metric
from ablate.model import Cache
from ablate.model.attention.multi_head import MultiHeadAttention
from ablate.model.base import Model
from ablate.model.embedding import TiedAll
from ablate.model.head import LinearHead
from ablate.task.translation import Translation, Translations


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


class Counted(Translations):
    """Counts sentences beside what translation measures."""

    def compute(self):
        return {**super().compute(), "sentences": float(len(self.rows))}


class Backwards(Translation):
    """Translation whose sources are read from their end, with a metric of its own."""

    metrics: ClassVar = {
        **Translation.metrics,
        "sentences": Metric("sentences", "count", 0, "higher", "test"),
    }

    def batch(self, src, tgt, lines, draw):
        return super().batch(src[:, ::-1].copy(), tgt, lines, draw)

    def evaluation(self, language, *, thorough):
        return Counted(language, thorough=thorough)


class LowRank(Adapt):
    """Adds a product of two thin matrices to every query, and trains these alone."""

    def __init__(self, *, rank):
        self.rank = rank

    def __call__(self, model, seed):
        model.requires_grad_(False)
        for module in model.modules():
            if isinstance(module, MultiHeadAttention):
                thin = Thin(module.query.weight, self.rank)
                initialise(thin, seed)
                parametrize.register_parametrization(module.query, "weight", thin)


class Thin(nn.Module):
    """The sum of a weight and a product."""

    def __init__(self, weight, rank):
        super().__init__()
        self.down = nn.Parameter(torch.empty(rank, weight.size(1)))
        self.up = nn.Parameter(torch.empty(weight.size(0), rank))

    def forward(self, weight):
        return weight + self.up @ self.down
