"""Write the JSON schema of verdict.json to docs/reference: `python -m lab.schema`."""

import json
from pathlib import Path

from ablate.evidence.checks import adapter
from ablate.record.files import write_text
from ablate.verdict.types import Verdict

SCHEMA = Path("docs/reference/verdict.schema.json")


def schema() -> str:
    """Return the JSON schema of verdict.json, from the types in ablate.verdict.types."""
    return json.dumps(adapter(Verdict).json_schema(), indent=1, sort_keys=True) + "\n"


if __name__ == "__main__":
    write_text(SCHEMA, schema())
    print(f"schema: {SCHEMA}")
