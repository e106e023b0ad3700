"""Logs of programs that were started several times, wrote several files, or were killed."""

import pytest

from ablate.evidence.foreign import source


@pytest.mark.parametrize("order", [1, -1])  # the names of the files may have any order
def test_a_program_that_was_started_again_replaces_its_later_steps(write_events, tmp_path, order):
    first = [("val/loss", step, 10 - step) for step in range(10)]
    second = [("val/loss", step, 20 - step) for step in range(4, 7)]
    for began, points in [(100, first), (900, second)][::order]:
        write_events(tmp_path / "a", began, points)
    table = source.read(tmp_path, ["_step"])
    assert table.numbers("val/loss", "metric").tolist() == [10, 9, 8, 7, 16, 15, 14]
    table = source.read(tmp_path)
    assert table.numbers("val/loss", "metric").tolist() == [14]
    assert table.numbers("_started", "started").tolist() == [100]
    assert len(table.notes) == 1 and table.notes[0].startswith("1 of 1 runs were started again")


def test_two_writers_of_one_program_replace_nothing(write_events, tmp_path):
    write_events(tmp_path / "a", 100, [("loss", s, 10 - s) for s in range(10)])
    write_events(tmp_path / "a", 100, [("loss", s, 20 - s) for s in range(4, 7)])
    write_events(tmp_path / "a", 300, [("test/loss", 0, 5)])
    table = source.read(tmp_path)
    assert [table.numbers(n, "metric").tolist() for n in ("loss", "test/loss")] == [[1], [5]]
    assert not table.notes


def test_folders_within_a_run_are_runs_if_they_have_the_metric(write_events, tmp_path):
    for seed in range(2):
        write_events(tmp_path / f"s{seed}", 100, [("loss", 0, 1.0), ("x", 0, 1.0)])
        write_events(tmp_path / f"s{seed}" / "1700.5", 100, [("hparam/acc", 0, 1.0)])
    write_events(tmp_path / "s0" / "val", 100, [("loss", 0, 2.0)])
    write_events(tmp_path / "crashed", 100, [("x", 0, 1.0)])
    table = source.read(tmp_path, ["loss", "folder_1"])
    assert sorted(table.column("run", "run").labels()[1]) == ["crashed", "s0", "s0/val", "s1"]
    assert table.notes[0].endswith("have no value of loss: 2.")


def test_links_to_folders_are_followed_once(write_events, tmp_path):
    write_events(tmp_path / "real" / "s1", 100, [("loss", 0, 1.0)])
    write_events(tmp_path / "logs" / "s0", 100, [("loss", 0, 2.0)])
    for name in ("s1", "again"):
        (tmp_path / "logs" / name).symlink_to(tmp_path / "real" / "s1")
    (tmp_path / "logs" / "circle").symlink_to(tmp_path / "logs")
    (tmp_path / "logs" / "latest").symlink_to(tmp_path / "logs" / "s0")
    table = source.read(tmp_path / "logs")
    assert table.numbers("loss", "metric").tolist() == [1, 2]
    assert table.column("run", "run").labels()[1] == ["again", "s0"]
