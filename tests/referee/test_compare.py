"""`ablate compare` and `ablate.compare`: a verdict from runs that exist already."""

import gzip
import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import ablate
from ablate.errors import UserError

ASKED = {"arm": "variant", "metric": "val_loss", "better": "lower", "baseline": "relu"}
WORDS = ["--arm", "variant", "--metric", "val_loss", "--better", "lower", "--baseline", "relu"]


def values(records, arm):
    return np.array([row["val_loss"] for row in records if row["variant"] == arm])


def test_the_command_prints_headline_and_evidence(ablate_command, runs_csv):
    words = [*WORDS, "--treatment", "swiglu", "--margin", "0.005"]
    status, out, err = ablate_command("compare", runs_csv, *words)
    assert (status, err) == (0, "")
    headline, evidence, *rest = out.splitlines()
    assert headline.startswith("Supported") and "swiglu" in headline and "relu" in headline
    assert len(headline.split()) <= 25 and len(evidence.split()) <= 40
    assert any("whether the question is older than the runs" in line for line in rest)


def test_python_gives_the_same_as_the_command(ablate_command, runs_csv, records):
    words = [*WORDS, "--treatment", "swiglu", "--margin", "0.005", "--json"]
    printed = json.loads(ablate_command("compare", runs_csv, *words)[1])
    frame = ablate.compare(pd.DataFrame(records), treatment="swiglu", margin=0.005, **ASKED)
    assert printed["claims"] == json.loads(json.dumps(frame.to_dict()["claims"]))
    assert frame.to_frame()["effect"].tolist() == [printed["claims"][0]["effect"]]


def test_unpaired_arms_have_the_numbers_of_scipy(runs_csv, records):
    asked = {**ASKED, "treatment": "gelu"}
    (claim,) = ablate.compare(runs_csv, **asked).to_dict()["claims"]
    arms = values(records, "gelu"), values(records, "relu")
    theirs = stats.ttest_ind(*arms, equal_var=False, alternative="less")
    assert claim["p"]["supported"] == pytest.approx(theirs.pvalue, rel=1e-9)
    assert claim["difference"] == pytest.approx(arms[0].mean() - arms[1].mean(), rel=1e-9)
    (corrected,) = ablate.compare(runs_csv, **{**asked, "test": "corrected"}).to_dict()["claims"]
    assert corrected["p_textbook"] == claim["p"] != corrected["p"] == claim["p_corrected"]
    (textbook,) = ablate.compare(runs_csv, **{**asked, "test": "textbook"}).to_dict()["claims"]
    assert textbook["p"] == claim["p"]


@pytest.mark.parametrize("kind", ["superiority", "equivalence", "non_inferiority"])
@pytest.mark.parametrize("margin", [0.001, 0.004, 0.05])
def test_every_kind_says_the_same_as_its_rule(runs_csv, kind, margin):
    from ablate.verdict.kind import KINDS

    verdict = ablate.compare(runs_csv, treatment="swiglu", margin=margin, kind=kind, **ASKED)
    (claim,) = verdict.claims
    rule = KINDS[kind].alone(claim.judged.effect, margin, 0.05)
    assert claim.judged.decision == rule
    assert len(claim.headline.split()) <= 25 and len(claim.evidence.split()) <= 40


def test_without_a_treatment_every_arm_is_compared_and_corrected(runs_csv):
    verdict = ablate.compare(runs_csv, **ASKED)
    claims = verdict.to_dict()["claims"]
    assert [claim["id"] for claim in claims] == ["gelu", "swiglu"]
    smallest = min(claims, key=lambda claim: claim["p"]["supported"])
    assert smallest["p_adjusted"]["supported"] == pytest.approx(4 * smallest["p"]["supported"])


def test_without_a_margin_it_says_from_which_margin_on_the_answer_changes(runs_csv):
    (claim,) = ablate.compare(runs_csv, treatment="swiglu", **ASKED).claims
    low, high = claim.judged.effect.interval(0.95)
    starts = [turn["from"] for turn in claim.to_dict()["sensitivity"]]
    assert starts == pytest.approx([0.0, low, high])
    assert "margin" in claim.evidence.lower()


def test_a_report_a_figure_and_a_sealed_verdict_are_written(ablate_command, runs_csv, tmp_path):
    folder = tmp_path / "out"
    status, _, err = ablate_command("compare", runs_csv, *WORDS, f"to={folder}")
    assert (status, err) == (0, "")
    from ablate.record.files import check_seal

    assert check_seal(json.loads((folder / "verdict.json").read_text()))
    assert "swiglu" in (folder / "report.md").read_text()
    assert [p.suffix for p in (folder / "figures").iterdir()] == [".svg"]


@pytest.mark.parametrize("slip", [
    ({"arm": "varient"}, "did you mean variant"),
    ({"treatment": "swigloo"}, "did you mean swiglu"),
    ({"baseline": "Relu"}, "did you mean relu"),
    ({"metric": "loss"}, "did you mean val_loss"),
    ({"better": "smaller"}, "lower or higher"),
    ({"kind": "equal"}, "superiority"),
    ({"margin": "much"}, "number"),
    ({"kind": "equivalence"}, "margin"),
    ({"pears": "seed"}, "pair"),
    ({"where": {"seed": 99}}, "seed=99"),
    ({"noise": {"sd": 0.1}}, "noise.source"),
    ({"step": "seed"}, "run"),
    ({"treatment": "relu"}, "both relu"),
])  # fmt: skip
def test_a_slip_is_one_sentence(runs_csv, slip):
    changed, message = slip
    with pytest.raises(UserError) as error:
        ablate.compare(runs_csv, **{**ASKED, "treatment": "swiglu", **changed})
    assert message in str(error.value) and "\n" not in str(error.value)


