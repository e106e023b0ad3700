"""Check the class of an option of a config group: its base class, and the docstring of its module.

Each function is a law, that is, a property that tests check for every option.
"""

import re
import sys
from collections.abc import Iterator

from ablate.testing.level import Level

PARTS = ("Equation:", "Source:", "What differs:", "What to expect:")
CITED = re.compile(r"arXiv:\d{4}\.\d{4,5}|doi:10\.|Source: own\b")


def documented(level: Level) -> Iterator[str]:
    """The docstring of the option's module has the parts Equation, Source, What differs and What to
    expect. It cites its source by an arXiv number or a DOI, or states that the idea is new by
    "Source: own".
    """
    text = sys.modules[level.kind.__module__].__doc__ or ""
    yield from (f"no {part}" for part in PARTS if part not in text)
    if not CITED.search(text):
        yield "no source is given as arXiv:..., doi:... or `Source: own`"


def leaf(level: Level) -> Iterator[str]:
    """The class of the option subclasses the base class of its config group, or another option of
    the group.
    """
    # an option may subclass another option of its group, and change only a part of it
    above = [kind.__module__ for kind in level.kind.__mro__[1:3]]
    seam = f"ablate.{level.group.replace('/', '.')}.base"
    if seam not in above:
        yield f"{level.kind.__name__} subclasses nothing of {seam}"


LAWS = (documented, leaf)
