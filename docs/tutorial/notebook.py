# %% [markdown]
# # From a question to a verdict
#
# Without positions, attention cannot distinguish "dog bites man" from "man bites dog". How much
# BLEU does a translation model lose without positions? This notebook states the question, trains
# the models, shows the result of each run, and computes the verdict.

# %%
import subprocess
from copy import deepcopy
from dataclasses import replace
from pathlib import Path

import matplotlib.pyplot as plt

import ablate
from ablate.evidence.folder import Evidence

SIZE = ["budget.seeds=3"]  # three seeds of each arm

# %% [markdown]
# ## The question
#
# The experiment file states the arms, the metric, the smallest difference that matters (the margin)
# and the reason for this margin. Write the file before the first run: `ablate` stores a hash of the
# claims, and of all settings that decide their verdicts, with every run.

# %%
QUESTION = """\
# @package _global_
name: do_positions_matter
study:
  factors: [model/position]
  claims:
    - id: positions_matter
      statement: With sinusoidal positions a model reaches a higher BLEU than without positions.
      source: this notebook
      kind: superiority
      metric: test/bleu
      treatment: {model/position: sinusoidal}
      baseline: {model/position: none}
      margin: 2.0
      margin_reason: a smaller gain would not justify choosing a variant of so small a model
hydra: {sweeper: {params: {model/position: "sinusoidal,none", seed: "range(${budget.seeds})"}}}
"""
path = Path("conf/experiment/do_positions_matter.yaml")
path.parent.mkdir(parents=True, exist_ok=True)
path.write_text(QUESTION)
words = ["--config-dir", "conf", "+experiment=do_positions_matter", "logger=none", *SIZE, "-m"]

# %% [markdown]
# ## The cost
#
# `ablate plan` checks the experiment and estimates its cost. The command trains nothing.

# %%
subprocess.run(["ablate", "plan", *words], check=True)

# %% [markdown]
# ## The runs
#
# A sweep is started as a command. Each run is a separate process. If you repeat the command,
# finished runs are reused, and interrupted runs continue.

# %%
subprocess.run(["ablate", *words], check=True)
sweep = sorted(Path("results/sweeps/do_positions_matter").iterdir())[-1]

# %% [markdown]
# ## The results of the runs
#
# `ablate.load` returns a data frame with one row for each run. Two runs with the same seed read the
# same sentences in the same order, so their difference estimates the effect of the positions.

# %%
runs = ablate.load(sweep)
print(runs[["model/position", "seed", "status", "test/bleu", "test/nll", "seconds"]])
bleu = runs.pivot(index="seed", columns="model/position", values="test/bleu")
difference = bleu["sinusoidal"] - bleu["none"]
print(difference.describe())

# %%
figure, axes = plt.subplots(figsize=(6, 1.6), layout="constrained")
axes.axvline(0, color="0.7")
axes.plot(difference, [0] * len(difference), "o", alpha=0.6)
axes.set(xlabel="sinusoidal - none (test BLEU), one dot per seed", yticks=[])
figure.savefig("difference.svg")

# %% [markdown]
# ## The verdict
#
# The sweep has already printed the verdict. The function `ablate.judge` computes the verdict again
# from the stored results.

# %%
print(ablate.judge(sweep))

# %% [markdown]
# With another margin the verdict may be different. The margin below was chosen after the runs and
# differs from the margin in the experiment file, so the verdict is marked as exploratory.

# %%
evidence = Evidence.load(sweep)
study = deepcopy(evidence.study)
study["claims"][0]["margin"] = 10.0
print(ablate.judge(replace(evidence, study=study)))
