"""Made-up evidence of every kind of study."""

import copy

import numpy as np
import pytest

from ablate.config import study

CLAIM = {
    **study.USUAL[study.Claim],
    "id": "pre_is_better",
    "statement": "Pre-LN reaches a higher BLEU than Post-LN.",
    "source": "Transformer notes, section 4.1; arXiv:2002.04745",
    "kind": "superiority",
    "metric": "test/bleu",
    "treatment": {"model/residual": "pre_ln"},
    "baseline": {"model/residual": "post_ln"},
    "margin": 1.0,
    "margin_reason": "smaller ones are not worth a change",
}
STUDY = {
    **study.USUAL[study.Study],
    **{"factors": ["model/residual"], "seeds": 5, "claims": [CLAIM]},
    "fixed": ["data", "optimizer.lr"],
    "literature": "With warm-up the two are close (arXiv:1910.05895).",
}
REGIME = {
    **{"scale": "cpu", "data": "toy", "model": "micro", "d_model": 64, "steps": 480, "threads": 1},
    **{"tokens_per_step": 1024, "device": "cpu", "precision": "32-true"},
    "test_sentences": {"test": 1000},
}
REGISTRATION = {
    "time": 1795240000.0,
    "earlier": [],
    "looks": 0,
    "command": "python -m ablate +experiment=made_up -m",
}
NORMS = {f"gradient/first/{s}.{i}": 0.5 + i for s in ("encoder", "decoder") for i in range(3)}


def make_run(arm, seed, factor="model/residual", status="finished", level=None, **metrics):
    """One line of runs.jsonl; without metrics, numbers that depend on arm and seed alone."""
    noise = np.random.default_rng([seed, *map(ord, arm)]).normal(size=4)
    bleu = 50 + 3 * (arm == "pre_ln") + noise[0]
    usual = {
        "test/bleu": bleu,
        "test/nll": 0.5 + 0.02 * noise[1],
        "val/bleu": bleu + noise[2],
        "val/nll": 0.5 + 0.02 * noise[3],
        "unigram_nll": 5.2,
        "parameters": 278272 + 256 * (arm == "pre_ln"),
        "steps": 480,
    }
    curve = {
        "step": [160, 320, 480],
        "val/nll": [3.0 + 0.1 * noise[0], 1.0, usual["val/nll"]],
        "val/bleu": [1.0, 30 + noise[1], usual["val/bleu"]],
    }
    return {
        "cell": seed,
        "identity": f"{arm}-{seed}" if status != "failed" else "",
        "levels": {factor: arm if level is None else level},
        "arm": arm,
        "seed": seed,
        "status": status,
        "metrics": {} if status == "failed" else (metrics or usual),
        "curve": {} if metrics or status == "failed" else curve,
        "reused": seed == 0,
        "ended": 1795250000.0 + seed,
        "seconds": 30.0,
        "command": f"python -m ablate +experiment=made_up model/residual={arm} seed={seed}",
        "versions": {"python": "3.11.7", "torch": "2.9.0", "ablate": "0.1.0"},
        **({"error": "MemoryError: no memory | left"} if status == "failed" else {}),
    }


def _two_arms(seeds=5):
    return [make_run(arm, seed) for arm in ("pre_ln", "post_ln") for seed in range(seeds)]


def _gone_wrong():
    """One diverged, one collapsed, one failed run, and gradients where they were measured."""
    ends = dict(enumerate(("diverged", "collapsed", "failed")))
    runs = [make_run("pre_ln", seed) for seed in range(5)]
    runs += [make_run("post_ln", seed, status=ends.get(seed, "finished")) for seed in range(5)]
    diverged = runs[5]
    diverged["curve"] = {"step": [160, 320], "val/nll": [3.0, None], "val/bleu": [1.0, 0.0]}
    del diverged["metrics"]["test/bleu"], diverged["metrics"]["test/nll"]
    for run in runs:
        run["metrics"] |= NORMS if run["status"] == "finished" else {}
    return runs


def _heads(metric=None):
    def make(heads, seed):
        made = make_run(f"n_heads={heads}", seed, "model.n_heads", level=heads)
        made["metrics"]["test/bleu"] += 2 * np.log2(heads)
        return made | {"metrics": {metric: float(heads > 8)}, "curve": {}} if metric else made

    return [make(heads, seed) for heads in (1, 2, 4, 8, 16) for seed in range(1 if metric else 3)]


