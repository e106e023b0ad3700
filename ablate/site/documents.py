"""List the claims by document: the sections of a document in order, and the claims that each
section makes.

A document is a text about the Transformer whose claims are tested.
"""

from dataclasses import dataclass, field

from ablate.ledger.claims import Claim, Document
from ablate.ledger.entries import Entry, count, titles
from ablate.site.model import Site, anchors
from ablate.site.wording import stands

WHOLE = "The text as a whole"


@dataclass(frozen=True)
class SectionClaim:
    """A claim that a section of a document (a text about the Transformer) makes."""

    entry: Entry
    detail: str = ""  # the item or step within the section


@dataclass
class Section:
    """A section of a document (a text about the Transformer), with the claims that the section
    makes.
    """

    name: str
    heading: str  # the heading in the document
    claims: list[SectionClaim] = field(default_factory=list)


def sections(document: Document, entries: list[Entry]) -> list[Section]:
    """Return the sections of a document in order, including sections without claims.

    Claims that no section makes are in an additional last section for the text as a whole.
    """
    by_name = {name: Section(name, heading) for name, heading in document.sections.items()}
    rest = Section(WHOLE, "")
    for entry in entries:
        for place in places(entry.claim).get(document.title, []):
            name = _section(place, document)
            section = by_name[name] if name else rest
            section.claims.append(SectionClaim(entry, place.removeprefix(name).lstrip(", ")))
    return [*by_name.values(), *([rest] if rest.claims else [])]


def places(claim: Claim) -> dict[str, list[str]]:
    """Return the sections of documents (texts about the Transformer) that make a claim, by the
    title of the document.

    A section is given by its name, after which an item or a step may follow, as in "Section 3,
    item 2".
    """
    by_title = {claim.document: [place for place in claim.section.split("; ") if place]}
    title = claim.document
    for part in (part for part in claim.also_in.split("; ") if part):
        title = next((name for name in titles() if part.startswith(f"{name}, ")), title)
        by_title.setdefault(title, []).append(part.removeprefix(f"{title}, "))
    return by_title


def _section(place: str, document: Document) -> str:
    """Return the name of the section that a text such as "Section 3, item 2" begins with; "" if
    none.

    If several names match, the longest is returned.
    """
    matching = [name for name in document.sections if f"{place}, ".startswith(f"{name}, ")]
    return max(matching, key=len, default="")


def within(entries: list[Entry], document: Document) -> list[Entry]:
    """Return the entries whose claim the document makes."""
    return [entry for entry in entries if document.title in places(entry.claim)]


def shown(site: Site) -> list[Document]:
    """Return the documents (texts about the Transformer) that make at least one claim of the site.

    The result is [] if the site has only the user's claims.
    """
    return [document for document in site.documents if within(site.entries, document)]


def whole(document: Document, site: Site) -> dict[str, object]:
    """Return the variables of the HTML template for the page of a document, which lists the
    document's claims.

    The page that lists all documents uses the same variables of each document.
    """
    counts = count(within(site.entries, document))
    all_sections = sections(document, site.entries)
    anchor_names = anchors(section.name for section in all_sections)
    return {
        "document": document,
        "page": site.titles[document.title],
        "counts": counts,
        "sentences": stands(document.title, counts),
        "sections": [(section, anchor_names[section.name]) for section in all_sections],
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
