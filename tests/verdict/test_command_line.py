"""Test the output of `ablate judge`, and the folders that it refuses."""

import json
import shutil
from pathlib import Path

from ablate.evidence.checks import PARTS, write_about

EXPERIMENTS = Path(__file__).resolve().parents[2] / "experiments"


def test_a_verdict_is_printed_as_data_alone(command):
    kept = EXPERIMENTS / "heads_param_count"
    before = (kept / "verdict.json").read_text(encoding="utf-8")
    status, out, _ = command("judge", kept, "--json")
    assert status == 0
    for claim, printed in zip(json.loads(before)["claims"], json.loads(out)["claims"], strict=True):
        assert printed.items() <= claim.items()
    assert (kept / "verdict.json").read_text(encoding="utf-8") == before


def test_a_sweep_that_has_not_ended_has_no_verdict(command, swept):
    unended = swept.with_name("unended")
    shutil.copytree(swept / "cells", unended / "cells")
    study = json.loads((swept / "study.json").read_text())
    study["registration"].pop("asked")  # only the end of a sweep writes it
    write_about(unended, {part: study[part] for part in PARTS}, {})
    status, *_ = command("judge", unended)
    shutil.rmtree(unended)
    assert status == 2


def test_a_sweep_whose_cells_or_links_lead_elsewhere_is_refused(command, swept, tmp_path):
    copied = shutil.copytree(swept, tmp_path / "results" / "sweeps" / "name" / "time")
    (copied / "runs.jsonl").unlink()  # so that the cells are read again
    status, _, message = command("judge", copied)
    assert status == 2 and str(tmp_path / "results") in message
    shutil.rmtree(copied / "cells")
    (copied / "cells").symlink_to(swept / "cells")
    status, _, message = command("judge", copied)
    assert status == 2 and "cells" in message
