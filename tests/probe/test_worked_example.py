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
