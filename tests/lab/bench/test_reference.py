"""The page of the reference run says what its records say."""

import pytest
from omegaconf import OmegaConf

from ablate.data.corpus import Pairs
from ablate.errors import UserError
from ablate.report.draw.curves import draw_curves
from lab.bench.reference import Finished, curve, page, read


@pytest.fixture
def run(compose, tmp_path):
    """A run of thirty sentences, of which the seventh is translated badly."""
    config = compose("scale=reference", "logger=none")
    lines = [f"Satz {i} ist hier ." for i in range(30)]
    metrics = {"steps": 15000, "parameters": 1000, "test/bleu_tokenised": 40.02, "test/bleu": 39.0}
    metrics |= {"test/chrf": 60.0, "test/length_ratio": 0.97}
    text = Pairs([f"sentence {i}" for i in range(30)], lines)
    translations = [*lines[:6], "xyz", *lines[7:]]
    return Finished(
        tmp_path, config, metrics, {"bleu": "nrefs:1|tok:13a"}, 3600.0, text, translations
    )


def test_scores_stand_beside_the_published_one_with_their_signature(run):
    text = "\n".join(page(run))
    assert "| 40.02 | 41.02 (-1.00) |" in text
    assert r"nrefs:1\|tok:13a" in text
    assert "65 million target tokens" in text  # those of the published score
    assert "15,000 steps" in text and "31 million" in text and "60 minutes" in text


def test_ten_translations_and_the_worst(run):
    blocks = list(page(run))
    worst = blocks.index("## The five translations with the lowest chrF")
    assert [block.split(":")[0] for block in blocks[worst - 10 : worst]] == [
        f"> source {i}" for i in range(1, 31, 3)
    ]
    assert "translation 7: xyz" in blocks[worst + 1]


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
    figure = draw_curves({"": [curve(tmp_path)]})
    assert not [box for part in (figure, *figure.subfigs) for box in part.legends]


def test_short_runs_are_told_by_what_differs_from_the_first(run, compose, tmp_path):
    folders = [tmp_path / name for name in ("first", "other")]
    variants = ("model/residual=pre_ln", "model/residual=post_ln")
    for folder, rate, other in zip(folders, (0.003, 0.006), variants, strict=True):
        folder.mkdir()
        config = compose("scale=reference", "logger=none", f"optimizer.lr={rate}", other)
        OmegaConf.save(config, folder / "config.yaml")
        (folder / "metrics.jsonl").write_text("\n".join(LINES))
    text = "\n".join(page(run, folders))
    assert "| nothing: the first | 10 | 2.00 | 7.00 |" in text
    assert "optimizer.lr=0.006" in text and "model.residual=PostLN" in text
    assert text.count("| 10 | 2.00 | 7.00 |") == 2
    assert "tried" not in "\n".join(page(run))


def test_a_folder_without_a_run_is_refused(tmp_path):
    with pytest.raises(UserError, match="is not the folder of a run that was trained and tested"):
        read(tmp_path)


def test_the_scale_trains_thirty_million_tokens(compose):
    config = compose("scale=reference", "logger=none")
    assert config.budget.steps * config.batch.tokens > 30e6
    assert config.model.n_layers == 4
