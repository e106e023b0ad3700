"""Add the overrides of variants to the jobs of a screen."""

from collections.abc import Iterable, Mapping, Sequence

from ablate.config.screen import FACTOR, check_name
from ablate.record.label import value_text


def words(overrides: Mapping[str, object]) -> list[str]:
    """Return the overrides of a variant as words of a command line."""
    return [f"{key}={value_text(value)}" for key, value in overrides.items()]


def with_changes(
    jobs: Iterable[Sequence[str]], changes: Mapping[str, Mapping[str, object]]
) -> list[list[str]]:
    """Return the overrides of every job, with those of its variant added.

    Raises:
        UserError: a job names a variant that the screen does not have.
    """
    return [[*job, *_changes_of(job, changes)] for job in jobs]


def _changes_of(job: Sequence[str], changes: Mapping[str, Mapping[str, object]]) -> list[str]:
    names = [word.partition("=")[2] for word in job if word.startswith(f"{FACTOR}=")]
    if not names or not changes:
        return []
    check_name(names[-1], changes)
    return words(changes.get(names[-1], {}))
