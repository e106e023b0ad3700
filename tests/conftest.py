"""Shared fixtures. The package is imported inside them, after the shape checker has its hook."""

import pytest

# As small as a run can be; results and cache in a folder of the test.
SMALL = (
    "scale=smoke",
    "logger=none",
    "data.n_train=400",
    "data.n_validation=20",
    "data.n_test=20",
    "data.n_test_long=10",
    "budget.steps=4",
    "budget.warmup=2",
    "budget.validate_every=2",
    "model.d_model=16",
    "model.d_ff=32",
    "model.n_layers=1",
    "model.n_heads=2",
)


@pytest.fixture(scope="session")
def cache_folder(tmp_path_factory):
    """One cache of token ids for the whole session."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def small(tmp_path, cache_folder):
    """Overrides of a tiny run that leaves nothing outside its folder."""
    return [*SMALL, f"paths.results={tmp_path / 'results'}", f"paths.cache={cache_folder}"]


@pytest.fixture
def compose():
    """Compose the config of a run from overrides, as the command line would."""
    import hydra
    from omegaconf import open_dict

    from ablate.config.schema import CONF

    def composed(*overrides, hydra_node=False):
        with hydra.initialize_config_dir(str(CONF), version_base="1.3"):
            config = hydra.compose("config", list(overrides), return_hydra_config=True)
        if not hydra_node:
            with open_dict(config):
                del config["hydra"]
        return config

    return composed


@pytest.fixture
def command(monkeypatch, capsys):
    """Call `ablate` with these words; return exit status, standard output, standard error."""

    def called(*words):
        from ablate.cli.main import main

        monkeypatch.setattr("sys.argv", ["ablate", *map(str, words)])
        status = 0
        try:
            main()
        except SystemExit as leaving:
            status = leaving.code
        return status, *capsys.readouterr()

    return called
