"""Initial values belong to a seed and a name: arms share what they share."""

import pytest


@pytest.fixture
def initialise():
    from ablate.initial import initialise

    return initialise


def values(model):
    return {name: parameter.detach().clone() for name, parameter in model.named_parameters()}


def test_the_rule(base, initialise):
    initialise(base, 1)
    parameters = values(base)
    query = parameters["encoder.layers.0.self_attention.query.weight"]
    assert 0.9 * (3 / 16) ** 0.5 < query.abs().max() <= (3 / 16) ** 0.5  # xavier: sqrt(6 / 32)
    assert parameters["embedding.tgt.weight"].std() == pytest.approx(0.25, rel=0.1)
    for name, value in parameters.items():
        if name.endswith("bias"):
            assert (value == 0).all()
        if name.endswith("gain"):
            assert (value == 1).all()


def test_no_two_parameters_draw_the_same_numbers(base):
    matrices = [value.flatten()[:100] for value in values(base).values() if value.dim() > 1]
    assert len({tuple(matrix.tolist()) for matrix in matrices}) == len(matrices)


def test_keys_are_the_same_in_every_process():
    from ablate.process import stream

    # a changed number changes every result ever recorded
    assert stream(1, "encoder.x") == 4918252606287730376
    assert stream(2, "encoder.x") != stream(1, "encoder.x") != stream(1, "encoder.y")
