import io
import subprocess
import sys

import pytest
import torch
import yaml

from ablate.tracking.files import write_tensors
from ablate.translate import main


@pytest.fixture
def translate(monkeypatch, capfdbinary, tmp_path):
    """Call the command line; return exit status, standard output, standard error."""

    def call(*arguments, text=b""):
        (tmp_path / "text").write_bytes(text)
        monkeypatch.setattr(sys, "argv", ["translate", *arguments])
        status = 0
        with open(tmp_path / "text") as stdin:
            monkeypatch.setattr(sys, "stdin", stdin)
            try:
                main()
            except SystemExit as leaving:
                status = leaving.code
        out, err = capfdbinary.readouterr()
        return status, out.decode(), err.decode()

    return call


def text_of(lines) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()


def edit(run, change):
    path = run / "config.yaml"
    config = yaml.safe_load(path.read_text())
    change(config)
    path.write_text(yaml.safe_dump(config))


def test_one_translation_a_line_in_order(translate, finished, lines):
    status, out, err = translate(f"checkpoint={finished}", text=text_of(lines))
    assert (status, err) == (0, "")
    assert len(out.splitlines()) == 3
    backwards = translate(f"checkpoint={finished}", "batch=2", text=text_of(lines[::-1]))[1]
    assert backwards.splitlines() == out.splitlines()[::-1]
    assert any(out.splitlines())


def test_blank_lines_stay_blank(translate, finished, lines):
    text = text_of([lines[0], "", "  ", lines[1]])
    out = translate(f"checkpoint={finished}", text=text)[1]
    known = translate(f"checkpoint={finished}", text=text_of(lines[:2]))[1].splitlines()
    assert out == f"{known[0]}\n\n\n{known[1]}\n"
    assert translate(f"checkpoint={finished}", text=b"\n\n") == (0, "\n\n", "")
    assert translate(f"checkpoint={finished}") == (0, "", "")


def test_windows_line_ends_and_a_last_line_without_end_are_read(translate, finished, lines):
    known = translate(f"checkpoint={finished}", text=text_of(lines[:2]))
    text = f"{lines[0]}\r\n{lines[1]}".encode()
    assert translate(f"checkpoint={finished}", text=text) == known


def test_search_settings_can_be_replaced(translate, finished, lines):
    out = translate(f"checkpoint={finished}", "search.max_extra=0", "search.max_ratio=0")
    assert out == (0, "", "")
    arguments = [f"checkpoint={finished}", "search.max_extra=0", "search.max_ratio=0"]
    assert translate(*arguments, text=text_of(lines)) == (0, "\n\n\n", "")


def test_overlong_sentences_are_cut(translate, finished, lines):
    long, longer = lines[0] * 5, lines[0] * 5 + lines[1]
    out = translate(f"checkpoint={finished}", text=text_of([long, longer]))[1].splitlines()
    assert out[0] == out[1]


