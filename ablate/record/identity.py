"""Compute the identity of a run: a hash of everything that can change its results.

The hash covers the resolved config of the run, the content of the data, the versions of the
numerical libraries, and the source of the modules that the run executes (`ablate.record.source`).
The hash does not cover paths, logger, names, the number of jobs, and the study. So after a change
of the README, of a comment or of an unrelated component, existing results stay valid.

The identity of training does not cover config keys and text that are used only in testing. The
identity of an evaluation covers them and the identity of the training, so a change of the search or
of a test file evaluates the same weights again.
"""

import hashlib
import importlib.metadata
import json
from collections.abc import Mapping
from typing import Any

from omegaconf import DictConfig, OmegaConf

from ablate.config.bleu import USUAL as USUAL_BLEU
from ablate.config.bleu import tokenizer
from ablate.record.source import dotted_names, source_hash, source_hashes
from ablate.record.types import EvaluationParts, TrainingParts

# Keys that cannot change a result; the hash of the text replaces the node `data`.
OUTSIDE = (
    *("name", "contest", "n_jobs", "without", "fresh", "logger", "study"),
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
EVALUATE = "ablate.train.evaluate"  # its imports are those of training


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
    bleu = tokenizer(tree["task"].pop("tokenize", USUAL_BLEU), plain["data"].get("target") or "")
    made: TrainingParts = {
        "config": tree,
        "data": data_fingerprint,
        "device": device_kind(config),
        "libraries": library_versions(),
        "modules": source_hashes([*ENTRY_MODULES, *dotted_names([tree, plain["data"]])]),
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
    hashes = source_hashes(dotted_names(tree))
    evaluate = {EVALUATE: source_hash(EVALUATE)}
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


def read_source(config: DictConfig) -> None:
    """Read the source of all components in a config, before they are imported.

    Otherwise a file that changes between the import and the computation of the identity would give
    a run the identity of code that it did not execute.
    """
    plain: Any = OmegaConf.to_container(config, resolve=False)
    nodes = [plain[key] for key in plain if key == "data" or key not in OUTSIDE]
    source_hashes(dotted_names(nodes))


def library_versions() -> dict[str, str]:
    """Return the versions of the numerical libraries, by the name of the library."""
    return {name: importlib.metadata.version(name) for name in LIBRARIES}


def device_kind(config: DictConfig) -> str:
    """Return the kind of the training device: the name of the GPU, or "cpu"."""
    wanted = config.trainer.get("accelerator", "auto")
    if wanted not in ("gpu", "cuda", "auto"):
        return "cpu"
    import torch  # takes seconds, and nothing else here needs it

    return torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu"
