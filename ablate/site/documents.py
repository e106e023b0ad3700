"""The ledger by document: its sections in their order, and the claims of each."""

from dataclasses import dataclass, field

from ablate.ledger.claims import Claim, Document
from ablate.ledger.entries import Entry, count, titles
from ablate.site.address import anchors
from ablate.site.model import Site
from ablate.site.wording import stands

WHOLE = "The text as a whole"


@dataclass(frozen=True)
class Said:
    """A claim where a document makes it."""

    entry: Entry
    detail: str = ""  # item or step within the section


@dataclass
class Section:
    """A part of a document, with what it claims."""

    name: str
    heading: str  # as the document has it
    said: list[Said] = field(default_factory=list)


def sections(document: Document, entries: list[Entry]) -> list[Section]:
    """The sections of a document in their order; those that claim nothing too."""
    found = {name: Section(name, heading) for name, heading in document.sections.items()}
    rest = Section(WHOLE, "")
    for entry in entries:
        for place in places(entry.claim).get(document.title, []):
            name = _section(place, document)
            section = found[name] if name else rest
            section.said.append(Said(entry, place.removeprefix(name).lstrip(", ")))
    return [*found.values(), *([rest] if rest.said else [])]


def places(claim: Claim) -> dict[str, list[str]]:
    """Where a claim is made: sections by title of the document, with what is named within."""
    found = {claim.document: [place for place in claim.section.split("; ") if place]}
    title = claim.document
    for part in (part for part in claim.also_in.split("; ") if part):
        title = next((known for known in titles() if part.startswith(f"{known}, ")), title)
        found.setdefault(title, []).append(part.removeprefix(f"{title}, "))
    return found


def _section(place: str, document: Document) -> str:
    """The section that a place is in: the longest name that it begins with."""
    known = [name for name in document.sections if place == name or place.startswith(f"{name}, ")]
    return max(known, key=len, default="")


def within(entries: list[Entry], document: Document) -> list[Entry]:
    """The claims that a document makes, wherever."""
    return [entry for entry in entries if document.title in places(entry.claim)]


def shown(site: Site) -> list[Document]:
    """Return the documents that make a claim of the site, which may be the user's claims alone."""
    return [document for document in site.documents if within(site.entries, document)]


def whole(document: Document, site: Site) -> dict[str, object]:
    """What the page of a document shows, and its line in the list of all."""
    counts = count(within(site.entries, document))
    found = sections(document, site.entries)
    known = anchors(section.name for section in found)
    return {
        "document": document,
        "page": site.titles[document.title],
        "counts": counts,
        "sentences": stands(document.title, counts),
        "sections": [(section, known[section.name]) for section in found],
    }


def linked(entry: Entry, site: Site) -> dict[str, list[tuple[str, str]]]:
    """Where a claim is made, by title: each place with its anchor, "" where it has none."""
    by_title = {document.title: document for document in site.documents}
    return {
        title: [(place, _anchor(place, by_title.get(title))) for place in named]
        for title, named in places(entry.claim).items()
    }


def _anchor(place: str, document: Document | None) -> str:
    name = _section(place, document) if document else ""
    return anchors(document.sections)[name] if document and name else ""
