"""A run that is done once, for tests that begin with one."""

import shutil
from pathlib import Path

import pytest

# when, where and for how long: what two equal runs do not say alike
VOLATILE = (
    *("seconds", "wall_seconds", "ended"),
    *("reused", "trained", "folder", "evaluation"),
)


@pytest.fixture(scope="session")
def done(small_in, compose, tmp_path_factory):
    """What a run says that nobody disturbs, and its results, which no test changes."""
    from ablate.train.resolve import resolve
    from ablate.train.run import run

    folder = tmp_path_factory.mktemp("done")
    return run(resolve(compose(*small_in(folder)))), folder / "results"


@pytest.fixture
def kept(done, tmp_path):
    """The same as if it had been run in the results of this test."""
    result, results = done
    shutil.copytree(results, tmp_path / "results")
    moved = {
        key: str(tmp_path / "results" / Path(result[key]).relative_to(results))
        for key in ("folder", "evaluation")
    }
    return {**result, **moved}
