"""What a step of training reads, and which positions count in its objective."""

from functools import partial
from types import SimpleNamespace

import pytest
import torch
from torch.nn import functional as F

from ablate.data.batching import Batch
from ablate.initial import initialise
from ablate.loss import CrossEntropy
from ablate.model import Seq2Seq, build
from ablate.task.translation import Translation
from ablate.train.module import Training
from experiments.padding_counted.loss import PaddingCounted


@pytest.fixture
def model(compose):
    config = compose("model.d_model=16", "model.d_ff=24", "model.n_heads=2", "model.n_layers=1")
    made = build(config.model, src_vocab=20, tgt_vocab=20, joint_vocab=True)
    initialise(made, 1)
    return made


@pytest.fixture
def batch():
    generator = torch.Generator().manual_seed(0)
    src, tgt = (torch.randint(4, 20, (3, n), generator=generator) for n in (6, 5))
    src[1, 4:] = tgt[0, 3:] = 0
    return Batch(Seq2Seq(src, tgt), tgt.roll(-1, 1), torch.arange(3))


def objective(model, batch, loss, task):
    trainer = SimpleNamespace(accumulate_grad_batches=1)
    training = SimpleNamespace(
        **{"model": model, "loss": loss, "task": task, "trainer": trainer},
        **{"_logs": lambda: False, "_batches_in_epoch": lambda: 1},
    )
    training.objective = partial(Training.compute, training)
    return Training.training_step(training, batch, 0)


def test_padding_counts_where_the_loss_says_so(model, batch):
    model.eval()
    logits = model.head(model(batch.inputs))
    for loss, ignored in ((CrossEntropy(), 0), (PaddingCounted(divisor="all"), -1)):
        computed = objective(model, batch, loss, Translation())
        expected = F.cross_entropy(
            logits.flatten(0, 1), batch.targets.flatten(), ignore_index=ignored
        )
        torch.testing.assert_close(computed, expected)


def own_choice(model, inputs):
    """Return a target that the model continues from its first token, a whole pass for each."""
    model.eval()
    chosen = inputs.tgt_in[:, :1]
    for t in range(1, inputs.tgt_in.size(1)):
        logits = model.head(model(Seq2Seq(inputs.src, chosen)))[:, -1]
        likeliest = logits[:, 1:].argmax(1) + 1
        true = inputs.tgt_in[:, t]
        chosen = torch.cat([chosen, likeliest.where(true != 0, 0)[:, None]], 1)
    return chosen


def test_without_gold_the_decoder_reads_its_own_greedy_translation(model, batch):
    inputs = batch.inputs
    with torch.no_grad():
        expected = own_choice(model, inputs)
    model.train()
    read = Translation(gold=0.0).training_inputs(model, inputs)
    assert model.training
    assert torch.equal(read.tgt_in, expected)
    assert not torch.equal(read.tgt_in, inputs.tgt_in)
    assert read.src is inputs.src
    model.eval()
    computed = objective(model, batch, CrossEntropy(), Translation(gold=0.0))
    plain = batch._replace(inputs=Seq2Seq(inputs.src, expected))
    torch.testing.assert_close(computed, objective(model, plain, CrossEntropy(), Translation()))


def test_gold_is_the_share_of_true_tokens(model):
    inputs = Seq2Seq(torch.full((300, 3), 5), torch.full((300, 4), 7))
    assert Translation().training_inputs(model, inputs) is inputs
    torch.manual_seed(0)
    read = Translation(gold=0.7).training_inputs(model, inputs).tgt_in
    generated = Translation(gold=0.0).training_inputs(model, inputs).tgt_in
    assert (read[:, 0] == 7).all()
    assert generated[0, 1] != 7  # else the share could not be seen
    assert abs((read[:, 1] == 7).float().mean() - 0.7) < 0.1
