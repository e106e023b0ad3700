"""`ablate generate` and `ablate evaluate` with trained language models and translators."""

import math
from types import SimpleNamespace

import pytest

TEXT = "\n\n".join(f"A{'b' * (n % 5)}:\nthe cat {n % 7}\nand ä dog" for n in range(80))
TINY = (
    *("scale=language", "logger=none", "data=text", "data.documents=paragraph", "tokenizer=char"),
    *("model.n_layers=1", "model.d_model=16", "model.d_ff=32", "model.n_heads=2"),
    *("batch.context=16", "batch.tokens=64", "batch.eval_tokens=64"),
    *("budget.steps=8", "budget.warmup=2", "budget.validate_every=8"),
)


def of_lines(folder):
    """Return the words of a corpus of which every line is a text."""
    files = (f"data.{key}=[{folder}/{key}]" for key in ("validation", "test"))
    return "data=text", "data.documents=line", f"data.files=[{folder}/train]", *files


@pytest.fixture(scope="module")
def trained(compose, tmp_path_factory):
    """The folders of a run on documents and of one on lines, and what the first one measured."""
    from ablate.train.resolve import resolve
    from ablate.train.run import run

    folder = tmp_path_factory.mktemp("trained")
    (folder / "play.txt").write_text(TEXT, encoding="utf-8")
    for name in ("train", "validation", "test"):
        (folder / name).write_text("the cat is here\na dog is there\n" * 9, encoding="utf-8")
    paths = (f"paths.results={folder / 'results'}", f"paths.cache={folder / 'cache'}")
    documents = run(resolve(compose(*TINY, f"data.files=[{folder / 'play.txt'}]", *paths)))
    less = [word for word in TINY if not word.startswith(("data", "batch.context"))]
    lines = run(resolve(compose(*less, "batch.context=null", *of_lines(folder), *paths)))
    return SimpleNamespace(
        folder=folder,
        documents=f"checkpoint={documents['folder']}",
        lines=f"checkpoint={lines['folder']}",
        metrics=documents["metrics"],
        line_metrics=lines["metrics"],
    )


@pytest.mark.parametrize("prompt", ["the cat 1\nand ä"])
def test_a_prompt_is_continued(call, trained, prompt):
    words = ("generate", trained.documents, "tokens=30", "count=2", "seed=3")
    status, out, err = call(*words, text=prompt.encode())
    assert (status, err) == (0, "")
    first, other = out.removesuffix("\n").split("\n----\n")
    assert first.startswith(prompt) and other.startswith(prompt) and first != other
    assert len(first) >= len(prompt) + 30
    assert call(*words, text=prompt.encode())[1] == out
    assert call(*words[:-1], "seed=4", text=prompt.encode())[1] != out


def test_the_likeliest_and_the_few_likeliest(call, trained):
    def written(*words):
        return call("generate", trained.documents, "tokens=20", *words)[1]

    assert written("temperature=0") == written("temperature=0", "seed=9")
    assert written("top=1") == written("temperature=0")
    assert written("top=100000") == written()


def test_a_model_of_lines_continues_one_line(call, trained):
    status, out, _ = call("generate", trained.lines, "tokens=9", text=b"the cat\n")
    assert status == 0 and out.startswith("the cat") and out.count("\n") == 1


def test_a_prompt_that_the_vocabulary_cannot_spell(call, trained):
    status, out, err = call("generate", trained.documents, text="the ß".encode())
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert "'ß'" in err


def scores(out):
    return {name: float(value) for name, value in map(str.split, out.splitlines())}


def test_scores_on_the_test_set_of_the_run_are_those_of_the_run(call, trained):
    cache = f"paths.cache={trained.folder / 'other'}"
    corpus = ("data=text", "data.documents=paragraph", f"data.files=[{trained.folder}/play.txt]")
    status, out, err = call("evaluate", trained.documents, *corpus, cache)
    assert (status, err) == (0, "")
    assert scores(out) == pytest.approx(
        {name: trained.metrics[name] for name in scores(out)}, rel=1e-5
    )
    assert {"test/nll", "test/bpb", "test/nll_per_character"} <= scores(out).keys()
    out = call("evaluate", trained.documents, *corpus, cache, "split=validation")[1]
    assert scores(out)["validation/nll"] == pytest.approx(trained.metrics["val/nll"], rel=1e-5)


def test_another_text_is_scored_by_its_own_bytes(call, trained):
    cache = f"paths.cache={trained.folder / 'other'}"
    (trained.folder / "x.txt").write_text("the cat and the dog €", encoding="utf-8")
    words = ("data=text", f"data.test=[{trained.folder}/x.txt]", "data.documents=file", cache)
    status, out, _ = call("evaluate", trained.documents, *words)
    metrics = scores(out)
    bits = metrics["test/nll"] / math.log(2) * 22 + 8 * 3  # an end token; 3 bytes are spelled
    assert status == 0 and metrics["test/bpb"] == pytest.approx(bits / 23, rel=1e-4)
    plain = call("evaluate", trained.lines, *of_lines(trained.folder), cache)[1]
    assert scores(plain)["test/nll"] == pytest.approx(trained.line_metrics["test/nll"], rel=1e-5)
