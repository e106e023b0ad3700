"""Compute the identity of a run: a hash of everything that can change its results.

The hash covers the resolved config of the run, the content of the data, the versions of the
numerical libraries, and the source of the modules that the run executes (as syntax trees, without
comments, docstrings and layout). The hash does not cover paths, logger, names, the number of jobs,
and the study. So after a change of the README, of a comment or of an unrelated component, existing
results stay valid.

The identity of training does not cover config keys and text that are used only in testing. The
identity of an evaluation covers them and the identity of the training, so a change of the search or
of a test file evaluates the same weights again.
"""

import ast
import functools
import hashlib
import importlib.metadata
import importlib.util
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import torch
from omegaconf import DictConfig, OmegaConf

from ablate.config.bleu import USUAL as USUAL_BLEU
from ablate.config.bleu import tokenizer
from ablate.record.types import EvaluationParts, TrainingParts

# Keys that cannot change a result; the hash of the text replaces the node `data`.
OUTSIDE = (
    *("name", "contest", "n_jobs", "without", "without_runs", "part", "fresh", "logger", "study"),
    *("paths", "trust", "variant"),
    *("data", "engine"),
)
OUTSIDE_OF = {
    # the hash of the text that a test reads covers the choice of test_sentences
    "budget": ("seeds", "short", "test_sentences"),
    "trainer": ("enable_progress_bar", "log_every_n_steps"),
    "checkpoint": ("save_every",),
    "initial": ("folder", "file"),  # the identity covers the content of these files
}
# class of the nodes that replace components in one stack; null means the component of the model
OVERRIDES = "ablate.model.transformer.Own"
IN_TESTING = ("search", "test_splits", "measure", "metric", "weights")
# values of keys that leave a run unchanged, as if the keys were missing
USUAL: dict[str, object] = {"measure": None, "metric": {}, "weights": "trained", "callbacks": {}}
IN_TESTING_OF = {"batch": ("test_bucket", "test_padding")}
LIBRARIES = ("torch", "pytorch-lightning", "torchmetrics", "numpy", "tokenizers", "sacrebleu")
ENTRY_MODULES = ("ablate.train.resolve", "ablate.train.run")
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
# Observing a run does not change it, and neither does code that only accepts or rejects a config:
# the config is part of the identity anyway. `evaluate` belongs to evaluations.
UNEXECUTED = (
    *(
        f"ablate.{name}"
        for name in ("record", "wandb", "stats", "evidence", "verdict", "errors", "process")
    ),
    *(f"ablate.config.{name}" for name in ("schema", "check", "limits")),
    *(f"ablate.config.{name}" for name in ("precision", "settle", "notice")),
    *(
        f"ablate.train.{name}"
        for name in ("compatibility", "evaluate", "progress", "summary", "tracking", "guard")
    ),
)


def parts(config: DictConfig, data_fingerprint: str, weights: str = "") -> TrainingParts:
    """Return everything on which the identity of a training run depends, as plain data.

    Args:
        config: the config of the run.
        data_fingerprint: hash of the text that training reads.
        weights: hash of the files with the initial weights; "" if there are none.
    """
    plain: Any = OmegaConf.to_container(config, resolve=True)
    used = {k: v for k, v in plain.items() if k not in USUAL or v != USUAL[k]}
    tree = {k: v for k, v in used.items() if k not in (*OUTSIDE, *IN_TESTING)}
    for node, keys in (*OUTSIDE_OF.items(), *IN_TESTING_OF.items()):
        tree[node] = {k: v for k, v in tree[node].items() if k not in keys}
    tree["model"] = _without_repeats(tree["model"])
    trained = {k: v for k, v in plain.items() if k not in IN_TESTING}
    bleu = tokenizer(tree["task"].pop("tokenize", USUAL_BLEU), plain["data"].get("target") or "")
    made: TrainingParts = {
        "config": tree,
        "data": data_fingerprint,
        "device": device_kind(config),
        "libraries": library_versions(),
        "modules": source_hashes([*ENTRY_MODULES, *_target_modules(trained)]),
    }
    if weights:
        made["initial"] = weights
    if bleu != USUAL_BLEU:
        made["bleu"] = bleu
    return made


