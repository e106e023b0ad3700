"""Every wrong key or value ends before work, in one sentence that says what is allowed."""

import hydra
import pytest

from ablate.config.check import check, check_groups
from ablate.config.construct import building
from ablate.config.explain import explain
from ablate.config.location import CONF
from ablate.errors import UserError
from ablate.model.build import build


def complaint(*overrides, folder=None):
    """What the user is told."""
    search = [f"hydra.searchpath=[file://{folder}]"] if folder else []
    with hydra.initialize_config_dir(str(CONF), version_base="1.3"):
        try:
            check(hydra.compose("config", [*overrides, *search]))
        except UserError as error:
            return str(error)
        except Exception as error:
            return explain(error, overrides)
    return ""


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("seeed=3", ["seeed", "did you mean seed?"]),
        ("logger=null", ["logger=null: ", "a string; set logger=none"]),
        ("data=null", ["data=null: ", "`ablate options` lists"]),
        ("modle.d_model=3", ["modle", "did you mean model"]),
        ("model.d_modle=3", ["model.d_modle", "did you mean model.d_model?"]),
        ("model.dropout.residul=0.1", ["model.dropout.residul", "model.dropout.residual?"]),
        ("budget.step=3", ["budget.step", "did you mean budget.steps?"]),
        ("+model.d_modle=3", ["model.d_modle", "did you mean model.d_model?"]),
        ("++batch.tokns=3", ["batch.tokns", "did you mean batch.tokens?"]),
        ("+experimnt=preln_vs_postln", ["experimnt", "did you mean experiment?"]),
        ("+experiment=preln_vs_postl", ["preln_vs_postl", "did you mean preln_vs_postln?"]),
        ("model/postion=learned", ["model/postion", "did you mean model/position?"]),
        ("model/position=learnt", ["learnt", "did you mean learned?", "sinusoidal"]),
        ("model=tinny", ["model=tinny", "did you mean tiny?", "micro"]),
        ("+model.position.max_len=3", ["model.position.max_len"]),
        ("+optimizer.momentum=3", ["optimizer.momentum", "betas"]),
        ("+trainer.max_step=3", ["trainer.max_step", "did you mean trainer.max_steps?"]),
        ("~data", ["data", "no value"]),
        ("seed=0,", ["seed=0, has a comma without a value"]),
        ("seed=0,,1", ["seed=0,,1 has a comma without a value"]),
        ("lr=0.1", ["unknown key lr: did you mean optimizer.lr?"]),
        ("batch_size=32", ["batch_size: did you mean batch.tokens?"]),
        ("beam=4", ["unknown key beam: did you mean search=beam?"]),
        ("norm=rms_norm", ["unknown key norm: did you mean model/norm?"]),
        ("experiment=preln_vs_postln", ["needs a plus, +experiment="]),
        ("+measure=heads", ["+measure=heads: measure has an option", "the plus: measure=heads"]),
        ("+model/norm@model.encoder.norm=none", ["plus: model/norm@model.encoder.norm=none"]),
        ("model.position=learned", ["model.position=learned", "model/position=learned"]),
        ("model.cross.attention=fused", ["model/attention@model.cross.attention=fused"]),
        ("model.dropout=0.1", ["model.dropout=0.1", "model.dropout.rate=0.1"]),
        ("+budget.steps.x=3", ["budget.steps"]),
        ("seed=many", ["seed=many: it must be a whole number"]),
        ("batch.bucket=maybe", ["batch.bucket=maybe: it must be true or false"]),
        ("model.d_model=wide", ["model.d_model=wide", "a whole number"]),
        ("batch.too_long=drop", ["batch.too_long=drop", "skip or truncate"]),
        ("batch.max_length=1", ["batch.max_length=1", "at least 2"]),
        ("batch.tokens=0", ["batch.tokens=0", "at least 2"]),
        ("batch.eval_tokens=-1", ["batch.eval_tokens=-1", "at least 2"]),
        ("batch.test_padding=-1", ["batch.test_padding=-1", "at least 0"]),
        ("checkpoint.tested=first", ["checkpoint.tested=first", "last or best or average"]),
        ("data.n_train=2e4", ["data.n_train=20000.0", "a whole number"]),
        ("model.attention.scale=3", ["model.attention.scale=3", "text"]),
        ("search.size=null", ["search.size=null", "a whole number"]),
        ("budget.steps=0", ["budget.steps=0", "at least 1"]),
        ("budget.test_sentences=0", ["budget.test_sentences=0", "at least 1"]),
        ("optimizer._target_=torch.optim.Adum", ["torch.optim.Adum", "cannot be loaded"]),
        ("budget.warmup=${nowhere}", ["nowhere"]),
        ("model.dropout=nan", ["model.dropout=nan", "a finite number"]),
        ("name=日本", ["name=日本", "quotes"]),
        ("probe.draws=3", ["probe.draws=3", "probe is null"]),
        ("data=null", ["data=null", "a string"]),
        ("trust=3", ["trust=3: ", "list"]),
        ("~budget.steps", ["leave out ~budget.steps, or set budget.steps=VALUE"]),
        ("~nowhere", ["nothing of this name", "leave out ~nowhere"]),
        ("~hydra", ["nothing of this name", "leave out ~hydra"]),
        ("~trainer.max_steps", ["trainer.max_steps has no value", "leave out ~trainer.max_steps"]),
        ("~optimizer.lr", ["optimizer.lr has no value", "leave out ~optimizer.lr"]),
        ("data={a:b}", ["unknown key data.a: allowed here is max_words"]),
        ("seed", ["seed cannot be read: an override is key=value"]),
        ("adapt.maps=[1]", ["unknown key adapt.maps"]),
        ("test_splits.7=3", ["test_splits.7=3: ", "a list with one item, test_splits.0"]),
        ("test_splits.x=3", ["a list with one item, test_splits.0", "test_splits=[...]"]),
        ("+test_splits.1=test", ["a list with one item, test_splits.0", "test_splits=[...]"]),
        ("~test_splits.0", ["a list keeps its items; set test_splits=[...]"]),
        ("optimizer.betas.x=1", ["a list with 2 items, optimizer.betas.0 to optimizer.betas.1"]),
        ("trust.0=x", ["trust is an empty list, so it has no item 0; set trust=[...]"]),
        ("test_splits={a:1}", ["test_splits={a:1}: it must be a list"]),
        ("test_splits=[null]", ["test_splits.0 must be text"]),
        ("without=[x]", ["without.0 must be keys with their values"]),
        ("seed.x=3", ["seed is a single value, so it has no keys; set seed=VALUE"]),
        ("patience.x=3", ["patience is null in this config, so it has no keys"]),
        ("study.claims.0.margin=3", ["study is null in this config, so it has no keys"]),
        ("optimizer.betas=0.9", ["optimizer.betas=0.9: it must be a list"]),
        ("optimizer.betas=[a,b]", ["optimizer.betas=['a', 'b']: each item must be a number"]),
        ("optimizer.betas=[0.9,1]", ["have 2 items, each at least 0 and below 1"]),
        ("optimizer.lr=[1]", ["optimizer.lr=[1]: it must be a number"]),
        ("+seed=3", ["+seed=3: seed has a value already; leave out the plus: seed=3"]),
        ("+scale=gpu", ["scale has an option already; leave out the plus: scale=gpu"]),
        ("++model=tiny", ["++model=tiny: ", "two pluses; give model=tiny"]),
        ("++experiment=aan", ["two pluses; give +experiment=aan"]),
        ("nowhere@x=3", ["unknown key nowhere: allowed here is adapt, "]),
        ("+model/norm@nowhere=none", ["+model/norm@nowhere=none: unknown key nowhere"]),
        ("data/nowhere=x", ["unknown key data/nowhere: data has no groups of options"]),
        (
            "validation_search=nowhere",
            ["search@validation_search=nowhere does not exist", "greedy"],
        ),
        ("~trainer.precision", ["trainer.precision has no value", "leave out ~trainer.precision"]),
        ("~model.dropout.rate", ["model.dropout.residual: it refers to the key rate, which does"]),
        ("seed=${nowhere}", ["seed: it refers to the key nowhere, which does not"]),
        ("seed=${name}", ["it must be a whole number, but ${name} is run"]),
        ("seed=${patience}", ["it must be a whole number, but ${patience} is null"]),
        ("seed=${seed}", ["seed: the value refers to itself"]),
        ("seed=${oc.env:NOWHERE}", ["the environment variable NOWHERE is not set"]),
        ("seed=${nowhere:3}", ["there is no interpolation ${nowhere:...}"]),
        ("budget=${seed}", ["budget is now a single value"]),
        ("model.norm=${model}", ["model.norm: it refers to a group of keys"]),
        ("model=${nowhere}", ["model=${nowhere}: ${nowhere} is no option of another group"]),
        ("~trainer", ["trainer={", "choose an option", "set trainer._target_"]),
    ],
)
def test_what_the_user_is_told(override, words):
    message = complaint(override)
    assert all(word in message for word in words), message
    assert "\n" not in message
    assert "append" not in message  # Hydra's own advice is wrong here


