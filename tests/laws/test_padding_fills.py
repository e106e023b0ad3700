"""What holds of every padding with every fill of fully masked rows.

The laws of a padding (`breaks`) hold for finite fills. Minus infinity makes NaN exactly where a
padding leaves a query without any key, and from there NaN reaches every position.
"""

import pytest
import torch
from torch.nn import functional as F

PAD = 0
EMPTIES_ROWS = {"columns": False, "none": False, "rows": True, "rows_and_columns": True}


@torch.no_grad()
@pytest.mark.parametrize("fill", ["large_negative", "zero_output"])
def test_finite_fills_keep_the_laws_of_the_padding(filled, batch, padding, fill):
    from ablate.model import Law, Seq2Seq

    src, tgt_in = batch
    model, real = filled(padding, fill), tgt_in != PAD
    states = model(batch)[real]
    for law, other in (
        (Law.SOURCE_PADDING, model(Seq2Seq(F.pad(src, (0, 7)), tgt_in))),
        (Law.TARGET_PADDING, model(Seq2Seq(src, F.pad(tgt_in, (0, 7))))[:, : tgt_in.size(1)]),
    ):
        kept = torch.allclose(states, other[real], rtol=1e-4, atol=1e-5)
        assert kept == (law not in type(model.encoder.sublayers[0].padding).breaks)


@torch.no_grad()
def test_minus_infinity_is_nan_exactly_where_rows_are_empty(filled, batch, padding):
    logits = filled(padding, "minus_inf")(batch)
    full = 0  # the only pair of the batch without padding
    assert logits[full].isfinite().all()
    assert logits[1:].isnan().all() == EMPTIES_ROWS[padding]
    assert logits.isfinite().all() != EMPTIES_ROWS[padding]


def test_training_on_nan_ends_as_diverged(compose, small):
    from ablate.train.resolve import resolve
    from ablate.train.run import run

    words = ("model/attention=explicit", "model.attention.fill=minus_inf")
    config = compose(*small, *words, "model/padding=rows_and_columns")
    assert run(resolve(config))["status"] == "diverged"
