"""Export the ledger as data: JSON with an object per claim, and CSV with a row per verdict."""

import csv
import io
import json
from collections.abc import Iterable
from dataclasses import astuple

from ablate.ledger.entries import Entry
from ablate.ledger.headline import Headline
from ablate.ledger.verdicts import Finding
from ablate.record.files import finite

# fields of a finding that are exported under their own names
FINDING = (
    *("origin", "experiment", "reading", "verdict", "grade", "metric", "effect"),
    *("kind", "data", "model", "scale", "steps", "exploratory", "ledger_wide"),
)
VERDICT = (
    *(*FINDING[:7], "low", "high", *FINDING[7:]),
    *("replication", "stated_at", "remark", "tested_as", "sentence", "folder"),
)
CLAIM = (
    *("claim", "statement", "document", "section", "also_in", "claim_kind", "factors"),
    *("measured", "group", "state", "depends_on", "state_origin", "why"),
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
            "beside": {origin: _headline(other) for origin, other in entry.beside.items()},
            "missing": [str(missing) for missing in entry.gone],
            "verdicts": [_verdict(finding) for finding in entry.findings],
        }
        for entry in entries
    ]
    return json.dumps(finite(claims), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _headline(headline: Headline) -> dict[str, str]:
    return {"word": headline.word, "on": headline.on}


def as_csv(entries: Iterable[Entry]) -> str:
    """Return a CSV table with a row for each verdict; a claim without verdicts has a row with empty
    cells.
    """
    text = io.StringIO()
    writer = csv.DictWriter(text, (*CLAIM, *VERDICT), lineterminator="\n")
    writer.writeheader()
    for entry in entries:
        verdicts: list[dict[str, object]] = [_verdict(finding) for finding in entry.findings]
        writer.writerows(_claim(entry) | verdict for verdict in verdicts or [{}])
    return text.getvalue()


def _claim(entry: Entry) -> dict[str, object]:
    claim = entry.claim
    values = (
        *astuple(claim),
        *(entry.headline.word, entry.headline.on, entry.origin),
        entry.standing.why if entry.standing else "",
    )
    return dict(zip(CLAIM, values, strict=True))


def _verdict(finding: Finding) -> dict[str, object]:
    low, high = finding.interval or (None, None)
    values = {
        **{name: getattr(finding, name) for name in FINDING},
        **{"low": low, "high": high},
        "replication": finding.again["replication"] if finding.again else "",
        "stated_at": finding.asked.at if finding.asked else "",
        "remark": finding.asked.remark if finding.asked else "",
        "tested_as": finding.statement,
        "sentence": finding.sentence,
        "folder": str(finding.report.parent),
    }
    return {name: values[name] for name in VERDICT}
