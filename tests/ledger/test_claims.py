"""The data of the ledger, and that the studies of all experiments keep to it."""

import re

import yaml

from ablate.ledger.verdicts import read_claims
from experiments.site.catalogue import read_documents

from ..experiments import EXPERIMENTS

CLAIMS = read_claims()
DOCUMENTS = {document.title: document for document in read_documents()}


def claims_of(study):
    """The claims of a study, and those of its screen."""
    return [*study.get("claims", []), *study.get("screen", {}).get("claims", {}).values()]


STUDIED = [
    (name, claim)
    for name, path in EXPERIMENTS.items()
    for claim in claims_of(yaml.safe_load(path.read_text()).get("study") or {})
]


def known_section(title, section):
    """Whether a document has the section, by its number too, or that which a detail is added to."""
    sections = [
        spelling
        for name in DOCUMENTS[title].sections
        for spelling in (name, name.partition(":")[0])
    ]
    return any(section == name or section.startswith(f"{name}, ") for name in sections)


def test_all_claims_are_there_once():
    assert len(CLAIMS) >= 213
    assert len({claim.id for claim in CLAIMS}) == len(CLAIMS)
    assert len({claim.statement for claim in CLAIMS}) == len(CLAIMS)


def test_every_claim_says_where_it_stands():
    for claim in CLAIMS:
        for section in claim.section.split("; "):
            assert known_section(claim.document, section), (claim.id, section)
        for place in filter(None, claim.also_in.split("; ")):
            title = next(title for title in DOCUMENTS if place.startswith(f"{title}, "))
            assert known_section(title, place.removeprefix(f"{title}, ")), (claim.id, place)


def test_every_section_of_the_documents_has_a_claim_or_is_cited():
    cited = " | ".join(f"{c.document}, {c.section}; {c.also_in}" for c in CLAIMS)
    for title, document in DOCUMENTS.items():
        assert document.original and title in cited
        for section, heading in document.sections.items():
            assert heading and section in cited, section


def test_studies_name_documents_as_the_ledger_does():
    sources = [(study, s) for study, claim in STUDIED for s in claim["source"].split("; ")]
    for study, source in sources:
        for title in (title for title in DOCUMENTS if source.startswith(title)):
            section = re.sub(r" \(.*\)$", "", source.removeprefix(title).lstrip(", "))
            assert known_section(title, section), f"{study}: {source}"
