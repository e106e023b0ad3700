"""Verdicts of the user beside committed ones: marked, and without any part in what these say."""

import json
import shutil

import pytest

from ablate.ledger.entries import read_entries

CLAIM = "preln_solves_gradient_problem"
STANDS = "heads_8_or_16_usual"  # a claim that is not testable


HEADLINE = {"inconclusive": "undecided"}  # of one verdict


def words(headlines):
    return {origin: headline.word for origin, headline in headlines.items()}


@pytest.fixture
def ledger(folders):
    """The ledger by claim id, as `ablate ledger` reads it."""

    def read(only=""):
        entries, warnings = read_entries(None, folders / "results", only)
        assert warnings == []
        return {entry.claim.id: entry for entry in entries}

    return read


OWN = {
    "newer": {"time": 900.0},
    "older": {"time": 1.0},
    "another regime": {"data": "multi30k"},
    "larger": {"half": 0.01, "steps": 9000, "model": "base"},
    "exact": {"kind": "exact"},
    "another reading": {"reading": "as it is meant"},
}


@pytest.mark.parametrize("changes", OWN.values(), ids=OWN.keys())
@pytest.mark.parametrize("word", ["supported", "inconclusive"])
def test_no_sweep_changes_what_committed_verdicts_say(ledger, verdict, changes, word):
    verdict("experiments/study", {CLAIM: "refuted"})
    before = ledger()[CLAIM]
    verdict("results/sweeps/study/1", {CLAIM: word}, experiment="study", **changes)
    after = ledger()[CLAIM]
    assert after.headline == before.headline and before.headline.deciding == before.findings
    assert after.verdict == "refuted"
    assert [finding.verdict for finding in after.findings] == ["refuted", word]
    assert words(after.beside) == {"your sweep": HEADLINE.get(word, word)} and not after.by_user


def test_sweeps_alone_decide_a_claim_and_are_marked(ledger, verdict, command):
    verdict("results/sweeps/a/1", {CLAIM: "supported", "mine": "refuted"})
    verdict("results/sweeps/b/1", {CLAIM: "refuted"}, model="rnn")
    entries = ledger()
    mine = entries[CLAIM]
    assert (mine.headline.on, mine.by_user) == ("the size of the model", True)
    assert next(iter(entries)) == "mine" and entries["mine"].outside
    output = command("ledger", "state=tested")[1]
    assert output.lstrip().startswith("Your claims\n■ refuted (your sweep)  mine  ")
    assert "◐ mixed: the settings differ in the size of the model (your sweep)" in output


def test_a_sweep_decides_nothing_that_is_not_testable(ledger, verdict):
    verdict("results/sweeps/a/1", {STANDS: "supported"})
    entry = ledger()[STANDS]
    assert (entry.verdict, entry.headline.on) == ("not testable", "convention")
    assert words(entry.beside) == {"your sweep": "supported"}
    assert ledger("own")[STANDS].verdict == "supported"


def test_only_the_own_or_only_the_committed_verdicts(ledger, verdict, command):
    verdict("experiments/study", {CLAIM: "refuted", "pe_unique": "supported"})
    verdict("results/sweeps/study/1", {CLAIM: "supported", "mine": "supported"})
    entries = ledger("own")
    assert set(entries) == {CLAIM, "mine"} and entries[CLAIM].verdict == "supported"
    committed = ledger("committed")
    assert "mine" not in committed and len(committed[CLAIM].findings) == 1
    assert command("ledger", "only=own")[1].splitlines()[-1].startswith("1 claim: 1 supported, 0")
    assert "your sweep" not in command("ledger", "only=committed")[1]
    assert command("ledger", "word=said that mine")[1].endswith(
        "0 not tested; 1 outside the ledger\n"
    )


@pytest.mark.parametrize("words", [[], ["state=refuted"], ["word=order", "--all"]])
def test_who_has_no_sweep_with_a_verdict_is_told_how_to_get_one(
    ledger, verdict, command, folders, words
):
    verdict("experiments/study", {CLAIM: "refuted"})
    status, out, _ = command("ledger", "only=own", *words)
    assert status == 0
    assert "No sweep in results" in out and "-m" in out


def test_the_family_of_committed_verdicts_has_no_sweeps(ledger, verdict, folders):
    def with_p(path, p):
        whole = json.loads((folders / path / "verdict.json").read_text())
        for claim in whole["claims"]:
            claim |= {"alpha": 0.05, "p_look": {"supported": p, "refuted": 1.0}}
        (folders / path / "verdict.json").write_text(json.dumps(whole))

    verdict("experiments/study", {CLAIM: "supported"})
    with_p("experiments/study", 0.02)
    alone = ledger()[CLAIM].headline
    assert alone.deciding[0].ledger_wide == "supported"
    for number in range(5):
        verdict(f"results/sweeps/{number}/1", {"pe_unique": "supported"}, experiment=f"e{number}")
        with_p(f"results/sweeps/{number}/1", 0.02)
    entries = ledger()
    assert entries[CLAIM].headline == alone
    assert {finding.ledger_wide for finding in entries["pe_unique"].findings} == {"inconclusive"}


def test_verdicts_of_a_catalogue_elsewhere_are_read(elsewhere, ledger, verdict):
    verdict("elsewhere/study", {CLAIM: "refuted", "theirs": "supported"})
    entries = ledger()
    assert (entries[CLAIM].verdict, entries[CLAIM].origin) == ("refuted", "committed")
    assert list(entries)[-1] == "theirs"


@pytest.mark.parametrize("name", ["study", "another", "deep/er"])
def test_an_experiment_that_the_user_keeps_stands_beside_a_catalogue_elsewhere(
    elsewhere, ledger, verdict, name
):
    verdict("elsewhere/study", {CLAIM: "refuted"})
    verdict(f"experiments/{name}", {CLAIM: "supported", "mine": "supported"}, experiment="study")
    verdict("results/sweeps/study/1", {"mine": "refuted"}, time=900, experiment="study")
    entries = ledger()
    assert (entries[CLAIM].verdict, list(entries)[0]) == ("refuted", "mine")
    assert words(entries[CLAIM].beside) == {"your experiment": "supported"}
    assert entries["mine"].verdict == "supported"
    assert words(entries["mine"].beside) == {"your sweep": "refuted"}


def test_a_copy_of_a_catalogue_is_known_by_its_verdicts(elsewhere, ledger, verdict, folders):
    verdict("experiments/study", {CLAIM: "refuted"})
    shutil.copytree(folders / "experiments", elsewhere)
    (finding,) = ledger()[CLAIM].findings
    assert finding.origin == "committed"
    assert finding.folder.resolve().is_relative_to(folders / "experiments")  # which has the runs


def test_a_folder_that_is_given_stands_in_place_of_all_others(elsewhere, verdict, folders):
    verdict("elsewhere/study", {CLAIM: "refuted"})
    verdict("experiments/study", {CLAIM: "refuted"})
    verdict("given/study", {CLAIM: "supported"})
    entries, _ = read_entries(folders / "given", folders / "results")
    (finding,) = next(entry for entry in entries if entry.claim.id == CLAIM).findings
    assert (finding.verdict, finding.origin) == ("supported", "committed")
