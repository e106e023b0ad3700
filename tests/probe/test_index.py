"""Where probes are."""

from ablate.config.location import CONF

from ..experiments import EXPERIMENTS


def test_a_probe_of_one_experiment_is_in_the_catalogue():
    used = [path.read_text(encoding="utf-8") for path in EXPERIMENTS.values()]
    general = {"influence", "parameter_count", "peak_memory", "step_time"}  # users want them too
    for path in (CONF / "probe").glob("*.yaml"):
        uses = sum(f"probe: {path.stem}\n" in text for text in used)
        assert uses > 1 or path.stem in (*general, "none"), path.stem
