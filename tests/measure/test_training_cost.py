"""What a step of training costs: counts are exact, and more work costs more."""

import pytest

from ablate.measure import TrainingCost
from ablate.model import layers
from ablate.model.layers import has_onednn
from ablate.train.job import make_model, prepare_data
from ablate.train.resolve import resolve

LAYERS, D, CONTEXT = 2, 16, 64  # so many keys that fused attention uses its kernel
LANGUAGE = (
    *("scale=language", "logger=none", "data=text", "data.documents=paragraph", "tokenizer=char"),
    *(f"model.n_layers={LAYERS}", f"model.d_model={D}", "model.d_ff=32", "model.n_heads=2"),
    *(f"batch.context={CONTEXT}", "batch.tokens=128"),
)
BY_ONEDNN = pytest.mark.skipif(not has_onednn(), reason="this torch has no oneDNN")
LIBRARIES = ["blas", pytest.param("onednn", marks=BY_ONEDNN)]
PRODUCTS = {"off": 0, "explicit": 2 * (2 + 4), "fused": 2 * (2 + 5)}  # per key and unit of width


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("attention", PRODUCTS)
def test_operations_are_those_of_the_formula(attention, library, compose, tmp_path, monkeypatch):
    monkeypatch.setattr(layers, "_chosen", library)
    text = tmp_path / "text"
    text.write_text("\n\n".join(f"{n} cats and {n % 7} dogs " * 9 for n in range(40)))
    words = (f"model/attention={attention}", f"data.files=[{text}]", f"paths.cache={tmp_path}")
    job = resolve(compose(*LANGUAGE, *words))
    data = prepare_data(job)
    job.task.begin(data.tokenizers)
    model = make_model(job, data)
    weights = sum(p.numel() for p in model.parameters() if p.dim() == 2)  # those of the head, too
    measured = TrainingCost(sentences=4, repeats=1)(model, data)["operations"]
    assert measured == 6 * weights + PRODUCTS[attention] * CONTEXT * D * LAYERS
