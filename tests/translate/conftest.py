import io
import sys

import pytest

LINES = ["ein Hund läuft .", "zwei Hunde laufen schnell .", "die Katze schläft ."]


@pytest.fixture
def lines():
    return LINES


@pytest.fixture(scope="session")
def finished(tmp_path_factory):
    """The folder of a run with random weights; tests that change it take a copy (`run`)."""
    import hydra
    import yaml
    from omegaconf import OmegaConf

    import ablate.config.schema  # noqa: F401  # the root of the config tree
    from ablate.config import CONF
    from ablate.config.construct import construct
    from ablate.data import Pairs
    from ablate.data.tokenizer import Tokenizers
    from ablate.initial import initialise
    from ablate.model import build
    from ablate.record.files import write_tensors

    sizes = ["model.d_model=16", "model.d_ff=32", "model.n_layers=1", "model.n_heads=2"]
    vocabulary = ["tokenizer=char", "tokenizer.vocab_size=null", "tokenizer.joint=true"]
    search = ["search=beam", "search.max_ratio=0.2", "search.max_extra=5"]
    with hydra.initialize_config_dir(str(CONF), version_base="1.3"):
        config = hydra.compose("config", [*sizes, *vocabulary, *search, "batch.max_length=60"])
    folder = tmp_path_factory.mktemp("finished") / "run"
    (folder / "tokenizer").mkdir(parents=True)
    tokenizers = Tokenizers.train(construct(config.tokenizer), Pairs(LINES, LINES))
    tokenizers.save(folder / "tokenizer")
    size = tokenizers.src.size
    model = build(config.model, src_vocab=size, tgt_vocab=size, joint_vocab=True)
    initialise(model, 1)
    write_tensors(folder / "weights.pt", model.state_dict())
    plain = OmegaConf.to_container(config, resolve=True)
    (folder / "config.yaml").write_text(yaml.safe_dump(plain))
    _seal(folder)
    return folder


def _seal(folder):
    """Give a run the record that it would have if its files had always been these."""
    from ablate.record.files import digests, read_tensors, seal, write_json

    files = digests(folder, ("config.yaml", "tokenizer/*.json"))
    try:
        weights = read_tensors(folder / "weights.pt")[1]
    except Exception:
        weights = "of no use"
    write_json(folder / "result.json", seal({"weights": weights, "files": files}))


@pytest.fixture
def seal_again():
    """Seal a run folder whose files a test has changed."""
    return _seal


@pytest.fixture
def run(finished, tmp_path):
    import shutil

    return shutil.copytree(finished, tmp_path / "run")


@pytest.fixture
def call(monkeypatch, capfdbinary):
    """Call the command line with an input; return exit status, standard output, standard error."""

    def called(*words, text=b""):
        from ablate.cli.main import main

        monkeypatch.setattr(sys, "argv", ["ablate", *words])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
        status = 0
        try:
            main()
        except SystemExit as leaving:
            status = leaving.code
        out, err = capfdbinary.readouterr()
        return status, out.decode(), err.decode()

    return called
