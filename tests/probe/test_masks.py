"""Masks by value, place, side and type, and padding in training: found, and noticed when broken."""

import math

import pytest
import torch

from ablate.errors import UserError

NOTHING = 1e-9
SOMETHING = 1e-3


def test_fills_agree_where_a_key_is_left(measure):
    metrics = measure("mask_fills", draws=2)
    for name in ("float64", "float32", "bfloat16"):
        assert (
            metrics[f"weight_{name}"] == metrics[f"apart_{name}"] == metrics[f"refused_{name}"] == 0
        )
        assert math.isnan(metrics[f"empty_apart_{name}"])  # minus infinity
    assert metrics["refused_float16"] == 4 and math.isnan(metrics["weight_float16"])
    assert metrics["held_float16"] == metrics["least_weight"] == 0
    assert min(metrics["unmasked"], metrics["empty_weight"]) > SOMETHING


def test_rows_without_a_key_by_implementation(measure):
    metrics = measure("empty_rows", draws=1)
    spoilt = {name for name, share in metrics.items() if share}
    torn = ("softmax", "explicit_minus_inf", "torch_weights")
    assert spoilt == {f"{what}_{name}" for what in ("outputs", "gradients") for name in torn}


def test_places_of_the_look_ahead_mask(measure):
    metrics = measure("causal_masks", draws=1)
    assert max(metrics.pop("before_later"), metrics.pop("renormalised_difference")) < NOTHING
    assert metrics.pop("past_only_nan") == 1
    assert min(metrics.values()) > SOMETHING


def test_a_mask_that_leaves_the_next_word_open_is_noticed(measure, monkeypatch):
    plain = torch.Tensor.tril
    monkeypatch.setattr(torch.Tensor, "tril", lambda square, k=0: plain(square, k + 1))
    assert measure("causal_masks", draws=1)["before_later"] > SOMETHING


def test_the_decoder_needs_its_mask_of_padding_on_the_left_alone(measure):
    metrics = measure("padding_places", draws=1)
    hidden = ("right_none", "left_none", "right_decoder", "right_least")
    assert all(metrics.pop(name) < NOTHING for name in hidden)
    assert min(metrics.values()) > SOMETHING


def test_padding_of_zeros_stays_zero_through_bare_maps_alone(measure):
    metrics = measure("padding_vectors", draws=1)
    assert all(metrics.pop(name) < NOTHING for name in ("zero_row", "zero_error", "bare_rows"))
    assert min(metrics.values()) > 1e-6  # zero_weight: one weight of many
    with pytest.raises(UserError, match=r"probe\.padding=0: it must be at least 1"):
        measure("padding_places", padding=0)


def test_zero_vectors_have_the_weight_of_a_score_of_zero_at_every_scale(measure):
    metrics = measure("padding_vectors", "model.attention.scale=none", "model.bias=false", draws=1)
    assert max(metrics["zero_error"], metrics["rows_with_bias"]) < NOTHING
    with pytest.raises(UserError, match="model/attention is Additive"):
        measure("padding_vectors", "model/attention=additive", draws=1)


def test_padding_in_batches_and_gradients(measure):
    small = ("data.n_train=60", "batch.tokens=64")
    metrics = measure("training_batches", *small, draws=2)
    assert metrics["with_pad"] == 1 and metrics["padded_alone"] == 0
    assert metrics["gradient_ignored"] == metrics["gradient_torch"] == 0
    assert min(metrics["gradient_counted"], metrics["unequal"]) > SOMETHING


def test_torch_and_its_masks(measure):
    metrics = measure("torch_library", draws=1)
    refused = {name for name, value in metrics.items() if math.isnan(value)}
    assert all("int" in name for name in refused)
    hidden = ("key_bool", "key_float_inf", "square_bool", "square_3d_bool", "layer_true")
    assert all(metrics[name] == 0 for name in hidden)
    assert min(metrics["key_float_one"], metrics["unmarked"], metrics["layer_false"]) > SOMETHING
    assert metrics["polarity"] == metrics["function_true"] == 1
    assert metrics["copied"] == metrics["rows_differ"] == metrics["without_variable"] == 0
    assert metrics["other_rows_written"] == 7  # there are 8 rows
    assert metrics["other_length_refused"] == 1
    assert metrics["buffer_faults"] == 0 < metrics["transient_faults"] < metrics["attribute_faults"]
    assert metrics["trained"] > SOMETHING
