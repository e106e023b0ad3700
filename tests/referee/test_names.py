"""Names of arms and columns that look alike, and logs with two columns of a name."""

import json

import pandas as pd
import pytest

import ablate
from ablate.errors import UserError
from ablate.evidence.foreign import source

ASKED = {"arm": "version", "metric": "loss", "better": "lower", "baseline": "1.1"}
VALUES = {"1.1": [3.0, 3.1, 3.2], "1.10": [2.0, 2.1, 2.2], "1.2": [1.0, 1.1, 1.2]}


def written(form, folder, values=VALUES):
    """A table of versions as texts; the rows of the versions are mixed."""
    rows = [{"version": name, "loss": by_name[k]} for k in range(3) for name, by_name in values]
    if form == "frame":
        return pd.DataFrame(rows)
    path = folder / f"runs.{form}"
    if form == "csv":
        path.write_text("version,loss\n" + "".join(f"{r['version']},{r['loss']}\n" for r in rows))
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.mark.parametrize("form", ["csv", "jsonl", "frame"])
@pytest.mark.parametrize("order", [1, -1])
def test_names_that_are_one_number_are_different_arms(form, order, tmp_path, monkeypatch):
    reader = "frame" if form == "frame" else "builder"
    monkeypatch.setattr(f"ablate.evidence.foreign.{reader}.CHUNK", 2)
    runs = written(form, tmp_path, [*VALUES.items()][::order])
    verdict = ablate.compare(runs, **ASKED)
    claims = verdict.to_dict()["claims"]
    assert {c["id"]: c["difference"] for c in claims} == pytest.approx({"1.10": -1, "1.2": -2})
    assert [c["arms"][1]["runs"] for c in claims] == [3, 3]
    assert "version: 1.1 and 1.10 are one number, but different names here." in verdict.trust
    for treatment in ("1.10", {"version": "1.10"}):
        (claim,) = ablate.compare(runs, treatment=treatment, **ASKED).to_dict()["claims"]
        assert claim["difference"] == pytest.approx(-1)
    for treatment in (1.10, {"version": 1.10}):
        with pytest.raises(UserError, match=r"treatment=1\.1: .* 1\.1 and 1\.10; .* quotation"):
            ablate.compare(runs, treatment=treatment, **{**ASKED, "baseline": "1.2"})
    noise = {"arms": [1.10]}
    with pytest.raises(UserError, match=r"noise\.arms=1\.1: .* 1\.1 and 1\.10; .* quotation"):
        ablate.compare(runs, treatment="1.1", **{**ASKED, "baseline": "1.2"}, noise=noise)


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
    for lr in (0.1, "0.10"):
        verdict = ablate.compare(path, arm="arm", baseline="a", where={"lr": lr}, **asked)
        assert [arm["runs"] for arm in verdict.to_dict()["claims"][0]["arms"]] == [3, 3]
    verdict = ablate.compare(path, arm="width", target=1.0, treatment="64", **asked)
    assert verdict.to_dict()["claims"][0]["arms"][0]["runs"] == 6
    assert source.read(path).numbers("lr", "metric").tolist() == [0.1] * 6


def test_a_name_with_a_zero_at_its_end_is_found_without_its_twin(tmp_path):
    runs = pd.DataFrame({"version": ["1.10"] * 3 + ["2"] * 3, "loss": [1, 2, 3] * 2})
    asked = {**ASKED, "baseline": "2"}
    for treatment in ("1.10", "1.1", 1.1):
        (claim,) = ablate.compare(runs, treatment=treatment, **asked).to_dict()["claims"]
        assert claim["arms"][0]["runs"] == 3
