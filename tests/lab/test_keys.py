"""The reference of all config keys is what the code and the YAML files say, and explains each."""

import dataclasses
from pathlib import Path

import pytest

from ablate.config.schema import Config
from lab import keys

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "keys.md"


@pytest.fixture(scope="module")
def every():
    """All rows of the reference."""
    of_options = [key for *_, listed in keys.options() for key in listed]
    return [*keys.keys_of_every_run(), *keys.keys_of_a_study(), *of_options]


def test_the_page_is_that_of_the_code():
    assert PAGE.read_text(encoding="utf-8") == keys.page(), (
        "run python -m lab.keys to=docs/reference/keys.md"
    )


def test_every_key_has_a_meaning(every):
    assert len(every) > 300
    assert [key.name for key in every if not key.meaning] == []


def test_every_key_of_the_schema_is_there(every):
    first = {key.name.partition(".")[0].partition("[")[0] for key in every}
    missing = {field.name for field in dataclasses.fields(Config)} - first
    assert missing == {"metric", "validation_search"}  # the user's own, and a second search


def test_a_shared_meaning_is_used(every):
    meanings = {key.meaning for key in every}
    assert [name for name, text in keys.SHARED.items() if text not in meanings] == []


def test_limits_and_defaults_are_shown(every):
    named = {key.name: key for key in every}
    assert "at least 1 and at most 1024" in named["threads"].kind
    assert named["budget.steps"].default == "`2000`"
    assert named["checkpoint.tested"].kind == "text; must be last or best or average"
    assert named["data.language"].default == "*required*"
