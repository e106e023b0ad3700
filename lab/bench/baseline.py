"""Measure torch.nn.Transformer in a training loop as a careful user would write it by hand.

Prints one JSON line with the results.

modes
  train    training throughput during --seconds, after a warm-up of --warmup seconds
  greedy   greedy search on the test set, with a hand-written key/value cache
  beam     the same as greedy with --beam hypotheses
"""
import argparse
import json
import math
import os
import random
import resource
import statistics
import sys
import time

ARCHS = {"tiny": dict(d=128, ff=256, heads=4, enc=4, dec=4, drop=0.3),
         "base-ish": dict(d=256, ff=1024, heads=4, enc=3, dec=3, drop=0.3)}
PAD, BOS, EOS, UNK = 0, 1, 2, 3
SYSTEM = "nn.Transformer"
CHUNK = 256  # rows of a chunk with --loss chunk


def options():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("mode", choices=["train", "greedy", "beam"])
    p.add_argument("--data", default="data")
    p.add_argument("--arch", choices=sorted(ARCHS), default="tiny")
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--seconds", type=float, default=60)
    p.add_argument("--warmup", type=float, default=15)
    p.add_argument("--tokens", type=int, default=4096, help="padded target tokens in a training batch")
    p.add_argument("--bf16", action="store_true")
    p.add_argument("--loss", choices=["nonpad", "chunk"], default="nonpad",
                   help="nonpad: gather the real positions before the vocabulary projection; "
                        "chunk: and take projection, softmax and gradient CHUNK rows at a time")
    p.add_argument("--dropout", choices=["torch", "bytes"], default="torch",
                   help="bytes: masks from numpy's SFC64 bytes instead of torch's generator")
    p.add_argument("--lr", type=float, default=0.005)
    p.add_argument("--warmup-updates", type=int, default=2000)
    p.add_argument("--beam", type=int, default=5)
    p.add_argument("--batch", type=int, default=100, help="sentences in a decoding batch")
    p.add_argument("--load", default="")
    p.add_argument("--bleu", action="store_true")
    p.add_argument("--seed", type=int, default=1)
    return p.parse_args()


A = options()
for key in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[key] = str(A.threads)
import torch  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

torch.set_num_threads(A.threads)


# ---------------------------------------------------------------- data
class Text:
    """Reads the token ids and texts that `lab.bench.export` has written, one line per sentence."""

    def __init__(self, folder):
        with open(f"{folder}/vocab.json", encoding="utf-8") as f:
            self.itos = json.load(f)
        self.folder = folder

    def split(self, name):
        sides = []
        for side in ("src", "tgt"):
            with open(f"{self.folder}/{name}.{side}.ids", encoding="utf-8") as f:
                sides.append([[int(t) for t in line.split()] + [EOS] for line in f])
        return list(zip(*sides))

    def words(self, ids):
        return "".join(self.itos[i] for i in ids if i > UNK).replace("▁", " ").strip()


def pad(rows):
    width = max(map(len, rows))
    return torch.tensor([r + [PAD] * (width - len(r)) for r in rows])


def batches(pairs, tokens, rng):
    order = list(range(len(pairs)))
    rng.shuffle(order)
    order.sort(key=lambda i: (len(pairs[i][1]), len(pairs[i][0])))
    out, now, widest = [], [], 0
    for i in order:
        width = max(widest, len(pairs[i][1]))
        if now and width * (len(now) + 1) > tokens:
            out.append(now)
            now, width = [], len(pairs[i][1])
        now.append(i)
        widest = width
    out.append(now)
    rng.shuffle(out)
    for ids in out:
        src, tgt = pad([pairs[i][0] for i in ids]), pad([[BOS] + pairs[i][1] for i in ids])
        yield src, tgt[:, :-1].contiguous(), tgt[:, 1:].contiguous()


