"""Operations that wait for each other, and sentences in company."""

from ablate.model.transformer import Transformer

DATA = ("data.n_train=40", "data.n_validation=4", "data.n_test=4", "data.n_test_long=4")
BRIEF = dict(lines=12, tokens=60, repeats=1, draws=2)


def test_a_transformer_has_as_many_steps_at_any_length(measure):
    short, long = (measure("dependent_steps", "model.n_layers=1", length=n) for n in (17, 20))
    same = ("encoding", "encoding_in_training", "training", "whole_target")
    assert {name: short[name] for name in same} == {name: long[name] for name in same}
    assert long["decoding"] - short["decoding"] >= 5 * 3
    assert short["training"] > short["whole_target"] > short["encoding"] > 1


def test_a_step_that_waits_for_the_word_before_is_seen(measure, monkeypatch):
    plain = Transformer.encode

    def one_after_the_other(model, src):
        memory = plain(model, src)
        states = memory.states[:, 0]
        for word in memory.states.unbind(1):
            states = states + word
        return memory._replace(states=memory.states + states[:, None])

    monkeypatch.setattr(Transformer, "encode", one_after_the_other)
    short, long = (measure("dependent_steps", "model.n_layers=1", length=n) for n in (17, 20))
    assert long["encoding"] - short["encoding"] == 3


def test_batches_give_the_states_of_sentences_alone(measure):
    by_batching = {
        b: measure("batch_cost", *DATA, batching=b, **BRIEF) for b in ("one_by_one", "to_longest")
    }
    alone, batched = by_batching["one_by_one"], by_batching["to_longest"]
    assert (alone["batches"], alone["padding"], alone["difference"]) == (12, 0, 0)
    assert batched["batches"] < 12
    assert batched["padding"] > 0
    assert batched["products_each"] > alone["products_each"]
    assert batched["difference"] < 1e-9
    assert batched["control"] > 1e-3


def test_jacobi_takes_no_more_passes_than_greedy(measure):
    metrics = measure("decoding_passes", draws=3, length=6, sentences=4)
    assert metrics["different"] == 0
    assert 1 <= metrics["jacobi"] <= metrics["greedy"]
    assert metrics["saved"] == metrics["greedy"] - metrics["jacobi"]
