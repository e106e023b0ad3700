"""Train a small GPT on tiny Shakespeare with a hand-written loop, for `lab.bench.nanogpt`.

    python -m lab.bench.nanogpt_loop [seed=1] [steps=2000] [layers=4] [heads=4] [width=128] ...

The loop imitates nanoGPT (Karpathy, github.com/karpathy/nanoGPT) with its settings for a laptop.
Model: 4 layers, 4 heads, width 128, context 64, no dropout, no biases, learned positions, the exact
GELU, one matrix for embedding and output. Training: batches of 12 contexts from random places of
the text, AdamW with betas 0.9 and 0.99, weight decay of 0.1 on matrices, gradients clipped at 1.
The learning rate rises to 1e-3 in 100 steps, and then falls to 1e-4 by a cosine. The loop uses no
code of `ablate`. Prints one JSON line: the nll of the whole last tenth of the text in nats per
character, the seconds of the median step, and the number of parameters.
"""

import json
import lzma
import math
import statistics
import sys
import time
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional as F

TEXT = Path(__file__).parents[2] / "ablate" / "data" / "tinyshakespeare.txt.xz"
DEFAULTS = {
    "seed": 1,
    "steps": 2000,
    "layers": 4,
    "heads": 4,
    "width": 128,
    "context": 64,
    "batch": 12,
}
PEAK, LEAST, WARMUP, DECAY = 1e-3, 1e-4, 100, 0.1


class Block(nn.Module):
    """A Pre-LN Transformer block: causal self-attention and a feed-forward network."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm_1, self.norm_2 = (nn.LayerNorm(width, bias=False) for _ in range(2))
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.merge = nn.Linear(width, width, bias=False)
        self.up = nn.Linear(width, 4 * width, bias=False)
        self.down = nn.Linear(4 * width, width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Return the states of the tokens after the block."""
        n, length, width = x.shape
        q, k, v = self.qkv(self.norm_1(x)).chunk(3, -1)
        shape = n, length, self.heads, width // self.heads
        q, k, v = (y.view(shape).transpose(1, 2) for y in (q, k, v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.merge(y.transpose(1, 2).reshape(n, length, width))
        return x + self.down(F.gelu(self.up(self.norm_2(x))))


class Gpt(nn.Module):
    """A decoder-only language model that predicts the next character at every position."""

    def __init__(self, vocab: int, *, layers: int, heads: int, width: int, context: int) -> None:
        super().__init__()
        self.tokens = nn.Embedding(vocab, width)
        self.places = nn.Embedding(context, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(width, bias=False)
        for name, parameter in self.named_parameters():
            if parameter.dim() > 1:
                last = name.endswith(("merge.weight", "down.weight"))
                nn.init.normal_(parameter, std=0.02 / (math.sqrt(2 * layers) if last else 1))

    def forward(self, ids: Tensor) -> Tensor:
        """Return the logits of the next character at every position."""
        x = self.tokens(ids) + self.places.weight[: ids.size(1)]
        for block in self.blocks:
            x = block(x)
        return F.linear(self.norm(x), self.tokens.weight)


def rate(step: int, steps: int) -> float:
    """Return the learning rate of a step, counted from 1."""
    if step < WARMUP:
        return PEAK * step / WARMUP
    done = (step - WARMUP) / max(1, steps - WARMUP)
    return LEAST + (PEAK - LEAST) * 0.5 * (1 + math.cos(math.pi * done))


def loss(net: Gpt, ids: Tensor) -> Tensor:
    """Return the mean nll of all characters of a batch except the first of each context."""
    logits = net(ids[:, :-1])
    return F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())


def make_optimizer(net: Gpt) -> torch.optim.AdamW:
    """Return an AdamW optimiser with weight decay for matrices only."""
    matrices = [p for p in net.parameters() if p.dim() > 1]
    vectors = [p for p in net.parameters() if p.dim() < 2]
    groups = [
        {"params": matrices, "weight_decay": DECAY},
        {"params": vectors, "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=PEAK, betas=(0.9, 0.99), fused=True)


def step(net: Gpt, optimizer: torch.optim.AdamW, ids: Tensor, learning_rate: float) -> Tensor:
    """Take an optimiser step on a batch, and return the loss before the step.

    `ids` has a context with its next character in each row.
    """
    for group in optimizer.param_groups:
        group["lr"] = learning_rate
    optimizer.zero_grad(set_to_none=True)
    value = loss(net, ids)
    value.backward()
    torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    optimizer.step()
    return value.detach()


def draw(text: Tensor, context: int, batch: int) -> Tensor:
    """Return a batch of contexts from random places of a text, each with its next character.

    Args:
        text: character ids of the text.
        context: length of a context.
        batch: number of contexts.
    """
    places = torch.randint(len(text) - context, (batch,)).tolist()
    return torch.stack([text[place : place + context + 1] for place in places])


def train(net: Gpt, text: Tensor, *, steps: int, context: int, batch: int) -> float:
    """Train, and return the seconds of the median step."""
    optimizer = make_optimizer(net)
    seconds = []
    for number in range(1, steps + 1):
        start = time.perf_counter()
        step(net, optimizer, draw(text, context, batch), rate(number, steps))
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


@torch.no_grad()
def evaluate(net: Gpt, text: Tensor, context: int) -> float:
    """Return the mean nll of a text, which is cut into contexts that do not overlap."""
    total = 0.0
    rest = (len(text) - 1) % context
    whole = text[: len(text) - rest].unfold(0, context + 1, context)
    parts = [*whole.split(64), *([text[-rest - 1 :][None]] if rest else [])]
    for ids in parts:
        total += float(loss(net, ids)) * ids[:, 1:].numel()
    return total / (len(text) - 1)


def read_text() -> tuple[Tensor, Tensor, int]:
    """Return the character ids of the training text and of the validation text.

    The third element is the number of different characters.
    """
    text = lzma.decompress(TEXT.read_bytes()).decode()
    number = {character: i for i, character in enumerate(sorted(set(text)))}
    ids = torch.tensor([number[character] for character in text])
    end = int(0.9 * len(ids))
    return ids[:end], ids[end:], len(number)


def main() -> None:
    """Train, evaluate, and print the results."""
    given = DEFAULTS | {key: int(value) for key, value in (w.split("=") for w in sys.argv[1:])}
    torch.set_num_threads(1)
    torch.manual_seed(given.pop("seed"))
    text, validation, vocab = read_text()
    steps, batch, context = given.pop("steps"), given.pop("batch"), given["context"]
    net = Gpt(vocab, **given)
    seconds = train(net, text, steps=steps, context=context, batch=batch)
    figures = {
        "nll": evaluate(net, validation, context),
        "seconds": seconds,
        "parameters": sum(p.numel() for p in net.parameters()),
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
