"""Components of somebody else, from another folder: a class and a YAML each, and nothing edited.

Each of them trains, validates, searches, is killed, and goes on to the same numbers.
"""

import sys
from pathlib import Path

import pytest

from ablate.train.module import Training

THEIRS = Path(__file__).parent / "theirs.py"
# what is chosen, the level that is theirs first, and the YAML of that
LEVELS = {
    "model/position=counting": "_target_: theirs.Counting\n_partial_: true\n",
    "model/position=nearer": "_target_: theirs.Nearer\n_partial_: true\nslope: 0.5\n",
    "model/attention=summed": "_target_: theirs.Summed\n_partial_: true\n",
    "model/residual=two_streams": "_target_: theirs.TwoStreams\n_partial_: true\n",
    "model/norm=over_the_batch": "_target_: theirs.OverTheBatch\n_partial_: true\n",
    "model=recurrent": "_target_: theirs.Recurrent\nd_model: 16\n",
    "model=next task=language_model": "_target_: theirs.Next\nd_model: 16\n",
    "task=backwards": "_target_: theirs.Backwards\n",
    "loss=of_all_rows": "_target_: theirs.OfAllRows\n",
    "adapt=low_rank": "_target_: theirs.LowRank\nrank: 2\n",
}
# in one stack alone
PLACES = ("model/position@model.decoder.position=nearer",)
# what carries most state over a kill, and what is read by the decoder alone
RESUMED = ("model/attention=summed", "model=recurrent", "adapt=low_rank", *PLACES)


@pytest.fixture
def small(small, request):
    """Without the sizes of the Transformer where the model is another one."""
    choice = request.node.callspec.params.get("choice") if hasattr(request.node, "callspec") else ""
    other = choice.startswith("model=")
    return [word for word in small if not (other and word.startswith("model."))]


@pytest.fixture
def theirs(tmp_path, monkeypatch):
    """Their folder, with a YAML for each level, as `--config-dir` would have it."""
    folder = tmp_path / "conf"
    for choice, text in LEVELS.items():
        group, level = choice.split()[0].split("=")
        path = folder / group / f"{level}.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.syspath_prepend(str(THEIRS.parent))
    yield f"hydra.searchpath=[file://{folder}]"
    sys.modules.pop("theirs", None)


@pytest.mark.slow
@pytest.mark.parametrize("choice", RESUMED)
def test_their_level_trains_and_goes_on_after_a_kill(go, kill, left, theirs, choice):
    overrides = [theirs, *choice.split(), "checkpoint.save_every=2"]
    whole = go("whole", *overrides)
    assert whole["status"] in ("finished", "collapsed")
    assert whole["metrics"]["test/nll"] > 0
    kill("killed", Training, "training_step", 7, *overrides)
    assert left(go("killed", *overrides)) == left(whole)


def test_their_metric_is_measured_and_can_be_asked_about(go, theirs, compose, small):
    from ablate.sweep.preflight import metric_names
    from ablate.train.job import build_model, prepare_data
    from ablate.train.resolve import resolve

    job = resolve(compose(*small, theirs, "task=backwards"))
    names = metric_names(job, build_model(job, prepare_data(job)))
    assert "test/sentences" in names
    assert go("measured", theirs, "task=backwards")["metrics"]["test/sentences"] == 5
