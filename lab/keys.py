"""Write the reference of all config keys, with type, default and meaning, from code and YAML.

example:
  python -m lab.keys to=docs/reference/keys.md
"""

import argparse
import ast
import dataclasses
import inspect
import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    NamedTuple,
    NotRequired,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import yaml
from typing_extensions import is_typeddict

from ablate.config import catalogue_root, option_folders, search_catalogue
from ablate.config.limits import FOREIGN, LISTS, MAPPINGS, Limit
from lab.command import add_page, main, write_page

FIRST = "reading the config"
HEAD = """\
# Every config key

Made by `python -m lab.keys to=docs/reference/keys.md`; a test compares this page with the code.
Set any key as `key=value` on the command line. The option of `scale`, by default `cpu`, replaces
some defaults, such as `budget.steps`: `ablate --cfg job` shows the values of one config.
`ablate options` lists the options of the groups. *Required* means that a value must be given.

"""
TREE = """\
## Keys of every run

"""
STUDY = """\
## Keys of a study

An experiment file sets them below `study:`. [How a verdict is
made](../explanation/verdicts.md) explains them.

"""
GROUPS = """\
## Keys of each option

An option is chosen by `group=option`. Its keys are then set below the name of the group: with
`search=beam`, `search.size=10`. The keys of `search` exist a second time below `validation_search`,
for the search of validations.
"""
REQUIRED = "*required*"
PLAIN = {int: "a whole number", float: "a number", str: "text", bool: "bool", type(None): "null"}
HIDDEN = ("_target_", "_partial_", "defaults")
# keys that have the same meaning in every option
SHARED = {
    "betas": "decay rates of the moving averages of the gradient and of its square",
    "eps": "small constant added to a divisor to avoid division by zero",
    "weight_decay": "weight decay; each step subtracts learning rate * weight_decay * weight",
    "fused": "true: use PyTorch's fused kernel, which updates all parameters at once",
    "warmup": "number of steps in which the learning rate rises linearly to its peak",
    "d_model": "width of the residual stream",
    "d_ff": "inner width of the feed-forward sub-layer",
    "n_heads": "number of attention heads; must divide `model.d_model`",
    "n_layers": "number of encoder layers and, by default, of decoder layers",
    "rate": "default of the dropout probabilities residual, attention, feed_forward and embedding",
    "source": "language code of the source",
    "target": "language code of the target",
    "root": "folder with the unpacked files of the data set; missing files are downloaded",
    "url": "address that the files are downloaded from",
    "accelerator": "device that trains: cpu, gpu, mps, or auto",
    "devices": "number of devices, or a list of GPU indices such as [0,1]",
    "strategy": "Lightning's strategy for several devices, such as auto or ddp",
    "num_nodes": "number of machines that train one run together",
    "precision": "number format; auto: bfloat16 if the device multiplies it fast, else float32",
    "max_steps": "number of optimiser steps; set `budget.steps` instead",
    "val_check_interval": "batches between validations; set `budget.validate_every` instead",
    "check_val_every_n_epoch": "epochs between validations; null: count batches across epochs",
    "accumulate_grad_batches": "number of batches whose gradients make up one optimiser step; "
    "every batch has the same weight; the last step of an epoch may have fewer batches",
    "gradient_clip_val": "larger norms of the gradient are reduced to this norm; null: no clipping",
    "log_every_n_steps": "optimiser steps between two logged values of training metrics",
    "enable_progress_bar": "whether a progress bar is shown",
    "max_extra": "tokens that a translation may have in addition to max_ratio * source tokens",
    "size": "number of unfinished translations (hypotheses) that are kept at each step",
    "decay_from": "step from which the learning rate falls as 1 / sqrt(step)",
    "final": "learning rate at the end, as a fraction of the peak",
    "vocab_size": "number of tokens, special tokens counted",
    "attention": "scores of decoder attention: none (no attention) | additive | dot | general",
    "forget_bias": "initial bias of the forget gate (LSTM) or the update gate (GRU)",
    "documents": "unit that counts as one text: paragraph (a speech), line, or file (everything)",
    "num_cpus": "CPU cores of a run; should be `threads`",
    "num_gpus": "number of GPUs of a run",
    "max_retries": "maximum number of times that Ray repeats a run whose machine fails",
    "timeout_min": "time limit of a job in minutes",
    "cpus_per_task": "CPU cores of a job",
    "slurm_signal_delay_s": "seconds before the time limit at which the run saves its state",
    "monitor": "metric that is monitored, such as val/nll",
    "mode": "min: smaller values of `monitor` are better; max: larger values",
    "min_delta": "smallest change of `monitor` that counts as an improvement",
    "logging_interval": "when the learning rate is logged: after each step or each epoch",
    "interval": "when the elapsed time is checked: after each step or each epoch",
    "name": "name of the subfolder for the log files",
}


