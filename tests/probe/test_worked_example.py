"""The probe of worked examples."""

from ablate.claims.example.block import names


def test_all_entries_are_counted_once(measure):
    for name in names():
        found = measure("worked_example", example=name)
        sorts = ("follows", "rounding", "inherited", "reprinted", "not_checkable")
        given = found["entries"] - found["differing_entries"] - sum(found[sort] for sort in sorts)
        assert given > 0  # the inputs
        assert found["control"] > 0
