"""The table of what every option of today's Transformers costs."""

import json

import pytest

from ablate.train.resolve import resolve
from lab.bench import options
from lab.bench.options import OPTIONS, main


@pytest.mark.parametrize(
    "name",
    [  # laws and tests/package/test_components.py build all options as well
        pytest.param(name, marks=() if number % 6 == 0 else pytest.mark.slow)
        for number, name in enumerate(OPTIONS)
    ],
)
def test_the_words_of_a_row_make_a_run(name, compose):
    assert resolve(compose("scale=nanogpt", "logger=none", *OPTIONS[name])).task.packs


def test_no_two_rows_are_one_run():
    assert len({tuple(words) for words in OPTIONS.values()}) == len(OPTIONS)


FIGURES = {"bpb": 2.5, "seconds": 0.0654, "mib": 163.6, "parameters": 867712}


@pytest.fixture
def measured(monkeypatch, tmp_path):
    """Run the command without training; return the file, and the rows that were measured."""
    asked: list[str] = []

    class Here:
        """Measures nothing, in this process."""

        def __init__(self, *arguments, **more):
            self.result = lambda: FIGURES

        def __enter__(self):
            return self

        def __exit__(self, *error):
            pass

        def submit(self, measure, steps, words):
            asked.append(" ".join(words))
            return self

    def call(*words):
        monkeypatch.setattr("sys.argv", ["options", f"to={tmp_path / 'rows.json'}", *words])
        main()
        return tmp_path / "rows.json", asked

    monkeypatch.setattr(options, "ProcessPoolExecutor", Here)
    return call


def test_rows_that_are_there_are_not_measured_again(measured, capsys):
    path, asked = measured("what=[baseline,SwiGLU]")
    assert asked == ["", "model/feed_forward=swiglu"]
    measured("what=[baseline,SwiGLU,ALiBi]")
    assert asked[2:] == ["model/position=alibi"]
    measured("what=baseline", "steps=300")
    assert asked[3:] == [""]
    assert json.loads(path.read_text())["baseline"]["steps"] == 300
    last = capsys.readouterr().out.splitlines()[-1]
    assert last == "| ALiBi | `model/position=alibi` | 2.500 | 65 | 164 | 867,712 |"


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["what=[gelu]"], "what=gelu"),
        (["steps=10"], "steps=10"),
        (["steps=many"], "steps=many"),
        (["model.d_model=64"], "model.d_model=64"),
    ],
)
def test_wrong_words_end_it_with_status_2(measured, words, named, capsys):
    with pytest.raises(SystemExit) as ended:
        measured(*words)
    assert ended.value.code == 2 and named in capsys.readouterr().err


@pytest.mark.parametrize("text", ["no rows", "[]", '{"baseline": {"bpb": 2}}', '{"baseline": 3}'])
def test_another_file_is_refused(measured, text, tmp_path, capsys):
    (tmp_path / "rows.json").write_text(text)
    with pytest.raises(SystemExit):
        measured("what=baseline")
    assert "rows.json" in capsys.readouterr().err
    assert (tmp_path / "rows.json").read_text() == text


def test_the_clock_leaves_the_warm_up_out():
    clock = options.Clock()
    clock.times = [float(i * i) for i in range(options.WARM_UP)] + [1000.0, 1001.0, 1004.0, 1005.0]
    assert clock.median() == 1.0
