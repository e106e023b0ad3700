"""What `ablate judge` takes for a source, and what it says to the rest."""

import json
import shutil
from pathlib import Path

import pytest

from ablate.evidence.checks import PARTS, write_about


@pytest.fixture
def ask(command):
    """Call the command line; return its exit status and what it says of a mistake."""

    def asked(*arguments):
        status, _, errors = command("judge", *arguments)
        return status, errors

    return asked


def test_a_verdict_is_printed_as_data_alone(command):
    kept = Path(__file__).resolve().parents[2] / "experiments" / "heads_param_count"
    before = (kept / "verdict.json").read_text(encoding="utf-8")
    status, out, _ = command("judge", kept, "--json")
    assert status == 0
    printed, kept_claims = json.loads(out)["claims"], json.loads(before)["claims"]
    assert printed == [
        {key: claim[key] for key in claim if key in now}
        for claim, now in zip(kept_claims, printed, strict=True)
    ]
    assert (kept / "verdict.json").read_text(encoding="utf-8") == before


def test_a_sweep_that_has_not_ended_has_no_verdict(ask, swept):
    unended = swept.with_name("unended")
    shutil.copytree(swept / "cells", unended / "cells")
    study = json.loads((swept / "study.json").read_text())
    study["registration"].pop("asked")  # only the end of a sweep writes it
    write_about(unended, {part: study[part] for part in PARTS}, {})
    status, message = ask(unended)
    shutil.rmtree(unended)
    assert status == 2
    assert "has not ended" in message


def test_a_sweep_whose_cells_or_links_lead_elsewhere_is_refused(ask, swept, tmp_path):
    copied = shutil.copytree(swept, tmp_path / "results" / "sweeps" / "name" / "time")
    (copied / "runs.jsonl").unlink()  # so that the cells are read again
    status, message = ask(copied)
    assert (status, f"outside of {tmp_path / 'results'}" in message) == (2, True)
    shutil.rmtree(copied / "cells")
    (copied / "cells").symlink_to(swept / "cells")
    status, message = ask(copied)
    assert (status, "cells is a link that leads out of" in message) == (2, True)
