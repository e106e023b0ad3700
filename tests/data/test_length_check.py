"""A table of positions that is too short is found before any work."""

import pytest
import torch

from ablate.data import EOS
from ablate.errors import UserError
from ablate.train.job import build_model, check_lengths, make_model, prepare_data
from ablate.train.resolve import resolve


@pytest.fixture
def check(compose, small):
    """Check a run with learned positions, or others; return its data."""

    def checked(*overrides, position="learned"):
        job = resolve(compose(*small, f"model/position={position}", *overrides))
        data = prepare_data(job)
        with torch.device("meta"):
            model = build_model(job, data)
        check_lengths(job, model, data)
        return data

    return checked


def rows(n):
    return f"model.position.max_length={n}"


def test_a_decoder_alone_needs_positions_for_source_and_target_together(check):
    src, tgt = check("model=decoder_only").longest("train")
    quiet = ("model=decoder_only", "search.max_ratio=0", "validation_search.max_ratio=0")
    with pytest.raises(UserError, match=str(src + tgt)):
        check(rows(src + tgt - 1), *quiet)
    assert check(rows(200), *quiet)
    assert check(rows(tgt), "model=decoder_only", "task=language_model")  # sources are not read


def test_translations_as_long_as_the_limit_fit_the_table(compose, small):
    config = compose(*small, "model/position=learned", "search.max_ratio=1.5", "search.max_extra=3")
    job = resolve(config)
    data = prepare_data(job)
    needed = int(1.5 * (data.longest("test")[0] - 1) + 3) + 1
    config.model.position.max_length = needed
    config.test_splits = ["test"]
    model = make_model(job, data)
    with torch.no_grad():  # nothing ever ends: every translation is as long as the limit
        model.decoder.residual.norms[-1].bias.copy_(-model.embedding.tgt.weight[EOS])
    src = data.first_lines("test", 99).inputs.src
    assert max(map(len, job.search(model.eval(), src))) == needed - 1
    model.decoder.position.table = torch.nn.Parameter(model.decoder.position.table[:-1])
    with pytest.raises(UserError, match=str(needed)):
        job.search(model, src)
