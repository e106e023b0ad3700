"""Operations that wait for each other, and sentences in company."""

DATA = ("data.n_train=40", "data.n_validation=4", "data.n_test=4", "data.n_test_long=4")
BRIEF = dict(lines=12, tokens=60, repeats=1, draws=2)


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