def test_help_is_printed_without_torch():
    code = (
        "import sys; sys.argv = ['translate', '--help']; from ablate.translate import main; main();"
        "assert 'torch' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "checkpoint=RUN" in done.stdout


def test_the_command_works_in_a_process_of_its_own(finished, lines):
    command = [sys.executable, "-m", "ablate.translate", f"checkpoint={finished}"]
    done = subprocess.run(command, input=text_of(lines), capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.count(b"\n") == 3


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("chekpoint=x", "unknown key chekpoint: did you mean checkpoint?"),
        ("batch=many", "batch: Value 'many'"),
        ("batch=0", "batch is 0: it must be at least 1"),
        ("threads=-1", "threads is -1: it must be at least 1"),
        ("device=abacus", "device is 'abacus', which cannot be used"),
        ("search.sise=3", "unknown key search.sise: did you mean search.size?"),
        ("search.size=0", "search.size is 0: it must be a whole number, at least 1"),
        ("search=beam", "search"),
        ("checkpoint=", "checkpoint: "),
        ("checkpoint=/no/such/run", "checkpoint is '/no/such/run', which is not a folder"),
    ],
)
def test_wrong_arguments_are_one_sentence(translate, finished, argument, message):
    status, out, err = translate(f"checkpoint={finished}", argument)
    assert (status, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


def test_a_checkpoint_is_needed(translate):
    assert "checkpoint has no value" in translate()[2]


def test_text_that_is_not_utf8_names_the_line(translate, finished, lines):
    text = text_of(lines[:1]) + "läuft\n".encode("latin-1")
    status, _, err = translate(f"checkpoint={finished}", "batch=1", text=text)
    assert (status, err) == (2, "ablate.translate: line 2 of standard input is not UTF-8\n")


def drop_weights(run):
    (run / "weights.pt").unlink()
    return "weights.pt does not exist"


def damage_weights(run):
    (run / "weights.pt").write_bytes((run / "weights.pt").read_bytes()[:-200])
    return "weights.pt is damaged"


def pickle_code(run):
    torch.save({"weights": io.StringIO}, run / "weights.pt")
    return "weights.pt is damaged or does not hold weights only"


def save_no_mapping(run):
    torch.save([1, 2], run / "weights.pt")
    return "weights.pt is damaged or does not hold weights only"


def widen_model(run):
    edit(run, lambda config: config["model"].update(d_ff=64))
    return "does not fit the model of its config.yaml: decoder.layers.0.feed_forward."


def rename_weight(run):
    weights = torch.load(run / "weights.pt")
    weights["extra"] = torch.zeros(())
    write_tensors(run / "weights.pt", weights)
    return "extra is a number there and missing in the model"


def drop_config(run):
    (run / "config.yaml").unlink()
    return "holds no config.yaml"


def garble_config(run):
    (run / "config.yaml").write_text("model: [")
    return "config.yaml is not a run's config"


def empty_config(run):
    (run / "config.yaml").write_text("")
    return "config.yaml is not a run's config (KeyError: 'model')"


def misspell_model(run):
    edit(run, lambda config: config["model"].update(d_modle=3))
    return "config.yaml is not a run's config (ConfigKeyError: Key 'd_modle' not in 'Model'"


def misspell_component(run):
    edit(run, lambda config: config["model"]["norm"].update(epsilon=3.0))
    return "config.yaml cannot be built: "


def drop_vocabulary(run):
    (run / "tokenizer" / "joint.json").unlink()
    return "tokenizer does not hold the vocabularies of a run"


def damage_vocabulary(run):
    (run / "tokenizer" / "joint.json").write_text("{")
    return "tokenizer does not hold the vocabularies of a run"


def name_foreign_code(run):
    edit(run, lambda config: config["search"].update(_target_="os.system"))
    return "search._target_ is 'os.system', which is not trusted"


HARMS = (
    drop_weights,
    damage_weights,
    pickle_code,
    save_no_mapping,
    widen_model,
    rename_weight,
    drop_config,
    garble_config,
    empty_config,
    misspell_model,
    misspell_component,
    drop_vocabulary,
    damage_vocabulary,
    name_foreign_code,
)


@pytest.mark.parametrize("harm", HARMS, ids=lambda harm: harm.__name__)
def test_unusable_runs_are_one_sentence(translate, run, seal_again, harm):
    message = harm(run)
    seal_again(run)  # or the seal would be what is named
    status, out, err = translate(f"checkpoint={run}")
    assert (status, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


def fewer_heads(run):
    edit(run, lambda config: config["model"].update(n_heads=1))
    return "config.yaml is damaged or was edited"


def other_piece(run):
    path = run / "tokenizer" / "joint.json"
    path.write_text(path.read_text().replace('"H"', '"h"'))
    return "joint.json is damaged or was edited"


def flip_a_weight(run):
    content = bytearray((run / "weights.pt").read_bytes())
    content[len(content) // 2] ^= 1
    (run / "weights.pt").write_bytes(content)
    return "weights.pt is damaged"


def other_weights(run):
    weights = torch.load(run / "weights.pt")
    write_tensors(run / "weights.pt", {name: value + 1 for name, value in weights.items()})
    return "weights.pt holds the weights of another run"


def edit_record(run):
    text = (run / "result.json").read_text()
    (run / "result.json").write_text(text.replace('"seal": "', '"note": "", "seal": "'))
    return "result.json is damaged or was edited"


def drop_record(run):
    (run / "result.json").unlink()
    return "which holds no result.json"


CHANGES = (fewer_heads, other_piece, flip_a_weight, other_weights, edit_record, drop_record)


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_what_was_changed_since_the_run_ended_is_named_and_not_used(translate, run, change):
    message = change(run)
    status, out, err = translate(f"checkpoint={run}")
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert message in err
