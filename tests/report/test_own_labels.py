"""Names that the user writes into files of --config-dir: labels, title and purpose."""

from dataclasses import replace
from pathlib import Path

import hydra
import pytest

from ablate.config import CONF
from ablate.config.labels import arm_label, stored_labels, use_labels
from ablate.config.settle import settle
from ablate.evidence.folder import Evidence
from ablate.report.write import write_report

HEAD_COUNT = Path(__file__).parents[2] / "experiments" / "heads_param_count"
TITLES = {"title": "Waves against sinusoids", "purpose": "See whether the shape matters."}


@pytest.fixture(autouse=True)
def no_labels_of_other_tests():
    yield
    use_labels({})


def composed(folder, *words):
    (folder / "model/position").mkdir(parents=True)
    (folder / "model/position/mine.yaml").write_text("# label: triangle waves\n")
    (folder / "experiment").mkdir()
    head = "# @package _global_\n" + "".join(f"# {key}: {TITLES[key]}\n" for key in TITLES)
    (folder / "experiment/shapes.yaml").write_text(f"{head}name: waves\n")
    path = f"hydra.searchpath=[file://{folder}]"
    with hydra.initialize_config_dir(str(CONF), version_base="1.3"):
        return hydra.compose("config", [path, *words], return_hydra_config=True)


def test_labels_and_titles_in_a_folder_of_the_user_are_stored_and_used(tmp_path):
    config = composed(tmp_path, "+experiment=shapes")
    variants = {"waves": {"model/position": "mine"}, "both": {"model/position": "mine", "seed": 1}}
    labels = dict.fromkeys(("model/position=mine", "variant=waves"), "triangle waves")
    assert stored_labels(config.hydra, variants) == {**labels, **TITLES}
    settle(config)
    assert arm_label({"model/position": "mine"}) == "triangle waves"
    assert arm_label({"variant": "triangle waves", "model/position": "mine"}) == "triangle waves"


def test_a_report_has_the_names_that_its_sweep_stored(tmp_path):
    evidence = Evidence.load(HEAD_COUNT)
    labels = {"model/residual=mine": "a sum of all layers", **TITLES}
    evidence = replace(evidence, registration={**evidence.registration, "labels": labels})
    write_report(evidence, tmp_path)  # the files of the user are not there
    report = (tmp_path / "report.md").read_text()
    assert report.startswith(f"# {TITLES['title']}\n") and TITLES["purpose"] in report
    assert arm_label({"model/residual": "mine"}) == "a sum of all layers"
    assert arm_label({"model/residual": "pre_ln"}) == "Pre-LN"  # no file can rename options here
