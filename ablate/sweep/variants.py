"""Add the overrides of the variant that a job names to the job.

Jobs name variants in a screen, that is, in a study that compares a list of variants with one
baseline.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import redirect_stdout
from io import StringIO
from itertools import count

from ablate.config.screen import BASELINE, FACTOR, check_name
from ablate.record.label import key, value_text
from ablate.sweep.cell import Cell, first_of_each
from ablate.sweep.compose import compose
from ablate.sweep.planned import PlannedSweep


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


def all_arms(planned: PlannedSweep, changes: Mapping[str, Mapping[str, object]]) -> list[Cell]:
    """Return a run of every arm of a sweep; for a screen also of the variants that the command does
    not run, because a part of a screen has the registration of the whole screen.

    Raises:
        UserError: the overrides of a variant that the command does not run cannot be composed.
    """
    arms = first_of_each(planned.composed, lambda cell: key(cell.levels))
    if not changes or not arms:
        return arms
    by_name = {str(arm.levels[FACTOR]): arm for arm in arms}
    left_out = [str(arm.get(FACTOR)) for arm in planned.config.without]
    names = [name for name in (BASELINE, *changes) if name not in left_out]
    missing = [name for name in names if name not in by_name]
    name, base = next(iter(by_name.items()))
    given = base.overrides[: len(base.overrides) - len(words(changes.get(name, {})))]
    kept = [word for word in given if not word.startswith(f"{FACTOR}=")]
    jobs = with_changes([[*kept, f"{FACTOR}={name}"] for name in missing], changes)
    with redirect_stdout(StringIO()):  # the messages are about runs that this command lacks
        more = compose(planned.context, planned.config, jobs, count(), planned.folder)
    by_name |= dict(zip(missing, more, strict=True))
    return [by_name[name] for name in names]
