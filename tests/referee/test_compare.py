"""`ablate compare` and `ablate.compare`: a verdict from runs that exist already."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import ablate
from ablate.evidence.checks import adapter
from ablate.record.files import check_seal
from ablate.verdict.types import Verdict

ASKED = {"arm": "variant", "metric": "val_loss", "better": "lower", "baseline": "relu"}
WORDS = ["--arm", "variant", "--metric", "val_loss", "--better", "lower", "--baseline", "relu"]


def values(records, arm):
    return np.array([row["val_loss"] for row in records if row["variant"] == arm])


def test_python_gives_the_same_as_the_command(ablate_command, runs_csv, records):
    words = [*WORDS, "--treatment", "swiglu", "--margin", "0.005"]
    printed = json.loads(ablate_command("compare", runs_csv, *words, "--json")[1])
    verdict = ablate.compare(pd.DataFrame(records), treatment="swiglu", margin=0.005, **ASKED)
    assert printed["claims"] == json.loads(json.dumps(verdict.to_dict()["claims"]))
    assert verdict.to_frame()["effect"].tolist() == [printed["claims"][0]["effect"]]
    text = ablate_command("compare", runs_csv, *words)[1]
    assert str(verdict).replace("the data frame", str(runs_csv)) == text.strip()
    assert len(verdict.plot().axes) == 1


def test_unpaired_arms_have_the_numbers_of_scipy(runs_csv, records):
    asked = {**ASKED, "treatment": "gelu"}
    (claim,) = ablate.compare(runs_csv, **asked).to_dict()["claims"]
    arms = values(records, "gelu"), values(records, "relu")
    theirs = stats.ttest_ind(*arms, equal_var=False, alternative="less")
    assert claim["p"]["supported"] == pytest.approx(theirs.pvalue, rel=1e-9)
    assert claim["effect"] == pytest.approx(arms[1].mean() - arms[0].mean(), rel=1e-9)
    assert claim["counts"] == [len(arm) for arm in arms]
    (textbook,) = ablate.compare(runs_csv, **{**asked, "test": "textbook"}).to_dict()["claims"]
    assert textbook["p"] == claim["p"]


def test_without_a_treatment_every_arm_is_compared_and_corrected(runs_csv):
    claims = ablate.compare(runs_csv, **ASKED).to_dict()["claims"]
    assert [claim["id"] for claim in claims] == ["gelu", "swiglu"]
    smallest = min(claims, key=lambda claim: claim["p"]["supported"])
    assert smallest["p_adjusted"]["supported"] == pytest.approx(4 * smallest["p"]["supported"])


@pytest.mark.parametrize(
    "more",
    [
        ["--treatment", "gelu", "--margin", "0.003"],
        ["--treatment", "gelu", "--kind", "stability"],
        ["--pair", "seed", "--kind", "equivalence", "--margin", "0.1"],
    ],
)
def test_a_report_figures_and_a_sealed_verdict_are_written(
    ablate_command, runs_csv, tmp_path, more
):
    folder = tmp_path / "out"
    status, _, err = ablate_command("compare", runs_csv, *WORDS, *more, f"to={folder}")
    assert (status, err) == (0, "")
    verdict = json.loads((folder / "verdict.json").read_text())
    assert check_seal(verdict)
    adapter(Verdict).validate_python(verdict)
    report = (folder / "report.md").read_text()
    assert all(claim["headline"].split(". ")[1] in report for claim in verdict["claims"])
    assert {path.suffix for path in (folder / "figures").iterdir()} == {".svg"}


TABLES = {
    "text among numbers": "variant,val_loss\nrelu,1\nswiglu,one\n",
    "cells too few": "variant,val_loss,note\nrelu,1,x\nswiglu,0.\n",
    "a quotation mark that is not closed": (
        'variant,val_loss,note\nrelu,1,\nswiglu,2,"killed\nswiglu,3,\n'
    ),
    "pairs that occur twice": "variant,val_loss,seed\nrelu,1,0\nrelu,2,0\nswiglu,3,0\n",
    "decimal commas": "variant;val_loss\nrelu;1,5\nswiglu;1,4\n",
    "latin-1": "variant,val_loss\nä,2\n".encode("latin-1"),
}


@pytest.mark.parametrize("name", TABLES)
def test_a_table_that_could_be_misread_is_an_error_and_nothing_is_written(
    ablate_command, tmp_path, name
):
    content, folder = TABLES[name], tmp_path / "out"
    path = tmp_path / "runs.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    words = [*WORDS, "--treatment", "swiglu", f"to={folder}"]
    words += ["--pair", "seed"] if "pairs" in name else []
    status, out, err = ablate_command("compare", path, *words)
    assert (status, out, len(err.splitlines())) == (2, "", 1)
    assert not folder.exists()
