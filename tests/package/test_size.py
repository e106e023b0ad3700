"""The committed evidence stays small enough to clone, as docs/explanation/evidence.md says."""

import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = "experiments"
LARGEST = 5  # folders that are named


def limit(root):
    (megabytes,) = re.findall(
        r"at most (\d+) MB", (root / "docs" / "explanation" / "evidence.md").read_text()
    )
    return int(megabytes)


def kept(root):
    """Files that are or can be committed; without git all."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", FOLDER]
    tracked = shutil.which("git") and (root / ".git").exists()
    if tracked:
        out = subprocess.run(command, cwd=root, capture_output=True, check=True, text=True).stdout
        return [path for name in out.split("\0") if name and (path := root / name).is_file()]
    files = (path for path in (root / FOLDER).rglob("*") if path.is_file())
    return list(files)


def check_size(root, most):
    """Fail where the files are larger than so many MB together; say which folders are largest."""
    sizes = Counter()
    for path in kept(root):
        sizes[path.relative_to(root / FOLDER).parts[0]] += path.stat().st_size
    assert sizes, f"{root / FOLDER} holds nothing"
    whole = sum(sizes.values()) / 1e6
    largest = ", ".join(f"{name} {size / 1e6:.2f}" for name, size in sizes.most_common(LARGEST))
    assert whole <= most, f"{FOLDER} has {whole:.1f} MB, allowed are {most}; the largest: {largest}"


def test_the_committed_evidence_is_below_its_limit():
    check_size(ROOT, limit(ROOT))
