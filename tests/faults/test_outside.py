"""Every model with every task that it takes, and components of somebody else from another folder.

Each of them trains, validates, searches, is killed, and goes on to the same numbers.
"""

import sys
from pathlib import Path

import pytest

from ablate.train.module import Training

THEIRS = Path(__file__).parent / "theirs.py"
# what is chosen, the level that is theirs first, and the YAML of that
LEVELS = {
    "model=recurrent": "_target_: theirs.Recurrent\nd_model: 16\n",
    "task=backwards": "_target_: theirs.Backwards\n",
    "adapt=low_rank": "_target_: theirs.LowRank\nrank: 2\n",
}
# what carries most state over a kill
RESUMED = ("model=recurrent", "adapt=low_rank")
OURS = (
    *("model=decoder_only", "model=decoder_only task=language_model", "model=rnn"),
    *("model=encoder_only task=masked_language_model", "task=denoising"),
)


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
@pytest.mark.parametrize("choice", [*RESUMED, *OURS])
def test_a_level_trains_and_goes_on_after_a_kill(go, kill, left, theirs, choice):
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
