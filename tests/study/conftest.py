"""Made-up evidence: a claim, runs and their statistics, of which a test changes what it needs."""

from dataclasses import replace

import numpy as np
import pytest

CLAIM = {
    "id": "c",
    "statement": "Pre-LN beats Post-LN.",
    "source": "a document",
    "kind": "superiority",
    "metric": "test/nll",
    "where": {},
    "treatment": {"model/residual": "pre_ln"},
    "baseline": {"model/residual": "post_ln"},
    "minus": {},
    "over": "",
    "scale": "log",
    "better": "higher",
    "margin": 1.0,
    "margin_reason": "smaller ones are not worth a change",
    "alpha": 0.05,
    "tolerance": 0.0,
    "control": "",
}
REGIME = {
    **{"scale": "cpu", "data": "toy", "model": "micro", "device": "cpu", "precision": "32-true"},
    **{"d_model": 64, "steps": 480, "tokens_per_step": 512, "threads": 1, "test_sentences": {}},
}
SENTENCES = 200
PRE, POST = {"model/residual": "pre_ln"}, {"model/residual": "post_ln"}


def only(evidence):
    """Return the verdict on the only claim of evidence, with its sentences."""
    from ablate.verdict.conclude import conclude
    from ablate.words.answer import with_words

    (entry,) = with_words(conclude(evidence))["claims"]
    return entry


def codes(verdict):
    """Return the values of each caveat of a verdict by its code; each caveat has a sentence."""
    from ablate.words.reasons import caveat_text

    texts = [caveat_text(caveat) for caveat in verdict["caveats"]]
    assert not [text for text in texts if "{" in text or "None" in text]
    return {caveat["code"]: caveat["values"] for caveat in verdict["caveats"]}


@pytest.fixture
def claim():
    """A superiority claim about nll, better: higher, so that effects read like differences."""

    def make(**changes):
        return {**CLAIM, **changes}

    return make


@pytest.fixture
def run():
    """A run; `levels` are all its levels, `metrics` join the usual ones."""

    def make(levels, seed, status="finished", **metrics):
        defaults = {"unigram_nll": 1000.0, "parameters": 1000}
        name = " ".join(str(level) for level in levels.values())
        return {
            "cell": 0,
            "identity": f"{name} {seed}" if status != "failed" else "",
            "levels": dict(levels),
            "arm": name,
            "seed": seed,
            "status": status,
            "metrics": {} if status == "failed" else {**defaults, **metrics},
            "curve": {},
            "reused": False,
            "ended": 100.0,
            "seconds": 10.0,
            "command": "python -m ablate",
            "versions": {"torch": "2.0"},
        }

    return make


@pytest.fixture
def evidence():
    """Evidence of runs and claims, registered at time 50, before the runs ended."""
    from ablate.evidence.folder import Evidence
    from ablate.evidence.registration import form, registration_hash

    def make(runs, *claims, statistics=None, registration=None, **study):
        full_study = {"factors": ["model/residual"], "seeds": 3, "fixed": [], "nuisance": []}
        full_study |= {"tune": None, "expect": "different", "literature": ""}
        full_study |= {"claims": list(claims)} | study
        registered = {"time": 50.0, "earlier": [], "looks": 0, "command": ""}
        kept = form(full_study, {}, [])
        registered |= {"hash": registration_hash(kept)} | (registration or {})
        return Evidence("made_up", full_study, {}, registered, runs, [], statistics or {}, kept)

    return make


@pytest.fixture
def saved(evidence, claim, tmp_path):
    """Save evidence of runs that are each a cell, in a regime; return the folder."""

    def save(runs, **more):
        numbered = [run | {"cell": cell} for cell, run in enumerate(runs)]
        replace(evidence(numbered, claim(), **more), regime=REGIME).save(tmp_path / "saved")
        return tmp_path / "saved"

    return save


@pytest.fixture
def arms(run):
    """Runs of pre_ln and post_ln by their values of test/nll, in the order of the seeds."""

    def make(pre, post, metric="test/nll"):
        return [
            run(arm, seed, **{metric: value})
            for arm, values in ((PRE, pre), (POST, post))
            for seed, value in enumerate(values)
        ]

    return make


@pytest.fixture
def translated(run):
    """Runs of two arms with their BLEU and statistics per sentence: simulated, with an effect."""
    from ablate.evidence.folder import bleu
    from lab.calibration.simulate import Design, Noise

    def make(seeds=5, lift=0.3, sentences=SENTENCES, numbers=0):
        design = Design((1.6, 1.6 + lift), Noise((0.07, 0.07), 1.5, 0.5))
        rows = design.draw(seeds, sentences, np.random.default_rng(numbers))
        runs, statistics = [], {}
        for arm, of_arm in zip(("post_ln", "pre_ln"), rows, strict=True):
            for seed, of_run in enumerate(of_arm):
                record = run({"model/residual": arm}, seed, **{"test/bleu": bleu(of_run)})
                runs.append(record)
                statistics[record["identity"]] = {"test": of_run}
        return runs, statistics

    return make
