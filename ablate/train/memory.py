"""Explain errors of a run that needs more memory than the machine has, or whose sizes overflow an
integer.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from omegaconf import DictConfig

from ablate.config.leaves import leaves
from ablate.errors import UserError, first_line

# Parts of error messages of Python and torch. On a CPU, torch has no exception class for them.
SHORTAGES = (
    *("not enough memory", "out of memory", "can't allocate memory", "Cannot allocate memory"),
    *("calculation overflowed", "Overflow when unpacking", "concrete integers", "too large"),
    *("array is too big", "Maximum allowed dimension", "cannot fit 'int'", "too big to convert"),
)
SHOWN = 3


@contextmanager
def name_largest_numbers(config: DictConfig) -> Iterator[None]:
    """Raise a UserError that names the largest numbers of the config, if the `with` block runs out
    of memory.

    Raises:
        UserError: the block ran out of memory, or a size overflowed an integer.
    """
    try:
        yield
    except UserError:
        raise
    except Exception as error:
        if not _is_shortage(error):
            raise
        raise UserError(
            f"this run needs more memory than there is ({first_line(error)}): make "
            f"{_largest(config)} smaller"
        ) from error


def _is_shortage(error: Exception) -> bool:
    message = str(error)
    return isinstance(error, MemoryError | OverflowError) or any(s in message for s in SHORTAGES)


def _largest(config: DictConfig) -> str:
    """Return the keys and values of the largest integers of a config as text; interpolations are
    skipped.
    """
    numbers = {
        name: value
        for name, value in leaves(config).items()
        if isinstance(value, int) and not isinstance(value, bool) and not name.endswith("seed")
    }
    names = sorted(numbers, key=lambda name: -numbers[name])[:SHOWN]
    return " or ".join(f"{name}={numbers[name]}" for name in names)
