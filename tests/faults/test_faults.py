"""Disks that fail, and names that lead elsewhere."""

import errno
from pathlib import Path

import pytest

from ablate.errors import UserError


@pytest.fixture
def full(monkeypatch):
    """Let the disk be full whenever a file of this name is opened for writing."""

    def no_space(name):
        real = Path.open

        def opened(path, mode="r", *args, **kwargs):
            if name in path.name and mode != "r":
                raise OSError(errno.ENOSPC, "No space left on device")
            return real(path, mode, *args, **kwargs)

        monkeypatch.setattr(Path, "open", opened)

    return no_space


@pytest.mark.parametrize(
    "name",
    [
        "test.stats.npz",
        *(
            pytest.param(name, marks=pytest.mark.slow)
            for name in ("last.ckpt", "metrics.jsonl", "result.json", "weights.pt")
        ),
    ],
)
def test_after_a_full_disk_the_next_call_goes_on(go, full, left, whole, monkeypatch, name):
    best = "checkpoint.tested=best"
    with monkeypatch.context():
        full(name)
        with pytest.raises(OSError):
            go("full", best)
        monkeypatch.undo()
    result = go("full", best)
    assert not result["reused"]
    assert left(result) == left(whole(best))


@pytest.mark.parametrize(
    ("key", "value"),
    [("name", "../elsewhere"), ("name", "/tmp/x"), ("test_splits", "../test"), ("name", "..")],
)
def test_names_do_not_lead_out_of_the_results(go, key, value):
    given = f"[{value}]" if key == "test_splits" else value
    with pytest.raises(UserError, match=f"{key}=.*{value}"):
        go("named", f"{key}={given}")
