"""A table of runs that take the levels of several factors at random."""

import numpy as np
import pandas as pd
import pytest

import ablate
from ablate.report.content import comparison_tables

LEVELS = {"norm": ["layer_norm", "rms_norm"], "ffn": ["gelu", "relu", "swiglu"]}
ASKED = {"arm": ["norm", "ffn"], "metric": "loss", "better": "lower", "design": "combinations"}


@pytest.fixture
def table():
    """120 runs: RMSNorm lowers the loss by 0.1, and ReLU raises it by 0.05."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({name: rng.choice(levels, 120) for name, levels in LEVELS.items()})
    effects = -0.1 * (frame["norm"] == "rms_norm") + 0.05 * (frame["ffn"] == "relu")
    return frame.assign(loss=3.0 + effects + 0.02 * rng.standard_normal(120))


def test_each_level_is_compared_with_the_first_of_its_factor_over_all_runs(table, tmp_path):
    compared = ablate.compare(table, **ASKED, baseline="layer_norm,gelu", margin=0.01)
    claims = {claim["id"]: claim for claim in compared.to_dict()["claims"]}
    assert {*claims} == {"norm=rms_norm", "ffn=relu", "ffn=swiglu"}
    assert claims["norm=rms_norm"]["effect"] == pytest.approx(0.1, abs=0.02)
    assert claims["norm=rms_norm"]["verdict"] == "supported"
    assert claims["ffn=relu"]["effect"] == pytest.approx(-0.05, abs=0.02)
    assert claims["ffn=relu"]["verdict"] == "refuted"
    assert compared.to_dict()["combined"]["best"]["levels"]["norm"] == "rms_norm"
    # the tables that the report and the analysis run in W&B show
    assert "changes" in comparison_tables(compared.evidence, compared.verdict)
    compared.write(tmp_path)
    assert "Average gain" in (tmp_path / "report.md").read_text()
