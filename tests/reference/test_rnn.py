"""The recurrent model against torch's stacked layers, its attention against a plain loop."""

import pytest
import torch
from torch import nn

from ablate.data import PAD
from ablate.initial import initialise
from ablate.model import Seq2Seq, build

CELLS = {"lstm": nn.LSTM, "gru": nn.GRU}


def recurrent(compose, **options):
    chosen = {"d_model": 8, "n_layers": 2, "dropout": 0.0, "attention": "none", **options}
    overrides = [f"model.{key}={value}" for key, value in chosen.items()]
    config = compose("model=rnn", *overrides).model
    model = build(config, src_vocab=20, tgt_vocab=20, joint_vocab=True)
    initialise(model, 1)
    return model.double()


@pytest.fixture
def batch():
    generator = torch.Generator().manual_seed(0)
    src, tgt = (torch.randint(4, 20, (3, n), generator=generator) for n in (6, 5))
    src[1, 4:] = PAD
    src[2, 1:] = PAD
    return Seq2Seq(src, tgt)


def stacked(cell, layers, bidirectional):
    """torch's module of all layers, with the weights of ours."""
    width = 4 if bidirectional else 8
    module = CELLS[cell](8, width, len(layers), batch_first=True, bidirectional=bidirectional)
    module.double()
    weights = {
        name.replace("_l0", f"_l{i}"): value
        for i, layer in enumerate(layers)
        for name, value in layer.cell.state_dict().items()
    }
    module.load_state_dict(weights)
    return module


def merged(state, layers):
    """ "L*2 B W" to "L B 2*W": both directions of each layer side by side."""
    directions = state.view(layers, -1, *state.shape[1:])
    return directions.transpose(1, 2).flatten(2).contiguous()


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("bidirectional", [False, True])
def test_values_and_gradients_are_those_of_torchs_layers(compose, batch, cell, bidirectional):
    model = recurrent(compose, cell=cell, bidirectional=bidirectional)
    encoder = stacked(cell, model.encoder, bidirectional)
    decoder = stacked(cell, model.decoder, False)
    rows = []
    for src, tgt in zip(*batch, strict=True):  # one at a time: no padding and no packing
        x = model.embedding.embed_src(src[src != PAD][None]).detach()
        _, last = encoder(x)
        begin = tuple(merged(s, 2) for s in last) if cell == "lstm" else merged(last, 2)
        rows.append(decoder(model.embedding.embed_tgt(tgt[None]).detach(), begin)[0])
    expected, output = torch.cat(rows), model(batch)
    torch.testing.assert_close(output, expected)
    weights = torch.linspace(-1, 1, output.numel(), dtype=output.dtype).view_as(output)
    (output * weights).sum().backward()
    (expected * weights).sum().backward()
    for ours, theirs in ((model.encoder, encoder), (model.decoder, decoder)):
        for i, layer in enumerate(ours):
            for name, parameter in layer.cell.named_parameters():
                other = getattr(theirs, name.replace("_l0", f"_l{i}"))
                torch.testing.assert_close(parameter.grad, other.grad)


@pytest.mark.parametrize("score", ["additive", "dot", "general"])
def test_attention_is_that_of_a_plain_loop(compose, batch, score):
    attention = recurrent(compose, attention=score).attention
    generator = torch.Generator().manual_seed(1)
    states, memory = (torch.randn(3, n, 8, generator=generator).double() for n in (5, 6))
    from ablate.model.stack import Memory

    encoded = Memory(memory, batch.src != PAD)
    output = attention(states, encoded, attention.keys(encoded))

    def compared(h, m):
        if score == "dot":
            return h @ m
        if score == "general":
            return h @ (attention.key.weight @ m)
        return (
            attention.weigh.weight[0]
            @ (attention.query.weight @ h + attention.key.weight @ m).tanh()
        )

    for b in range(3):
        read = memory[b][batch.src[b] != PAD]
        for t in range(5):
            h = states[b, t]
            weights = torch.stack([compared(h, m) for m in read]).softmax(0)
            both = torch.cat([weights @ read, h])
            expected = (attention.output.weight @ both + attention.output.bias).tanh()
            torch.testing.assert_close(output[b, t], expected)


@pytest.mark.parametrize("cell", CELLS)
def test_the_forget_bias_is_where_it_belongs(compose, cell):
    """A huge one keeps the encoder's state whatever the decoder reads."""
    model = recurrent(compose, cell=cell, forget_bias=1000.0, bidirectional=False, n_layers=1)
    layer, generator = model.decoder[0], torch.Generator().manual_seed(1)
    with torch.no_grad():
        kept = torch.randn(1, 2, 8, generator=generator).double()
        x = torch.randn(2, 4, 8, generator=generator).double()
        if cell == "gru":
            torch.testing.assert_close(layer(x, (kept,))[1][0], kept)
        else:
            layer.cell.bias_ih_l0.view(4, 8)[0] = -1000.0  # nothing comes in
            torch.testing.assert_close(layer(x, (kept, kept))[1][1], kept)
