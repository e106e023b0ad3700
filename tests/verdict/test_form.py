"""verdict.json has a form that other programs can rely on."""

import json
from pathlib import Path

import pytest

from ablate.errors import UserError
from ablate.evidence.checks import adapter
from ablate.record.files import seal, write_json
from ablate.verdict.stored import read_verdict
from ablate.verdict.types import Verdict
from lab.schema import SCHEMA, schema

ROOT = Path(__file__).resolve().parents[2]
VERDICTS = sorted(ROOT.glob("experiments/*/verdict.json"))


def test_the_committed_schema_is_that_of_the_code():
    assert (ROOT / SCHEMA).read_text(encoding="utf-8") == schema()


@pytest.mark.parametrize("path", VERDICTS[::7], ids=lambda path: path.parent.name)
def test_committed_verdicts_have_the_declared_types(path):
    verdict = adapter(Verdict).validate_json(path.read_bytes(), strict=True)
    assert verdict["claims"] or verdict["arms"]


@pytest.mark.parametrize(("field", "value"), [("effect", "much"), ("verdict", "perhaps")])
def test_a_file_of_another_form_names_the_field_and_the_command(tmp_path, field, value):
    verdict = json.loads(VERDICTS[0].read_text(encoding="utf-8"))
    verdict.pop("seal", None)
    verdict["claims"][0][field] = value
    write_json(tmp_path / "verdict.json", seal(verdict))
    with pytest.raises(UserError, match=f"claims.0.{field}"):
        read_verdict(tmp_path / "verdict.json")
