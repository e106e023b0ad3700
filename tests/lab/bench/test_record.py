import pytest

from ablate.errors import UserError

KEYS = {"what", "ours", "other", "unit", "ratio", "ratio_min", "ratio_max", "machine", "settings"}


def test_a_ratio_is_not_that_of_the_medians():
    from lab.bench.record import row

    entry = row("speed", [10, 40, 90], [10, 10, 100], "tokens/s", "")
    assert entry["ratio"] == pytest.approx(1)
    assert entry["ours"] / entry["other"] == pytest.approx(4)


def test_a_partial_run_replaces_its_rows_and_keeps_the_others(tmp_path):
    from lab.bench.record import keep, read, row

    path = tmp_path / "results.json"
    keep([row(what, [1], [1], "s", "") for what in ("a", "b", "c")], path)
    keep([row(what, [5], [1], "s", "") for what in ("b", "d")], path)
    assert [(entry["what"], entry["ours"]) for entry in read(path)] == [
        ("a", 1),
        ("b", 5),
        ("c", 1),
        ("d", 5),
    ]


def test_what_was_measured_elsewhere_stays_and_is_marked(tmp_path):
    from lab.bench.record import keep, machine, read, row
    from lab.bench.table import table

    path = tmp_path / "results.json"
    here = row("speed", [2], [1], "s", "")
    keep([{**row("speed", [7], [1], "s", ""), "machine": "Another, AMX"}], path)
    keep([here], path)
    keep([here], path)
    assert [entry["ours"] for entry in read(path)] == [7, 2]
    assert table(read(path)).splitlines()[-2:] == [
        "A: Another, AMX (recorded there)",
        f"B: {machine()}",
    ]


def test_the_committed_results_are_rows():
    from lab.bench.record import read

    rows = read()
    assert len({(entry["what"], entry["machine"]) for entry in rows}) == len(rows)
    assert not [entry["what"] for entry in rows if "recorded once" in entry["settings"]]
    for entry in rows:
        assert KEYS - {"settings"} <= set(entry)  # the first rows had no settings
        assert entry["ratio_min"] <= entry["ratio"] <= entry["ratio_max"]


@pytest.mark.parametrize("text", ["{", "[1]"])
def test_a_file_that_is_no_list_of_results_is_named(tmp_path, text):
    from lab.bench.record import read

    path = tmp_path / "results.json"
    path.write_text(text)
    with pytest.raises(UserError, match=r"results\.json is not a list of results"):
        read(path)


def test_the_table_has_every_row_and_explains_each_machine_once():
    from lab.bench.record import row
    from lab.bench.table import table

    rows = [row("fast", [12345], [5000], "tokens/s", "fp32"), row("slow", [0.01], [0.03], "s", "")]
    lines = table(rows).splitlines()
    assert lines[2].startswith("| fast | 12,345 | 5,000 | tokens/s | 2.47 (2.47 to 2.47) | fp32 |")
    assert "| 0.01 | 0.03 |" in lines[3]
    assert lines[-1] == f"A: {rows[0]['machine']}"
    assert len(lines) == 6
