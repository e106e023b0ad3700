# Every target sets up what it needs; the first one takes a few minutes for the installation.
.DEFAULT_GOAL := help
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/ready
# set to the folder of the Multi30k text where there is no network
MULTI30K ?= null

# what make experiments runs: what has committed evidence, and needs no corpus of its own
EXPERIMENTS ?= $(filter-out %_multi30k speedrun, $(patsubst experiments/%/study.json, %, $(wildcard experiments/*/study.json)))
ALL = $(filter-out %_multi30k, $(notdir $(basename $(wildcard conf/experiment/*.yaml experiments/conf/experiment/*.yaml))))

REPORTS = tests/report/test_committed.py
SHAPED = tests/model tests/reference tests/search tests/metric
FAST = tests/package/test_structure.py tests/config/test_refused.py tests/config/test_annotations.py \
  tests/run/test_identity.py tests/verdict/test_layers.py tests/ledger/test_headline.py \
  tests/lab/test_pages.py $(REPORTS)::test_committed_report_is_that_of_its_evidence \
  $(REPORTS)::test_the_table_of_all_verdicts_is_that_of_the_experiments

.PHONY: help docs setup ablate multi30k experiments ledger ledger-all site calibrate test test-fast test-slow \
  test-cluster test-gpu lint type format clean

help: ## show the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(READY) ## create .venv and install everything, with pinned versions

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@

ablate: $(READY) ## a first verdict, with a picture (two to three minutes, after installation)
	$(BIN)/python -m ablate +experiment=first_verdict -m

# a sweep that was interrupted goes on, and one that has ended is only judged again
experiments: $(READY) ## every committed experiment but Multi30k, to its verdict and report (hours)
	for name in $(EXPERIMENTS); do \
	  $(BIN)/python -m ablate +experiment=$$name -m && \
	  $(BIN)/python -m ablate judge \
	    "$$(ls -d results/sweeps/$$name/* | tail -1)" to=experiments/$$name || exit 1; \
	done
	$(BIN)/python -m lab.index experiments

ledger-all: $(READY) ## every experiment of the ledger but Multi30k, those without evidence too (days)
	$(MAKE) experiments EXPERIMENTS="$(ALL)"

ledger: $(READY) ## what experiments say of all claims, in short, and how to ask for more
	$(BIN)/python -m ablate ledger

site: $(READY) ## the ledger and all experiments as pages to read and show, in pages/
	$(BIN)/python -m experiments.site pages

docs: $(READY) ## the documentation as a site, in site/
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[docs]'
	$(BIN)/mkdocs build --strict

calibrate: $(READY) ## how often the statistics are wrong, on simulated sweeps (half an hour)
	$(BIN)/python -m lab.calibrate

multi30k: $(READY) ## two experiments on real text (an hour and a half); without network: MULTI30K=folder
	for name in preln_vs_postln sinusoidal_vs_learned; do \
	  $(BIN)/python -m ablate +experiment=$${name}_multi30k data.root=$(MULTI30K) -m || exit 1; \
	done

# a worker per core, so one thread each: more wait for one another
# an empty PYTHONDONTWRITEBYTECODE lets processes share .pyc files instead of compiling all modules
test: $(READY) ## all fast tests
	OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE= $(BIN)/pytest -n auto --dist loadgroup --no-loadscope-reorder

# one file per part that breaks most often, and then a run that trains and tests
test-fast: $(READY) ## tests of config, structure, verdict and ledger, and a small training run
	OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE= $(BIN)/pytest -q -n auto --dist loadgroup $(FAST)
	OMP_NUM_THREADS=1 $(BIN)/python -m ablate scale=smoke logger=none fresh=true paths.results=results/fast

test-slow: $(READY) ## the long tests, and those of models with all types and shapes checked
	$(BIN)/pytest -m slow --timeout 1800 $(SLOW)
	$(BIN)/pytest -q --jaxtyping-packages=ablate,experiments,beartype.beartype $(SHAPED)

test-cluster: $(READY) ## workers that are killed, and the engines that are installed (half an hour)
	$(BIN)/pytest -m slow --timeout 1800 -rs tests/cluster

test-gpu: $(READY) ## a GPU's numbers beside the processor's (ten minutes); without one: ABLATE_DEVICE=cpu
	$(BIN)/pytest -m gpu --timeout 600 -rs tests/gpu

lint: $(READY) ## style, types, spelling
	$(BIN)/ruff check .
	$(BIN)/ruff check --isolated --preview --select PLW1514 ablate experiments hydra_plugins lab  # UTF-8
	$(BIN)/ruff format --check .
	$(BIN)/codespell ablate lab conf docs experiments hydra_plugins README.md CHANGELOG.md CONTRIBUTING.md
	$(BIN)/mypy
	$(BIN)/lint-imports

type: $(READY) ## types alone
	$(BIN)/mypy

format: $(READY) ## rewrite the code in the project's format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean: ## remove the virtual environment and all caches, but no results
	rm -rf $(VENV) cache .mypy_cache .ruff_cache .pytest_cache
