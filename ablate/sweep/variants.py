"""Add the overrides of the variant that a job names to the job.

Jobs name variants in a screen, that is, in a study that compares a list of variants with one
baseline.
"""

from collections.abc import Iterable, Mapping, Sequence

from ablate.config.screen import FACTOR, check_name
from ablate.record.label import value_text


def words(overrides: Mapping[str, object]) -> list[str]:
    """Return the overrides of a variant as arguments of a command line."""
    return [f"{key}={value_text(value)}" for key, value in overrides.items()]


def with_changes(
    jobs: Iterable[Sequence[str]], changes: Mapping[str, Mapping[str, object]]
) -> list[list[str]]:
    """Return the overrides of every job, followed by the overrides of the variant that the job
    names by variant=NAME.

    A screen is a study that compares many variants with one baseline.

    Args:
        jobs: the overrides of each job.
        changes: the overrides of each variant of the screen, by its name.

    Raises:
        UserError: a job names an unknown variant.
    """
    return [[*job, *_changes_of(job, changes)] for job in jobs]


def _changes_of(job: Sequence[str], changes: Mapping[str, Mapping[str, object]]) -> list[str]:
    texts = [word.partition("=")[2] for word in job if word.startswith(f"{FACTOR}=")]
    names = [text.strip("'\"") for text in texts]
    if not names or not changes:
        return []
    check_name(names[-1], changes)
    return words(changes.get(names[-1], {}))
