"""Six kills at random moments, of a whole group: what is left in the end is as without them.

`pytest -m slow -n 0 -s tests/faults/test_kills.py` prints where every kill fell.
"""

import os
import random
import signal
import time

import pytest

from .conftest import STUDY, TINY, records, verdicts

KILLS = {"sweep": 3, "race": 2, "judge": 1}
# Kills that a command is likely to meet on its way; one that judges begins anew after each.
LIVES = {"sweep": 2, "race": 2, "judge": 1}
POLL = 0.005  # seconds between two looks
pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]


class Writes:
    """Counts what is written below a folder, from now on: a file that is new, changed or gone."""

    def __init__(self, folder):
        self.folder, self.count, self.last = folder, 0, "nothing"
        self.known = self.seen()

    def seen(self):
        times = {}
        for parent, _, names in os.walk(self.folder):
            for name in names:
                try:
                    path = os.path.join(parent, name)
                    times[path] = os.stat(path).st_mtime_ns
                except FileNotFoundError:  # it was there a moment ago
                    continue
        return times

    def look(self):
        now = self.seen()
        changed = [
            path for path in now.keys() | self.known if now.get(path) != self.known.get(path)
        ]
        self.known = now
        if changed:
            self.count += len(changed)
            self.last = os.path.relpath(changed[0], self.folder)
        return self.count


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """A folder for commands that nobody disturbs, and what each has left, by its kind."""
    return tmp_path_factory.mktemp("quiet"), {}


@pytest.fixture
def begin(start, small, shared):
    """Start a command on the study, whose results lie in the folder of a case."""

    def started(kind, case):
        words = [*small, *TINY, *STUDY, f"paths.results={case}"]
        if kind == "judge":
            (sweep,) = (shared[0] / "quiet sweep").glob("sweeps/*/*")
            return start("judge", sweep, f"to={case}")
        return start(*words, "-m")

    return started


def ended(process):
    output, _ = process.communicate()
    assert process.returncode == 0, output


def over(processes):
    return any(process.poll() is not None for process in processes)


def left(kind, case):
    """Return the files, or runs and verdicts, that a command has left, without temporary files."""
    if kind == "judge":
        files = [p for p in case.rglob("*") if p.is_file() and not p.match(".*@")]
        return {str(p.relative_to(case)): p.read_bytes() for p in files}
    concluded = [verdicts(sweep) for sweep in sorted(case.glob("sweeps/*/*"))]
    # of a command that had ended already
    assert all(conclusion == concluded[0] for conclusion in concluded)
    return records(case), concluded[0]


@pytest.fixture
def quietly(begin, shared):
    """What a command leaves that nobody disturbs, and how often it writes."""
    folder, outcomes = shared

    def done(kind):
        if kind not in outcomes:
            case = folder / f"quiet {kind}"
            writes, process = Writes(case), begin(kind, case)
            while process.poll() is None:
                writes.look()
                time.sleep(POLL)
            ended(process)
            outcomes[kind] = left(kind, case), writes.look()
        return outcomes[kind]

    return done


@pytest.fixture
def killed(begin):
    """Have a command done that is killed on its way, `most` times at most; return the kills."""

    def done(kind, case, most, rng, total):
        kills, processes = [], []
        while len(kills) < most:
            crowd = 2 if kind == "race" else 1
            processes += [begin(kind, case) for _ in range(crowd - len(processes))]
            writes, moment = Writes(case), rng.randrange(total // LIVES[kind])
            while not over(processes) and writes.look() < moment:
                time.sleep(POLL)
            if over(processes):
                break
            for process in rng.sample(processes, rng.randint(1, min(crowd, most - len(kills)))):
                os.killpg(process.pid, signal.SIGKILL)
                process.communicate()
                processes.remove(process)
                kills.append(f"after {writes.count:3} of {total} writes, {writes.last}")
        for process in processes or [begin(kind, case)]:
            ended(process)
        return kills

    return done


@pytest.mark.parametrize("kind", KILLS)
def test_what_is_killed_ends_as_what_was_not(quietly, killed, tmp_path, kind):
    of_sweep = quietly("sweep")
    whole, total = of_sweep if kind in ("sweep", "race") else quietly(kind)
    rng, kills, cases = random.Random(kind), [], 0
    while len(kills) < KILLS[kind]:  # what comes to its end makes room for another one
        cases += 1
        case = tmp_path / f"killed {cases}"
        places = killed(kind, case, KILLS[kind] - len(kills), rng, total)
        assert left(kind, case) == whole
        kills += [f"{kind:5} {cases:2}  {where}" for where in places]
    print("\n", *kills, f"{len(kills)} kills of {cases} cases of {kind}: as without", sep="\n")
