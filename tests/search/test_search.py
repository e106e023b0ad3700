"""What holds for every search."""

import math

import pytest
import torch

from ablate.data import PAD
from ablate.search import Greedy
from ablate.search.beam import Beam

SEARCHES = {
    "greedy": Greedy(max_ratio=1.5, max_extra=2),
    "beam_1": Beam(size=1, length_penalty=0.0, max_ratio=1.5, max_extra=2),
    "beam_3": Beam(size=3, length_penalty=0.6, max_ratio=1.5, max_extra=2),
    "beam_9": Beam(size=9, length_penalty=1.0, max_ratio=1.5, max_extra=2),
}
every_search = pytest.mark.parametrize("search", SEARCHES.values(), ids=SEARCHES.keys())


@every_search
def test_translation_depends_on_its_own_source_only(search, table_model, batch, twelve):
    rows, src = twelve
    together = search(table_model(), src)
    alone = [search(table_model(), batch(row))[0] for row in rows]
    assert together == alone
    assert search(table_model(), src.flip(0)) == together[::-1]
    padded = torch.nn.functional.pad(src, (0, 5), value=PAD)
    assert search(table_model(), padded) == together
    assert len({tuple(ids) for ids in together}) > 3


@every_search
def test_length_limit_is_each_sentences_own(search, table_model, twelve):
    rows, src = twelve
    translations = search(table_model(eos_bonus=-50.0), src)
    assert [len(ids) for ids in translations] == [math.floor(1.5 * len(row) + 2) for row in rows]


@every_search
def test_ended_sentences_leave_the_batch(search, table_model, twelve):
    model = table_model(eos_bonus=1.0)
    search(model, twelve[1])
    first_step = 12 * getattr(search, "size", 1)
    assert model.rows < 0.7 * model.steps * first_step


@every_search
def test_a_model_that_gives_nan_ends(search, table_model, twelve):
    model = table_model()
    model.logits = lambda source, prefix: torch.full((6,), math.nan)
    translations = search(model, twelve[1])
    assert all(len(ids) <= 11 for ids in translations)
    assert len(translations) == 12
