"""The notebook of the docs runs from top to bottom, as small as runs can be."""

from pathlib import Path

import pytest

NOTEBOOK = Path(__file__).resolve().parents[2] / "docs" / "tutorial" / "notebook.py"
SIZE = 'SIZE = ["budget.seeds=3"]'


@pytest.mark.slow
def test_it_goes_from_a_question_to_a_verdict(tmp_path, small, command, here, monkeypatch, capsys):
    """Its commands are called in this process."""
    text = NOTEBOOK.read_text()
    assert text.count(SIZE) == 1 and text.count("subprocess.run") == 2
    code = text.replace(SIZE, f"SIZE = {[*small[:-2], 'budget.seeds=2']}")
    code = code.replace('subprocess.run(["ablate", ', "call([")

    def call(words, check):
        assert command(*words)[0] == 0

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    exec(compile(code, str(NOTEBOOK), "exec"), {"call": call})
    out = capsys.readouterr().out
    assert "Undecided" in out and "(exploratory)" in out
    assert (tmp_path / "difference.svg").exists()