def test_names_that_look_like_numbers_stay_apart_and_none_is_cut(tmp_path):
    path, long = tmp_path / "runs.csv.gz", "a long name of an arm " * 9
    names = [
        "1_2",
        "12",
        "20260430123456789012",
        "20260430123456789013",
        "nan",
        "inf",
        "12e4567",
        "34e9999",
        long + "1",
        long + "2",
    ]
    rows = [f"{name},{value}\n" for name in names for value in (1.0, 1.1, 1.2)]
    path.write_bytes(gzip.compress("".join(["arm,loss\n", *rows, ",9\n"]).encode()))
    verdict = ablate.compare(path, arm="arm", metric="loss", better="lower", baseline="12")
    assert {claim.judged.claim.id for claim in verdict.claims} == {*names} - {"12"}
    assert all(claim.judged.claim.id in claim.headline for claim in verdict.claims)
    assert any("1 of 31 runs have nothing in arm" in sentence for sentence in verdict.trust)


@pytest.mark.parametrize("column", ["val/step", "my step", "lr-step", "params.step", "Step (%)"])
def test_where_names_any_column(ablate_command, tmp_path, column):
    path = tmp_path / "runs.csv"
    rows = [f"{arm},{k},{step}" for arm in "ab" for k in range(3) for step in (1, 2)]
    path.write_text("\n".join([f"arm,loss,{column}", *rows]) + "\n")
    words = ["--arm", "arm", "--metric", "loss", "--better", "lower", "--baseline", "a"]
    status, out, _ = ablate_command("compare", path, *words, f"where.{column}=2")
    assert status == 0 and "12 rows; 6 of them count" in out


def test_names_with_a_comma_stand_in_quotation_marks(ablate_command, tmp_path):
    path = tmp_path / "runs.csv"
    rows = [f'"{arm}, b",{k * k}' for arm in "xy" for k in range(3)]
    path.write_text("\n".join(['"arm, a",loss', *rows]) + "\n")
    words = ["--metric", "loss", "--better", "lower", "--treatment", "x, b", "--baseline", "y, b"]
    status, out, _ = ablate_command("compare", path, "--arm", '"arm, a"', *words)
    assert status == 0 and "x, b minus y, b" in out
    assert ablate_command("compare", path, "--arm", "arm, a", *words)[0] == 2


TABLES = {
    "empty": ("", "header"),
    "a header alone": ("variant,val_loss\n", "no rows"),
    "text among numbers": ("variant,val_loss\nrelu,1\nswiglu,one\n", "'one' in row 2"),
    "cells too many": ("variant,val_loss\nrelu,1,2\n", "3 cells"),
    "a column twice": ("variant,val_loss,val_loss\nrelu,1,2\n", "two columns"),
    "a quotation mark that is not closed": (
        'variant,val_loss,note\nrelu,1,\nswiglu,2,"killed\nswiglu,3,\n', "must surround"
    ),
    "pairs that occur twice": (
        "variant,val_loss,seed\nrelu,1,0\nrelu,2,0\nswiglu,3,0\n", "occurs 2 times"
    ),
    "decimal commas": ("variant;val_loss\nrelu;1,5\nswiglu;1,4\n", "'1,5' in row 1"),
    "no utf-8": (b"variant,val_loss\nrelu,\xff\xfe\n", "line 2 has the byte 0xff"),
    "latin-1": ("variant,val_loss\nä,2\n".encode("latin-1"), "line 2 has the byte 0xe4"),
    "utf-16": ("variant,val_loss\nrelu,1\n".encode("utf-16"), "line 1 has the byte 0xff"),
}  # fmt: skip


@pytest.mark.parametrize("name", TABLES)
def test_bad_tables_are_refused_with_status_2_and_nothing_is_written(
    ablate_command, tmp_path, name
):
    content, message = TABLES[name]
    path, folder = tmp_path / "runs.csv", tmp_path / "out"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    words = [*WORDS, "--treatment", "swiglu", f"to={folder}"]
    words += ["--pair", "seed"] if "pairs" in name else []
    status, out, err = ablate_command("compare", path, *words)
    assert (status, out) == (2, "")
    assert message in err and len(err.splitlines()) == 1
    assert not folder.exists()


def test_no_large_library_is_loaded(runs_csv):
    code = (
        "import sys, ablate\n"
        f"print(ablate.compare({str(runs_csv)!r}, **{ASKED!r}))\n"
        "heavy = ['torch', 'pytorch_lightning', 'hydra', 'omegaconf', 'wandb', 'pandas', "
        "'scipy.stats', 'matplotlib', 'jinja2']\n"
        "sys.exit(', '.join(name for name in heavy if name in sys.modules) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_only_columns_that_do_not_repeat_the_arms_are_doubted(records):
    frame = pd.DataFrame([{**row, "arm": row["variant"]} for row in records])
    other = frame.assign(width=[64 if row["variant"] == "relu" else 96 for row in records])
    compared = {**ASKED, "treatment": "swiglu"}
    assert "also differ" not in str(ablate.compare(frame, **compared))
    doubted = str(ablate.compare(other, **compared))
    assert "also differ in width (96 against 64)" in doubted