@pytest.mark.parametrize(
    ("overrides", "chosen", "part"),
    [
        (("model=rnn", "model/position=rotary"), "model=rnn", "model/position"),
        (("scale=language", "model=rnn"), "model=rnn", "model/position"),
        (("model=rnn", "model/residual=pre_ln"), "model=rnn", "model/residual"),
    ],
)
def test_a_model_without_a_part_that_is_chosen_is_named(overrides, chosen, part):
    assert complaint(*overrides).startswith(f"{chosen} has no {part}, but the command, the ")


@pytest.mark.parametrize("key", ["seed", "name", "budget", "model"])
def test_a_removed_key_is_named(key):
    with hydra.initialize_config_dir(str(CONF), version_base="1.3"):
        config = hydra.compose("config", [f"~{key}"])
    with pytest.raises(UserError, match=f"{key} has no value, .* leave out ~{key}"):
        check_groups(config)


def test_a_missing_component_is_chosen_with_a_slash():
    with (
        hydra.initialize_config_dir(str(CONF), version_base="1.3"),
        pytest.raises(UserError, match="model.norm has no value; set model/norm=OPTION"),
        building("model", None),
    ):
        raise TypeError("__init__() missing 1 required keyword-only argument: 'norm'")


def test_a_missing_argument_of_a_part_is_named_with_its_key(compose):
    config = compose("~model.position.spacing", "model/position=sinusoidal")
    with pytest.raises(UserError, match=r"^model\.position\.spacing has no value; set model.pos"):
        build(config.model, src_vocab=9, tgt_vocab=9, joint_vocab=True)