# ---------------------------------------------------------------- model
class Net(nn.Module):
    def __init__(self, vocab, d, ff, heads, enc, dec, drop):
        super().__init__()
        self.d = d
        self.embed = nn.Embedding(vocab, d, padding_idx=PAD)
        self.body = nn.Transformer(d, heads, enc, dec, ff, drop, batch_first=True)
        # the output of the last post-norm layer is already normalised
        self.body.encoder.norm = self.body.decoder.norm = None
        self.body.encoder.enable_nested_tensor = False
        for p in self.body.parameters():
            if p.dim() > 1:
                nn.init.xavier_uniform_(p)
        nn.init.normal_(self.embed.weight, std=d ** -0.5)
        with torch.no_grad():
            self.embed.weight[PAD].zero_()
        pos = torch.arange(512)[:, None] * torch.exp(torch.arange(0, d, 2) * (-math.log(1e4) / d))
        self.register_buffer("pos", torch.stack([pos.sin(), pos.cos()], -1).flatten(1), persistent=False)
        self.drop = nn.Dropout(drop)

    def inp(self, ids, at=0):
        return self.drop(self.embed(ids) * math.sqrt(self.d) + self.pos[at:at + ids.size(1)])

    @staticmethod
    def blank(mask):
        return torch.zeros(mask.shape).masked_fill_(mask, float("-inf"))

    def encode(self, src):
        gap = self.blank(src == PAD)
        return self.body.encoder(self.inp(src), src_key_padding_mask=gap), gap

    def decode(self, tgt, memory, gap):
        n = tgt.size(1)
        causal = torch.full((n, n), float("-inf")).triu_(1)
        return self.body.decoder(self.inp(tgt), memory, tgt_mask=causal, tgt_is_causal=True,
                                 memory_key_padding_mask=gap)

    def forward(self, src, tgt):
        memory, gap = self.encode(src)
        return self.decode(tgt, memory, gap)

    def logits(self, h):
        return F.linear(h, self.embed.weight)


class ChunkedLoss(torch.autograd.Function):
    """The mean label-smoothed cross-entropy of the logits h @ w.T.

    Loss and gradients are computed for a chunk of rows at a time. So the logits of the whole batch
    are never in memory.
    """

    @staticmethod
    def forward(ctx, h, w, target, smooth):
        n, v = h.size(0), w.size(0)
        dh, dw = torch.empty_like(h), torch.zeros_like(w)
        buf = torch.empty(min(CHUNK, n), v)
        total = torch.zeros(())
        for a in range(0, n, CHUNK):
            x, y = h[a:a + CHUNK], target[a:a + CHUNK, None]
            z = torch.mm(x, w.t(), out=buf[:x.size(0)])
            right, flat = z.gather(1, y), z.mean(1)
            top = z.max(1, keepdim=True)[0]
            z.sub_(top).exp_()
            mass = z.sum(1, keepdim=True)
            total += ((mass.log() + top)[:, 0] - (1 - smooth) * right[:, 0] - smooth * flat).sum()
            z.div_(mass).sub_(smooth / v)
            z.scatter_add_(1, y, torch.full_like(right, smooth - 1))
            torch.mm(z, w, out=dh[a:a + CHUNK])
            dw.addmm_(z.t(), x)
        ctx.save_for_backward(dh.div_(n), dw.div_(n))
        return total / n

    @staticmethod
    def backward(ctx, g):
        dh, dw = ctx.saved_tensors
        return dh * g, dw * g, None, None


class BytesDropout(torch.autograd.Function):
    import numpy
    source = numpy.random.Generator(numpy.random.SFC64(1))

    @staticmethod
    def forward(ctx, x, p):
        cut = round(p * 256)
        raw = torch.frombuffer(bytearray(BytesDropout.source.bytes(x.numel())), dtype=torch.uint8).view(x.shape)
        mask = (raw >= cut).to(x.dtype).mul_(256 / (256 - cut))
        ctx.save_for_backward(mask)
        return x * mask

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0], None


if A.dropout == "bytes":
    plain_dropout = F.dropout
    F.dropout = lambda x, p=0.5, training=True, inplace=False: BytesDropout.apply(x, p) if training and p else x


def loss_of(net, src, tin, tout, smooth=0.1):
    h = net(src, tin)
    keep = tout.flatten() != PAD
    if A.loss == "chunk":
        return ChunkedLoss.apply(h.flatten(0, 1)[keep].float(), net.embed.weight, tout.flatten()[keep], smooth)
    h, tout = h.flatten(0, 1)[keep], tout.flatten()[keep]
    return F.cross_entropy(net.logits(h), tout, label_smoothing=smooth)


