"""Lists of the best translations against all that there are."""

import itertools

import pytest

from ablate.data import UNK
from ablate.search.beam import Beam
from experiments.search_reference.n_best import n_best

EXTRA = 3


def every(model):
    """All translations of at most so many tokens."""
    tokens = range(UNK, model.vocab)
    return [list(ids) for n in range(EXTRA + 1) for ids in itertools.product(tokens, repeat=n)]


@pytest.mark.parametrize("alpha", [0.0, 2.0])
@pytest.mark.parametrize("n", [1, 100])
def test_a_wide_beam_lists_the_best_of_all(table_model, batch, alpha, n):
    model = table_model()
    source = (4, 5, 2)

    def quality(ids):
        return model.log_p(source, ids) / ((5 + len(ids) + 1) / 6) ** alpha

    wide = Beam(size=120, length_penalty=alpha, max_ratio=0, max_extra=EXTRA)
    expected = sorted(every(model), key=quality, reverse=True)[:n]
    assert n_best(wide, model, batch([4, 5]), n) == [[tuple(ids) for ids in expected]]