def test_a_misspelt_key_in_an_experiment_file(tmp_path):
    (tmp_path / "experiment").mkdir()
    text = "# @package _global_\nstudy:\n  factors: [seed]\n  claims: []\n  seads: 3\n"
    (tmp_path / "experiment" / "mine.yaml").write_text(text)
    message = complaint("+experiment=mine", folder=tmp_path)
    assert "study.seads" in message
    assert "did you mean study.seeds?" in message


def test_a_module_that_fails_without_a_message_is_named(tmp_path, monkeypatch):
    (tmp_path / "fails_at_once.py").write_text("assert False")
    monkeypatch.syspath_prepend(tmp_path)
    message = complaint("loss._target_=fails_at_once.Loss")
    assert message == "loss._target_=fails_at_once.Loss cannot be loaded: AssertionError"


def test_a_name_that_a_module_lacks_is_named(tmp_path, monkeypatch):
    (tmp_path / "my_losses.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    message = complaint("loss._target_=my_losses.bad")
    assert message.endswith("cannot be loaded: the module my_losses has no bad")


def test_a_key_that_the_command_removes_cannot_be_set():
    message = complaint("~paths", "paths.results=X")
    assert message == "paths.results cannot be set, because ~paths removes it; leave out ~paths"


@pytest.mark.parametrize("key", ["9.margin", "x.margin", "margin", "4"])
def test_an_item_that_the_claims_lack_is_named(key):
    message = complaint("+experiment=preln_vs_postln", f"study.claims.{key}=3")
    assert message.startswith(f"study.claims.{key}=3: study.claims is a list with 4 items, ")
    assert "study.claims.0 to study.claims.3" in message


@pytest.mark.parametrize(
    "words",
    [
        ["~optimizer", "optimizer.lr=3"],
        ["~optimizer.lr", "optimizer.lr=3"],
        ["~budget", "budget.steps=3"],
        ["~seed", "seed=3"],
    ],
)
def test_an_override_that_removes_the_key_of_another_is_named(words):
    removed, given = words
    key = given.partition("=")[0]
    assert complaint(*words).startswith(f"{key} cannot be set, because {removed} removes it")


def test_the_arms_and_seeds_of_a_sweep_are_text():
    message = complaint("+experiment=preln_vs_postln", "hydra.sweeper.params.seed=null")
    assert message == "hydra.sweeper.params.seed=null: it must be text"


def test_options_that_are_chosen_twice_are_all_named():
    words = ["+experiment=preln_vs_postln", "+experiment=sinusoidal_vs_learned"]
    assert complaint(*words).startswith(f"{' and '.join(words)} set one key twice")


def test_an_item_of_a_list_has_the_type_of_the_items():
    message = complaint("adapt=lora", "adapt.maps=[1]")
    assert message == "adapt.maps=[1]: each item must be text"


def test_what_kwargs_would_swallow_is_refused():
    message = complaint("logger=tensorboard", "+logger.tensorboard.log_dirr=x")
    assert "logger.tensorboard.log_dirr" in message
    assert "save_dir" in message
    message = complaint("logger=tensorboard", "+logger.log_dirr=x")
    assert "logger.log_dirr" in message
    assert "tensorboard" in message


@pytest.mark.parametrize("word", ["model.dropout.rate=0", "model.dropout.residual=0"])
def test_a_number_is_no_level_given_by_mistake(word):
    assert complaint(word) == ""


@pytest.mark.parametrize("key", ["model.dropout", "model.position", "model.attention", "schedule"])
def test_a_part_that_every_run_needs_cannot_be_null(key):
    assert complaint(f"{key}=null").startswith(f"{key}")


@pytest.mark.parametrize(
    ("words", "option"),
    [
        (["metric=[bleu]"], "metric=bleu"),
        (["logger=[csv,tensorbord]"], "logger=tensorbord"),
        (["callbacks=[lr_monitr]"], "callbacks=lr_monitr"),
    ],
)
def test_an_unknown_option_in_a_list_is_named_as_an_option(words, option):
    assert complaint(*words).startswith(f"{option} does not exist")


def test_the_default_config_is_accepted():
    assert complaint() == ""


@pytest.mark.parametrize(
    "override", ["probe=[1,2]", "model/norm=[null]", "data=[[a]]", "tokenizer='${'"]
)
def test_an_option_that_is_no_name_is_named(override):
    assert complaint(override).startswith(override)


def test_a_value_is_named_before_those_that_are_looked_up_from_it(compose):
    for override in ("model.n_layers=x", "model.dropout.rate=[]", "budget.steps=0"):
        with pytest.raises(UserError, match=override.partition("=")[0]):
            check(compose("model=small", override))


@pytest.mark.parametrize("text", ["a\nb", "a\u2028b", "\u202eabc", "a\x1b[31m", "\udcff"])
def test_an_error_is_one_line_of_what_a_terminal_shows(text):
    line = str(UserError(f"name={text}: no"))
    assert line.isprintable() and line.endswith(": no")
    assert str(UserError("\u65e5\u672c \U0001f642 e\u0301")) == "\u65e5\u672c \U0001f642 e\u0301"


@pytest.mark.parametrize("sweep", [[], ["-m"]], ids=["run", "sweep"])
@pytest.mark.parametrize("key", ["study", "budget", "paths"])
def test_a_look_up_of_a_single_value_replaces_no_group_of_keys(command, small, key, sweep):
    status, _, error = command(*small, f"{key}='${{seed}}'", *sweep)
    sentence = error.splitlines()[-1]
    assert status == 2
    assert f"{key}=1: " in sentence and f"{key}.KEY" in sentence


def test_a_look_up_of_what_does_not_exist_is_named(command, small):
    for key, value in (
        ("model.norm.eps", "${oc.env:NO_SUCH_VARIABLE}"),
        ("loss.epsilon", "${nowhere:1}"),
        ("data.seed", "${budget.nowhere}"),
        ("schedule", "${seed}"),
        ("data", "${nowhere}"),
    ):
        status, _, sentence = command(*small, f"{key}='{value}'")
        assert (status, sentence.count("\n")) == (2, 1)
        assert sentence.startswith(f"ablate: {key}")


@pytest.mark.parametrize(
    ("word", "key"),
    [
        ("initial._target_=ablate.initial.checkpoint.Checkpoint", "initial.folder"),
        ("data._target_=ablate.data.parallel.Parallel", "data."),
        ("tokenizer._target_=ablate.nowhere.Missing", "tokenizer._target_"),
    ],
)
def test_a_class_that_lacks_an_argument_names_it(command, small, word, key):
    status, _, sentence = command(*small, word)
    assert (status, sentence.count("\n")) == (2, 1)
    assert key in sentence


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["loss=-1", "loss=-1"], "loss=-1"),
        (["schedule=3", "seed=2", "loss=4"], "schedule=3"),
        (["logger=none", "logger.project=x"], "logger.project=x"),
        (["search=7"], "search=7"),
    ],
)
def test_of_several_wrong_overrides_one_is_named(command, words, named):
    status, _, error = command(*words)
    assert status == 2 and named in error


