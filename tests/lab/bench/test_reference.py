"""The page of the reference run says what its records say."""

import pytest

from ablate.errors import UserError
from ablate.report.draw.lines import draw_curves
from lab.bench.reference import curve, read

LINES = [
    '{"step": 5, "train/nll": 3.0}',
    '{"step": 10, "val/nll": 2.0, "val/bleu": 7.0}',
    '{"step": 10, "val/nll": 1.5, "val/bleu": 9.0}',  # of the averaged weights
]


def test_the_curve_has_the_validations_of_training_alone(tmp_path):
    (tmp_path / "metrics.jsonl").write_text("\n".join(LINES))
    assert curve(tmp_path) == {"step": [10], "val/nll": [2.0], "val/bleu": [7.0]}


def test_one_curve_without_a_name_has_no_legend(tmp_path):
    (tmp_path / "metrics.jsonl").write_text("\n".join(LINES))
    figure = draw_curves({"": {0: curve(tmp_path)}})
    assert not [axes.get_legend() for axes in figure.axes if axes.get_legend()]


def test_a_folder_without_a_run_is_refused(tmp_path):
    with pytest.raises(UserError, match="is not the folder of a run that was trained and tested"):
        read(tmp_path)


def test_the_scale_trains_thirty_million_tokens(compose):
    config = compose("scale=reference", "logger=none")
    assert config.budget.steps * config.batch.tokens > 30e6
    assert config.model.n_layers == 4
