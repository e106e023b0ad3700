"""Every key that a run can have: those of the default config, and those of every option of conf/.

An option brings keys of its own: `model/position=rotary` has other ones than the default.
"""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from omegaconf import DictConfig, ListConfig, OmegaConf

# What an option needs besides, to work and to be fast. {text} is the folder of `write_text`.
LANGUAGE = (
    "data.language=en",
    *(f"data.{s}={{text}}/text.en" for s in ("train", "validation", "test")),
)
DECODER = ("model=decoder_only", "model.n_layers=1", "tokenizer=char")
LANGUAGE_MODEL = (
    "task=language_model",
    "model=decoder_only",
    "model.n_layers=1",
    "batch.context=8",
)
ENCODER = ("task=masked_language_model", "model=encoder_only")
NEEDS = {
    "adapt=freeze_inputs": ("model/embedding=separate",),
    "data=language": ("task=language_model", *DECODER, *LANGUAGE),
    "data=shakespeare": LANGUAGE_MODEL,
    "data=shakespeare_whole": LANGUAGE_MODEL,
    "data=text": (*LANGUAGE_MODEL, "data.files=[{text}/text.en]"),
    "data=parallel": (
        *("data.source=en", "data.target=de", "data.train={text}/text", "tokenizer=char"),
        *("data.validation_size=5", "data.test_size=5"),
    ),
    "initial=glove": ("initial.text.n_train=50", "initial.steps=5"),
    "initial=vectors": ("initial.file={text}/vectors.txt",),
    "measure=antecedent": ("data=pronouns",),
    "measure=first_token": LANGUAGE_MODEL,
    "measure=log_partition": LANGUAGE_MODEL,
    "measure=longer_contexts": LANGUAGE_MODEL,
    "model/attention=linformer": ENCODER,
    "model/attention=linformer_narrow": ENCODER,
    "model/parametrisation=mup": ("optimizer=adamw_by_role",),
    "model=decoder_only": ("task=language_model",),
    "model=encoder_only": ("task=masked_language_model",),
    "scale=gpu": ("data=toy", "trainer=cpu"),
    "scale=language_gpu": ("trainer=cpu",),
    "scale=multi30k": ("data=toy",),
    "scale=reference": ("data=toy",),
    "task=language_model": ("model=decoder_only",),
    "task=masked_language_model": ("model=encoder_only",),
    "trainer=ddp": ("trainer.devices=1",),
    "trainer=gpu": ("trainer.accelerator=cpu",),
}
# Multi30k is checked by its digest, a checkpoint needs a run, and transformer is what sizes share.
ONLY_OF_DEFAULT = "._"  # _target_ and _partial_: they are refused in the same way everywhere
LEFT_OUT = (  # and what needs a network
    *("data=multi30k", "data=huggingface", "data=huggingface_pairs", "initial=checkpoint"),
    "model=transformer",
)


class Key(NamedTuple):
    """A key of a run with these `choices`: its value there, and words that it may have."""

    choices: tuple[str, ...]
    name: str
    value: Any
    words: tuple[str, ...]


def write_text(folder: Path) -> None:
    """Write what the options of `NEEDS` read."""
    for language in ("en", "de"):
        lines = (f"{language} {i} {i % 7}\n" for i in range(50))
        (folder / f"text.{language}").write_text("".join(lines))
    vector = " 0.5" * 16
    (folder / "vectors.txt").write_text("".join(f"{word}{vector}\n" for word in "abc"))


def every_key(compose, folders: Sequence[Path], sizes: list[str], text: Path) -> list[Key]:
    """Return the keys of the default run, then those that each option adds or changes."""
    comments = _words(folders)
    default = nodes(compose(*sizes))
    keys = [Key(tuple(sizes), *node, comments(node[0])) for node in default.items()]
    for option in options(folders):
        choices = (option, *(word.format(text=text) for word in NEEDS.get(option, ())))
        present = nodes(compose(*choices))
        fitting = [size for size in sizes if size.partition("=")[0] in present]
        whole = nodes(compose(*fitting, *choices))
        changed = [node for node in whole.items() if default.get(node[0], ...) != node[1]]
        changed = [node for node in changed if ONLY_OF_DEFAULT not in node[0]]
        keys += [Key((*fitting, *choices), *node, comments(node[0])) for node in changed]
    return keys


def options(folders: Sequence[Path]) -> list[str]:
    """Return `group=option` for the files of the config tree, experiments excepted."""
    paths = sorted(path.relative_to(f) for f in folders for path in f.glob("*/**/*.yaml"))
    names = [f"{path.parent}={path.stem}" for path in paths if path.parts[0] != "experiment"]
    return [name for name in names if name not in LEFT_OUT]


def nodes(config: DictConfig, parent: str = "") -> dict[str, Any]:
    """Return the plain value of every node below a config, by its key."""
    values: dict[str, Any] = {}
    for key in config:
        name, value = f"{parent}{key}", config[key]
        if isinstance(value, DictConfig):
            values |= nodes(value, f"{name}.")
        plain = isinstance(value, DictConfig | ListConfig)
        values[name] = OmegaConf.to_container(value, resolve=True) if plain else value
    return values


def _words(folders: Sequence[Path]) -> Callable[[str], tuple[str, ...]]:
    """Return what gives the words of a key, where a comment lists them: `# normal | uniform`."""
    paths = [path for folder in folders for path in folder.rglob("*.yaml")]
    text = "\n".join(path.read_text(encoding="utf-8") for path in paths)
    lists = re.findall(r"^ *(\w+): .*# (\w+(?: \| \w+)+)", text, re.MULTILINE)
    words = {key: tuple(allowed.split(" | ")) for key, allowed in lists}
    words["_target_"] = tuple(sorted(set(re.findall(r"_target_: ([\w.]+)", text))))
    return lambda name: words.get(name.rpartition(".")[2], ())
