"""The committed evidence stays small enough to clone, as docs/explanation/evidence.md says."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def test_the_committed_evidence_is_below_its_limit():
    page = (ROOT / "docs" / "explanation" / "evidence.md").read_text()
    (megabytes,) = re.findall(r"at most (\d+) MB", page)
    if not (ROOT / ".git").exists():
        pytest.skip("only git knows what is committed")
    command = ["git", "ls-files", "-z", "--cached", "experiments"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, text=True).stdout
    paths = [ROOT / name for name in listed.split("\0") if name]
    assert len(paths) > 100
    assert sum(p.stat().st_size for p in paths if p.is_file()) / 1e6 <= int(megabytes)