# ---------------------------------------------------------------- decoding
def heads(x, h):
    return x.view(x.size(0), -1, h, x.size(-1) // h).transpose(1, 2)


class Steps:
    """Runs the layers of nn.TransformerDecoder for one token at a time, with a key/value cache."""

    def __init__(self, net, memory, gap, room):
        self.net, self.at, self.layers = net, 0, net.body.decoder.layers
        self.h = self.layers[0].self_attn.num_heads
        d, rows = net.d, memory.size(0)
        self.gap = gap[:, None, None, :]
        self.cross, self.own = [], []
        for L in self.layers:
            a = L.multihead_attn
            kv = F.linear(memory, a.in_proj_weight[d:], a.in_proj_bias[d:])
            self.cross.append([heads(t, self.h) for t in kv.chunk(2, -1)])
            self.own.append([torch.empty(rows, self.h, room, d // self.h) for _ in range(2)])

    def pick(self, rows):
        """Reorder the cached keys and values of self-attention as the hypotheses are reordered.

        Those of cross-attention change only if finished sentences leave the batch (see `keep`).
        """
        for kv in self.own:
            for j in range(2):
                kv[j][:rows.numel(), :, :self.at] = kv[j][:, :, :self.at].index_select(0, rows)

    def keep(self, sent, rows):
        self.gap = self.gap[sent]
        self.cross = [[t[sent] for t in kv] for kv in self.cross]
        self.own = [[t[rows] for t in kv] for kv in self.own]

    def __call__(self, ids):  # ids has the shape (rows,), with rows = sentences * beams
        net, at = self.net, self.at
        x = net.inp(ids[:, None], at)
        sents, rows = self.gap.size(0), ids.size(0)
        d = net.d
        for L, kv, cross in zip(self.layers, self.own, self.cross):
            a = L.self_attn
            q, k, v = F.linear(x, a.in_proj_weight, a.in_proj_bias).chunk(3, -1)
            kv[0][:, :, at:at + 1], kv[1][:, :, at:at + 1] = heads(k, self.h), heads(v, self.h)
            o = F.scaled_dot_product_attention(heads(q, self.h), kv[0][:, :, :at + 1], kv[1][:, :, :at + 1])
            x = L.norm1(x + a.out_proj(o.transpose(1, 2).reshape(rows, 1, d)))
            a = L.multihead_attn
            q = F.linear(x, a.in_proj_weight[:d], a.in_proj_bias[:d]).view(sents, rows // sents, d)
            o = F.scaled_dot_product_attention(heads(q, self.h), cross[0], cross[1], attn_mask=self.gap)
            x = L.norm2(x + a.out_proj(o.transpose(1, 2).reshape(rows, 1, d)))
            x = L.norm3(x + L.linear2(F.relu(L.linear1(x))))
        self.at += 1
        return net.logits(x[:, 0])


def search(net, src, beams, room):
    """Return the ids of the best translation of each sentence, by beam search.

    Scores are divided by the length. Finished sentences leave the batch. With one beam, the search
    is greedy.
    """
    n = src.size(0)
    memory, gap = net.encode(src)
    limit = src.size(1) + room
    step = Steps(net, memory.repeat_interleave(1, 0), gap, limit + 1)
    if beams > 1:
        step.own = [[torch.empty(n * beams, *t.shape[1:]) for t in kv] for kv in step.own]
    best = [(-1e9, [])] * n
    live = list(range(n))
    score = torch.full((n, beams), -1e9)
    score[:, 0] = 0
    ids = torch.full((n * beams,), BOS)
    hyps = torch.empty(n, beams, 0, dtype=torch.long)
    for t in range(limit):
        lp = step(ids).log_softmax(-1)
        lp[:, PAD] = lp[:, BOS] = -1e9
        if t == limit - 1:
            lp[:, :EOS] = lp[:, UNK:] = -1e9
            lp[:, EOS] = 0
        m, V = len(live), lp.size(1)
        if beams == 1:
            val, tok = (lp.view(m, 1, V) + score[:, :, None]).max(-1)
            parent = torch.zeros_like(tok)
        else:
            # at least `beams` of the best 2 * beams hypotheses are unfinished
            val1, tok1 = lp.topk(2 * beams, -1)
            val, flat = (val1.view(m, beams, -1) + score[:, :, None]).flatten(1).topk(2 * beams)
            parent, tok = flat // (2 * beams), tok1.view(m, -1).gather(1, flat)
        ended = tok == EOS
        for i, j in ended[:, :beams].nonzero().tolist():
            s = val[i, j].item() / (t + 1)
            if s > best[live[i]][0]:
                best[live[i]] = (s, hyps[i, parent[i, j]].tolist())
        val = val.masked_fill(ended, -1e9)
        if beams > 1:
            score, at = val.topk(beams, -1)
            parent, tok = parent.gather(1, at), tok.gather(1, at)
        else:
            score = val
        hyps = torch.cat([hyps.gather(1, parent[:, :, None].expand(-1, -1, hyps.size(2))), tok[:, :, None]], 2)
        rows = (torch.arange(m)[:, None] * beams + parent).flatten()
        ids = tok.flatten()
        # a sentence is done when no live hypothesis can beat its best one (greedy: when it ended)
        top = score[:, 0] / (t + 1)
        done = torch.tensor([best[live[i]][0] >= top[i].item() for i in range(m)])
        if t == limit - 1 or done.all():
            break
        if beams > 1:
            step.pick(rows)
        if done.any() and done.sum() * 8 >= m:
            left = (~done).nonzero()[:, 0]
            r = (left[:, None] * beams + torch.arange(beams)).flatten()
            step.keep(left, r)
            live, score, hyps, ids = [live[i] for i in left.tolist()], score[left], hyps[left], ids[r]
    return [b[1] for b in best]


@torch.inference_mode()
def translate(net, pairs, beams):
    net.eval()
    order = sorted(range(len(pairs)), key=lambda i: len(pairs[i][0]))
    out = [None] * len(pairs)
    for k in range(0, len(order), A.batch):
        part = order[k:k + A.batch]
        with torch.autocast("cpu", torch.bfloat16, enabled=A.bf16):
            for i, ids in zip(part, search(net, pad([pairs[i][0] for i in part]), beams, 10)):
                out[i] = ids
    net.train()
    return out


def bleu(text, out):
    import sacrebleu
    with open(f"{text.folder}/test.txt", encoding="utf-8") as f:
        references = f.read().split("\n")[:-1]
    hypotheses = [text.words(o) for o in out]
    return {"bleu_13a": round(sacrebleu.corpus_bleu(hypotheses, [references]).score, 2),
            "hyp_tokens": sum(map(len, out))}


# ---------------------------------------------------------------- runs
def make(text):
    arch = ARCHS[A.arch]
    torch.manual_seed(A.seed)
    net = Net(len(text.itos), **arch)
    if A.load:
        net.load_state_dict(torch.load(A.load))
    adam = torch.optim.Adam(net.parameters(), lr=A.lr, betas=(0.9, 0.98), eps=1e-9, fused=True)
    up = A.warmup_updates
    sched = torch.optim.lr_scheduler.LambdaLR(adam, lambda s: min((s + 1) / up, math.sqrt(up / (s + 1))))
    return net, adam, sched


def step(net, adam, sched, batch):
    adam.zero_grad(set_to_none=True)
    with torch.autocast("cpu", torch.bfloat16, enabled=A.bf16):
        loss = loss_of(net, *batch)
    loss.backward()
    adam.step()
    sched.step()
    return loss


def endless(pairs):
    rng = random.Random(A.seed)
    while True:
        yield from batches(pairs, A.tokens, rng)


def rss():
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def steady(text):
    pairs = text.split("train")
    parts = make(text)
    stream, marks = endless(pairs), []
    start = time.perf_counter()
    real = padded = src_real = 0
    while True:
        src, tin, tout = next(stream)
        t0 = time.perf_counter()
        loss = step(*parts, (src, tin, tout)).item()
        t1 = time.perf_counter()
        if t0 - start < A.warmup:
            continue
        n, s = (tout != PAD).sum().item(), (src != PAD).sum().item()
        marks.append((n, s, t1 - t0, n / (t1 - t0)))
        real, src_real, padded = real + n, src_real + s, padded + tout.numel() + src.numel()
        if t1 - start > A.warmup + A.seconds:
            break
    took = time.perf_counter() - start - A.warmup
    busy = sum(m[2] for m in marks)
    return dict(steps=len(marks), tgt_tok_s=round(statistics.median(m[3] for m in marks)),
                tgt_tok_s_mean=round(real / busy), tgt_tok_s_wall=round(real / took),
                all_tok_s=round((real + src_real) / busy), padding=round(1 - (real + src_real) / padded, 3),
                step_ms=round(1e3 * statistics.median(m[2] for m in marks)),
                params=sum(p.numel() for p in parts[0].parameters()), last_loss=round(loss, 3))


def decode(text):
    net = make(text)[0]
    pairs, beams = text.split("test"), A.beam if A.mode == "beam" else 1
    translate(net, pairs[:A.batch], beams)
    times = []
    start = time.perf_counter()
    while not times or (time.perf_counter() - start < A.seconds and len(times) < 9):
        t0 = time.perf_counter()
        out = translate(net, pairs, beams)
        times.append(time.perf_counter() - t0)
    t = statistics.median(times)
    n = sum(len(o) + 1 for o in out)
    res = dict(beams=beams, runs=len(times), sec=round(t, 2), sent_s=round(len(pairs) / t, 1), out_tok_s=round(n / t))
    res.update(bleu(text, out) if A.bleu else {"hyp_tokens": n})
    return res


def main():
    text = Text(A.data)
    result = steady(text) if A.mode == "train" else decode(text)
    keep = ("mode", "arch", "threads", "tokens", "lr", "warmup_updates", "bf16", "loss", "dropout", "batch")
    print(json.dumps({"system": SYSTEM, "torch": torch.__version__, **{k: getattr(A, k) for k in keep},
                      **result, "peak_rss_mib": rss()}))
    sys.stdout.flush()


if __name__ == "__main__":
    main()
