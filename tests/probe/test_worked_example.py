"""The probe of worked examples."""

from experiments.worked_examples.block import names


def test_all_entries_are_counted_once(measure):
    for name in names():
        metrics = measure("worked_example", example=name)
        sorts = ("follows", "rounding", "inherited", "reprinted", "not_checkable")
        given = (
            metrics["entries"] - metrics["differing_entries"] - sum(metrics[sort] for sort in sorts)
        )
        assert given > 0  # the inputs
        assert metrics["control"] > 0


def test_a_check_of_rows_that_accepts_any_sum_is_noticed(measure, monkeypatch):
    metrics = measure("worked_example", example="attention")
    assert metrics["rows_off"] == 0 < metrics["rows_off_control"]
    monkeypatch.setattr("experiments.worked_examples.recompute.SLACK", 1.0)
    assert measure("worked_example", example="attention")["rows_off_control"] == 0
