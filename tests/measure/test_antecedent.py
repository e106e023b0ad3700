"""What "it" looks at, in models that were made so."""

import pytest
import torch

from ablate.train.job import make_model, prepare_data
from ablate.train.resolve import resolve
from experiments.pronouns.corpus import PRONOUN
from experiments.pronouns.measure import cut, inside, twins


@pytest.fixture
def parts(small, compose):
    overrides = [word for word in small if not word.startswith("data.n_test_long")]
    config = compose(*overrides, "data=pronouns", "data.n_train=200", "model.n_layers=2")
    job = resolve(config)
    data = prepare_data(job)
    return make_model(job, data).double().eval(), data


def test_twins_differ_in_what_is_meant_and_in_its_pronoun(parts):
    text, meant, rival = twins(parts[1].sources("test")[:40], parts[1])
    n = len(meant) // 2
    assert 5 < n < 35  # where both nouns have one gender, nothing is to be told
    assert torch.equal(meant[:n], rival[n:]) and torch.equal(meant[n:], rival[:n])
    assert not (text.targets[:n, 3] == text.targets[n:, 3]).any()
    assert (text.inputs.src[:n] == text.inputs.src[n:]).sum(1).tolist() == [7] * n


def test_the_edge_that_is_cut_is_the_one_that_is_named(parts, small, compose):
    overrides = [word for word in small if not word.startswith("data.n_test_long")]
    config = compose(*overrides, "data=pronouns", "data.n_train=200", "model.n_layers=1")
    model, data = make_model(resolve(config), parts[1]).double().eval(), parts[1]
    text, meant, rival = twins(data.sources("test")[:20], data)
    rows, captured = torch.arange(len(meant)), []
    model.encoder.register_forward_hook(lambda module, inputs, output: captured.append(output))

    def read(place):  # what "it" has become, with another noun at this place
        src = text.inputs.src.clone()
        src[rows, place] = src[rows, place].roll(1)
        with torch.no_grad(), cut(model, inside, PRONOUN, meant):
            model(text.inputs._replace(src=src))
        return captured.pop()[:, PRONOUN]

    before = read(torch.full_like(meant, PRONOUN))  # the same word in all sentences
    assert torch.allclose(read(meant), before)
    assert not torch.allclose(read(rival), before)
