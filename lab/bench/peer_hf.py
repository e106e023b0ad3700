"""Measure HF's MarianMTModel in the loop of baseline.py, with its options and weights (--load)."""

import sys

import baseline as base
import torch
from baseline import ARCHS, BOS, EOS, PAD, A
from marian import to_marian
from torch.nn import functional as F
from transformers import MarianConfig, MarianMTModel

base.SYSTEM = "transformers MarianMTModel"
TOLERANCE = 1e-3  # largest difference from the baseline's logits with the same weights
baseline_make = base.make


def configuration(vocab):
    """Return the MarianConfig of the baseline's architecture, for a vocabulary of this size."""
    a = ARCHS[A.arch]
    return MarianConfig(
        vocab_size=vocab,
        decoder_vocab_size=vocab,
        d_model=a["d"],
        encoder_layers=a["enc"],
        decoder_layers=a["dec"],
        encoder_attention_heads=a["heads"],
        decoder_attention_heads=a["heads"],
        encoder_ffn_dim=a["ff"],
        decoder_ffn_dim=a["ff"],
        dropout=a["drop"],
        attention_dropout=a["drop"],
        activation_dropout=a["drop"],
        activation_function="relu",
        scale_embedding=True,
        max_position_embeddings=512,
        pad_token_id=PAD,
        eos_token_id=EOS,
        bos_token_id=BOS,
        decoder_start_token_id=BOS,
        forced_eos_token_id=None,
        share_encoder_decoder_embeddings=True,
        tie_word_embeddings=True,
        attn_implementation="sdpa",
    )


def make(text):
    """Return the model, its optimiser and its schedule, as `make` of the baseline does."""
    torch.manual_seed(A.seed)
    net = MarianMTModel(configuration(len(text.itos)))
    if A.load:
        take_over(net, baseline_make(text)[0], text)
    net.train()
    adam = torch.optim.Adam(net.parameters(), lr=A.lr, betas=(0.9, 0.98), eps=1e-9, fused=True)
    up = A.warmup_updates

    def rate(done):
        return min((done + 1) / up, (up / (done + 1)) ** 0.5)

    return net, adam, torch.optim.lr_scheduler.LambdaLR(adam, rate)


@torch.inference_mode()
def take_over(net, other, text):
    """Copy the baseline's weights into the model, and check that both give the same logits.

    Args:
        net: the MarianMTModel.
        other: the baseline's model.
        text: the test sentences for the check.

    Raises:
        SystemExit: a parameter is unknown to transformers, or the logits differ.
    """
    given = to_marian(other.state_dict(), other.pos)
    missing, unknown = net.load_state_dict(given, strict=False)
    if unknown:
        sys.exit(f"transformers has no parameter {unknown[0]} any more")
    net.eval()
    other.eval()
    src, tgt = (base.pad([pair[side] for pair in text.split("test")[:4]]) for side in (0, 1))
    wanted = other.logits(other(src, tgt))
    difference = (forward(net, src, tgt) - wanted).abs()[tgt != PAD].max().item()
    if difference > TOLERANCE:
        sys.exit(f"transformers gives other logits with the same weights, by {difference:.3g}")


def forward(net, src, tgt):
    """Return the logits of a padded batch."""
    keep = (src != PAD).long()
    return net(input_ids=src, attention_mask=keep, decoder_input_ids=tgt, use_cache=False).logits


def loss_of(net, src, tin, tout, smooth=0.1):
    """Return the mean label-smoothed cross-entropy of a batch, with the baseline's arguments."""
    logits = forward(net, src, tin).flatten(0, 1)
    return F.cross_entropy(logits, tout.flatten(), ignore_index=PAD, label_smoothing=smooth)


@torch.inference_mode()
def translate(net, pairs, beams):
    """Return the ids of every translation, without EOS."""
    net.eval()
    order = sorted(range(len(pairs)), key=lambda i: len(pairs[i][0]))
    out = [[]] * len(pairs)
    for k in range(0, len(order), A.batch):
        part = order[k : k + A.batch]
        src = base.pad([pairs[i][0] for i in part])
        generated = net.generate(
            input_ids=src,
            attention_mask=(src != PAD).long(),
            num_beams=beams,
            do_sample=False,
            length_penalty=1.0,
            early_stopping=False,
            max_new_tokens=src.size(1) + 10,
        )
        for i, row in zip(part, generated.tolist(), strict=True):
            out[i] = until_eos(row[1:])
    return out


def until_eos(ids):
    """Return the ids before the first EOS; all ids if there is no EOS."""
    return ids[: ids.index(EOS)] if EOS in ids else ids


base.make, base.loss_of, base.translate = make, loss_of, translate
base.main()