TREND = {"kind": "trend", "over": "model.n_heads", "treatment": {}, "baseline": {}}
EXACT = {"kind": "exact", "treatment": {}, "baseline": {}, "margin": 0.0, "margin_reason": ""}
UNSTABLE = {"id": "stable", "kind": "stability", "metric": "unstable", "better": "lower"}
SHOWN = {"metric": "test/bleu", "over": "model.n_heads", "where": {}, "caption": "How many heads?"}
LONG = [f"rows_and_columns fill=very_large_negative_number variant={i}" for i in range(8)]
TUNE = {"key": "optimizer.lr", "values": [1e-3, 3e-3], "seeds": [100], "metric": "val/nll"}


def _tuned(runs):
    return [run | {"tuned": {"key": "optimizer.lr", "value": 1e-3}} for run in runs]


def _screened():
    for value in (1e-3, 3e-3):
        for arm in ("pre_ln", "post_ln"):
            tuned = {"tuned": {"key": "optimizer.lr", "value": value}}
            yield make_run(arm, 100, **{"val/nll": 1 / (1 + value)}) | tuned


# What differs from two arms with one claim of superiority.
KINDS = {
    "superiority": {},
    "equivalence": {"claims": [{"kind": "equivalence"}, {"id": "lower", "metric": "test/nll",
                    "better": "lower"}, {"id": "same_size", "kind": "exact",
                    "metric": "parameters", "tolerance": 300.0, "margin": 0.0}]},
    "trend": {"runs": _heads(), "claims": [TREND], "factors": ["model.n_heads"],
              "figures": [SHOWN]},
    "exact": {"runs": _heads("probe/block_excess"), "factors": ["model.n_heads"],
              "claims": [{**EXACT, "metric": "probe/block_excess"}]},
    "stability": {"runs": _gone_wrong(), "claims": [{}, {**UNSTABLE, "margin": 0.0}]},
    "one seed": {"runs": _two_arms(1)},
    "tuned": {"runs": _tuned(_two_arms()), "screening": list(_screened()),
              "tune": {**TUNE, "better": "lower"}},
    "long names": {
        "figures": [{**SHOWN, "over": "model/padding"}],
        "runs": [make_run(arm, s, "model/padding") for arm in LONG for s in range(2)],
        "factors": ["model/padding"],
        "claims": [{"treatment": {"model/padding": LONG[0]},
                    "baseline": {"model/padding": LONG[1]}}],
    },
}  # fmt: skip
LONG = ("equivalence", "stability")  # reports whose parts other reports have
BUILT = ("equivalence", "trend", "exact", "stability", "one seed", "tuned", "long names")


def make_evidence(kind="superiority", regime=(), **changes):
    """Evidence of a kind, with a regime or parts of the study changed."""
    from ablate.evidence.folder import Evidence
    from ablate.evidence.registration import form, registration_hash

    parts = copy.deepcopy(KINDS[kind]) | changes
    claims = parts.pop("claims", [{}])
    runs, screening = parts.pop("runs", _two_arms()), parts.pop("screening", [])
    asked = {**STUDY, "claims": [{**CLAIM, **claim} for claim in claims], **parts}
    registered = form(asked, {}, [])
    return Evidence(
        name="made_up",
        registered=registered,
        runs=[run | {"cell": cell} for cell, run in enumerate(runs)],
        screening=[run | {"cell": cell} for cell, run in enumerate(screening)],
        study=asked,
        regime={**REGIME, **dict(regime)},
        registration={**REGISTRATION, "hash": registration_hash(registered)},
    )


@pytest.fixture
def evidence():
    """Make evidence of a kind, with a regime or parts of the study changed."""
    return make_evidence


@pytest.fixture(
    scope="session",
    params=[pytest.param(kind, marks=[pytest.mark.slow] * (kind in LONG)) for kind in BUILT],
)
def every(request, tmp_path_factory):
    """A folder of evidence with its report, of every kind that another folder does not cover."""
    from ablate.report.write import write_report

    folder = tmp_path_factory.mktemp("report")
    made = make_evidence(request.param)
    made.save(folder)
    (folder / "figures").mkdir()
    (folder / "figures" / "of-an-earlier-report.svg").write_text("<svg/>")
    with pytest.MonkeyPatch.context() as patch:  # tests of figures draw them
        patch.setattr("ablate.report.write.Figure.picture", None)
        patch.setattr("ablate.report.draw.svg", lambda picture: "<svg/>\n")
        write_report(made, folder)
    return folder


@pytest.fixture
def report():
    """Make evidence and return its report.md, without figures."""
    from ablate.report.write import markdown
    from ablate.verdict.conclude import conclude
    from ablate.words.answer import with_words

    def write(*arguments, contest=(), **changes):
        made = make_evidence(*arguments, **changes)
        return markdown(made, with_words(conclude(made)), contest=contest)

    return write
