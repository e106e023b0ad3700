"""Every wrong key or value ends before work: by a check of ablate, or by the error of a library."""

import hydra
import pytest

from ablate.cli.process import exit_statuses
from ablate.config.check import check, check_groups
from ablate.config.location import CONF
from ablate.errors import CallbackError, UserError


@pytest.mark.parametrize(
    ("override", "named"),
    [
        ("+model.d_modle=3", "did you mean d_model?"),
        ("+optimizer.momentum=3", "optimizer.momentum"),
        ("logger=tensorboard +logger.tensorboard.log_dirr=x", "logger.tensorboard.log_dirr"),
        ("~data", "data"),
        ("~optimizer.lr", "optimizer.lr"),
        ("model.dropout=null", "model.dropout=null"),
        ("model.d_model=wide", "model.d_model=wide"),
        ("model.attention.scale=3", "model.attention.scale=3"),
        ("checkpoint.tested=first", "checkpoint.tested=first"),
        ("search.size=null", "search.size=null"),
        ("optimizer.betas=[0.9,1]", "optimizer.betas"),
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


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("seeed=3", "did you mean seed?"),
        ("model.d_modle=3", "did you mean d_model?"),
        ("residual=pre_ln", "did you mean model/residual?"),
        ("evaluate checkpoint=x data=multi3k", "did you mean multi30k?"),
        ("plan +experiment=preln_vs_postln study.claims.0.margn=3", "did you mean margin?"),
        ("seed=${nowhere}", "nowhere"),
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
    monkeypatch.setattr("ablate.cli.process.WITH_TRACEBACK", True)
    with pytest.raises(hydra.errors.HydraException):
        end(hydra.errors.HydraException("x"))


@pytest.mark.parametrize(
    ("word", "named"),
    [
        ("initial._target_=ablate.initial.stored.Checkpoint", "folder"),
        ("hydra/sweeper=basic", "hydra/sweeper=basic"),
        ("hydra/launcher=basic", "hydra/launcher=basic"),
        ("+experiment=preln_vs_postln,heads_param_count", "+experiment=preln"),
    ],
)
def test_a_refusal_before_the_first_run_names_the_override(command, small, word, named):
    status, _, error = command(*small, word, "-m")
    assert status == 2 and named in error.splitlines()[-1], error
