"""`ablate decide`: a loop of candidates with one error budget."""

import json
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from ablate.errors import UserError
from ablate.referee.campaign import Rules, decide
from ablate.stats.online import level, spent
from lab.calibration.campaigns import greedy, normal, with_referee


class Loop:
    """A campaign in a folder, to which a loop adds runs."""

    def __init__(self, folder, text="better: lower\n"):
        self.path, self.runs = folder / "campaign.yaml", folder / "runs.csv"
        self.path.write_text(f"runs: runs.csv\narm: name\nmetric: loss\nbaseline: base\n{text}")
        self.runs.write_text("name,loss\n")
        self.random = np.random.default_rng(0)

    def add(self, name, mean, count):
        with self.runs.open("a") as file:
            file.writelines(f"{name},{mean + self.random.normal()}\n" for _ in range(count))

    def until_decided(self, name, mean):
        self.add(name, mean, 4)
        while (answer := decide(self.path, name))["decision"] == "more":
            self.add(name, mean, answer["runs_wanted"]["runs"])
        return answer


@pytest.fixture
def loop(tmp_path):
    campaign = Loop(tmp_path)
    campaign.add("base", 0.0, 32)
    return campaign


@pytest.mark.parametrize(("mean", "decision"), [(-3.0, "keep"), (2.0, "discard"), (9.0, "discard")])
def test_a_candidate_is_kept_or_discarded(loop, mean, decision):
    answer = loop.until_decided("idea", mean)
    assert answer["decision"] == decision
    assert answer["runs"] <= 10
    assert answer["error"]["spent"] == pytest.approx(level(1, 100, 0.05))


def test_a_kept_candidate_needs_fresh_runs_as_a_baseline(loop):
    used = loop.until_decided("idea", -3.0)["runs"]
    loop.add("next", -3.0, 4)
    waiting = decide(loop.path, "next")
    assert waiting["runs_wanted"] == {"arm": "idea", "runs": 32}
    loop.add("idea", -3.0, 30)
    assert decide(loop.path, "next")["runs_wanted"]["runs"] == 2
    loop.add("idea", -3.0, 2)
    assert decide(loop.path, "next")["decision"] in ("discard", "more")
    assert used >= 4


def test_the_latest_candidate_is_the_last_in_the_table(loop):
    for name in ("0.1", "wide", "0.01"):  # a column has texts first, and numbers in their order
        loop.add(name, 0.0, 4)
    assert decide(loop.path)["candidate"] == "0.01"


def test_to_ask_again_without_new_runs_spends_nothing(loop):
    loop.add("idea", -1.0, 4)
    first = decide(loop.path)
    journal = (loop.path.parent / "campaign.journal.json").read_bytes()
    assert [decide(loop.path) if first["decision"] == "more" else first for _ in range(3)] == [
        first
    ] * 3
    assert (loop.path.parent / "campaign.journal.json").read_bytes() == journal


@pytest.mark.parametrize(("text", "message"), [
    ("better: smaller\n", "lower or higher"),
    ("better: lower\nfirst: 1\n", "first=1"),
    ("better: lower\nmost: 3\n", "first=4"),
    ("better: lower\nalpha: 2\n", "alpha=2"),
    ("better: lower\ncandidate: 5\n", "did you mean candidates"),
    ("better: [\n", "cannot be read"),
])  # fmt: skip
def test_a_slip_in_the_file_is_one_sentence(tmp_path, text, message):
    loop = Loop(tmp_path, text)
    loop.add("base", 0.0, 3)
    with pytest.raises(UserError) as error:
        decide(loop.path)
    assert message in str(error.value) and "\n" not in str(error.value)
    assert not (tmp_path / "campaign.journal.json").exists()


def test_runs_that_were_judged_may_not_change(loop):
    loop.add("idea", -1.7, 4)
    assert decide(loop.path)["decision"] == "more"
    lines = loop.runs.read_text().splitlines()
    loop.runs.write_text("\n".join([*lines[:-1], "idea,-9.0", "idea,-9.0", "idea,-9.0"]) + "\n")
    with pytest.raises(UserError, match="have changed"):
        decide(loop.path)


@pytest.mark.parametrize("edit", ["rules", "journal"])
def test_neither_rules_nor_journal_may_change(loop, edit):
    loop.until_decided("idea", 2.0)
    if edit == "rules":
        loop.path.write_text(loop.path.read_text() + "alpha: 0.2\n")
    else:
        journal = loop.path.parent / "campaign.journal.json"
        journal.write_text(journal.read_text().replace("discard", "keep"))
    loop.add("next", -1.0, 4)
    with pytest.raises(UserError):
        decide(loop.path, "next")


