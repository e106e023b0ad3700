"""All that is shown, and where it has its pages."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from ablate.evidence.types import ReportedClaim
from ablate.ledger.claims import Document, read_documents
from ablate.ledger.entries import Entry
from ablate.ledger.pairs import Pair, read_pairs
from ablate.ledger.places import ORIGINS
from ablate.ledger.verdicts import Finding
from ablate.site.address import anchors, names
from ablate.site.attention import Kept, kept
from ablate.site.sentences import Tests, tests
from ablate.site.source import Source, read


@dataclass(frozen=True)
class Site:
    """Claims, the experiments that their verdicts come from, documents, contradictions."""

    entries: list[Entry]
    sources: dict[Path, Source]  # by folder
    tests: Tests  # whose translations are at hand
    attention: Kept  # of runs that logged some

    @cached_property
    def documents(self) -> list[Document]:
        """In the order in which they were read."""
        return read_documents()

    @cached_property
    def pairs(self) -> list[Pair]:
        """Of those claims that there are."""
        return [pair for pair in read_pairs() if {*pair.one, *pair.other} <= self.by_id.keys()]

    @cached_property
    def by_id(self) -> dict[str, Entry]:
        """Every claim by its id."""
        return {entry.claim.id: entry for entry in self.entries}

    @cached_property
    def claims(self) -> dict[str, str]:
        """The page of each claim: claims/<name>.html."""
        return names(self.by_id)

    @cached_property
    def experiments(self) -> dict[Path, str]:
        """The page of each folder: experiments/<name>.html."""
        labels: dict[Path, str] = {}
        for folder, source in self.sources.items():  # committed ones first: they keep their names
            own = folder.name.startswith(source.name)
            label = folder.name if own else f"{source.name}-{folder.name}"
            again = sum(other == label for other in labels.values())
            labels[folder] = f"{label} {again + 1}" if again else label
        known = names(labels.values())
        return {folder: known[label] for folder, label in labels.items()}

    @cached_property
    def titles(self) -> dict[str, str]:
        """The page of each document: documents/<name>.html."""
        return anchors(document.title for document in self.documents)

    def told(self, finding: Finding) -> ReportedClaim | None:
        """A verdict with all its numbers; None where its evidence is not at hand."""
        source = self.sources[finding.report.parent]
        for told in source.answers:
            key = (told["id"], told.get("reading", ""))
            steps = str(told.get("steps") or source.verdict["regime"].get("steps") or "")
            if key == (finding.claim, finding.reading) and steps == finding.steps:
                return told
        return None


def gather(entries: list[Entry], warnings: list[str], results: Path) -> Site:
    """Read the folders of all verdicts; what is damaged is left out, with a warning."""
    findings = (finding for entry in entries for finding in entry.findings)
    folders = {finding.report.parent: finding.origin for finding in findings}
    ordered = sorted(folders, key=lambda folder: (ORIGINS.index(folders[folder]), folder))
    sources = {folder: read(folder, warnings, folders[folder]) for folder in ordered}
    return Site(entries, sources, tests(results), kept(results))
