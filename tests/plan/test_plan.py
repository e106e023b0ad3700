"""`ablate plan` on a whole sweep."""

import subprocess

SWEEP = ("+experiment=preln_vs_postln", "seed=0,1", "study.tune=null")


def test_a_plan_checks_everything_and_starts_nothing(small, command, compose, tmp_path):
    from ablate.train.run import run

    status, out, err = command("plan", *small, *SWEEP)
    assert (status, err) == (0, "")
    assert "preln_vs_postln: 8 cells of 4 arms, 2 seeds each; 0 are done" in out
    assert "time: not known of 4 arms" in out
    assert "preln_vs_postln_quality, equivalence: ? (no earlier runs of this regime)" in out
    assert [path.name for path in (tmp_path / "results").iterdir()] == ["registry.json"]
    arm = ("model/residual=pre_ln", "schedule=noam", "seed=1", "study.tune=null")
    run(compose(*small, "+experiment=preln_vs_postln", *arm))
    _, out, _ = command("plan", *small, *SWEEP, "minutes=1")
    assert "2 seeds each; 1 are done" in out
    assert "1 earlier run of this variant" in out
    assert "1 earlier run of other variants of this size" in out
    assert "wall time: " in out
    assert "\nIn 1 minutes: " in out
    assert "preln_more_stable" in out


def test_what_cannot_work_is_said_as_the_sweep_would(small, command):
    assert command("plan", *small, "+experiment=nothing")[0] == 2
    status, _, err = command("plan", *small, *SWEEP, "study.claims.0.kind=equality")
    assert status == 2
    assert "kind=equality; allowed is exact" in err
    status, _, err = command("plan", *small, *SWEEP, "minutes=soon")
    assert "ablate plan: minutes=soon: it must be a whole number, at least 1" in err


def test_every_variant_is_timed_once_by_a_short_run_of_its_own(
    small, command, monkeypatch, tmp_path
):
    asked = []

    def failing(words, **kwargs):
        asked.append(words)
        return subprocess.CompletedProcess(words, 2 * (len(asked) == 4), "", "ablate: no memory\n")

    monkeypatch.setattr("ablate.plan.sample.subprocess.run", failing)
    tuned = ("+experiment=preln_vs_postln", "seed=0", "study.tune.seeds=[9]", "sample=true", "-m")
    status, out, err = command("plan", *small, *tuned)
    assert status == 2
    assert "the short run of model/residual=pre_ln schedule=no_warmup" in err
    assert "failed: ablate: no memory" in err
    assert len(asked) == 4  # arms; the rates are tried by the sweep
    for words in asked:
        assert {"budget.steps=30", "study=null", "logger=none"} < set(words)
        assert words[-1] == f"paths.results={tmp_path / 'results'}/samples"
    assert out.count("timing ") == 4
