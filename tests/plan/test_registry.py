"""What earlier runs say of new ones."""

import copy
import json
import os

import numpy as np
import pytest

from ablate.evidence.sentence_scores import bleu
from ablate.plan.noise import noise, of_setting
from ablate.plan.registry import RunSignature, rows
from ablate.record.environment import processor
from ablate.record.files import seal, write_arrays, write_json
from lab.calibration.simulate import Design, Noise

PARTS = {
    "data": "text",
    "device": "cpu",
    "config": {
        "seed": 1,
        "replicate": 0,
        "threads": 1,
        "products": "blas",
        "batch": {"tokens": 512},
        "tokenizer": {"vocab_size": 10},
        "probe": None,
        "budget": {"steps": 40},
        "model": {"d_model": 8, "residual": {"_target_": "pre"}},
        "optimizer": {"lr": 0.1},
        "trainer": {"precision": "32-true"},
        "task": {"_target_": "translation"},
    },
}


def changed(path, value):
    parts = copy.deepcopy(PARTS)
    node = parts["config"]
    *way, last = path.split(".")
    for key in way:
        node = node[key]
    node[last] = value
    return parts


@pytest.mark.parametrize(
    ("path", "same"),
    [
        ("seed", ["arm", "variant", "size", "regime"]),
        ("budget.steps", ["variant", "size"]),
        ("model.residual._target_", ["size", "regime"]),
        ("model.d_head", []),
        ("batch.tokens", []),
        ("optimizer.lr", ["size", "regime"]),
    ],
)
def test_what_two_runs_share(path, same):
    first, other = RunSignature.of(PARTS), RunSignature.of(changed(path, 7))
    assert [name for name in vars(first) if getattr(first, name) == getattr(other, name)] == same


def test_a_key_that_is_tuned_makes_no_other_arm():
    assert RunSignature.of(PARTS, "optimizer.lr") == RunSignature.of(
        changed("optimizer.lr", 7), "optimizer.lr"
    )


@pytest.fixture
def record(tmp_path):
    """Write the record of a run, with its score and statistics of every sentence."""

    def written(name, parts, seed, score, alone=None, counts=None, status="finished", **machine):
        folder = tmp_path / "runs" / name
        result = {"status": status, "seed": seed, "wall_seconds": 30.0}
        result |= {"processor_seconds": alone and 30.0 * alone}
        result["metrics"] = {"steps": 40, "unigram_nll": 5.0, "val/nll": score / 10}
        write_json(folder / "result.json", seal(result))
        write_json(folder / "identity.json", parts)
        here = {"processor": processor(), "cores": os.cpu_count()} | machine
        write_json(folder / "environment.json", here)
        times = [{"step": s, "time": 4.0 + s / 2} for s in range(5, 41, 5)]
        times[0]["time"] = 8.9  # the first updates are slow
        for step, at in ((40, 2), (20, 1)):  # validations of 2 and of 1 s
            where = [line["step"] for line in times].index(step)
            times[where + 1 :] = [{**t, "time": t["time"] + at} for t in times[where + 1 :]]
            times.insert(where + 1, {"step": step, "time": times[where]["time"] + at, "val/nll": 1})
        times.append({**times[-1], "time": times[-1]["time"] + 9.0})  # of the weights to be tested
        (folder / "metrics.jsonl").write_text("\n".join(map(json.dumps, times)))
        test = folder / "tests" / "beam"
        tested = {"wall_seconds": 5.0, "metrics": {"test/bleu": score}, "identity": name}
        tested |= {"processor_seconds": alone and 5.0 * alone}
        write_json(test / "result.json", seal({**tested, "status": "finished"}))
        write_json(test / "identity.json", {"config": {"search": "beam"}})
        if counts is not None:
            write_arrays(test / "test.stats.npz", {"bleu": counts})
        return folder

    return written


def test_time_and_rest_of_a_run_are_read_from_its_record(record, tmp_path):
    record("a", PARTS, 1, 20.0)
    record("b", PARTS, 2, 20.0, processor="another")
    (first, other) = rows(tmp_path)
    assert first.per_update == pytest.approx(0.5)
    assert first.per_validation == pytest.approx(1.5)
    assert first.rest == pytest.approx(30.0 - 40 * 0.5 - 2 * 1.5)
    assert (first.here, other.here) == (True, False)
    assert [test.seconds for test in first.tested.values()] == [5.0]


def test_what_other_work_took_of_the_time_of_one_thread_is_left_out(record, tmp_path):
    record("a", PARTS, 1, 20.0, alone=0.25)
    record("b", PARTS, 2, 20.0, alone=1.2)  # more than its core: threads that read data
    record("c", changed("threads", 2), 1, 20.0, alone=0.25)  # threads may wait for each other
    crowded, alone, threads = rows(tmp_path)
    assert crowded.per_update == pytest.approx(0.25 * alone.per_update)
    assert crowded.per_validation == pytest.approx(0.25 * alone.per_validation)
    assert crowded.rest == pytest.approx(0.25 * alone.rest)
    assert [test.seconds for test in crowded.tested.values()] == [1.25]
    assert threads.per_update == alone.per_update == pytest.approx(0.5)


def test_a_damaged_or_failed_record_is_passed_over(record, tmp_path):
    path = record("a", PARTS, 1, 20.0) / "result.json"
    path.write_text(path.read_text().replace("finished", "diverged"))
    record("b", PARTS, 2, 20.0)
    assert [row.folder.name for row in rows(tmp_path)] == ["b"]


OTHER = changed("model.residual._target_", "post")


@pytest.fixture
def translated(record):
    """Records of two arms of ten seeds, with simulated translations; return the BLEU of each."""
    counts = Design((1.6, 1.9), Noise((0.07, 0.07), 1.5, 0.5)).draw(
        10, 50, np.random.default_rng(0)
    )
    scores = [[bleu(of_run) for of_run in of_arm] for of_arm in counts]
    for name, parts, of_arm, by_seed in zip("ab", (PARTS, OTHER), counts, scores, strict=True):
        for seed in range(10):
            record(f"{name}{seed}", parts, seed, by_seed[seed], counts=of_arm[seed])
    return np.array(scores)


def test_the_noise_of_a_regime_is_that_within_arms_and_of_paired_differences(translated, tmp_path):
    runs = rows(tmp_path)
    variation = noise(of_setting(runs), "test/bleu")
    assert variation.seed == pytest.approx(np.sqrt(translated.var(axis=1, ddof=1).mean()))
    assert variation.difference == pytest.approx((translated[0] - translated[1]).std(ddof=1))
    assert variation.sentences == 50
    assert variation.sentence > 0
    assert variation.runs == 20
    assert len({run.kin.regime for run in runs}) == 1
    assert noise(of_setting(runs[:1]), "test/bleu") is None


def test_runs_that_failed_to_learn_are_no_noise_as_in_a_verdict(translated, record, tmp_path):
    before = noise(of_setting(rows(tmp_path)), "test/bleu")
    good = np.tile([9, 9, 9, 8, 7, 6, 9, 8, 7, 6], (50, 1))
    wrong = np.tile([6, 6, 0, 0, 0, 0, 6, 5, 4, 3], (50, 1))  # no word is right
    record("a10", PARTS, 10, 0.0, status="collapsed")
    record("b10", OTHER, 10, bleu(good), counts=good)
    record("a11", PARTS, 11, bleu(good), counts=good)
    record("b11", OTHER, 11, 0.0, counts=wrong)
    after = noise(of_setting(rows(tmp_path)), "test/bleu")
    assert (after.difference, after.sentence) == (before.difference, before.sentence)
    assert after.runs == 22
