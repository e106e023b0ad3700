"""`ablate ledger` as a person types it."""

import functools
import re
from pathlib import Path

import pytest

from ablate.ledger.verdicts import read_claims, read_notes
from ablate.phrases import MARKS

EXPERIMENTS = Path(__file__).parents[2] / "experiments"
STARTS = {f"{mark.letter} " for mark in MARKS.values()}
CLAIM = "pe_relative_easy_to_learn"
ALL, STANDING = len(read_claims()), len(read_notes("standings"))


@pytest.fixture
def ask(folders, command):
    """Call the command; return exit status, output and errors."""
    return functools.partial(command, "ledger")


def ids(output):
    """The claims of a list: the second column of lines that begin with a mark."""
    return [line.split("  ")[1] for line in output.splitlines() if line[:2] in STARTS]


def test_all_claims_with_their_count(ask, verdict):
    verdict("experiments/a", {CLAIM: "supported", "pe_unique": "refuted", "mine": "supported"})
    status, output, errors = ask("--all")
    assert status == 0 and not errors
    assert len(set(ids(output))) == ALL + 1
    assert output.count("○ not tested") == ALL - STANDING - 2
    numbers = [int(number) for number in re.findall(r"\d+", output.splitlines()[-1])]
    assert numbers == [ALL + 1, ALL + 1, 2, 1, STANDING, ALL - STANDING - 2]


def test_without_words_a_line_for_each_subject_counts_its_answers(ask, verdict):
    verdict("experiments/a", {CLAIM: "supported", "pe_unique": "refuted", "mine": "supported"})
    output = ask()[1].splitlines()
    assert output[0].startswith("Order and positional encoding: 1 supported, 1 refuted")
    assert len(output) < 20 and any(line.endswith(": 1 supported") for line in output)


@pytest.mark.parametrize("words", [["warm-up"], ["pre-ln", "WARMUP"]])
def test_a_search_shows_the_sentence_that_an_experiment_tested(ask, verdict, words):
    """The README quotes a sentence that no document states."""
    quoted = "Without learning-rate warm-up, Pre-LN reaches a higher BLEU than Post-LN."
    assert quoted in (EXPERIMENTS.parent / "README.md").read_text()
    claim, folder = "preln_better_without_warmup", f"experiments={EXPERIMENTS}"
    (line,) = [line for line in ask(*words, folder)[1].splitlines() if claim in line.split("  ")]
    assert quoted in line
    lines = ask(claim, folder)[1].splitlines()
    assert any("Supported" in line and "+12.65 " in line for line in lines)
    assert any("Multi30k" in line and "Undecided" in line for line in lines)


@pytest.mark.parametrize(
    ("filters", "amount"),
    [
        (("paper explained",), None),
        (("REMEDY", "linformer"), 1),
        (("linformer", "no such text"), 0),
        (("experiment_a", "state=tested"), 1),
        (("experiment_a", "state=refuted"), 0),
        (("state=not tested",), ALL - STANDING - 1),
    ],
)
def test_filters(ask, verdict, filters, amount):
    verdict("experiments/experiment_a", {CLAIM: "supported"})
    status, output, _ = ask(*filters)
    assert status == (2 if amount == 0 else 0)
    shown = int(["0", *output.splitlines()][-1].split()[0])
    assert shown == amount or (amount is None and 0 < shown < ALL)


def test_a_search_shows_the_questions_that_have_all_of_its_words(ask):
    first, second = list(read_notes("questions"))[:2]
    folder = f"experiments={EXPERIMENTS}"
    output = " ".join(ask(*first.strip("?").split(), folder)[1].split())
    assert first in output and read_notes("questions")[first]["answer"] in output
    assert second not in output and second in " ".join(ask(folder)[1].split())


def test_a_word_that_no_claim_has_is_named(ask):
    status, _, errors = ask("linformer", "qwerty")
    assert status == 2 and "qwerty" in errors and "linformer" not in errors
