"""The ledger as one HTML file that needs nothing else."""

import os
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined

from ablate.ledger.claims import KINDS, read_documents
from ablate.ledger.entries import FILTERS, STATES, Entry, count, titles
from ablate.record.files import write_text


def write(entries: list[Entry], page: Path) -> None:
    """Write the page over all entries.

    Raises:
        UserError: the file cannot be written.
    """
    write_text(page, render(entries, page))


def render(entries: list[Entry], page: Path) -> str:
    """Return the page over all entries; its links lead from `page` to the reports."""
    environment = Environment(
        loader=PackageLoader("ablate.ledger"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"link": _link(page), "date": _date}
    groups = [(name, list(found)) for name, found in groupby(entries, lambda e: e.claim.group)]
    return environment.get_template("ledger.html").render(
        groups=groups,
        claims=sum(not entry.outside for entry in entries),
        outside=sum(entry.outside for entry in entries),
        counts=count(entries),
        documents=read_documents(),
        filters=FILTERS,
        choices=_choices(entries),
        states=STATES,
    )


def _choices(entries: list[Entry]) -> dict[str, list[str]]:
    """What can be picked: names in the order of the ledger, factors by the alphabet."""
    names = {
        key: list(dict.fromkeys(name for entry in entries for name in read(entry)))
        for key, read in FILTERS.items()
        if key != "verdict"
    }
    return {**names, "factor": sorted(names["factor"]), "kind": [*KINDS], "document": [*titles()]}


def _link(page: Path) -> Callable[[Path], str]:
    folder = page.absolute().parent
    return lambda report: quote(Path(os.path.relpath(report.absolute(), folder)).as_posix())


def _date(time: float) -> str:
    return datetime.fromtimestamp(time, UTC).date().isoformat()
