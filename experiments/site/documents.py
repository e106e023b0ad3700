"""List the claims by document: the sections of a document in order, and the claims that each
section makes.

A document is a text about the Transformer whose claims are tested.
"""

from dataclasses import dataclass, field

from ablate.ledger.text import Entry, count
from experiments.site.catalogue import Document, places
from experiments.site.model import Site, anchors
from experiments.site.wording import stands

WHOLE = "The text as a whole"


@dataclass
class Section:
    """A section of a document (a text about the Transformer), with the claims that the section
    makes, each with the item or step within the section.
    """

    name: str
    heading: str  # the heading in the document
    anchor: str  # the anchor on the page of the document
    claims: list[tuple[Entry, str]] = field(default_factory=list)


def sections(document: Document, entries: list[Entry]) -> list[Section]:
    """Return the sections of a document in order, including sections without claims.

    Claims that no section makes are in an additional last section for the text as a whole.
    """
    headings = {**document.sections, WHOLE: ""}
    anchor_names = anchors(headings)
    by_name = {name: Section(name, text, anchor_names[name]) for name, text in headings.items()}
    for entry in entries:
        for place in places(entry.claim).get(document.title, []):
            name = _section(place, document)
            detail = place.removeprefix(name).lstrip(", ")
            by_name[name or WHOLE].claims.append((entry, detail))
    return [section for section in by_name.values() if section.claims or section.name != WHOLE]


def _section(place: str, document: Document) -> str:
    """Return the name of the section that a text such as "Section 3, item 2" begins with; "" if
    none.

    If several names match, the longest is returned.
    """
    matching = [name for name in document.sections if f"{place}, ".startswith(f"{name}, ")]
    return max(matching, key=len, default="")


def whole(document: Document, site: Site) -> dict[str, object]:
    """Return the variables of the HTML template for the page of a document, which lists the
    document's claims.

    The page that lists all documents uses the same variables of each document.
    """
    counts = count(e for e in site.entries if document.title in places(e.claim))
    return {
        "document": document,
        "page": site.titles[document.title],
        "counts": counts,
        "sentences": stands(document.title, counts),
        "sections": sections(document, site.entries),
    }


def linked(entry: Entry, site: Site) -> dict[str, list[tuple[str, str]]]:
    """Return the sections of documents (texts about the Transformer) that make a claim, by the
    title of the document.

    Each section comes with its anchor on the document's page, or "" if it has no anchor.
    """
    by_title = {document.title: document for document in site.documents}
    return {
        title: [(place, _anchor(place, by_title.get(title))) for place in named]
        for title, named in places(entry.claim).items()
    }


def _anchor(place: str, document: Document | None) -> str:
    name = _section(place, document) if document else ""
    return anchors(document.sections)[name] if document and name else ""
