"""Train torch's modules with a hand-written loop, for `lab.bench.language_models`.

    python -m lab.bench.torch_loop language_model|recurrent OVERRIDES...

The loop trains on the batches of the run with this config, in the same order. Model sizes, dropout,
tied embedding, optimiser, schedule, loss and the distribution of initial values are the same. Only
the random initial values and dropout masks differ. Prints one JSON line: the validation nll, the
number of parameters, the mean target tokens of a step, and the times of the steps.
"""

import argparse
import json
import math
import time
from collections.abc import Iterator
from typing import Any

import torch
from omegaconf import DictConfig
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from ablate.data import PAD
from ablate.data.batching import Batch
from ablate.data.module import TextData
from ablate.model.base import Causal, Seq2Seq
from ablate.process import keep_memory
from ablate.seeding import seed_dropout, seed_of
from ablate.train.job import Job, prepare_data
from ablate.train.resolve import resolve
from lab.bench.ours import compose


class LanguageModel(nn.Module):
    """A Pre-LN language model around torch.nn.TransformerEncoder, with sinusoids and a causal mask.

    The embedding is also the output projection.
    """

    def __init__(self, vocab: int, m: DictConfig) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocab, m.d_model)
        layer = nn.TransformerEncoderLayer(
            m.d_model, m.n_heads, m.d_ff, m.dropout.rate, batch_first=True, norm_first=True
        )
        self.stack = nn.TransformerEncoder(
            layer, m.n_layers, nn.LayerNorm(m.d_model), enable_nested_tensor=False
        )
        self.dropout = nn.Dropout(m.dropout.rate)
        draw(self)

    def forward(self, inputs: Causal) -> Tensor:
        """Return the states from which the token after each token is predicted."""
        length, width = inputs.tokens.size(1), self.embedding.embedding_dim
        x = self.dropout(
            self.embedding(inputs.tokens) * math.sqrt(width) + sinusoids(length, width)
        )
        mask = torch.ones(length, length, dtype=torch.bool).triu(1)
        states: Tensor = self.stack(x, mask, is_causal=True)  # padding is on the right
        return states


class Translator(nn.Module):
    """A translator with torch.nn.LSTM as encoder and decoder.

    It has the "general" attention of arXiv:1508.04025. The embedding is shared by both languages
    and the output projection.
    """

    def __init__(self, vocab: int, m: DictConfig) -> None:
        super().__init__()
        rate = {"dropout": m.dropout if m.n_layers > 1 else 0.0, "batch_first": True}
        self.embedding = nn.Embedding(vocab, m.d_model)
        self.encoder = nn.LSTM(m.d_model, m.d_model // 2, m.n_layers, bidirectional=True, **rate)
        self.decoder = nn.LSTM(m.d_model, m.d_model, m.n_layers, **rate)
        self.key = nn.Linear(m.d_model, m.d_model, bias=False)
        self.output = nn.Linear(2 * m.d_model, m.d_model)
        self.dropout = nn.Dropout(m.dropout)
        draw(self)
        for name, bias in self.named_parameters():
            if ".bias_ih_l" in name:
                bias.data.view(4, -1)[1] = m.forget_bias

    def forward(self, inputs: Seq2Seq) -> Tensor:
        """Return the states from which the token after each target token is predicted."""
        real, scale = inputs.src != PAD, math.sqrt(self.embedding.embedding_dim)
        src, tgt = (self.dropout(self.embedding(ids) * scale) for ids in inputs)
        packed = pack_padded_sequence(src, real.sum(1), batch_first=True, enforce_sorted=False)
        read, last = self.encoder(packed)
        memory, _ = pad_packed_sequence(read, batch_first=True, total_length=src.size(1))
        begin = [s.unflatten(0, (-1, 2)).transpose(1, 2).flatten(2).contiguous() for s in last]
        x = self.dropout(self.decoder(tgt, tuple(begin))[0])
        scores = x @ self.key(memory).mT
        weights = scores.masked_fill(~real[:, None], -torch.inf).softmax(-1)
        return self.output(torch.cat([weights @ memory, x], -1)).tanh()


def draw(net: Any) -> None:
    """Draw initial values from the distributions of `ablate`.

    With torch's own initial values, an LSTM learns more slowly.
    """
    for name, parameter in net.named_parameters():
        if parameter.dim() > 1:
            nn.init.xavier_uniform_(parameter)
        elif "bias" in name:
            nn.init.zeros_(parameter)
    nn.init.normal_(net.embedding.weight, std=net.embedding.embedding_dim**-0.5)


def sinusoids(length: int, width: int) -> Tensor:
    """Return the sinusoidal positions of arXiv:1706.03762, section 3.5: (length, width)."""
    pair = torch.arange(0, width, 2)
    angle = torch.arange(length)[:, None] * 10000.0 ** (-pair / width)
    return torch.stack([angle.sin(), angle.cos()], -1).flatten(1)


def endless(data: TextData) -> Iterator[Batch]:
    """Yield the training batches of one epoch after the other, without end."""
    loader, epoch = data.train_dataloader(), 0
    while True:
        loader.sampler.set_epoch(epoch)  # type: ignore[attr-defined]
        yield from loader
        epoch += 1


def by_hand(job: Job, net: Any, data: TextData) -> dict[str, Any]:
    """Train one of torch's models for the budget of the config.

    Args:
        job: the resolved config.
        net: the model.
        data: the training data.

    Returns:
        tokens: mean number of target tokens of a step.
        clock: number of steps and seconds since the start, at each interval of logging.
    """
    config = job.config
    optimizer = job.optimizer(net.parameters())
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda d: job.schedule(d + 1))
    net.train()
    tokens, start, clock = 0, time.perf_counter(), []
    for step, batch in zip(range(1, config.budget.steps + 1), endless(data), strict=False):
        real = batch.targets != PAD
        logits = F.linear(net(batch.inputs)[real], net.embedding.weight)
        objective, _ = job.loss(logits, batch.targets[real])
        optimizer.zero_grad()
        objective.backward()
        optimizer.step()
        schedule.step()
        tokens += int(real.sum())
        if step % config.trainer.log_every_n_steps == 0:  # as in a record
            clock.append((step, time.perf_counter() - start))
    return {"tokens": tokens / config.budget.steps, "clock": clock}


@torch.no_grad()
def nll(net: Any, data: TextData) -> float:
    """Return the mean nll of the validation tokens."""
    net.eval()
    total, count = 0.0, 0
    for batch in data.val_dataloader():
        real = batch.targets != PAD
        logits = F.linear(net(batch.inputs)[real], net.embedding.weight)
        total += float(F.cross_entropy(logits, batch.targets[real], reduction="sum"))
        count += int(real.sum())
    return total / count


def main() -> None:
    """Train and validate, and print the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("system", choices=("language_model", "recurrent"))
    parser.add_argument("overrides", nargs="*")
    given = parser.parse_args()
    config = compose(given.overrides)
    job = resolve(config)
    torch.set_num_threads(config.threads)
    keep_memory()
    data = prepare_data(job)
    kind = LanguageModel if given.system == "language_model" else Translator
    torch.manual_seed(config.seed)
    net = kind(data.tokenizers.tgt.size, config.model)
    seed_dropout(seed_of(config), 0)
    measurements = by_hand(job, net, data)
    size = sum(p.numel() for p in net.parameters())
    print(json.dumps({"nll": nll(net, data), "parameters": size, **measurements}))


if __name__ == "__main__":
    main()
