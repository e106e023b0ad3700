"""Every wrong key or value ends before work, with the key: by a check, or by a library's error."""

from bdb import BdbQuit

import hydra
import pytest
from omegaconf import OmegaConf

from ablate.cli.parser import exit_statuses
from ablate.config.check import check
from ablate.config.construct import construct
from ablate.errors import UserError
from ablate.train.resolve import resolve


@pytest.mark.parametrize(
    ("overrides", "named"),
    [
        # keys, and nodes of another kind
        ("+model.d_modle=3", "d_modle"),
        ("logger=tensorboard +logger.tensorboard.log_dirr=x", "logger.tensorboard.log_dirr"),
        ("+loss._partial_=true", "loss._partial_=True"),
        ("optimizer._target_=torch.optim.Adum", "torch.optim.Adum"),
        ("search._target_=ablate.loss.KL", "search._target_=ablate.loss.KL"),
        ("model.decoder._target_=torch.nn.Linear", "model.decoder._target_=torch.nn.Linear"),
        # values
        ("model.dropout=null", "model.dropout=null"),
        ("model.d_model=wide", "model.d_model=wide"),
        ("tokenizer.vocab_size=1048577", "tokenizer.vocab_size=1048577"),
        ("optimizer.lr=nan", "optimizer.lr=nan"),
        ("paths.results='~/runs'", "paths.results=~/runs"),
        ("seed=-1", "seed=-1"),
        ("data.n_train=1000000000000", "data.n_train"),
        # of a study
        ("+experiment=preln_vs_postln study.claims.0.kind=equality", "kind=equality"),
        ("+experiment=preln_vs_postln study.claims.0.alpha=0.5", "alpha=0.5"),
        ("+experiment=preln_vs_postln study.tune.metric=test/bleu", "study.tune.metric=test/bleu"),
        ("+experiment=preln_vs_postln study.tune.values=[1,1]", "study.tune.values"),
        # parts that do not fit together
        ("task=language_model", "Seq2Seq"),
        ("task=masked_language_model model=encoder_only loss=padding_counted", "loss"),
        ("data=shakespeare", "data"),
        # of the trainer, which Lightning would refuse later or ignore
        ("trainer.num_nodes=2", "NODE_RANK"),
        ("trainer.precision=banana", "trainer.precision"),
        ("++trainer.limit_train_batches=0", "trainer.limit_train_batches"),
        ("++trainer.gradient_clip_val=-1", "trainer.gradient_clip_val=-1"),
        ("++trainer.max_time={hours: 0}", "trainer.max_time"),
        ("optimizer.betas=[0.9,0.98,0.99]", "optimizer.betas"),
        ("optimizer.eps=-1", "optimizer.eps=-1"),
        ("++trainer.max_steps=5", "set budget.steps=5"),
        ("++trainer.limit_predict_batches=1", "data.n_test"),
        ("++trainer.gradient_clip_algorithm=value", "gradient_clip_val"),
        ("trainer.strategy=ddp_spawn trainer.devices=2", "trainer.strategy=ddp"),
    ],
)
def test_what_hydra_accepts_is_refused_by_its_key(compose, overrides, named):
    with pytest.raises(UserError) as refused:
        resolve(compose(*overrides.replace(": ", ":").split()))
    assert named in str(refused.value) and "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "overrides",
    [
        *("optimizer.lr=0", f"seed={2**63 - 1}", "trainer.devices=auto"),
        "++trainer.max_time={hours:0,seconds:9}",
        "++trainer.gradient_clip_val=1.0 ++trainer.gradient_clip_algorithm=value",
    ],
)
def test_a_value_at_its_limit_is_accepted(compose, overrides):
    assert check(compose(*overrides.split())) is None


def test_only_the_runs_that_tune_a_nuisance_may_test_nothing(compose):
    assert check(compose("+experiment=preln_vs_postln", "test_splits=[]")) is None
    with pytest.raises(UserError, match="test_splits"):
        check(compose("+experiment=preln_vs_postln", "test_splits=[]", "study.tune=null"))


def leave_debugger():
    raise BdbQuit


def test_leaving_the_debugger_in_a_constructor_is_no_error_of_the_component():
    config = OmegaConf.create({"_target_": f"{__name__}.leave_debugger"})
    with pytest.raises(BdbQuit):
        construct(config)


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("model.d_modle=3", "d_model"),
        ("residual=pre_ln", "model/residual"),
        ("plan +experiment=preln_vs_postln study.claims.0.margn=3", "margin"),
        ("seed=${nowhere}", "nowhere"),
    ],
)
def test_the_error_of_a_library_has_its_words_and_no_traceback(command, small, line, named):
    words = line.split()
    paths = [word for word in small if word.startswith("paths.") and "=" in words[0]]
    status, _, error = command(*words, *paths)
    assert status == 2 and named in error and "Traceback" not in error, error
    assert "HYDRA_FULL_ERROR=1" in error


def test_a_traceback_is_shown_where_it_is_asked_for_or_a_library_is_not_to_blame(monkeypatch):
    def end(error):
        with exit_statuses("ablate"):
            raise error

    with pytest.raises(SystemExit):
        end(hydra.errors.HydraException("x"))
    with pytest.raises(ZeroDivisionError):
        end(ZeroDivisionError("x"))
    monkeypatch.setattr("ablate.cli.parser.WITH_TRACEBACK", True)
    with pytest.raises(hydra.errors.HydraException):
        end(hydra.errors.HydraException("x"))


@pytest.mark.parametrize(
    ("word", "named"),
    [
        ("hydra/sweeper=basic", "hydra/sweeper=basic"),
        ("hydra/launcher=basic", "hydra/launcher=basic"),
        ("+experiment=preln_vs_postln,heads_param_count", "+experiment=preln"),
    ],
)
def test_a_refusal_before_the_first_run_names_the_override(command, small, word, named):
    status, _, error = command(*small, word, "-m")
    assert status == 2 and named in error.splitlines()[-1], error
