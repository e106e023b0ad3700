"""Models of tasks without a source: every parameter is trained, and older weights still load."""

import pytest
import torch
import yaml
from omegaconf import OmegaConf

from ablate.config.construct import construct
from ablate.record.files import seal, write_json, write_tensors
from ablate.train.job import make_model, prepare_data
from ablate.train.resolve import resolve
from ablate.train.restore import restore


@pytest.fixture
def prepared(small, compose):
    """Return a function that returns a job with these overrides, its data and its model."""

    def prepare(*overrides):
        words = [word for word in small if not word.startswith("search.")]
        job = resolve(compose(*words, *overrides))
        data = prepare_data(job)
        return job, data, make_model(job, data)

    return prepare


@pytest.mark.parametrize("embedding", ["separate", "tied_all"])
@pytest.mark.parametrize(
    ("model", "task"),
    [
        ("decoder_only", "language_model"),
        ("encoder_only", "masked_language_model"),
        ("decoder_only", "translation"),
    ],
)
def test_every_parameter_has_a_gradient(prepared, model, task, embedding):
    """Lightning's ddp ends a training in which a parameter has none."""
    job, data, module = prepared(f"model={model}", f"task={task}", f"model/embedding={embedding}")
    batch = data.first_lines("train", 4)
    counted = job.loss.counted(batch.targets)
    states = module(batch.inputs)[counted]
    objective, _ = module.head.score(job.loss, states, batch.targets[counted])
    torch.autograd.backward(objective)
    assert [name for name, p in module.named_parameters() if p.grad is None] == []
    table = "embedding.src.weight" in module.state_dict()
    assert table == (task == "translation" and embedding != "tied_all")


@pytest.fixture
def earlier(prepared, tmp_path):
    """The folder of a run of an earlier version, its job, data and weights."""
    words = ("model=decoder_only", "task=language_model", "model/embedding=separate")
    job, data, model = prepared(*words)
    folder, weights = tmp_path / "run", model.state_dict()
    (folder / "tokenizer").mkdir(parents=True)
    data.tokenizers.save(folder / "tokenizer")
    unread = torch.zeros(data.tokenizers.src.size, 16)
    digest = write_tensors(folder / "weights.pt", {**weights, "embedding.src.weight": unread})
    plain = OmegaConf.to_container(job.config, resolve=True)
    (folder / "config.yaml").write_text(yaml.safe_dump(plain))
    write_json(folder / "result.json", seal({"weights": digest, "files": {}}))
    return folder, job, data, weights


def test_weights_with_a_table_that_nothing_read_still_load(earlier, prepared):
    folder, _, data, weights = earlier
    restored = restore(folder, {}, [], "cpu", 1).model
    _, _, model = prepared(
        "model=decoder_only", "task=language_model", "model/embedding=separate", "seed=5"
    )
    target = "ablate.initial.stored.Checkpoint"
    construct({"_target_": target, "folder": str(folder)})(model, data.tokenizers, 1)
    for loaded in (restored.state_dict(), model.state_dict()):
        assert loaded.keys() == weights.keys()
        assert all(torch.equal(value, weights[name]) for name, value in loaded.items())
