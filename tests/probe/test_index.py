"""Where probes are."""

from omegaconf import OmegaConf

from ablate.config.location import CONF

PROBES = [path for path in (CONF / "probe").glob("*.yaml") if path.stem != "none"]


def test_a_probe_has_the_name_of_its_module_in_the_instrument_or_the_catalogue():
    assert len(PROBES) > 30
    for path in PROBES:
        module = OmegaConf.load(path)._target_.rpartition(".")[0]
        assert module.rpartition(".")[2] == path.stem
        assert module.startswith(("ablate.probe.", "ablate.claims.probe."))


def test_a_probe_of_one_experiment_is_in_the_catalogue():
    used = [path.read_text(encoding="utf-8") for path in (CONF / "experiment").glob("*.yaml")]
    general = {"influence", "parameter_count", "peak_memory", "step_time"}  # users want them too
    for path in PROBES:
        uses = sum(f"probe: {path.stem}\n" in text for text in used)
        target = OmegaConf.load(path)._target_
        assert uses > 1 or target.startswith("ablate.claims.") or path.stem in general, path.stem
