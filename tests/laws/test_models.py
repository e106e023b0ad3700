"""Laws of every model on every kind of inputs that it takes, small, with its own components."""

import copy
import functools

import pytest
import torch
from hydra.utils import get_class
from omegaconf import OmegaConf
from torch.nn import functional as F

from ablate.config import CONF
from ablate.errors import UserError
from ablate.initial import initialise
from ablate.model import Causal, CausalDocuments, Law, Seq2Seq, build
from ablate.model.attention.multi_head import SelfAttention
from ablate.testing import model as testing

PAD, VOCAB = 0, 20
# a size is a config that names another model in its defaults
MODELS = sorted(path.stem for path in CONF.glob("model/*.yaml") if "_target_" in path.read_text())
SMALL = {"d_model": 16, "d_ff": 24, "n_heads": 2, "n_layers": 2}


def model_config(level, *overrides):
    return copy.deepcopy(_composed(level, *overrides))


@functools.cache
def _composed(level, *overrides):
    given = OmegaConf.load(CONF / f"model/{level}.yaml")
    small = [f"model.{key}={value}" for key, value in SMALL.items() if key in given]
    chosen = "micro" if level == "transformer" else level
    return testing.model_config(*small, *overrides, size=chosen, small=False)


def built(config, seed=1):
    model = build(config, src_vocab=VOCAB, tgt_vocab=VOCAB, joint_vocab=True)
    initialise(model, seed)
    return model.eval()


def kinds():
    for level in MODELS:
        model = get_class(OmegaConf.load(CONF / f"model/{level}.yaml")._target_)
        # documents have numbers that are no tokens: they have laws of their own below
        takes = model.takes - {CausalDocuments}
        yield from ((level, kind) for kind in sorted(takes, key=lambda kind: kind.__name__))


KINDS = list(kinds())


@pytest.fixture(scope="module", params=MODELS)
def level(request):
    return request.param


@pytest.fixture(scope="module", params=KINDS, ids=lambda kind: f"{kind[0]}-{kind[1].__name__}")
def taken(request):
    """A model and the kind of inputs that it is given."""
    level, kind = request.param
    return built(model_config(level)), kind


def inputs_of(kind, rows=4, width=9):
    """Token ids, padded; the last field is what the states are aligned with."""
    generator = torch.Generator().manual_seed(0)
    fields = [torch.randint(4, VOCAB, (rows, n), generator=generator) for n in (6, width)]
    for row, lengths in enumerate([(6, width), (4, 5), (2, width), (5, 1)][:rows]):
        for ids, length in zip(fields, lengths, strict=True):
            ids[row, length:] = PAD
    return kind(*fields[-len(kind._fields) :])


def states(model, inputs):
    return model.head(model(inputs))


def close(a, b):
    return torch.allclose(a, b, rtol=1e-4, atol=1e-5)


def test_shape_and_gradients(taken):
    model, kind = taken
    inputs = inputs_of(kind)
    tokens = inputs[-1]
    model.train().zero_grad()
    logits = states(model, inputs)
    assert logits.shape == (*tokens.shape, VOCAB)
    F.cross_entropy(logits[tokens != PAD], tokens.roll(-1, 1)[tokens != PAD]).backward()
    model.eval()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters())


@torch.no_grad()
def test_no_future(taken):
    model, kind = taken
    inputs = inputs_of(kind)
    tokens = inputs[-1]
    other = tokens.clone()
    other[:, 4:] = torch.where(other[:, 4:] == 5, 6, 5)
    changed = inputs._replace(**{kind._fields[-1]: other})
    past = (tokens != PAD)[:, :4]
    same = close(states(model, inputs)[:, :4][past], states(model, changed)[:, :4][past])
    assert same == (Law.NO_FUTURE not in model.breaks)


@torch.no_grad()
def test_padding_changes_nothing(taken):
    model, kind = taken
    inputs = inputs_of(kind)
    real = inputs[-1] != PAD
    whole = states(model, inputs)
    for field in kind._fields:
        longer = F.pad(getattr(inputs, field), (0, 7), value=PAD)
        more = states(model, inputs._replace(**{field: longer}))[:, : real.size(1)]
        assert close(whole[real], more[real])


@torch.no_grad()
def test_batch_mates_change_nothing(taken):
    model, kind = taken
    inputs = inputs_of(kind)
    whole = states(model, inputs)
    for row in range(4):
        alone = kind(*(ids[row, ids[row] != PAD][None] for ids in inputs))
        assert close(states(model, alone)[0], whole[row, : alone[-1].size(1)])


def test_an_empty_batch_gives_an_empty_output(taken):
    model, kind = taken
    none = torch.empty(0, 5, dtype=torch.long)
    assert states(model, kind(*(none for _ in kind._fields))).shape == (0, 5, VOCAB)


def options(group):
    names = sorted(path.stem for path in CONF.glob(f"model/{group}/*.yaml"))
    return [f"model/{group}={name}" for name in names if "linformer" not in name]  # never causal


