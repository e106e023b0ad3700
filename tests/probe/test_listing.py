"""The probe of printed listings, without their process."""


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
