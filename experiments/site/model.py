"""Define the content of the site, and the addresses of its pages."""

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from ablate.ledger.text import Entry
from experiments.site.catalogue import Document, Pair, places, read_documents, read_pairs
from experiments.site.source import Source, read

FOREIGN = re.compile(r"[^\w.+=-]+", re.ASCII)
LONGEST = 80  # largest number of letters in a file name


@dataclass(frozen=True)
class Site:
    """The content of the web site: claims, the experiments that tested the claims, the documents
    (texts about the Transformer) that make the claims, and the claims that contradict each other.
    """

    entries: list[Entry]
    sources: dict[Path, Source]  # experiments by their folders

    @cached_property
    def documents(self) -> list[Document]:
        """The documents that make at least one claim of the site, in the order of their file."""
        made = {title for entry in self.entries for title in places(entry.claim)}
        return [document for document in read_documents() if document.title in made]

    @cached_property
    def pairs(self) -> list[Pair]:
        """The pairs of contradicting claims whose claims are all on the site."""
        return [pair for pair in read_pairs() if {*pair.first, *pair.second} <= self.by_id.keys()]

    @cached_property
    def by_id(self) -> dict[str, Entry]:
        """Every claim by its id."""
        return {entry.claim.id: entry for entry in self.entries}

    @cached_property
    def claims(self) -> dict[str, str]:
        """The page name of each claim by its id: claims/<name>.html."""
        return file_names(self.by_id)

    @cached_property
    def experiments(self) -> dict[Path, str]:
        """The page name of each experiment by its folder: experiments/<name>.html."""
        labels = [folder.name for folder in self.sources]
        unique = {
            folder: folder.name if labels.count(folder.name) == 1 else str(folder)
            for folder in self.sources
        }
        page_names = file_names(unique.values())
        return {folder: page_names[label] for folder, label in unique.items()}

    @cached_property
    def titles(self) -> dict[str, str]:
        """The page name of each document by its title: documents/<name>.html."""
        return anchors(document.title for document in self.documents)

    @cached_property
    def tested(self) -> dict[Path, list[tuple[Entry, list[str]]]]:
        """The claims that each experiment tested, each with the verdicts of this experiment, by the
        folder of the experiment.
        """
        claims: dict[Path, list[tuple[Entry, list[str]]]] = {folder: [] for folder in self.sources}
        for entry in self.entries:
            verdicts: dict[Path, list[str]] = {}
            for finding in entry.findings:
                verdicts.setdefault(finding.folder, []).append(finding.verdict)
            for folder, words in verdicts.items():
                claims[folder].append((entry, words))
        return claims


def gather(entries: list[Entry]) -> Site:
    """Read the folders of all verdicts on the claims, and return the content of the site."""
    folders = {finding.folder for entry in entries for finding in entry.findings}
    return Site(entries, {folder: read(folder) for folder in sorted(folders)})


def file_names(texts: Iterable[str]) -> dict[str, str]:
    """Return a file name for each text: the text itself if it is valid, else a simplified form with
    a digest.
    """
    by_text: dict[str, str] = {}
    taken: set[str] = set()
    for text in dict.fromkeys(texts):
        name = FOREIGN.sub("-", text).strip("-.")[:LONGEST]
        if name != text or name.casefold() in taken:
            name = f"{name}-{hashlib.sha256(text.encode()).hexdigest()[:8]}".lstrip("-")
        taken.add(name.casefold())
        by_text[text] = name
    return by_text


def anchors(texts: Iterable[str]) -> dict[str, str]:
    """Return an HTML anchor for each text, in lower case, with a number if it would not be
    unique.
    """
    by_text: dict[str, str] = {}
    for number, text in enumerate(dict.fromkeys(texts), 1):
        name = FOREIGN.sub("-", text.lower()).strip("-.") or f"part-{number}"
        by_text[text] = f"{name}-{number}" if name in by_text.values() else name
    return by_text