class Key(NamedTuple):
    """A row of the reference: a config key with its type, default and meaning, all as text."""

    name: str
    kind: str
    default: str
    meaning: str


add_arguments = add_page


def run(arguments: argparse.Namespace) -> None:
    """Write the page."""
    write_page(arguments, page)


def page() -> str:
    """Return the reference of all config keys as a Markdown page."""
    parts = [HEAD, TREE, _table(keys_of_every_run()), STUDY, _table(keys_of_a_study()), GROUPS]
    group = ""
    for name, option, keys in options():
        if name != group:
            parts.append(f"\n### {name}\n")
            group = name
        parts.append(f"\n`{name}={option}`\n\n{_table(keys)}")
    return re.sub(r"\n{3,}", "\n\n", "".join(parts)).rstrip() + "\n"


def _table(keys: list[Key]) -> str:
    rows = (
        f"| `{key.name}` | {_cell(key.kind)} | {_cell(key.default)} | {_cell(key.meaning)} |\n"
        for key in keys
    )
    return "| key | type | default | meaning |\n|---|---|---|---|\n" + "".join(rows) + "\n"


def _cell(text: str) -> str:
    return " ".join(text.split()).rstrip(".").replace("|", "\\|")


def keys_of_every_run() -> list[Key]:
    """Return the keys of `ablate.config.schema` that do not belong to a component."""
    from ablate.config import schema

    comments = _comments(Path(schema.__file__))
    return [*_of_dataclass(schema.Config, "", comments)]


def _of_dataclass(form: Any, prefix: str, comments: Mapping[str, str]) -> Iterator[Key]:
    """Yield the keys of a dataclass and of its nested dataclasses.

    Args:
        form: the dataclass.
        prefix: text before the name of each key, such as "budget.".
        comments: the meaning of each field, by "Class.field".
    """
    for field in dataclasses.fields(form):
        name = f"{prefix}{field.name}"
        usual = field.default_factory if callable(field.default_factory) else None
        if dataclasses.is_dataclass(usual):
            yield from _of_dataclass(usual, f"{name}.", comments)
        elif field.name not in GROUP_NODES:
            value = usual() if usual else field.default
            meaning = comments.get(f"{form.__name__}.{field.name}", "")
            yield Key(name, type_text(field.type), _default(value), meaning)


# fields that are left out here: options of these groups and the study have separate sections
GROUP_NODES = (
    *("data", "tokenizer", "task", "model", "initial", "adapt", "loss", "optimizer", "schedule"),
    *("validation_search", "search", "trainer", "engine", "logger", "callbacks", "probe"),
    *("measure", "metric", "study"),
)


def keys_of_a_study() -> list[Key]:
    """Return the keys of a study, including the keys of its claims, figures and other parts."""
    from ablate.config import study

    comments = _comments(Path(study.__file__))
    forms = (
        ("study.", study.Study),
        ("study.claims[].", study.Claim),
        ("study.tune.", study.Tune),
        ("study.match.", study.Match),
        ("study.figures[].", study.Shown),
        ("study.screen.", study.Screen),
    )
    return [
        key
        for prefix, form in forms
        for key in _of_form(prefix, form, study.CONFIG_DEFAULTS, comments)
    ]


