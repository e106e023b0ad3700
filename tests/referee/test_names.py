"""Names of arms and columns that look alike, and logs with two columns of a name."""

import json

import pandas as pd
import pytest

import ablate
from ablate.errors import UserError

ASKED = {"arm": "version", "metric": "loss", "better": "lower", "baseline": "1.1"}
VALUES = {"1.1": [3.0, 3.1, 3.2], "1.10": [2.0, 2.1, 2.2], "1.2": [1.0, 1.1, 1.2]}
# two names that are one number, and that a reader could take for one arm
ALIKE = [("12", "0012"), ("1", "1.0"), ("1_0", "10")]
FORMS = ["csv", "jsonl", "parquet"]


def written(form, folder, values=VALUES):
    """A table of versions as texts; the rows of the versions are mixed."""
    rows = [{"version": name, "loss": by_name[k]} for k in range(3) for name, by_name in values]
    return saved(form, folder, rows)


def saved(form, folder, rows):
    """Rows as a data frame or as a file; a file has the names without quotation marks."""
    if form == "frame":
        return pd.DataFrame(rows)
    path = folder / f"runs.{form}"
    if form in ("csv", "tsv"):
        between = "," if form == "csv" else "\t"
        lines = [rows[0].keys(), *(row.values() for row in rows)]
        path.write_text("".join(between.join(map(str, line)) + "\n" for line in lines))
    elif form == "parquet":
        pytest.importorskip("pyarrow")
        pd.DataFrame(rows).to_parquet(path)
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def codes_of(verdict):
    """The values of each caveat by its code."""
    return {caveat["code"]: caveat["values"] for caveat in verdict.to_dict()["caveats"]}


@pytest.mark.parametrize("form", ["csv", "jsonl", "frame"])
@pytest.mark.parametrize("order", [1, -1])
def test_names_that_are_one_number_are_different_arms(form, order, tmp_path):
    runs = written(form, tmp_path, [*VALUES.items()][::order])
    verdict = ablate.compare(runs, **ASKED)
    claims = verdict.to_dict()["claims"]
    assert {c["id"]: c["effect"] for c in claims} == pytest.approx({"1.10": 1, "1.2": 2})
    assert [c["counts"] for c in claims] == [[3, 3], [3, 3]]
    assert codes_of(verdict)["twins"] == {"column": "version", "names": ["1.1", "1.10"]}
    for treatment in ("1.10", {"version": "1.10"}):
        (claim,) = ablate.compare(runs, treatment=treatment, **ASKED).to_dict()["claims"]
        assert claim["effect"] == pytest.approx(1)
    for treatment in (1.10, {"version": 1.10}):
        with pytest.raises(UserError, match=r"1\.1: there are 1\.1 and 1\.10"):
            ablate.compare(runs, treatment=treatment, **{**ASKED, "baseline": "1.2"})


def test_a_number_that_is_written_in_several_ways_elsewhere_is_one_value(tmp_path):
    widths = ((0, "64", "0.10"), (1, "64.0", "0.1"), (2, "6.4e1", "1e-1"))
    lines = [
        f"{arm},{seed},{width},{lr},{loss}"
        for arm, loss in (("a", 1), ("b", 2))
        for seed, width, lr in widths
    ]
    path = tmp_path / "runs.csv"
    path.write_text("\n".join(["arm,seed,width,lr,loss", *lines]) + "\n")
    asked = {"metric": "loss", "better": "lower"}
    for lr, runs in ((0.1, 3), ("0.10", 1)):
        verdict = ablate.compare(path, arm="arm", baseline="a", where={"lr": lr}, **asked)
        assert verdict.to_dict()["claims"][0]["counts"] == [runs, runs]
    claims = [{"treatment": "b", "baseline": "a", "where": {"lr": 0.1}}]
    (claim,) = ablate.judge(path, {"arm": "arm", **asked, "claims": claims}).to_dict()["claims"]
    assert claim["counts"] == [3, 3]
    trend = {"kind": "trend", "over": "width"}
    verdict = ablate.compare(path, arm="width", target=1.0, treatment="64", **asked)
    assert verdict.to_dict()["claims"][0]["counts"] == [2]
    verdict = ablate.compare(path, **asked, **trend, where={"width": ["64"]})
    assert verdict.to_dict()["runs"] == 2


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("names", ALIKE, ids=str)
def test_seeds_datasets_and_runs_are_texts_as_they_are_written(form, names, tmp_path):
    rows = [
        {"version": arm, "name": name, "step": step, "loss": 10.0 * place + step + (arm == "b")}
        for place, name in enumerate(names)
        for arm in "ab"
        for step in (1, 2)
    ]
    runs = saved(form, tmp_path, rows)
    asked = {**ASKED, "baseline": "a"}
    (claim,) = ablate.compare(runs, where={"step": 2}, pair="name", **asked).to_dict()["claims"]
    assert claim["effect"] == -1 and claim["pairs"] == 2
    claims = ablate.compare(runs, where={"step": 2}, group="name", **asked).to_dict()["claims"]
    assert {*names} == {claim["reading"] for claim in claims}
    of_a = saved(form, tmp_path, [row for row in rows if row["version"] == "a"])
    long = {"metric": "loss", "better": "lower", "run": "name", "step": "step", "target": 0.0}
    (claim,) = ablate.compare(of_a, **long).to_dict()["claims"]
    assert claim["counts"] == [2] and claim["effect"] == -7
