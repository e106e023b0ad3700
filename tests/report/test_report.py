"""report.md: what every report says."""

import json
import re

import pytest

from ablate.verdict.conclude import conclude

ALWAYS = (
    "How it was measured",
    "Caveats",
    "Answers in numbers",
    "Arms",
    "How each answer was reached",
    "To run it again",
)
pytestmark = pytest.mark.xdist_group("report")  # one process makes the evidence of every kind


def sections(report):
    return re.findall(r"^## (.*)$", report, re.MULTILINE)


def files(folder):
    paths = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


def read(folder):
    return (folder / "report.md").read_text()


def test_every_report_has_all_sections_and_all_verdicts(every):
    report = read(every)
    assert [title for title in sections(report) if title != "To decide it"] == [*ALWAYS]
    assert report.startswith("# made_up\n")
    claims = json.loads((every / "verdict.json").read_text())["claims"]
    for number, claim in enumerate(claims, 1):
        bullet = f"{number}." if len(claims) > 1 else "-"
        opening = claim["headline"].removesuffix(f" {claim['statement']}")
        assert f"{bullet} **{opening}**" in report
        assert claim["statement"] in report and claim["evidence"].split(":")[0] in report
    assert "python -m ablate +experiment=made_up -m" in report
    assert "torch 2.9.0" in report
    assert not re.search(r"\b(nan|None|inf)\b(?!:)", report)


def test_figures_of_the_report_are_the_files_that_are_there(every):
    linked = re.findall(r"\]\((figures/.*?\.svg)\)", read(every))
    assert sorted(linked) == sorted(name for name in files(every) if name.startswith("figures"))


def test_no_date_of_today_and_no_path_of_this_machine(every):
    texts = (f for name, f in files(every).items() if not name.endswith((".npz", ".gz")))
    everything = b"".join(texts).decode()
    assert str(every) not in everything
    assert set(re.findall(r"20\d\d-\d\d-\d\d", everything)) <= {"2026-11-21"}


def test_arms_show_size_tuned_values_and_runs_that_went_wrong(report):
    assert "| 2 | 1 |" in report("stability")  # failed to learn, errors
    assert re.search(r"\| Pre-LN \| 5 \| .* \| 0.001 \|", report("tuned"))
    row = r"\| Pre-LN \| 5 \| 5\d\.\d\d ± .* \| 0 \| 0 \| 278,528 \|"
    assert re.search(row, report())


def asked_again(made, word, **changes):
    (claim,) = conclude(made)["claims"]
    fresh = {key: claim[key] for key in ("verdict", "grade", "effect", "interval")}
    entry = {key: claim[key] for key in ("id", "statement")} | {"reading": "", "exploratory": False}
    return {**entry, "replication": word, "first": fresh, "fresh": {**fresh, **changes}}


def test_what_fresh_seeds_said_stands_beside_the_first_verdict(report, evidence):
    text = report(contest=[asked_again(evidence(), "partly reproduced")])
    assert "Fresh seeds: **PARTLY REPRODUCED**. " in text.partition("## How it was measured")[0]
    assert "Not reproduced: every other outcome" in text
    assert "Fresh seeds" not in report()
