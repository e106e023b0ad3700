"""Weights that come from elsewhere: another run, a file of word vectors."""

import gzip
import shutil

import hydra
import pytest
import torch
from omegaconf import OmegaConf

from ablate.config import CONF
from ablate.config.construct import construct
from ablate.data import Pairs
from ablate.data.tokenizer import Tokenizers
from ablate.errors import UserError
from ablate.initial import initialise, weights_fingerprint
from ablate.model import FillEmptyWithNaN, build
from ablate.record.files import digest, read_tensors, seal, write_json, write_tensors
from ablate.record.identity import parts
from experiments.pretrained_embeddings.glove import company

LINES = ["ein Hund läuft .", "zwei Hunde laufen schnell .", "die Katze schläft ."]
OTHERS = ["ein Hund läuft .", "zwei Hunde laufen schnell .", "die Katze frisst ."]
SIZES = ["model.d_model=8", "model.d_ff=12", "model.n_layers=1", "model.n_heads=2"]


@pytest.fixture(scope="module")
def config():
    with hydra.initialize_config_dir(str(CONF), version_base="1.3"):
        words = ["tokenizer=word", "tokenizer.vocab_size=null", "model/embedding=separate"]
        return hydra.compose("config", [*SIZES, *words, "logger=none"])


@pytest.fixture(scope="module")
def made(config):
    """Return a function that makes a model and vocabularies for these lines."""

    def make(lines=LINES, d_model=8):
        tokenizers = Tokenizers.train(construct(config.tokenizer), Pairs(lines, lines))
        size = tokenizers.src.size
        node = OmegaConf.merge(config.model, {"d_model": d_model})
        return build(node, src_vocab=size, tgt_vocab=size, joint_vocab=True), tokenizers

    return make


@pytest.fixture
def folder(made, tmp_path):
    """The folder of another run, of seed 9."""
    model, tokenizers = made()
    initialise(model, 9)
    run = tmp_path / "run"
    (run / "tokenizer").mkdir(parents=True)
    tokenizers.save(run / "tokenizer")
    weights = write_tensors(run / "weights.pt", model.state_dict())
    write_json(run / "result.json", seal({"weights": weights, "files": {}}))
    return run


def from_run(folder):
    return construct({"_target_": "ablate.initial.Checkpoint", "folder": str(folder)})


def from_file(path, side="src"):
    target = "ablate.initial.Vectors"
    return construct({"_target_": target, "file": str(path), "side": side})


def test_all_weights_of_another_run_are_read(made, folder):
    model, tokenizers = made()
    from_run(folder)(model, tokenizers, 1)
    theirs = read_tensors(folder / "weights.pt")[0]
    assert all(torch.equal(value, theirs[name]) for name, value in model.state_dict().items())


def test_other_weights_are_another_run_wherever_they_lie(compose, folder, made, tmp_path):
    def identity(path):
        chosen = compose("logger=none", "initial=checkpoint", f"initial.folder={path}")
        return digest(parts(chosen, "text", weights_fingerprint(chosen)))

    moved = shutil.copytree(folder, tmp_path / "moved")
    assert identity(folder) == identity(moved) != digest(parts(compose("logger=none"), "text"))
    model, _ = made()
    initialise(model, 10)
    weights = write_tensors(moved / "weights.pt", model.state_dict())
    write_json(moved / "result.json", seal({"weights": weights, "files": {}}))
    assert identity(folder) != identity(moved)


def test_a_run_that_does_not_fit_is_refused(made, folder):
    with pytest.raises(UserError, match="weights.pt"):
        from_run(folder)(*made(d_model=10), 1)
    with pytest.raises(UserError, match="vocabulary"):
        from_run(folder)(*made(OTHERS), 1)
    (folder / "weights.pt").write_bytes(b"no weights")
    with pytest.raises(UserError, match="weights.pt"):
        from_run(folder)(*made(), 1)


def vector(first):
    return [first + i / 8 for i in range(8)]


def text_of(*entries, header=""):
    lines = [f"{word} {' '.join(map(str, numbers))}" for word, numbers in entries]
    return header + "".join(f"{line}\n" for line in lines)


