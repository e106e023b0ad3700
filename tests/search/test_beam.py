import pytest
import torch

from ablate.data import BOS, EOS
from ablate.search import Greedy
from ablate.search.beam import Beam


def beam(size, length_penalty, max_ratio=0, max_extra=4) -> Beam:
    return Beam(size=size, length_penalty=length_penalty, max_ratio=max_ratio, max_extra=max_extra)


def test_greedy_takes_the_likeliest_token_each_time(table_model, twelve):
    rows, src = twelve
    model = table_model()
    for row, ids in zip(rows, Greedy(max_ratio=0, max_extra=5)(model, src), strict=True):
        prefix = (BOS,)
        for token in [*ids, EOS][:5]:
            allowed = model.logits((*row, EOS), prefix)[EOS:]
            assert token == EOS + allowed.argmax().item()
            prefix = (*prefix, token)


@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.0, 3.0])
def test_wide_beam_finds_the_best_of_all_translations(alpha, table_model, twelve):
    rows, src = twelve
    model = table_model()
    # 27 hypotheses of 3 tokens out of 3: the beam drops none
    translations = beam(27, alpha, max_extra=3)(table_model(), src)
    assert translations == [model.best((*row, EOS), 3, alpha) for row in rows]
    assert len({len(ids) for ids in translations}) > 1


def test_search_stops_once_nothing_can_win(table_model, twelve):
    model = table_model(eos_bonus=20.0)
    translations = beam(3, 0.6, 0, 50)(model, twelve[1])
    assert translations == [[]] * 12
    assert model.steps < 8


def test_half_precision_logits_are_scored_in_float32(table_model, twelve):
    model = table_model()
    exact = model.logits
    model.logits = lambda source, prefix: exact(source, prefix).bfloat16().double()
    expected = beam(4, 0.6)(model, twelve[1])
    model.logits = lambda source, prefix: exact(source, prefix).bfloat16()
    assert beam(4, 0.6)(model, twelve[1]) == expected
    assert any(expected)
    assert torch.is_inference_mode_enabled() is False
