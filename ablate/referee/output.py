"""What the commands of the referee print and write."""

import json
from pathlib import Path

from ablate.record.files import finite
from ablate.referee.verdict import Verdict


def show(verdict: Verdict, folder: Path | None, *, as_json: bool) -> None:
    """Print a verdict, after its files are written where a folder is given."""
    if folder:
        verdict.write(folder)
    if as_json:
        print(json.dumps(finite(verdict.to_dict()), indent=1))
        return
    print(verdict)
    if folder:
        print(f"\nreport: {folder / 'report.md'}, {folder / 'report.html'}")
