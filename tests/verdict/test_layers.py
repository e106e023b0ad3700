"""The layers of an answer: what a reader learns from the headline and the line of evidence."""

import json
import re
from pathlib import Path

import pytest

from ablate.config import CONF
from ablate.config.labels import option_label
from ablate.phrases import in_sentence

ROOT = Path(__file__).resolve().parents[2]
HEADLINE = 25  # words at most
SYMBOL = re.compile(r"[][=<>^*{}]| [-+/] ")
VERDICTS = sorted(ROOT.glob("experiments/*/verdict.json"))


def answers():
    for path in VERDICTS:
        for claim in json.loads(path.read_text(encoding="utf-8"))["claims"]:
            yield path.parent.name, claim, claim
            if "short" in claim:
                yield path.parent.name, claim, claim["short"]


def test_every_committed_answer_has_evidence_and_a_headline_of_at_most_25_words():
    lines = [(answer["headline"], answer["evidence"]) for _, _, answer in answers()]
    assert len(lines) > 800
    assert all(headline and evidence for headline, evidence in lines)
    headlines = {headline for headline, _ in lines}
    sentences = [line.partition(". ")[2] for line in headlines]
    assert not [line for line in sentences if len(line.split()) > HEADLINE]
    assert not [line for line in headlines if SYMBOL.search(line)]


def test_the_evidence_has_the_numbers_of_the_verdict():
    for name, claim, answer in answers():
        undecided = {"problem", "decided_by_failures"} & answer.keys()
        if claim["kind"] not in ("superiority", "equivalence") or undecided:
            continue
        if answer["effect"] is None:
            continue
        assert f"{answer['pairs']} paired seed" in answer["evidence"], name
        both = claim["baseline"].items() & claim["treatment"].items()
        arm = {key: level for key, level in claim["treatment"].items() if (key, level) not in both}
        assert in_sentence(arm)[1:] in answer["evidence"], name
        better = (answer["effect"] > 0) == (claim["better"] == "higher")
        falls = re.search("(:| is) -", answer["evidence"]) is not None
        assert falls != better or not answer["effect"], name


@pytest.mark.parametrize("page", ["README.md", "docs/tutorial/first_verdict.md"])
def test_an_answer_that_a_page_quotes_is_that_of_the_evidence(page):
    lines = (ROOT / page).read_text(encoding="utf-8").replace("**", "").split("\n")
    text = "\n".join(line.removeprefix(">").strip() if line[:1] == ">" else "" for line in lines)
    quotes = [" ".join(quote.split()) for quote in text.split("\n\n") if "% CI" in quote]
    given = {f"{answer['headline']} {answer['evidence']}" for _, _, answer in answers()}
    assert quotes and not [quote for quote in quotes if quote not in given]


def test_options_of_a_group_have_different_labels():
    for folder in sorted(path for path in CONF.rglob("*") if path.is_dir()):
        group = folder.relative_to(CONF).as_posix()
        labels = [option_label(group, path.stem) for path in folder.glob("*.yaml")]
        assert len(labels) == len(set(labels)), group
