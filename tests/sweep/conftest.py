"""Sweeps of experiments of the user, as small as sweeps can be."""

import pytest
import yaml


@pytest.fixture
def written(small, tmp_path):
    """Write an experiment of the user; return the words of its command."""
    given = [word for word in small if not word.startswith("paths.results")]

    def words(text, results, *more):
        name = yaml.safe_load(text)["name"]
        file = tmp_path / "own" / "experiment" / f"{name}.yaml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        places = [f"paths.results={results}", "paths.experiments=none"]
        return [f"+experiment={name}", *given, *places, *more, f"--config-dir={tmp_path / 'own'}"]

    return words


@pytest.fixture
def swept(written, command, here):
    """Run a sweep of an experiment of the user, and return its folder."""

    def ran(text, results, *more):
        earlier = {*results.glob("sweeps/*/*")}
        status, _, error = command(*written(text, results, *more), "-m")
        assert status == 0, error
        (folder,) = {*results.glob("sweeps/*/*")} - earlier
        return folder

    return ran


PROBED = """
# @package _global_
defaults:
  - override /probe: dot_products
name: probed
budget: {seeds: 2}
probe: {rows: 40}
study:
  factors: [model.d_head]
  claims:
    - id: probed
      statement: Wide heads have a smaller gradient of the softmax.
      source: none
      kind: superiority
      metric: probe/trace
      margin: 0.05
      margin_reason: none
      treatment: {model.d_head: 8}
      baseline: {model.d_head: 4}
hydra: {sweeper: {params: {model.d_head: "4,8", seed: "range(${budget.seeds})"}}}
"""