def test_two_callers_at_once_give_each_candidate_its_number_and_its_level(loop):
    for name in "abcdefgh":
        loop.add(name, 3.0, 4)
    with ThreadPoolExecutor(4) as pool:
        answers = [*pool.map(lambda name: decide(loop.path, name), "abcdefgh")]
    assert sorted(a["error"]["candidates"] for a in answers) == [*range(1, 9)]
    journal = json.loads((loop.path.parent / "campaign.journal.json").read_text())
    assert sorted(candidate["number"] for candidate in journal["candidates"].values()) == [
        *range(1, 9)
    ]


def test_a_kill_at_any_moment_leaves_a_journal_that_goes_on(loop):
    loop.add("idea", 3.0, 4)
    code = (
        "import os, sys, ablate.record.files as files\n"
        "from pathlib import Path\n"
        "moment, real = sys.argv[2], os.replace\n"
        "if moment == 'before': os.replace = lambda *_: os._exit(9)\n"
        "if moment == 'after': os.replace = lambda *a: (real(*a), os._exit(9))\n"
        "if moment == 'writing': os.fsync = lambda *_: os._exit(9)\n"
        "from ablate.referee.campaign import decide\n"
        "decide(Path(sys.argv[1]), 'idea')\n"
    )
    for moment in ("writing", "before", "after"):
        words = [sys.executable, "-c", code, str(loop.path), moment]
        assert subprocess.run(words, check=False).returncode == 9
        assert decide(loop.path, "idea")["error"]["candidates"] == 1
        (loop.path.parent / "campaign.journal.json").unlink()


@pytest.mark.slow
def test_processes_wait_for_each_other_and_outlive_one_that_is_killed_with_the_lock(loop):
    inside = loop.path.parent / "inside"
    for name in "abc":
        loop.add(name, 3.0, 4)
    code = (
        "import sys, time\n"
        "from pathlib import Path\n"
        "import ablate.referee.campaign as file\n"
        "file.write_json = lambda *_: (Path(sys.argv[2]).touch(), time.sleep(60))\n"
        "file.decide(Path(sys.argv[1]), 'a')\n"
    )
    killed = subprocess.Popen([sys.executable, "-c", code, str(loop.path), str(inside)])
    while not inside.exists():
        assert killed.poll() is None
        time.sleep(0.02)
    words = [sys.executable, "-m", "ablate", "decide", str(loop.path), "--json", "--candidate"]
    waiters = [subprocess.Popen([*words, name], stdout=subprocess.PIPE) for name in "abc"]
    time.sleep(0.2)
    assert all(process.poll() is None for process in waiters)
    killed.kill()
    answers = [json.loads(process.communicate(timeout=300)[0]) for process in waiters]
    assert killed.wait() != 0 and [process.returncode for process in waiters] == [0] * 3
    assert [answer["candidate"] for answer in answers] == [*"abc"]
    assert sorted(answer["error"]["candidates"] for answer in answers) == [1, 2, 3]
    journal = json.loads((loop.path.parent / "campaign.journal.json").read_text())
    assert {candidate["decision"] for candidate in journal["candidates"].values()} == {"discard"}


def test_the_levels_never_sum_to_more_than_alpha():
    for planned in (1, 7, 100):
        assert spent(50 * planned, planned, 0.05) < 0.05
        assert spent(planned, planned, 0.05) == pytest.approx(0.045)


def test_a_campaign_with_the_referee_seldom_keeps_what_is_useless():
    random = np.random.default_rng(1)
    campaigns = [with_referee(Rules("lower"), normal, random, [0.0] * 100) for _ in range(25)]
    assert np.mean([campaign.wrong > 0 for campaign in campaigns]) <= 0.2
    assert np.mean([greedy(normal, random, [0.0] * 100).wrong > 0 for _ in range(20)]) >= 0.8


def test_the_command_prints_the_decision(ablate_command, loop):
    loop.add("idea", 3.0, 4)
    status, out, err = ablate_command("decide", loop.path, "--json")
    assert (status, err, json.loads(out)["decision"]) == (0, "", "discard")
    assert ablate_command("decide", loop.path, "--candidate", "ideal")[0] == 2
