"""The probe of attention weights: where they go with and without masks."""

import pytest
import torch

NOTHING = 1e-12
SOMETHING = 1e-3
SMALL = dict(draws=2, length=6)


@pytest.mark.parametrize("kernel", ["explicit", "fused"])
def test_masked_columns_have_no_weight(measure, finite, kernel):
    metrics = measure("attention_weights", f"model/attention={kernel}", **SMALL)
    assert finite(metrics)
    assert max(metrics["row_error"], metrics["past_error"]) < NOTHING
    assert metrics["future"] == metrics["padding"] == 0
    assert min(metrics["column_error"], metrics["encoder_future"]) > SOMETHING


def test_without_a_mask_padding_of_the_source_has_a_share(measure):
    metrics = measure("attention_weights", "model/padding=none", **SMALL)
    assert metrics["row_error"] < NOTHING
    assert 0 < metrics["padding_source"] < metrics["padding_cross"] <= metrics["padding"] < 1
    assert metrics["padding_target"] == 0  # padding stands to the right


def test_a_decoder_that_sees_the_next_token_is_seen(measure, monkeypatch):
    plain = torch.Tensor.tril
    monkeypatch.setattr(torch.Tensor, "tril", lambda square: plain(square, 1))
    metrics = measure("attention_weights", "model/padding=none", **SMALL)
    assert min(metrics["future"], metrics["past_error"], metrics["padding_target"]) > SOMETHING
