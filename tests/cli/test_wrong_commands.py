"""What people type who know other tools, or have read too fast, and the help that they get.

`pytest tests/cli/test_wrong_commands.py -n 0 -rP | grep '^|'` prints the table with all sentences.
"""

import shlex

import pytest

pytestmark = pytest.mark.slow

WRONG = {  # by command, part of the sentence that is said
    # keys, by the names that they have elsewhere
    "lr=0.1": "did you mean optimizer.lr?",
    "learning_rate=1": "did you mean optimizer.lr?",
    "optimizer.learning_rate=0.001": "did you mean optimizer.lr?",
    "dropout=0.1": "did you mean model.dropout.rate?",
    "model.dropout=0.1": "set model.dropout.rate=0.1",
    "max_steps=9": "did you mean budget.steps",
    "trainer.max_epochs=3": "budget.steps=N",
    "epochs=3": "did you mean budget.steps?",
    "budget.epochs=3": "did you mean budget.steps?",
    "steps=100": "did you mean budget.steps?",
    "batch_size=32": "did you mean batch.tokens?",
    "batch.size=32": "did you mean batch.tokens?",
    "heads=8": "did you mean model.n_heads",
    "n_heads=8": "did you mean model.n_heads?",
    "model.num_layers=2": "did you mean model.n_layers?",
    "d_model=64": "did you mean model.d_model?",
    "hidden_size=64": "did you mean model.d_model?",
    "vocab_size=4000": "did you mean tokenizer.vocab_size?",
    "warmup_steps=100": "did you mean budget.warmup?",
    "beam_size=4": "did you mean search.size or +experiment=beam_size?",
    "label_smoothing=0.1": "loss=label_smoothing",
    "gpus=1": "did you mean trainer.devices?",
    "device=cuda": "did you mean trainer=gpu?",
    "precision=bf16-mixed": "did you mean trainer.precision",
    "fp16=true": "did you mean trainer.precision?",
    "seeds=3": "did you mean budget.seeds?",
    "seed=0,1": "add -m",
    "project=x": "did you mean logger.project?",
    "results=here": "did you mean paths.results?",
    "data.path=corpus/train": "did you mean data=parallel with data.train?",
    "optimizer.name=adamw": "did you mean optimizer=OPTION?",
    # levels, by the names that they have elsewhere
    "wandb=true": "did you mean logger=wandb?",
    "noam=true": "did you mean schedule=noam?",
    "pre_ln=true": "did you mean model/residual=pre_ln?",
    "logger=tb": "did you mean tensorboard?",
    "model=large": "did you mean big?",
    "model=transformer_base": "did you mean transformer?",
    "model/position=rope": "did you mean rotary?",
    "model/norm=rmsnorm": "did you mean rms_norm?",
    "model/attention=flash": "did you mean fused?",
    "data=wmt14": "did you mean parallel?",
    "data=multi30K": "did you mean multi30k?",
    "tokenizer=sentencepiece": "did you mean unigram?",
    "tokenizer=wordpiece": "did you mean bpe?",
    "optimizer=sgd": "did you mean adam?",
    "schedule=linear": "allowed is constant, cosine",
    "loss=xent": "did you mean cross_entropy?",
    "trainer=cuda": "did you mean gpu?",
    "search=beam5": "did you mean beam?",
    "task=translate": "did you mean translation?",
    # the + or / that is missing, or too much
    "experiment=preln_vs_postln -m": "needs a plus, +experiment=",
    "+experiment=preln -m": "did you mean preln_vs_postln?",
    "+experiments=preln_vs_postln -m": "did you mean experiment",
    "+experiment=preln_vs_postln seeds=3 -m": "did you mean budget.seeds?",
    "model.position=learned": "with a slash, as in model/position=learned",
    "model/positon=learned": "did you mean model/position?",
    "residual=pre_ln": "did you mean model/residual?",
    "scheduler=cosine": "did you mean schedule?",
    "-m model/position=learned,rotery": "did you mean rotary?",
    # values
    "seed=one": "seed=one: it must be a whole number",
    "budget.steps=1e3": "a whole number",
    "patience=-1": "at least 1",
    "data=parallel": "data.source, data.target, data.train have no value",
    # flags and commands
    "--lr=0.1": "did you mean lr=0.1? keys have no dashes",
    "--experiment preln_vs_postln": "did you mean +experiment=VALUE?",
    "--multi-run": "did you mean --multirun?",
    "lr = 0.1": "key=value alone, without spaces",
    "preln_vs_postln": "run ablate +experiment=preln_vs_postln -m",
    "train": "training takes key=value alone",
    "legder": "did you mean ledger?",
    "--config-dir . plan +experiment=preln_vs_postln": "the first word: ablate plan ...",
    "-m ledger": "the first word: ablate ledger ...",
    "plan preln_vs_postln": "an override is key=value, or +key=value",
    "plan experiment=preln_vs_postln": "needs a plus, +experiment=",
    "judge preln_vs_postln": "no folder preln_vs_postln: give the folder of a study",
    "judge experiment=preln_vs_postln": "unknown argument experiment=",
    "translate 'ein hund'": "unknown argument ein hund",
    "logger.wandb.project=x": "did you mean logger.project?",
    "weight_decay=0.1": "did you mean optimizer=adamw with optimizer.weight_decay?",
    "hydra.run.dir=out": "paths.results=FOLDER",
}


@pytest.fixture
def error_of(command, monkeypatch, tmp_path):
    """What a command says that ends before there is data."""

    def accepted(config):
        raise AssertionError("accepted")

    monkeypatch.setattr("ablate.train.run.prepare_data", accepted)
    monkeypatch.chdir(tmp_path)

    def called(line):
        status, _, error = command(*shlex.split(line))
        assert status == 2, error
        return error

    return called


@pytest.mark.parametrize("line", WRONG)
def test_a_wrong_command_ends_in_one_sentence_that_helps(error_of, line, tmp_path):
    *before, sentence = error_of(line).splitlines()
    print(f"| `ablate {line}` | {sentence} |")
    assert sentence.startswith("ablate")
    assert WRONG[line] in sentence
    assert all(earlier.startswith("run: ") for earlier in before)  # the progress of a sweep
    assert "nothing" not in sentence
    for lead in ("allowed here is ", "allowed is ", "did you mean "):
        names = sentence.partition(lead)[2].partition("?")[0].split(", ")
        assert len(names) == len({*names})
    assert "-m" in line or not list(tmp_path.iterdir())  # a sweep has a folder before its cells
