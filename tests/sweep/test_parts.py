"""A study that is made in parts, in folders that share nothing, and joined."""

import json
import shutil
from contextlib import nullcontext
from pathlib import Path

import pytest

from ablate.errors import UserError
from ablate.evidence.folder import Evidence
from ablate.evidence.log import Part, Sweep, _check

from .conftest import PROBED

pytestmark = pytest.mark.xdist_group("parts")
PARTS = PROBED.replace("seeds: 2", "seeds: 3")


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """A folder for the sweeps that several tests need, and the sweeps that are in it."""
    return tmp_path_factory.mktemp("parts"), {}


@pytest.fixture
def sweep(swept, tmp_path):
    """Run the study with its results in a folder below that of the test; return its sweep."""
    return lambda results, *words: swept(PARTS, tmp_path / results, *words)


@pytest.fixture
def part(sweep, shared):
    """Run one seed of the study in a folder of its own; later tests get the same sweep."""
    folder, parts = shared

    def ran(seed):
        if seed not in parts:
            parts[seed] = sweep(folder / f"part {seed}", f"seed={seed}")
        return parts[seed]

    return ran


@pytest.fixture
def joined(command, tmp_path):
    """Join pieces; return the folder, or what refuses them."""

    def join(*pieces, to="joined"):
        status, out, err = command("join", *map(str, pieces), f"to={tmp_path / to}")
        assert (status, "Traceback" in err) in ((0, False), (2, False))
        if status:
            assert not (tmp_path / to).exists()
            assert err.count("\n") == 1, err
            return err
        return tmp_path / to

    return join


@pytest.fixture
def judged(command):
    def judge(folder):
        status, _, err = command("judge", folder)
        assert status == 0, err
        return json.loads((folder / "verdict.json").read_text())

    return judge


def numbers(verdict):
    """Return the size of each effect in a verdict."""
    fields = ("effect", "seeds", "differences")
    return [
        {key: result[key] for key in fields}
        for claim in verdict["claims"]
        for result in (claim, claim.get("short"))
        if result
    ]


@pytest.mark.slow
def test_three_parts_are_joined_to_the_study_made_in_one_go_and_count_as_looks(
    sweep, part, joined, judged, command, tmp_path
):
    whole = json.loads((sweep("whole") / "verdict.json").read_text())
    first, second = part(0), part(1)
    assert not [*first.glob("verdict.json"), *first.glob("report.*")]
    two = joined(first, second, to="two")
    for folder, seeds in ((first, 1), (two, 2)):
        status, _, err = command("judge", folder)
        assert status == 2 and f"{seeds} of 3 planned seeds" in err
    verdict = judged(joined(two, part(2), to="three"))
    assert numbers(verdict) == numbers(whole)
    assert (verdict["exploratory"], verdict["looks"]) == (False, 3)
    fractions = verdict["claims"][0]["information"]  # so alpha was spent on the parts
    assert fractions == pytest.approx([1 / 3, 1.0])
    registered = json.loads((tmp_path / "three" / "study.json").read_text())["registration"]
    assert "seed=" not in registered["command"]
    assert numbers(judged(joined(part(2), second, first, to="again"))) == numbers(whole)


@pytest.mark.slow
def test_what_does_not_belong_together_is_refused_and_nothing_is_written(
    part, joined, command, tmp_path
):
    first, second = part(0), part(1)
    assert "2 runs" in joined(first, second, first)
    assert "nowhere" in joined(first, tmp_path / "nowhere")
    damaged = shutil.copytree(second, tmp_path / "damaged")
    text = (damaged / "runs.jsonl").read_text()
    (damaged / "runs.jsonl").write_text(text.replace('"seed":1', '"seed":2', 1))
    assert "runs.jsonl" in joined(first, damaged)
    assert command("join", str(first), f"to={second}")[0] == 2


def of_code(seed, arms, screening=(), code="source", study="x"):
    """A part of a study whose runs have these arms and digests of their code."""
    runs, tuning = (
        [
            {"arm": arm, "levels": {"x": arm}, "seed": seed, "status": "finished", "code": of_arm}
            for arm, of_arm in given
        ]
        for given in (arms, screening)
    )
    evidence = Evidence("x", {}, {}, {}, runs, tuning, {}, {})
    sweep = Sweep("x", 0.0, "x", study, {}, {}, 0, [], {}, code=code)
    return Part(Path("x"), evidence, [], sweep)


@pytest.mark.parametrize(
    ("first", "second", "accepted"),
    [
        (of_code(0, [("a", "1"), ("b", "2")]), of_code(1, [("a", "1"), ("b", "2")]), True),
        (of_code(0, [("a", "1"), ("b", "2")]), of_code(1, [("a", "1"), ("b", "3")]), False),
        (of_code(0, [("a", "1")], [("a", "4")]), of_code(1, [("a", "1")], [("a", "5")]), False),
        (of_code(0, [("a", "1")]), of_code(1, [("b", "2")]), True),
        (of_code(0, [("a", "1")]), of_code(1, [("b", "2")], code="another source"), False),
        (of_code(0, [("a", "1")]), of_code(0, [("a", "1")]), False),  # the same run
        (of_code(0, [("a", "1")]), of_code(1, [("a", "1")], study="another"), False),
    ],
)
def test_parts_of_different_code_or_with_a_common_run_are_not_joined(first, second, accepted):
    with nullcontext() if accepted else pytest.raises(UserError):
        _check(first, second)


@pytest.mark.slow
def test_a_seed_that_was_begun_may_not_be_left_out_of_the_joined_study(sweep, part, joined, judged):
    first = part(0)
    sweep("rest", "seed=1,2")
    other = sweep("rest", "seed=3,4")  # where 1 and 2 were begun, so they are in this folder
    verdict = judged(joined(first, other))
    assert verdict["exploratory"] or len(verdict["claims"][0]["seeds"]) == 5
