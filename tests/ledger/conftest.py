"""Folders with the verdicts of experiments that never ran."""

import json

import pytest

EFFECTS = {"supported": 5.0, "refuted": -5.0}
ENTRY = {  # a claim of verdict.json without arms
    **{"better": "higher", "margin": 0.0, "margin_reason": "", "alpha": 0.05, "tolerance": 0.0},
    **dict.fromkeys(("where", "treatment", "baseline", "minus"), {}),
    **{"over": "", "scale": "log", "p": {}, "p_adjusted": {}, "p_look": {}},
    **{"seeds": [], "pairs": 5, "differences": [], "method": "t", "noise": ["seeds"]},
    **{"detectable": None, "seeds_needed": None, "sensitivity": []},
    **{"failed_runs": 0, "older_cells": 0, "primary": True},
}
CASES = {"of": 5, "counted": 5, "broken": 0, "draws": None, "control": None}
VERDICT = {
    **{"components": {}, "alpha_spent": 0.05, "versions": {}, "exploratory": False, "arms": []},
    **{"failed_runs": 0, "reused_runs": 0, "older_runs": 0, "caveats": []},
}
REGIME = {"scale": "cpu", "data": "toy", "model": "micro", "test_sentences": {"test": 10}}


@pytest.fixture
def folders(tmp_path, monkeypatch):
    """A project with an empty catalogue, whose claims are those of the repository."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "experiments").mkdir()
    monkeypatch.setattr("ablate.config.catalogue_root", lambda: tmp_path / "experiments")
    return tmp_path


@pytest.fixture
def verdict(folders):
    """Write the verdict.json of an experiment: `verdict(folder, {claim: verdict}, ...)`."""

    def write(folder, verdicts, time=100.0, report="report.md", kind="superiority", **regime):
        path, half = folders / folder, 0 if kind == "exact" else regime.get("half", 1.0)
        path.mkdir(parents=True, exist_ok=True)
        claims = [
            {
                **ENTRY,
                **({"cases": CASES} if kind == "exact" else {}),
                "id": claim,
                "statement": f"It is said that {claim}.",
                "source": "a person",
                "kind": kind,
                "verdict": given,
                "metric": "test/bleu",
                "effect": effect,
                "interval": [effect - half, effect + half] if half else None,
                "arms": regime.get("arms", []),
                "grade": regime.get("grade", ""),
                "reading": regime.get("reading", ""),
                "evidence": f"{claim} is {given} <by> 5 & 6 seeds.",
                "exploratory": regime.get("exploratory", False),
            }
            for claim, given in verdicts.items()
            for effect in [regime.get("effect", EFFECTS.get(given, 0.0))]
        ]
        setting = {key: regime.get(key, value) for key, value in REGIME.items()}
        setting["steps"] = regime.get("steps", 300)
        name = regime.get("experiment", path.name)
        whole = {**VERDICT, "experiment": name, "regime": setting, "claims": claims}
        whole |= {"registered": time, "looks": regime.get("looks", 1), "runs": 10}
        whole["study_hash"] = regime.get("study_hash", "")
        (path / "verdict.json").write_text(json.dumps(whole))
        (path / report).touch()

    return write