@pytest.mark.parametrize("header", ["", "3 8\n"])  # GloVe, word2vec
def test_words_of_the_file_are_looked_up_as_they_stand_there(made, tmp_path, header):
    path = tmp_path / "vectors.txt.gz"
    words = [("Hund", vector(1)), (".", vector(2)), ("cat", vector(3))]
    with gzip.open(path, "wt") as file:
        file.write(text_of(*words, header=header))
    model, tokenizers = made()
    from_file(path)(model, tokenizers, 1)
    plain, _ = made()
    initialise(plain, 1)
    ids = tokenizers.src.encode_batch(["ein Hund ."])[0]
    loaded, drawn = (m.embedding.embed_src(torch.tensor([ids]))[0] for m in (model, plain))
    torch.testing.assert_close(loaded[1], torch.tensor(vector(1)))
    assert torch.equal(loaded[0], drawn[0])
    assert not torch.equal(loaded[-1], drawn[-1])  # a punctuation mark is a word
    unchanged = {n for n, v in model.state_dict().items() if torch.equal(v, plain.state_dict()[n])}
    assert set(model.state_dict()) - unchanged == {"embedding.src.weight"}
    from_file(path, "both")(model, tokenizers, 1)
    assert torch.equal(model.embedding.embed_tgt(torch.tensor([ids]))[0, [1, -1]], loaded[[1, -1]])


def test_another_file_is_another_run(tmp_path):
    path = tmp_path / "vectors"
    path.write_text(text_of(("Hund", vector(1))))
    before = from_file(path).fingerprint()
    path.write_text(text_of(("Hund", vector(2))))
    assert from_file(path).fingerprint() != before


@pytest.mark.parametrize("entry", [("cat", vector(1)), ("Hund", [1, 2]), ("Hund", ["nan"] * 8)])
def test_files_of_no_use_are_refused(made, tmp_path, entry):
    path = tmp_path / "vectors"
    path.write_text(text_of(entry))
    with pytest.raises(UserError):
        from_file(path)(*made(), 1)


def drawn(made, values, seed=1):
    model, tokenizers = made()
    target = "ablate.initial.drawn.Embeddings"
    construct({"_target_": target, "values": values})(model, tokenizers, seed)
    return model.state_dict()


def test_embeddings_alone_are_drawn_by_another_rule(made):
    scaled, normal = (drawn(made, values) for values in ("normal_scaled", "normal"))
    plain, _ = made()
    initialise(plain, 1)
    assert all(torch.equal(value, scaled[name]) for name, value in plain.state_dict().items())
    differing = {name for name in scaled if not torch.equal(scaled[name], normal[name])}
    assert differing == {"embedding.src.weight", "embedding.tgt.weight"}
    for name in differing:
        torch.testing.assert_close(normal[name], scaled[name] * 8**0.5)
    assert not torch.equal(
        drawn(made, "normal", 2)["embedding.src.weight"], normal["embedding.src.weight"]
    )


@pytest.mark.parametrize("rows", [5, 24])
def test_orthogonal_rows_or_columns(rows):
    from ablate.initial.drawn import draw

    weight = torch.empty(rows, 8)
    draw("orthogonal", weight, torch.Generator().manual_seed(0))
    product = weight @ weight.T if rows < 8 else weight.T @ weight / 3
    torch.testing.assert_close(product, torch.eye(min(rows, 8)), atol=1e-5, rtol=0)
    assert weight.norm(dim=1).square().mean() == pytest.approx(1)


def test_pieces_count_their_neighbours_by_distance(made):
    _, tokenizers = made(["x y z"])
    x, y, z = tokenizers.src.encode_batch(["x y z"])[0]
    counts = company(tokenizers.src, ["x y z", "z"])
    assert counts[x, y] == counts[y, x] == counts[y, z] == 1
    assert counts[x, z] == 0.5 and counts.sum() == 5  # lines do not meet


class Own(torch.nn.Linear):
    """Parameters that the constructor sets, and some that it leaves to be drawn."""

    def __init__(self):
        super().__init__(2, 1)
        self.inner = torch.nn.Module()
        values = {
            "power": torch.tensor(2.5),
            "shift": torch.zeros(3),
            "gains": torch.full((2, 3), 3.0),
        }
        for name, value in (values | {"drawn": torch.empty(2, 3)}).items():
            self.inner.register_parameter(name, torch.nn.Parameter(value))


def test_numbers_of_a_constructor_are_kept_and_all_else_is_drawn():
    with FillEmptyWithNaN():
        own = Own()
    initialise(own, 1)
    assert own.inner.power == 2.5 and (own.inner.shift == 0).all() and (own.inner.gains == 3).all()
    assert own.inner.drawn.unique().numel() == 6 and own.bias == 0
