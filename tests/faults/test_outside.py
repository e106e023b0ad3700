"""Every model with every task that it takes, and a model of somebody else from another folder.

Each of them trains, validates, searches, is killed, and goes on to the same numbers.
"""

import sys
from pathlib import Path

import pytest

from ablate.train.module import Training

THEIRS = Path(__file__).parent / "theirs.py"
RECURRENT = "_target_: theirs.Recurrent\nd_model: 16\n"
CHOICES = (
    *("model=recurrent", "model=rnn", "model=decoder_only", "task=denoising", "adapt=lora"),
    *("model=decoder_only task=language_model", "model=encoder_only task=masked_language_model"),
)


@pytest.fixture
def small(small, request):
    """Without the sizes of the Transformer where the model is another one."""
    other = request.node.callspec.params["choice"].startswith("model=")
    return [word for word in small if not (other and word.startswith("model."))]


@pytest.fixture
def theirs(tmp_path, monkeypatch):
    """Their folder, with the YAML of their model, as `--config-dir` would have it."""
    folder = tmp_path / "conf"
    (folder / "model").mkdir(parents=True)
    (folder / "model" / "recurrent.yaml").write_text(RECURRENT)
    monkeypatch.syspath_prepend(str(THEIRS.parent))
    yield f"hydra.searchpath=[file://{folder}]"
    sys.modules.pop("theirs", None)


@pytest.mark.slow
@pytest.mark.parametrize("choice", CHOICES)
def test_a_level_trains_and_goes_on_after_a_kill(go, kill, left, theirs, choice):
    overrides = [theirs, *choice.split(), "checkpoint.save_every=2"]
    whole = go("whole", *overrides)
    assert whole["status"] in ("finished", "collapsed")
    assert whole["metrics"]["test/nll"] > 0
    kill("killed", Training, "training_step", 7, *overrides)
    assert left(go("killed", *overrides)) == left(whole)
