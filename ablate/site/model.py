"""Define the content of the site, and the addresses of its pages."""

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from ablate.evidence.types import Entry as Answered
from ablate.ledger.entries import Entry
from ablate.ledger.places import ORIGINS
from ablate.ledger.verdicts import Finding, steps_of_claim
from ablate.progress import track
from ablate.site.catalogue import Document, Pair, read_documents, read_pairs
from ablate.site.data import Kept, Tests, kept, tests
from ablate.site.source import Source, read

FOREIGN = re.compile(r"[^\w.+=-]+", re.ASCII)
LONGEST = 80  # largest number of letters in a file name


@dataclass(frozen=True)
class Site:
    """The content of the web site: claims, the experiments that tested the claims, the documents
    (texts about the Transformer) that make the claims, and the claims that contradict each other.
    """

    entries: list[Entry]
    sources: dict[Path, Source]  # experiments by their folders
    tests: Tests  # folders of tests of the user's runs, which may have translations
    attention: Kept  # attention pictures of runs that logged them

    @cached_property
    def documents(self) -> list[Document]:
        """The documents, that is, the texts about the Transformer whose claims are tested, in the
        order of the file documents.csv.
        """
        return read_documents()

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
        return names(self.by_id)

    @cached_property
    def experiments(self) -> dict[Path, str]:
        """The page name of each experiment by its folder: experiments/<name>.html."""
        labels: dict[Path, str] = {}
        for folder, source in self.sources.items():  # committed experiments keep their names
            has_name = folder.name.startswith(source.name)
            label = folder.name if has_name else f"{source.name}-{folder.name}"
            again = sum(earlier_label == label for earlier_label in labels.values())
            labels[folder] = f"{label} {again + 1}" if again else label
        page_names = names(labels.values())
        return {folder: page_names[label] for folder, label in labels.items()}

    @cached_property
    def titles(self) -> dict[str, str]:
        """The page name of each document (a text about the Transformer that makes claims) by the
        document's title: documents/<name>.html.
        """
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

    def answer(self, finding: Finding) -> Answered | None:
        """Return a verdict of an experiment with all its numbers; None if its results are not
        available.
        """
        source = self.sources[finding.folder]
        for claim in source.answers:
            key = (claim["id"], claim.get("reading", ""))
            steps = steps_of_claim(claim, source.verdict)
            if key == (finding.claim, finding.reading) and steps == finding.steps:
                return claim
        return None


def gather(entries: list[Entry], warnings: list[str], results: Path) -> Site:
    """Read the folders of all verdicts on the claims, and return the content of the site.

    Args:
        entries: the claims with their verdicts.
        warnings: list to which a warning is appended for each folder with damaged results; the
            page of its experiment shows the verdicts alone.
        results: folder of the user's runs and sweeps.
    """
    findings = (finding for entry in entries for finding in entry.findings)
    folders = {finding.folder: finding.origin for finding in findings}
    ordered = sorted(folders, key=lambda folder: (ORIGINS.index(folders[folder]), folder))
    counted = track(ordered, "reading experiments", len(ordered))
    sources = {folder: read(folder, warnings, folders[folder]) for folder in counted}
    return Site(entries, sources, tests(results), kept(results))


def names(texts: Iterable[str]) -> dict[str, str]:
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
