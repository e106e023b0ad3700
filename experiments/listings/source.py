"""Read the code listings of documents, and patch them so that they run or are correct.

A listing is described by a YAML file in experiments/listings/listings. The code itself is not part
of this project: the file contains line numbers of a document and the SHA-256 of these lines, and
only code with this SHA-256 is ever executed. A patch replaces some columns of a line, for a stated
reason.

A listing has three forms: as printed, with only the patches without which it raises an error
(crash_only), and with all patches (repaired).
"""

from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import yaml

from ablate.errors import UserError

FORMS = PRINTED, CRASH_ONLY, REPAIRED = ("printed", "crash_only", "repaired")
FOLDER = Path(__file__).with_name("listings")


@dataclass(frozen=True)
class Patch:
    """A correction of a code listing: new text for some columns of a line of the document; columns
    are counted from 0.
    """

    line: int
    columns: tuple[int, int]
    put: str
    why: str
    crash: bool  # whether the listing fails without it


@dataclass(frozen=True)
class Listing:
    """A code listing that a document prints, with patches that correct the code, and the name of
    the exam (a function that compares the code with this project's components).
    """

    name: str
    document: str  # title of the document
    section: str
    lines: tuple[int, int]
    sha256: str  # of these lines, joined with line feeds
    exam: str  # one of experiments.listings.exams
    defines: str  # the name that the exam uses
    options: dict[str, Any]  # arguments of the exam
    needs: tuple[str, ...]  # listings that run before it, in the same form
    patches: tuple[Patch, ...]


def names() -> list[str]:
    """Return the names of all code listings of documents that have a YAML file in
    experiments/listings/listings.
    """
    return sorted(path.name.removesuffix(".yaml") for path in FOLDER.iterdir())


def read(name: str) -> Listing:
    """Return the description of the code listing with a name: its lines in the document, the
    corrections of misprints that it needs to run, and the function that tests what it computes.

    Raises:
        UserError: there is no listing with this name.
    """
    if name not in names():
        raise UserError(f"probe.listing is {name!r}: it must be one of {', '.join(names())}")
    given = yaml.safe_load((FOLDER / f"{name}.yaml").read_text(encoding="utf-8"))
    first, last = given.pop("lines")
    needs = tuple(given.pop("needs", ()))
    patches = tuple(_patch(**patch) for patch in given.pop("patches", ()))
    whole = {"options": {}, **given, "lines": (first, last)}
    return Listing(**whole, name=name, needs=needs, patches=patches)


def _patch(*, columns: list[int], **given: Any) -> Patch:
    first, last = columns
    return Patch(columns=(first, last), **given)


def text(listing: Listing, documents: Path) -> list[str]:
    """Return the lines of a code listing from the text files of documents in a folder.

    Raises:
        UserError: no document in the folder has these lines.
    """
    first, last = listing.lines
    for path in sorted(documents.glob("*.txt")):
        # replaced characters change the digest, so a file that is not UTF-8 never matches
        content = path.read_text(encoding="utf-8-sig", errors="replace")
        lines = content.split("\n")[first - 1 : last]
        if sha256("\n".join(lines).encode()).hexdigest() == listing.sha256:
            return lines
    raise UserError(
        f"probe.documents={documents}: no .txt file there has the listing {listing.name}, that is, "
        f"lines {first} to {last} of {listing.document!r} (SHA-256 {listing.sha256[:12]}...): give "
        "the folder with the unchanged text of this document"
    )


def source(listing: Listing, documents: Path, form: str) -> str:
    """Return the code of a listing, preceded by the code of the listings that it needs.

    Args:
        listing: the description of the listing.
        documents: folder with the text files of the documents.
        form: "printed" for the code as the document prints it, "crash_only" with only the patches
            without which the code fails, or "repaired" with all patches.

    Raises:
        UserError: no document in the folder has the lines of a listing, or a needed listing does
            not exist.
    """
    before = [source(read(name), documents, form) for name in listing.needs]
    lines = text(listing, documents)
    for patch in sorted(listing.patches, key=lambda patch: patch.columns, reverse=True):
        if form == REPAIRED or (form == CRASH_ONLY and patch.crash):
            first, last = patch.columns
            at = patch.line - listing.lines[0]
            lines[at] = lines[at][:first] + patch.put + lines[at][last:]
    return "\n".join([*before, *lines])
