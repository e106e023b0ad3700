"""Lists of the best translations against all that there are."""

import itertools

import pytest

from ablate.data.vocabulary import UNK
from ablate.search.beam import Beam

EXTRA = 3


def every(model):
    """All translations of at most so many tokens."""
    tokens = range(UNK, model.vocab)
    return [list(ids) for n in range(EXTRA + 1) for ids in itertools.product(tokens, repeat=n)]


@pytest.mark.parametrize("alpha", [0.0, 0.6, 2.0])
@pytest.mark.parametrize("n", [1, 5, 100])
def test_a_wide_beam_lists_the_best_of_all(table_model, batch, alpha, n):
    model = table_model()
    source = (4, 5, 2)

    def quality(ids):
        return model.log_p(source, ids) / ((5 + len(ids) + 1) / 6) ** alpha

    wide = Beam(size=120, length_penalty=alpha, max_ratio=0, max_extra=EXTRA)
    (hypotheses,) = wide.n_best(model, batch([4, 5]), n)
    expected = sorted(every(model), key=quality, reverse=True)[:n]
    assert [hypothesis.ids for hypothesis in hypotheses] == expected
    assert [hypothesis.quality for hypothesis in hypotheses] == pytest.approx(
        [quality(ids) for ids in expected]
    )


@pytest.mark.parametrize("size", [1, 3])
def test_the_first_of_a_list_is_the_translation(table_model, twelve, size):
    _, src = twelve
    beam = Beam(size=size, length_penalty=0.6, max_ratio=1.5, max_extra=2)
    lists = beam.n_best(table_model(), src, 4)
    assert [hypotheses[0].ids for hypotheses in lists] == beam(table_model(), src)
    assert beam.n_best(table_model(), src.flip(0), 4) == lists[::-1]
    for hypotheses in lists:
        ids = [tuple(hypothesis.ids) for hypothesis in hypotheses]
        assert len(ids) == len(set(ids)) <= 4
        assert hypotheses == sorted(hypotheses, key=lambda hypothesis: -hypothesis.quality)


def test_a_list_of_one_is_the_translation(table_model, twelve):
    _, src = twelve
    beam = Beam(size=3, length_penalty=1.0, max_ratio=1.5, max_extra=2)
    assert [hypothesis.ids for (hypothesis,) in beam.n_best(table_model(), src, 1)] == beam(
        table_model(), src
    )


def test_nothing_has_no_lists(table_model, batch):
    beam = Beam(size=3, length_penalty=1.0, max_ratio=1.5, max_extra=2)
    assert beam.n_best(table_model(), batch([4])[:0], 3) == []