def _of_form(
    prefix: str, form: Any, usual: Mapping[Any, Any], comments: Mapping[str, str]
) -> Iterator[Key]:
    """Yield the keys of a TypedDict.

    Comments of a claim are also looked up in `Question`, from which `Claim` inherits fields.

    Args:
        prefix: text before the name of each key, such as "study.".
        form: the TypedDict.
        usual: the defaults of each TypedDict.
        comments: the meaning of each field, by "Class.field".
    """
    owners = [form.__name__, *(["Question"] if form.__name__ == "Claim" else [])]
    defaults = usual.get(form, {})
    for name, hint in get_type_hints(form).items():
        default = _default(defaults[name]) if name in defaults else REQUIRED
        meaning = [comments[f"{o}.{name}"] for o in owners if f"{o}.{name}" in comments]
        yield Key(f"{prefix}{name}", type_text(hint), default, " ".join(meaning))


def options() -> Iterator[tuple[str, str, list[Key]]]:
    """Yield the group, the name and the keys of each option that is a component and has keys."""
    search_catalogue()
    files = [(path.relative_to(f), path) for f in option_folders() for path in f.rglob("*.yaml")]
    for name, path in sorted(files, key=lambda file: (file[0].parent, file[0].name)):
        group = name.parent.as_posix()
        text = path.read_text(encoding="utf-8")
        node = yaml.safe_load(text) or {}
        if group == "." or group.startswith("experiment") or "# @package _global_" in text:
            continue
        keys = [*_of_option(group.replace("/", "."), node, text)]
        if keys:
            yield group, path.stem, keys


def _of_option(place: str, node: Mapping[str, Any], text: str) -> Iterator[Key]:
    """Yield the keys of an option; keys of nested nodes are written with dots.

    Args:
        place: dotted key of the option's group, which precedes the name of each key.
        node: the content of the option's YAML file, or a nested part of the content.
        text: the YAML file, which is searched for comments.
    """
    comments = _comments_of_yaml(text)
    kinds, args = _constructor(str(node.get("_target_", "")))
    for name, value in node.items():
        if name in HIDDEN or name.startswith("override "):
            continue
        meaning = comments.get(name) or args.get(name) or SHARED.get(name, "")
        inner = value if isinstance(value, dict) and "_target_" not in value else None
        if inner:
            yield from _of_option(f"{place}.{name}", inner, "")
        elif not isinstance(value, dict):
            limits = [FOREIGN[f"{place}.{name}"].text] if f"{place}.{name}" in FOREIGN else []
            kind = type_text(kinds.get(name, Any), limits) or _type_of(value)
            yield Key(f"{place}.{name}", kind, _default(value), meaning)


