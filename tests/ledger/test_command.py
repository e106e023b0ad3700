"""`ablate ledger` as a person types it."""

import functools

import pytest

from ablate.ledger.claims import read_claims
from ablate.ledger.standings import read_standings

CLAIM = "preln_solves_gradient_problem"
ALL, STANDING = len(read_claims()), len(read_standings())
MASKS = sum("mask" in claim.group.lower() for claim in read_claims())


def about(factor):
    """Number of claims about factors with this in their name."""
    return sum(any(factor in name for name in claim.factor_names) for claim in read_claims())


@pytest.fixture
def ask(folders, command):
    """Call the command; return exit status, output and errors."""
    return functools.partial(command, "ledger")


def ids(output):
    """The claims of a table: its lines that begin with an id."""
    lines = output.splitlines()[1:-1]
    return [line.split()[0] for line in lines if line[:1].islower() and "_" in line.split()[0]]


def test_all_claims_with_their_count(ask, verdict):
    verdict("experiments/a", {CLAIM: "supported", "pe_unique": "refuted", "mine": "supported"})
    status, output, errors = ask()
    assert status == 0 and not errors
    assert len([line for line in output.splitlines() if "not tested" in line]) == ALL - STANDING - 1
    assert output.splitlines()[-1] == (
        f"{ALL} claims: 1 supported, 1 refuted, 0 inconclusive, 0 depends, {STANDING} no run "
        f"decides, {ALL - STANDING - 2} not tested; 1 outside the ledger"
    )
    assert "Outside the ledger" in output


def test_statements_end_where_the_line_does(ask, monkeypatch):
    _, output, _ = ask()
    assert max(map(len, output.splitlines())) <= 160 and "…" in output
    monkeypatch.setattr("ablate.cli.commands.ledger.PIPE_WIDTH", 80)
    _, output, _ = ask()
    assert max(map(len, output.splitlines())) <= 80


def flat(output):
    """The last column of a table, whose cells are folded."""
    lines = [line for line in output.splitlines() if line.strip()]
    return " ".join(" ".join(lines).split())


def test_where_a_verdict_comes_from_and_where_it_differs(ask, verdict):
    verdict("experiments/a", {CLAIM: "supported"}, time=200, exploratory=True)
    verdict("experiments/b", {CLAIM: "refuted"}, time=100, data="multi30k")
    _, output, _ = ask("verdict=tested")
    assert "◐ depends on data; supported: a, toy (exploratory); refuted: b, multi30k" in flat(
        output
    )


@pytest.mark.parametrize(
    ("filters", "amount"),
    [
        (("kind=cost",), 13),
        (("group=mask",), MASKS),
        (("group=Masks", "kind=cost"), 1),
        (("document=paper explained",), None),
        (("factor=model/residual",), about("residual")),
        (("factor=model.n_heads",), about("n_heads")),
        (("factor=n_heads",), about("n_heads")),
        (("text=LINFORMER",), 1),
        (("verdict=tested",), 1),
        (("verdict=supp",), 1),
        (("verdict=refuted",), 0),
        (("verdict=not tested",), ALL - STANDING - 1),
    ],
)
def test_filters(ask, verdict, filters, amount):
    verdict("experiments/a", {CLAIM: "supported"})
    status, output, _ = ask(*filters)
    assert status == 0
    shown = int(output.splitlines()[-1].split()[0])
    assert shown == amount or (amount is None and 0 < shown < ALL)


def test_a_document_is_found_where_it_only_repeats_a_claim(ask):
    _, output, _ = ask("document=all attention", "text=no_pe_bag_of_words")
    assert ids(output) == ["no_pe_bag_of_words"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["docum=notes"], "unknown argument docum=: did you mean document=? allowed here is"),
        (["preln"], "unknown argument preln: allowed here is"),
        (["verdict"], "unknown argument verdict: did you mean verdict=?"),
        (["verdict="], "verdict= has no value: it must be text"),
        (["verdict=superted"], "did you mean supported? allowed is"),
        (["factor=residul"], "factor=residul: no claim has it; did you mean residual?"),
        (["kind=exactly"], "did you mean exact? allowed is cost, empirical, exact"),
        (["document=bible"], "allowed is Illustrated Transformer"),
        (["experiments=nowhere"], "experiments=nowhere: it must be a folder that exists"),
    ],
)
def test_mistakes_are_said_in_one_sentence(ask, arguments, sentence):
    status, output, errors = ask(*arguments)
    assert status == 2 and not output
    assert errors.startswith("ablate ledger: ") and len(errors.splitlines()) == 1
    assert sentence in errors


def test_damage_is_a_warning(ask, verdict, folders):
    verdict("experiments/bad", {CLAIM: "supported"})
    (folders / "experiments" / "bad" / "verdict.json").write_text("{")
    status, output, errors = ask("verdict=tested")
    assert status == 0 and output.splitlines()[-1].startswith(f"0 of {ALL} claims")
    assert len(errors.splitlines()) == 1 and "verdict.json is damaged" in errors


def test_other_folders(ask, verdict):
    verdict("elsewhere/a", {CLAIM: "supported"})
    verdict("results2/sweeps/b/1", {"pe_unique": "refuted"})
    _, output, _ = ask("experiments=elsewhere", "results=results2", "verdict=tested")
    assert ids(output) == ["pe_unique", CLAIM]


def test_a_folder_without_any_verdicts_is_not_taken_for_a_ledger_without(
    command, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    status, _, errors = command("ledger", "verdict=supported")
    assert status == 0
    assert errors.endswith("so no claim has a verdict: say experiments=FOLDER\n")
