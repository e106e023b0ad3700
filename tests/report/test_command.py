"""`ablate judge FOLDER`: what it prints, where it writes, and what it refuses."""

import csv

import numpy as np
import pytest
from pandas import DataFrame

from ablate.evidence import log
from ablate.evidence.folder import Evidence
from ablate.record.files import seal
from ablate.report.write import latex

ENDINGS = ("md", "tex", "csv")


@pytest.fixture
def folder(evidence, tmp_path):
    made = evidence("tuned")
    made.statistics["pre_ln-0"] = {"test_long": np.ones((3, 10), dtype=np.int64)}
    made.save(tmp_path / "made")
    return tmp_path / "made"


def test_verdicts_are_printed_and_the_report_lies_in_the_folder(command, folder):
    status, out, err = command("judge", folder)
    assert (status, err) == (0, "")
    assert ". Pre-LN reaches a higher BLEU than Post-LN." in out.splitlines()[1]
    assert "5 paired seeds" in out.splitlines()[2]
    paths = [f"report: {folder / 'report.md'}", f"picture: {folder / 'figures' / 'effects.svg'}"]
    assert out.splitlines()[-2:] == paths
    assert {p.name for p in folder.iterdir()} > {"verdict.json", "report.md"}


def test_report_in_another_folder_comes_with_its_evidence(command, folder, tmp_path):
    before = sorted(folder.iterdir())
    other = tmp_path / "deep" / "other"
    assert command("judge", folder, f"to={other}")[0] == 0
    assert sorted(folder.iterdir()) == before
    for path in before:
        assert (other / path.name).read_bytes() == path.read_bytes()
    assert (other / "report.md").exists()
    report = (other / "report.md").read_bytes()
    assert command("judge", other, f"to={other}")[0] == 0
    assert (other / "report.md").read_bytes() == report


def test_the_log_of_a_folder_is_copied(command, folder, tmp_path):
    evidence = Evidence.load(folder)
    log.save([seal({"what": "look", "folder": "sweeps/other", "seeds": [[0, 9]]})], folder)
    evidence.save(folder)
    status, _, err = command("judge", folder, f"to={tmp_path / 'other'}")
    assert (status, err) == (0, "")
    copy = tmp_path / "other" / log.ANALYSIS_LOG
    assert copy.read_text() == (folder / log.ANALYSIS_LOG).read_text()


def test_a_report_removes_and_writes_nothing_through_links(command, folder, tmp_path):
    pictures = tmp_path / "pictures"
    pictures.mkdir()
    (pictures / "mine.svg").touch()
    (folder / "figures").symlink_to(pictures)
    status, out, err = command("judge", folder)
    assert (status, out) == (2, "")
    assert err.startswith(f"ablate judge: {folder / 'figures'} is a link that leads out of")
    assert [path.name for path in pictures.iterdir()] == ["mine.svg"]
    (folder / "figures").unlink()
    target = tmp_path / "target"
    target.mkdir()
    (target / "study.json").symlink_to(pictures / "mine.svg")
    assert command("judge", folder, f"to={target}")[0] == 2
    assert (pictures / "mine.svg").read_text() == ""


def test_tables_are_written_for_a_paper(command, folder, tmp_path):
    tables = tmp_path / "paper"
    status, out, _ = command("judge", folder, f"tables={tables}")
    assert status == 0 and out.splitlines()[-1] == f"tables: {tables}"
    names = {path.name for path in tables.iterdir()}
    assert names == {f"{name}.{end}" for name in ("claims", "arms") for end in ENDINGS}
    with (tables / "claims.csv").open() as file:
        head, row = csv.reader(file)
    assert head[:2] == ["Claim", "Answer"] and row[0].startswith("Pre-LN reaches a higher BLEU")
    tex = (tables / "arms.tex").read_text()
    assert tex.startswith("% Source: ablate") and r"\begin{tabular}" in tex
    assert tex.count(r" \\") == 3 and r"$\pm$" in tex  # the head and two arms
    markdown = (tables / "arms.md").read_text()
    assert markdown.startswith("| Arm | Seeds |") and "| Pre-LN | 5 |" in markdown


def test_what_latex_reads_as_commands_is_escaped():
    rows = [["x & y", "-0.25 ± 1"], ["a\\b^2", "< 0.001"]]
    text = latex(DataFrame(rows, columns=["A_b", "50 %"]))
    assert r"A\_b & 50 \% \\" in text
    assert r"x \& y & $-$0.25 $\pm$ 1 \\" in text
    assert r"a\textbackslash b\textasciicircum 2 & $<$ 0.001 \\" in text