def _constructor(target: str) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the type and the description of each argument of a component, by the argument's name.

    Descriptions come from the section `Args:` of the docstrings of the class and its base classes.
    """
    from hydra.utils import get_object

    if not target:
        return {}, {}
    made = get_object(target)
    kinds = {name: p.annotation for name, p in inspect.signature(made).parameters.items()}
    classes = inspect.getmro(made) if inspect.isclass(made) else [made]
    comments: dict[str, str] = {}
    project = ("ablate.", *([f"{home.name}."] if (home := catalogue_root()) else []))
    for base in classes:
        if base.__module__.startswith(project):
            comments = _args(inspect.getdoc(base) or "") | comments
            comments = _args(inspect.getdoc(base.__init__) or "") | comments
    return kinds, comments


def _args(docstring: str) -> dict[str, str]:
    """Return the description of each argument in the section `Args:` of a docstring."""
    section = re.search(r"^Args:\n((?:[ ]{4}.*\n?|\n)+)", docstring, re.MULTILINE)
    entries = re.findall(r"^    ([\w, ]+): (.*(?:\n {5,}.*)*)", section[1] if section else "", re.M)
    return {
        name.strip(): " ".join(text.split()) for names, text in entries for name in names.split(",")
    }


def type_text(hint: Any, limits: list[str] | None = None) -> str:
    """Return a type and its limits in words, such as "int; must be at least 1"; "" for any value.

    Args:
        hint: the type annotation, which may include limits.
        limits: further limits in words.
    """
    limits = limits or []
    if get_origin(hint) is Annotated:
        hint, *notes = get_args(hint)
        limits = [*(note.text for note in notes if isinstance(note, Limit)), *limits]
    if get_origin(hint) is NotRequired:
        (hint,) = get_args(hint)
    base = _plain_text(hint)
    return "; ".join(filter(None, (base, *(f"must {limit}" for limit in dict.fromkeys(limits)))))


def _plain_text(hint: Any) -> str:
    kinds = alternatives(hint)
    if any(is_typeddict(kind) for kind in kinds):
        return "keys of its own, or null"
    names = dict.fromkeys(name for kind in kinds for name in _names(kind))
    if PLAIN[float] in names:
        names.pop(PLAIN[int], None)
    return " or ".join(names)


def alternatives(annotation: Any) -> tuple[Any, ...]:
    """Return the members of a union type; for any other annotation, the annotation itself."""
    kind = get_args(annotation)[0] if get_origin(annotation) is Annotated else annotation
    if get_origin(kind) not in (Union, UnionType):
        return (kind,)
    return tuple(inner for part in get_args(kind) for inner in alternatives(part))


def _names(kind: Any) -> list[str]:
    """Return the values of a `Literal`, or the name of another type; [] if it has no name."""
    origin = get_origin(kind)
    if origin is Literal:
        return [str(value) for value in get_args(kind)]
    if origin in LISTS:
        return ["a list"]
    if origin in MAPPINGS or dataclasses.is_dataclass(kind):
        return ["{KEY: VALUE}"]
    if origin is Callable:
        return ["an option (chosen with a slash, as in model/norm=OPTION)"]
    return [PLAIN[kind]] if isinstance(kind, type) and kind in PLAIN else []


def _type_of(value: Any) -> str:
    """Return the type of a default value in words; "" for None and for an interpolation."""
    return "" if value is None or str(value).startswith("${") else _plain_text(type(value))


def _default(value: Any) -> str:
    if value in ("???", dataclasses.MISSING):
        return REQUIRED
    return f"`{value if isinstance(value, str) and value else json.dumps(value)}`"


def _comments(path: Path) -> dict[str, str]:
    """Return the comment on each field of each class of a module, by "Class.field".

    A comment is on the line of the field, or on the lines before the field.
    """
    source = path.read_text(encoding="utf-8")
    lines = source.splitlines()
    fields = (
        (node.name, field)
        for node in ast.parse(source).body
        if isinstance(node, ast.ClassDef)
        for field in node.body
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
    )
    return {
        f"{owner}.{field.target.id}": text  # type: ignore[union-attr]
        for owner, field in fields
        if (text := _comment_at(lines, field.lineno - 1, (field.end_lineno or field.lineno) - 1))
    }


def _comments_of_yaml(text: str) -> dict[str, str]:
    """Return the comment on each top-level key of a YAML file, by key."""
    lines = text.splitlines()
    keys = [(n, m[1]) for n, line in enumerate(lines) if (m := re.match(r"(\w+):", line))]
    return {name: comment for n, name in keys if (comment := _comment_at(lines, n, n))}


COMMENT = re.compile(r"\s*# (?!label:|label \w+=|text:|@package)(.*)")


def _comment_at(lines: list[str], first: int, last: int) -> str:
    before: list[str] = []
    while first and (match := COMMENT.match(lines[first - 1])):
        before.insert(0, match[1])
        first -= 1
    behind = re.search(r"\s# (.*)$", lines[last])
    return " ".join([*before, *([behind[1]] if behind else [])])


if __name__ == "__main__":
    main("lab.keys")
