"""The values that were tried to tune a run, after its sweep was pooled with an earlier sweep."""

from ablate.evidence.folder import Evidence
from ablate.evidence.history import pooled
from ablate.evidence.tuned import tried

TUNE = {"key": "optimizer.lr", "values": [0.1, 0.2], "seeds": [100]}


def run(seed, value, cell=0):
    tuned = {"key": "optimizer.lr", "value": value}
    return {"cell": cell, "seed": seed, "arm": "a", "levels": {}, "status": "finished"} | {
        "tuned": tuned
    }


def sweep(runs, screening):
    return Evidence("name", {"tune": TUNE}, {}, {}, runs, screening)


def test_each_run_keeps_the_values_of_its_sweep():
    wide = [run(100, value) for value in (0.1, 0.2, 0.4)]
    narrow = [run(100, value) for value in (0.1, 0.2)]
    earlier, current = sweep([run(1, 0.2)], wide), sweep([run(2, 0.2)], narrow)
    assert tried(current) == {0: [0.1, 0.2]}
    both = pooled(current, 0, [(0, earlier)])
    by_seed = {run["seed"]: tried(both)[run["cell"]] for run in both.runs}
    assert by_seed == {1: [0.1, 0.2, 0.4], 2: [0.1, 0.2]}
