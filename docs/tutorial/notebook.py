# %% [markdown]
# # From a question to a verdict
#
# Attention sees a set of words: without positions, "dog bites man" and "man bites dog" are the
# same. How much does that cost a translation? This notebook asks, looks at the runs one by one,
# and ends in a verdict.

# %%
import subprocess
from copy import deepcopy
from dataclasses import replace
from pathlib import Path

import matplotlib.pyplot as plt

import ablate
from ablate.evidence.folder import Evidence
from ablate.verdict.conclude import conclude

SIZE = ["budget.seeds=3"]  # of three seeds; for a quick look: ["scale=smoke"]

# %% [markdown]
# ## The question
#
# One file names the arms, the metric, the smallest difference that would matter, and the reason
# for that one. It is written before the first run, and its hash is kept beside every run.

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
      margin_reason: nobody would choose a variant of so small a model for less
hydra: {sweeper: {params: {model/position: "sinusoidal,none", seed: "range(${budget.seeds})"}}}
"""
path = Path("conf/experiment/do_positions_matter.yaml")
path.parent.mkdir(parents=True, exist_ok=True)
path.write_text(QUESTION)
words = ["--config-dir", "conf", "+experiment=do_positions_matter", "logger=none", *SIZE, "-m"]

# %% [markdown]
# ## What it will cost
#
# A plan composes and checks everything and starts nothing.

# %%
subprocess.run(["ablate", "plan", *words], check=True)

# %% [markdown]
# ## The runs
#
# A sweep is a command, not a call: each run is a process of its own, finished runs are reused,
# and the same command goes on where it was stopped.

# %%
subprocess.run(["ablate", *words], check=True)
sweep = sorted(Path("results/sweeps/do_positions_matter").iterdir())[-1]

# %% [markdown]
# ## The records
#
# `ablate.load` gives a row per run. Two runs of one seed saw the same sentences in the same
# order, so their difference is the effect, once per seed.

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
# The sweep has printed it already. It is a pure function of the evidence, which can be called
# again.

# %%
evidence = Evidence.load(sweep)
verdict = conclude(evidence)
(claim,) = verdict["claims"]
print(claim["headline"])
print(claim["evidence"])

# %% [markdown]
# With another margin the rule may say something else. It is asked after the runs, so the verdict
# is marked as exploratory: the question that was registered was another one.

# %%
study = deepcopy(evidence.study)
study["claims"][0]["margin"] = 10.0
(other,) = conclude(replace(evidence, study=study))["claims"]
print(other["verdict"], "(exploratory)" if other["exploratory"] else "")
