"""The notebook of the docs runs from top to bottom, as small as runs can be."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOK = ROOT / "docs" / "tutorial" / "notebook.py"
SIZE = 'SIZE = ["budget.seeds=3"]'


@pytest.mark.slow
def test_it_goes_from_a_question_to_a_verdict(tmp_path, small):
    text = NOTEBOOK.read_text()
    assert text.count(SIZE) == 1
    code = text.replace(SIZE, f"SIZE = {[*small[:-2], 'budget.seeds=2']}")
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "OMP_NUM_THREADS": "1",
        "MPLBACKEND": "agg",
    }
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "Undecided" in done.stdout and "(exploratory)" in done.stdout
    assert (tmp_path / "difference.svg").exists()