def evaluation_parts(
    config: DictConfig, training: str, tests: Mapping[str, str] | None = None
) -> EvaluationParts:
    """Return everything on which the identity of an evaluation depends, as plain data.

    Args:
        config: the config of the run.
        training: identity of the training run.
        tests: hash of the additional text that a test reads, by split.
    """
    plain: Any = OmegaConf.to_container(config, resolve=True)
    tree = {key: plain[key] for key in IN_TESTING if plain[key] != USUAL.get(key)}
    for node, keys in IN_TESTING_OF.items():
        tree[node] = {key: plain[node][key] for key in keys}
    hashes = source_hashes([*_target_modules(tree)])
    evaluate = {"ablate.train.evaluate": _read("ablate.train.evaluate").hash}
    text = {split: of for split, of in (tests or {}).items() if split in config.test_splits}
    made: EvaluationParts = {"training": training, "config": tree, "modules": hashes | evaluate}
    if text:
        made["data"] = text
    return made


def _without_repeats(model: dict[str, object]) -> dict[str, object]:
    """Return the config of a model in a canonical form.

    The encoder or the decoder may override a component of the model, such as the norm. An override
    with the component that the model has anyway is replaced by None, because the two configs build
    the same model.
    """
    overrides = {
        k: v for k, v in model.items() if isinstance(v, dict) and v.get("_target_") == OVERRIDES
    }
    return model | {
        stack: {k: None if v == model.get(k) else v for k, v in named.items()}
        for stack, named in overrides.items()
    }


def digest(identity_parts: TrainingParts | EvaluationParts) -> str:
    """Return the identity of a training or evaluation: a hash of 16 hexadecimal digits."""
    text = json.dumps(identity_parts, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def library_versions() -> dict[str, str]:
    """Return the versions of the numerical libraries, by the name of the library."""
    return {name: importlib.metadata.version(name) for name in LIBRARIES}


def device_kind(config: DictConfig) -> str:
    """Return the kind of the training device: the name of the GPU, or "cpu"."""
    wanted = config.trainer.get("accelerator", "auto")
    on_gpu = wanted in ("gpu", "cuda") or (wanted == "auto" and torch.cuda.is_available())
    return torch.cuda.get_device_name() if on_gpu and torch.cuda.is_available() else "cpu"


def source_hashes(names: list[str]) -> dict[str, str]:
    """Return a hash of the source of each module in `names`, and of each module that they import
    (`closure`), by name of the module.
    """
    return {name: _read(name).hash for name in sorted(closure(names))}


def closure(names: list[str]) -> set[str]:
    """Return the modules of this package or of the user that importing `names` executes.

    Modules that cannot change the results of a run (`UNEXECUTED`) are left out.
    """
    modules: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name in modules or name.startswith(UNEXECUTED):
            continue
        modules.add(name)
        waiting.extend(_read(name).imports)
    return modules


def _target_modules(tree: Any) -> Iterator[str]:
    if isinstance(tree, dict):
        target = tree.get("_target_")
        module = _module_of(target) if isinstance(target, str) else None
        if module and not _is_library(module):
            yield module
        for key, value in tree.items():
            if key not in ("logger", "study", "engine"):
                yield from _target_modules(value)
    elif isinstance(tree, list):
        for value in tree:
            yield from _target_modules(value)


def _module_of(target: str) -> str | None:
    """Return the longest prefix of a dotted path that is a module; None if there is none."""
    name = target
    while "." in name:
        name = name.rpartition(".")[0]
        if _spec_origin(name):
            return name
    return None


def _is_library(name: str) -> bool:
    """Return whether a module is an installed package, which is identified by its version.

    All other modules are identified by their source.
    """
    return "site-packages" in str(_spec_origin(name)) and not name.startswith("ablate.")


@functools.cache
def _spec_origin(name: str) -> str | None:
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return None
    return spec.origin if spec and spec.origin and spec.origin.endswith(".py") else None


class Source(NamedTuple):
    """A hash of the source of a module, and the modules of this package that it imports."""

    hash: str
    imports: tuple[str, ...]


@functools.cache
def _read(name: str) -> Source:
    origin = _spec_origin(name)
    if origin is None:
        return Source("", ())
    # as bytes, so that the encoding that the module declares is used
    tree = ast.parse(Path(origin).read_bytes())
    return Source(source_hash(tree), _imports(tree))


def _imports(tree: ast.Module) -> tuple[str, ...]:
    """Return the modules of the `ablate` package that are imported anywhere in the source."""
    names: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            names += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
    return tuple(n for n in names if n.startswith("ablate.") and _spec_origin(n))


def source_hash(tree: ast.Module) -> str:
    """Return a hash of 16 hexadecimal digits that ignores comments, docstrings and layout.

    Docstrings are removed from `tree`. The hash depends on the version of Python, because syntax
    trees differ between versions.
    """
    for node in ast.walk(tree):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            del node.body[0]
    return hashlib.sha256(ast.dump(tree).encode()).hexdigest()[:16]
