"""The probe of printed listings, without their process."""

from pathlib import Path

import pytest

DOCUMENTS = Path(__file__).parents[3] / "shared" / "documents"


def test_a_form_that_does_not_run_has_a_difference_of_one(measure, monkeypatch, tmp_path):
    def examine(*asked, **how):
        return {
            "printed": {"error": "NameError: x", "line": 1},
            "crash_only": {"gap": 0.5, "perturbed": 2.0},
            "repaired": {"gap": 0.0, "perturbed": 2.0},
        }

    monkeypatch.setattr("experiments.listings.probe.examine_listing", examine)
    measured = measure("listing", listing="mt_norm", documents=tmp_path)
    assert measured == {
        **{"printed_runs": 0.0, "printed_gap": 1.0, "crash_only_runs": 1.0},
        **{"crash_only_gap": 0.5, "repaired_runs": 1.0, "repaired_gap": 0.0, "perturbed": 2.0},
    }


@pytest.mark.slow
@pytest.mark.skipif(not DOCUMENTS.is_dir(), reason="the documents are not at hand")
def test_a_listing_runs_in_its_own_process(measure):
    metrics = measure("listing", listing="mt_norm", documents=DOCUMENTS, draws=2)
    assert min(metrics["printed_gap"], metrics["perturbed"]) > 0.01
    assert metrics["repaired_gap"] < 1e-9
