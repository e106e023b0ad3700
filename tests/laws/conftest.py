"""Models that laws are asked of, and what they are given."""

from pathlib import Path

import pytest

CONF = Path(__file__).resolve().parents[2] / "conf"


@pytest.fixture(params=sorted(path.stem for path in CONF.glob("model/padding/*.yaml")))
def padding(request):
    """Each level of padding in turn."""
    return request.param


@pytest.fixture
def filled():
    """Build the base with a padding and a fill of masked scores."""
    from ablate.testing.model import model_config, small_model

    def build(padding, fill):
        config = model_config(f"model/padding={padding}", "model/attention=explicit")
        config.attention.fill = fill
        return small_model(config)

    return build


@pytest.fixture(scope="session")
def base():
    """The model that variants differ from in one thing."""
    from ablate.testing.model import model_config, small_model

    return small_model(model_config())


@pytest.fixture
def batch():
    """Token ids of four padded pairs: src "4 6", tgt_in "4 18"."""
    from ablate.testing.model import batch

    return batch()
