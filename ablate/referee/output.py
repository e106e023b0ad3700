"""Print and write verdicts on runs that were not made by this package, for the commands `compare`
and `judge`.
"""

import json
from pathlib import Path

from ablate.record.files import finite
from ablate.referee.verdict import Verdict


def show(verdict: Verdict, folder: Path | None, *, as_json: bool) -> None:
    """Print a verdict, as text or as JSON; if a folder is given, first write the report into it."""
    if folder:
        verdict.write(folder)
    if as_json:
        print(json.dumps(finite(verdict.to_dict()), indent=1))
        return
    print(verdict)
    if folder:
        print(f"\nreport: {folder / 'report.md'}, {folder / 'report.html'}")