@pytest.mark.parametrize("choice", options("attention"))
def test_documents_in_a_row_are_read_as_if_alone(choice):
    """Without positions, which count on from one document to the next."""
    model = built(model_config("decoder_only", choice, "model/position=none"))
    if not all(kernel.keeps_pairs for _, kernel in model.attentions()):
        with pytest.raises(UserError):
            model.check_documents()
        return
    tokens = inputs_of(Causal, rows=1, width=60).tokens
    documents = torch.tensor([[0] * 5 + [1] * 4 + [2] * 51])
    parts = (slice(0, 5), slice(5, 9), slice(9, 60))
    together = states(model, CausalDocuments(tokens, documents))
    alone = torch.cat([states(model, Causal(tokens[:, part])) for part in parts], 1)
    assert close(together, alone)
    for a, b in zip(gradients(model, together), gradients(model, alone), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)
    with torch.no_grad():
        whole = states(model, CausalDocuments(tokens, torch.zeros_like(documents)))
        assert close(whole, states(model, Causal(tokens)))
        assert close(whole, together) == (choice == "model/attention=off")


def gradients(model, logits):
    targets = torch.arange(logits.size(1)) % VOCAB
    loss = F.cross_entropy(logits[0], targets)
    return torch.autograd.grad(loss, list(model.parameters()), retain_graph=True)


@pytest.mark.parametrize(
    ("choice", "width"),
    [
        *((choice, 64) for choice in (*options("attention"), *options("padding"))),
        ("model/attention=fused", 9),  # few keys are not for torch's kernel
    ],
)
def test_without_padding_a_model_does_without_its_mask_to_the_bit(choice, width, monkeypatch):
    model = built(model_config("decoder_only", choice))
    (tokens,) = inputs_of(Causal, rows=1, width=width)

    def results():
        model.zero_grad()
        logits = states(model, Causal(tokens))
        F.cross_entropy(logits.flatten(0, 1), tokens.roll(-1, 1).flatten()).backward()
        return [logits, *(parameter.grad for parameter in model.parameters())]

    without = results()
    forward = SelfAttention.forward

    def with_mask(self, x, at):
        assert not at.padded
        return forward(self, x, at._replace(padded=True))

    monkeypatch.setattr(SelfAttention, "forward", with_mask)
    for a, b in zip(without, results(), strict=True):
        assert torch.equal(a, b)


TRANSLATES = [level for level, kind in KINDS if kind is Seq2Seq]


@torch.no_grad()
@pytest.mark.parametrize("level", TRANSLATES)
def test_decoding_step_by_step_equals_the_parallel_pass(level, beams=3):
    """Beams go on from each other and sentences leave, past the first block of the caches."""
    model = built(model_config(level))
    src = inputs_of(Seq2Seq).src
    generator = torch.Generator().manual_seed(1)
    cache, sentences = model.start(src, beams), torch.arange(4)
    history = torch.empty(4 * beams, 0, dtype=torch.long)
    for step in range(36):
        tokens = torch.randint(4, VOCAB, (len(history),), generator=generator)
        history = torch.cat([history, tokens[:, None]], 1)
        logits = model.head(model.step(tokens, cache))
        if step in (0, 1, 5, 17, 35):
            whole = states(model, Seq2Seq(src[sentences].repeat_interleave(beams, 0), history))
            assert close(logits, whole[:, -1])
        if step in (3, 20):
            kept = torch.tensor([0, 2, 3] if step == 3 else [1])
            cache.keep(kept)
            sentences = sentences[kept]
            history = history.view(-1, beams, step + 1)[kept].flatten(0, 1)
        first = torch.arange(len(history)) // beams * beams
        rows = first + torch.randint(beams, (len(history),), generator=generator)
        cache.reorder(rows)
        history = history[rows]


@torch.no_grad()
@pytest.mark.parametrize("setting", ["causal=false", "share_layers=pairs", "share_layers=all"])
@pytest.mark.parametrize("level", [level for level in TRANSLATES if level != "rnn"])
def test_a_setting_breaks_the_laws_that_the_model_then_declares(level, setting):
    model = built(model_config(level, f"model.{setting}", "model.n_layers=3"))
    inputs = src, tgt_in = inputs_of(Seq2Seq)
    real = tgt_in != PAD
    whole = states(model, inputs)
    other = inputs._replace(tgt_in=torch.where(tgt_in == 5, 6, 5).where(real, PAD))
    other.tgt_in[:, :4] = tgt_in[:, :4]
    past = real[:, :4]
    no_future = close(states(model, other)[:, :4][past], whole[:, :4][past])
    assert no_future == (Law.NO_FUTURE not in model.breaks)
    cache = model.start(src, 1)
    steps = torch.stack([model.head(model.step(tokens, cache)) for tokens in tgt_in.T], 1)
    assert close(steps[real], whole[real]) == (Law.STEPWISE not in model.breaks)
    assert bool(model.breaks) == (setting == "causal=false")


@torch.no_grad()
@pytest.mark.parametrize("level", ["decoder_only", "prefix_lm"])
def test_a_source_in_front_is_read_as_a_whole_or_by_what_follows(level):
    model = built(model_config(level))
    read = []
    model.stack.layers[0]["self_attention"].register_forward_hook(
        lambda module, inputs, output: read.append(output)
    )
    inputs = inputs_of(Seq2Seq)
    model(inputs)
    model(inputs._replace(src=torch.cat([inputs.src[:, :3], inputs.src[:, 3:].flip(1)], 1)))
    assert torch.equal(read[0][0, :3], read[1][0, :3]) == (level == "decoder_only")