@pytest.mark.parametrize("sweep", [[], ["-m"]], ids=["run", "sweep"])
@pytest.mark.parametrize(
    ("word", "parts"),
    [
        ("=", ["= has no key"]),
        ("+=3", ["+=3 has no key", "key=value"]),
        ("model/norm=[none,rms_norm]", ["give one option of model/norm, without", "only logger"]),
        ("+experiment=[aan,beam_size]", ["give one option of experiment, without"]),
        ("model=[tiny]", ["model=[tiny]: give one option of model, without brackets; only logger"]),
        ("hydra/sweeper=basic", ["hydra/sweeper=basic: this sweeper", "leave out hydra/sweeper"]),
        ("model.dropout={}", ["model.dropout={} changes nothing", "set model.dropout.KEY=VALUE"]),
        ("test_splits.7=3", ["test_splits.7=3: test_splits is a list with one item"]),
    ],
)
def test_an_override_that_would_do_something_else_is_refused(command, small, word, parts, sweep):
    status, _, error = command(*small, word, *sweep)
    sentence = error.splitlines()[-1]
    assert status == 2 and sentence.startswith("ablate")
    assert all(part in sentence for part in parts), sentence


def test_an_override_is_blamed_beside_one_with_several_values(command, small):
    status, _, error = command(*small, "seed=0,1", "test_splits.x=3", "-m")
    assert status == 2
    assert error.splitlines()[-1].startswith("ablate: test_splits.x=3: ")


@pytest.mark.parametrize(
    ("word", "key"),
    [
        ("seed=${nowhere},1", "seed=${nowhere},1"),
        ("name=${nowhere}", "name=${nowhere}"),
        ("paths.results=${nowhere}", "paths.results=${nowhere}"),
    ],
)
def test_a_sweep_with_an_interpolation_of_nothing_ends_in_a_sentence(command, small, word, key):
    status, _, error = command(*small, word, "-m")
    assert status == 2 and "Traceback" not in error, error
    assert error.splitlines()[-1] == (
        f"ablate: {key}: it refers to the key nowhere, which does not exist"
    )
