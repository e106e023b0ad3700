"""The experiments that the fast tests compose; the slow tests compose all of them."""

import re

import pytest

from ablate.config import catalogue_folders, catalogue_root, option_files

EXPERIMENTS = option_files("experiment")
NAMES = [*EXPERIMENTS]
# a group of which the experiment chooses an option, a kind of claim, a section
PART = re.compile(r"override (/[\w/]+)(?=[@:])|^ {6}(kind: \w+)|^ {2}(\w+):", re.MULTILINE)

# a module with a position of somebody else
SHIFTED = """
from ablate.model.position import Position


class Shifted(Position):
    '''Adds a number to the embeddings.'''

    def __init__(self, *, d_model: int, by: float) -> None:
        super().__init__()
        self.by = by

    def embed(self, x, positions):
        return x + self.by


class Undeclared(Shifted):
    pass
"""


def _quick():
    """Yield experiments until each part is in one of them, those with many parts first."""
    covered = set()
    parts = {n: {*PART.findall(EXPERIMENTS[n].read_text(encoding="utf-8"))} for n in NAMES}
    for name in sorted(NAMES, key=lambda name: -len(parts[name])):
        if not parts[name] <= covered:
            covered |= parts[name]
            yield name


QUICK = frozenset(_quick())


def forget_catalogue():
    """Let the next call look for a catalogue, from the folder that is then the working folder."""
    catalogue_root.cache_clear()
    catalogue_folders.cache_clear()


def case(value, name):
    """Return a parameter for a test of an experiment.

    The tests of an experiment go to one worker, which composes it once.
    """
    slow = [] if name in QUICK else [pytest.mark.slow]
    return pytest.param(value, marks=[pytest.mark.xdist_group(name), *slow])
