"""Every wrong key or value ends before work: by a check of ablate, or by the error of a library."""

import hydra
import pytest

from ablate.cli.statuses import exit_statuses
from ablate.config.check import check, check_groups
from ablate.config.location import CONF
from ablate.errors import CallbackError, UserError


@pytest.mark.parametrize(
    ("override", "named"),
    [
        ("+model.d_modle=3", "did you mean d_model?"),
        ("+trainer.max_step=3", "did you mean max_steps?"),
        ("+optimizer.momentum=3", "optimizer.momentum"),
        ("logger=tensorboard +logger.tensorboard.log_dirr=x", "logger.tensorboard.log_dirr"),
        ("~data", "data"),
        ("~optimizer.lr", "optimizer.lr"),
        ("model.position=learned", "model.position=learned"),
        ("model.dropout=null", "model.dropout=null"),
        ("model.d_model=wide", "model.d_model=wide"),
        ("model.attention.scale=3", "model.attention.scale=3"),
        ("batch.max_length=1", "batch.max_length=1"),
        ("batch.test_padding=-1", "batch.test_padding=-1"),
        ("checkpoint.tested=first", "checkpoint.tested=first"),
        ("search.size=null", "search.size=null"),
        ("optimizer.betas=0.9", "optimizer.betas=0.9"),
        ("optimizer.betas=[0.9,1]", "optimizer.betas"),
        ("optimizer.lr=[1]", "optimizer.lr=[1]"),
        ("optimizer._target_=torch.optim.Adum", "torch.optim.Adum"),
    ],
)
def test_a_value_that_hydra_accepts_is_refused_by_its_key(compose, override, named):
    with pytest.raises(UserError) as refused:
        check(compose(*override.split()))
    assert named in str(refused.value)


@pytest.mark.parametrize("key", ["seed", "model"])
def test_a_removed_key_is_named(key):
    with hydra.initialize_config_dir(str(CONF), version_base="1.3"):
        config = hydra.compose("config", [f"~{key}"])
    with pytest.raises(UserError, match=f"{key} has no value"):
        check_groups(config)


@pytest.mark.parametrize("override", ["model.dropout.rate=0", "patience=null"])
def test_a_right_value_is_accepted(compose, override):
    check(compose(override))


def test_a_module_that_fails_without_a_message_is_named(compose, tmp_path, monkeypatch):
    (tmp_path / "fails_at_once.py").write_text("assert False")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(UserError, match=r"fails_at_once\.Loss .*: AssertionError"):
        check(compose("loss._target_=fails_at_once.Loss"))


def test_a_value_is_named_before_those_that_are_looked_up_from_it(compose):
    for override in ("model.n_layers=x", "model.dropout.rate=[]", "budget.steps=0"):
        with pytest.raises(UserError, match=override.partition("=")[0]):
            check(compose("model=small", override))


@pytest.mark.parametrize("text", ["a\nb", "\u202eabc", "\udcff"])
def test_an_error_is_one_line_of_what_a_terminal_shows(text):
    line = str(UserError(f"name={text}: no"))
    assert line.isprintable() and line.endswith(": no")
    assert str(UserError("\u65e5\u672c \U0001f642 e\u0301")) == "\u65e5\u672c \U0001f642 e\u0301"


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("seeed=3", "did you mean seed?"),
        ("model.d_modle=3", "did you mean d_model?"),
        ("model/postion=learned", "did you mean model/position?"),
        ("residual=pre_ln", "did you mean model/residual?"),
        ("logger=[csv,tensorbord]", "did you mean tensorboard?"),
        ("experiment=preln_vs_postln", "+experiment=preln_vs_postln"),
        ("evaluate checkpoint=x data=multi3k", "did you mean multi30k?"),
        ("plan +experiment=preln_vs_postln study.claims.0.margn=3", "did you mean margin?"),
        ("seed=${nowhere}", "nowhere"),
        ("+budget.steps.x=3", "budget.steps.x"),
        ("tokenizer='${'", "tokenizer"),
        ("--cfg job -m", "--multirun"),
    ],
)
def test_the_error_of_a_library_has_its_words_and_no_traceback(command, small, line, named):
    words = line.replace("'", "").split()
    paths = [word for word in small if word.startswith("paths.") and "=" in words[0]]
    status, _, error = command(*words, *paths)
    assert status == 2 and named in error and "Traceback" not in error, error
    assert "HYDRA_FULL_ERROR=1" in error


@pytest.mark.parametrize("wrap", [lambda error: error, CallbackError])
def test_a_traceback_is_shown_where_it_is_asked_for_or_a_library_is_not_to_blame(monkeypatch, wrap):
    def end(error):
        with exit_statuses("ablate"):
            raise wrap(error)

    with pytest.raises(SystemExit):
        end(hydra.errors.HydraException("x"))
    with pytest.raises(ZeroDivisionError):
        end(ZeroDivisionError("x"))
    monkeypatch.setattr("ablate.cli.statuses.WITH_TRACEBACK", True)
    with pytest.raises(hydra.errors.HydraException):
        end(hydra.errors.HydraException("x"))


@pytest.mark.parametrize("key", ["study", "budget"])
def test_a_look_up_of_a_single_value_replaces_no_group_of_keys(command, small, key):
    status, _, error = command(*small, f"{key}='${{seed}}'", "-m")
    assert status == 2 and key in error and "Traceback" not in error


@pytest.mark.parametrize(
    ("word", "named"),
    [
        ("initial._target_=ablate.initial.stored.Checkpoint", "folder"),
        ("tokenizer._target_=ablate.nowhere.Missing", "tokenizer._target_"),
        ("model.dropout={}", "model.dropout={}"),
        ("hydra/sweeper=basic", "hydra/sweeper=basic"),
        ("hydra/launcher=basic", "hydra/launcher=basic"),
        ("+experiment=preln_vs_postln,heads_param_count", "+experiment=preln"),
    ],
)
def test_a_refusal_before_the_first_run_names_the_override(command, small, word, named):
    status, _, error = command(*small, word, "-m")
    assert status == 2 and named in error.splitlines()[-1], error


def test_a_command_with_several_values_asks_for_a_sweep_in_one_line(command, small):
    status, _, error = command(*small, "seed=0,1")
    assert (status, error.count("\n")) == (2, 1)
    assert "add -m" in error
