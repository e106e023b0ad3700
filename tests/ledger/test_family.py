"""All verdicts of the ledger as one family: what it takes away, and what it says of that."""

import json

from statsmodels.stats.multitest import multipletests

from ablate.ledger.text import UNCERTAIN

IDS = ("pe_unique", "no_pe_bag_of_words", "preln_solves_gradient_problem")


def set_p(folders, name, *p):
    """Give the claims of an experiment these p-values of "supported"."""
    path = folders / "experiments" / name / "verdict.json"
    whole = json.loads(path.read_text())
    for claim, p_value in zip(whole["claims"], p, strict=True):
        claim |= {"alpha": 0.05, "p_look": {"supported": p_value, "refuted": 1.0}}
    path.write_text(json.dumps(whole))


def test_verdicts_stand_beside_those_that_the_whole_ledger_leaves(verdict, folders, command):
    p = (0.001, 0.03, 0.04)
    verdict("experiments/a", dict.fromkeys(IDS[:2], "supported"))
    set_p(folders, "a", *p[:2])
    verdict("experiments/b", {IDS[2]: "supported"}, data="multi30k")
    set_p(folders, "b", p[2])
    verdict("experiments/c", {"pe_range_unit": "refuted"}, kind="exact")
    kept = multipletests(p, 0.05, "holm")[0]
    assert kept.tolist() == [True, False, False]
    for claim, holds in zip(IDS, kept, strict=True):
        status, output, errors = command("ledger", claim)
        assert (status, errors, UNCERTAIN in output) == (0, "", not holds)
    shown = " ".join(command("ledger")[1].split())
    assert "1 of 3" in shown
