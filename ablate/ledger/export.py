"""Export the ledger as data: JSON with an object per claim, and CSV with a row per verdict."""

import csv
import io
import json
from collections.abc import Iterable, Iterator

from ablate.ledger.entries import Entry
from ablate.ledger.headline import Headline
from ablate.ledger.verdicts import Finding
from ablate.record.files import finite

VERDICT = (
    *("origin", "experiment", "reading", "verdict", "grade", "metric", "effect", "low", "high"),
    *("kind", "data", "model", "scale", "steps", "exploratory", "ledger_wide"),
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
    writer.writerows(row for entry in entries for row in _rows(entry))
    return text.getvalue()


def _rows(entry: Entry) -> Iterator[dict[str, object]]:
    claim = _claim(entry)
    for finding in entry.findings:
        yield claim | _verdict(finding)
    if not entry.findings:
        yield claim


def _claim(entry: Entry) -> dict[str, object]:
    claim = entry.claim
    values = (
        *(claim.id, claim.statement, claim.document, claim.section, claim.also_in, claim.kind),
        *(claim.factors, claim.metric, claim.group, entry.headline.word, entry.headline.on),
        *(entry.origin, entry.standing.why if entry.standing else ""),
    )
    return dict(zip(CLAIM, values, strict=True))


def _verdict(finding: Finding) -> dict[str, object]:
    low, high = finding.interval or (None, None)
    values = (
        *(finding.origin, finding.experiment, finding.reading, finding.verdict, finding.grade),
        *(finding.metric, finding.effect, low, high, finding.kind, finding.data, finding.model),
        *(finding.scale, finding.steps, finding.exploratory, finding.ledger_wide),
        finding.again["replication"] if finding.again else "",
        *((finding.asked.at, finding.asked.remark) if finding.asked else ("", "")),
        *(finding.statement, finding.sentence, str(finding.report.parent)),
    )
    return dict(zip(VERDICT, values, strict=True))
