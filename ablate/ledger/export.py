"""Export the ledger as data: JSON with an object per claim, and CSV with a row per verdict."""

import csv
import io
import json
from collections.abc import Iterable
from dataclasses import asdict

from ablate.ledger.entries import Entry
from ablate.ledger.verdicts import Finding
from ablate.record.files import finite

# the fields of a verdict that are exported under their own names
FIELDS = (
    *("origin", "experiment", "reading", "verdict", "grade", "metric", "effect", "kind", "model"),
    *("scale", "exploratory", "ledger_wide"),
)


def as_json(entries: Iterable[Entry]) -> str:
    """Return a JSON list of the claims, each with its verdicts and with its headline, the word that
    combines the verdicts.

    The key `beside` has the words that follow from the user's verdicts alone, if other verdicts
    determine the headline.
    """
    claims = [
        {
            **_claim(entry),
            "beside": {origin: {"word": h.word, "on": h.on} for origin, h in entry.beside.items()},
            "missing": [str(missing) for missing in entry.gone],
            "verdicts": [_verdict(finding) for finding in entry.findings],
        }
        for entry in entries
    ]
    return json.dumps(finite(claims), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def as_csv(entries: Iterable[Entry]) -> str:
    """Return a CSV table with a row for each verdict; a claim without verdicts has a row with empty
    cells.
    """
    rows = [
        _claim(entry) | verdict
        for entry in entries
        for verdict in [_verdict(finding) for finding in entry.findings] or [{}]
    ]
    names = dict.fromkeys(name for row in rows for name in row)
    table = io.StringIO()
    writer = csv.DictWriter(table, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return table.getvalue()


def _claim(entry: Entry) -> dict[str, object]:
    claim = asdict(entry.claim)
    renamed = {"claim": claim.pop("id"), "claim_kind": claim.pop("kind")}
    state = {"state": entry.verdict, "depends_on": entry.headline.on, "state_origin": entry.origin}
    measured, why = claim.pop("metric"), entry.standing.why if entry.standing else ""
    return {**renamed, **claim, "measured": measured, **state, "why": why}


def _verdict(finding: Finding) -> dict[str, object]:
    low, high = finding.interval or (None, None)
    return {
        **{name: getattr(finding, name) for name in FIELDS},
        **{"low": low, "high": high, "data": ", ".join(finding.data)},
        "steps": ", ".join(map(str, finding.steps)),
        "replication": finding.again["replication"] if finding.again else "",
        "stated_at": finding.asked.at if finding.asked else "",
        "remark": finding.asked.remark if finding.asked else "",
        "tested_as": finding.statement,
        "folder": str(finding.folder),
    }
