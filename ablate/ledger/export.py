"""Export the ledger as data."""

import json
from collections.abc import Iterable
from dataclasses import asdict

from ablate.ledger.entries import Entry
from ablate.record.files import finite


def as_json(entries: Iterable[Entry]) -> str:
    """Return a JSON list of the claims. Each has its fields, its headline (the word that combines
    the verdicts) and its verdicts; `beside` has the words that follow from the user's verdicts
    alone.
    """
    claims = [
        {
            **asdict(entry.claim),
            "state": entry.verdict,
            "depends_on": entry.headline.on,
            "state_origin": entry.origin,
            "why": entry.standing.why if entry.standing else "",
            "beside": {origin: headline.word for origin, headline in entry.beside.items()},
            "missing": [str(missing) for missing in entry.gone],
            "verdicts": [asdict(f) | {"folder": str(f.folder)} for f in entry.findings],
        }
        for entry in entries
    ]
    return json.dumps(finite(claims), indent=1, ensure_ascii=False, allow_nan=False)
