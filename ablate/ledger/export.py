"""Export the ledger as data: JSON with an object per claim, and CSV with a row per verdict."""

import csv
import io
import json
from collections.abc import Callable, Iterable
from operator import attrgetter

from ablate.ledger.entries import Entry
from ablate.ledger.headline import Headline
from ablate.ledger.verdicts import Finding
from ablate.record.files import finite

# the columns of a verdict, with the value of each
VERDICT: dict[str, Callable[[Finding], object]] = {
    **{name: attrgetter(name) for name in ("origin", "experiment", "reading", "verdict", "grade")},
    **{name: attrgetter(name) for name in ("metric", "effect")},
    "low": lambda finding: finding.interval and finding.interval[0],
    "high": lambda finding: finding.interval and finding.interval[1],
    "kind": attrgetter("kind"),
    "data": lambda finding: ", ".join(finding.data),
    **{name: attrgetter(name) for name in ("model", "scale")},
    "steps": lambda finding: ", ".join(map(str, finding.steps)),
    **{name: attrgetter(name) for name in ("exploratory", "ledger_wide")},
    "replication": lambda finding: finding.again["replication"] if finding.again else "",
    "stated_at": lambda finding: finding.asked.at if finding.asked else "",
    "remark": lambda finding: finding.asked.remark if finding.asked else "",
    "tested_as": attrgetter("statement"),
    "folder": lambda finding: str(finding.report.parent),
}
# the columns of a claim, with the value of each
CLAIM: dict[str, Callable[[Entry], object]] = {
    "claim": attrgetter("claim.id"),
    **{key: attrgetter(f"claim.{key}") for key in ("statement", "document", "section", "also_in")},
    "claim_kind": attrgetter("claim.kind"),
    "factors": attrgetter("claim.factors"),
    "measured": attrgetter("claim.metric"),
    "group": attrgetter("claim.group"),
    "state": attrgetter("headline.word"),
    "depends_on": attrgetter("headline.on"),
    "state_origin": attrgetter("origin"),
    "why": lambda entry: entry.standing.why if entry.standing else "",
}


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
    return {name: value(entry) for name, value in CLAIM.items()}


def _verdict(finding: Finding) -> dict[str, object]:
    return {name: value(finding) for name, value in VERDICT.items()}
