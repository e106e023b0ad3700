"""Readable labels of config options and values: "Pre-LN", "no warm-up", "8 heads".

The YAML file of an option contains its label in a comment, `# label: Pre-LN`. The options of probes
may also label values of a key, such as `# label work=flash: FlashAttention`. A comment affects
neither the constructor nor the identity (config digest) of a run. An option without a label is
named by its file. The labels of keys are in labels.yaml, beside this module. Any other key is named
by key and value. The YAML file of an experiment contains its title and its purpose in two more
comments, `# title: Pre-LN against Post-LN` and `# purpose: Compare`.

Options and experiments of the user are in folders that only the commands with `--config-dir` know.
A sweep therefore stores their labels, title and purpose in its registration (`stored_labels`), and
commands that read the results use the stored labels (`use_labels`).

`options` lists every option of every config group with a one-line summary, without importing its
class. The summary is the comment at the start of the option's YAML file. Without a comment, it is
the first paragraph of the docstring of the option's class, or of the module if it has no other
class, with the keys that the option sets.
"""

import ast
import re
from collections.abc import Hashable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from ablate.config import (
    CONF,
    PACKAGE,
    catalogue_folders,
    catalogue_root,
    groups,
    option_file,
    option_files,
    option_folders,
)

LABEL = re.compile(r"^# label: (.+)$", re.MULTILINE)
VALUE_LABEL = re.compile(r"^# label (\w+)=(\w+): (.+)$", re.MULTILINE)
PLACED = re.compile(r"(.+) in (the encoder|the decoder|cross-attention)$")
TITLE = re.compile(r"^# (title|purpose): (.+)$", re.MULTILINE)
# words around the value of a key, which are not part of the name of the key
AROUND = re.compile(r"^(sentences of |sentences cut at |at most )*(of )?|( to the)?( of)?$")
FILE = re.compile(r"\w[\w-]*", re.ASCII)
SPLIT = re.compile(r"[./_]+")

# Labels of keys and of their values, by key; an entry with labels of values is a dictionary.
LABELS: dict[str, str | dict[Any, str]] = yaml.safe_load(
    Path(__file__).with_name("labels.yaml").read_text(encoding="utf-8")
)
KEYS = {key: entry if isinstance(entry, str) else entry["label"] for key, entry in LABELS.items()}
# Words that have capitals in names without a label, such as those of the variants of a screen.
CAPITALS = ("ALiBi", "GEGLU", "GELU", "LN", "Muon", "QK", "ReLU", "RMS", "SwiGLU")
SPELLING = {word.lower(): word for word in CAPITALS}
SHORT = "budget.short"
PARTS = {"cross": "cross-attention"}
MEASURED = ("measure", "probe")  # groups whose options are no parts of a model
# comments that are no description: labels of an option and of its values, and other marks
SKIPPED = re.compile(r"@package|label:|label \w+=|purpose:|text:")
HIDDEN = ("_target_", "_partial_", "defaults")
_labels_of_user: dict[str, str] = {}  # set by `use_labels`


def texts_of_task(options: Mapping[str, str]) -> str:
    """Return what a model of a task is validated and tested on: "sentences" or "contexts".

    Args:
        options: option by config group; without the group `task`, the texts are sentences.
    """
    return "contexts" if options.get("task") == "language_model" else "sentences"


def use_labels(labels: Mapping[str, str]) -> None:
    """Use these labels, by GROUP=OPTION, for the user's options from now on, and no others.

    The names in a table of runs are labelled in the same way, by COLUMN=VALUE.
    """
    _labels_of_user.clear()
    _labels_of_user.update(labels)


def stored_labels(hydra: Any, variants: Mapping[str, Mapping[str, object]]) -> dict[str, str]:
    """Return the labels of all options in the user's config folders, by GROUP=OPTION, and the title
    and the purpose of the experiment if it is in one of these folders. A variant that only chooses
    such an option has the label of the option, by variant=NAME.

    Args:
        hydra: Hydra's node of a config.
        variants: the overrides of each variant, by name.
    """
    sources = hydra.runtime.config_sources
    folders = [s.path for s in sources if s.schema == "file" and "command-line" in s.provider]
    labels = {k: label for folder in folders for k, label in _labels_in(Path(folder)).items()}
    for name, overrides in variants.items():
        words = [f"{key}={value}" for key, value in overrides.items()]
        if len(words) == 1 and words[0] in labels:
            labels[f"variant={name}"] = labels[words[0]]
    for folder in folders:
        path = Path(folder, "experiment", f"{hydra.runtime.choices.get('experiment')}.yaml")
        if path.is_file():
            labels |= {key: text for key, text in _title_in(path)._asdict().items() if text}
    return labels


@cache  # every run of a sweep asks for them
def _labels_in(folder: Path) -> dict[str, str]:
    """Return the labels of the options in a config folder, by GROUP=OPTION.

    Only the groups that ablate or the catalogue has are read, because the folder may contain many
    other YAML files, such as configs of runs.
    """
    paths = (
        (group, path) for group in groups() for path in sorted((folder / group).glob("*.yaml"))
    )
    texts = {f"{group}={path.stem}": path.read_text(encoding="utf-8") for group, path in paths}
    return {name: label[1].strip() for name, text in texts.items() if (label := LABEL.search(text))}


def option_label(group: str, option: str) -> str:
    """Return the label of an option, such as "Pre-LN" for pre_ln in model/residual.

    Args:
        group: the config group, without a package such as @model.encoder.norm.
        option: the name of the YAML file, without its ending.
    """
    of_user = _labels_of_user.get(f"{group}={option}")
    return _label_in_file(group, option) or of_user or spelled(option)


@cache
def _label_in_file(group: str, option: str) -> str:
    path = option_file(group, option)
    label = LABEL.search(path.read_text(encoding="utf-8")) if path else None
    return label[1].strip() if label else ""


def spelled(name: str) -> str:
    """Return a name as words, with the usual capitals: "QK norm", "Pre-LN" for qk_norm, pre_ln."""
    words = " ".join(SPELLING.get(word, word) for word in name.split("_"))
    return re.sub(r"(\w+) LN\b", lambda norm: f"{norm[1].capitalize()}-LN", words)


def level_label(factor: str, level: Any) -> str:
    """Return a readable label for a level of a factor.

    Args:
        factor: a config group, with or without a package such as @model.encoder.norm, or a key.
        level: the name of an option, or the value of the key.
    """
    if of_user := _labels_of_user.get(f"{factor}={level}"):
        return of_user
    if label := option_name(factor, level):
        group, _, place = factor.partition("@")
        part = place.removeprefix("model.").partition(".")[0]
        return f"{label} in {PARTS.get(part, f'the {part}')}" if part else label
    labels = _labels_of_values().get(factor, {})
    if isinstance(level, Hashable) and level in labels:
        return labels[level]
    value = _value(level)
    if factor in KEYS:
        label = KEYS[factor].format(value)
        return label.removesuffix("s") if label.startswith("1 ") else label  # 1 head, 2 heads
    words = " ".join(SPLIT.split(factor)[-2:] if factor.startswith("probe") else _last(factor))
    return f"{words} {value}"


@cache
def _labels_of_values() -> dict[str, dict[Any, str]]:
    """Return the labels of values by key: those in `LABELS`, and those in the options of probes."""
    by_key = {
        key: {value: label for value, label in entry.items() if value != "label"}
        for key, entry in LABELS.items()
        if isinstance(entry, dict)
    }
    for path in option_files("probe").values():
        for key, value, label in VALUE_LABEL.findall(path.read_text(encoding="utf-8")):
            by_key.setdefault(f"probe.{key}", {})[value] = label
    return by_key


def option_name(factor: str, level: Any) -> str:
    """Return the label of a level if the factor is a config group; "" if the factor is a key."""
    group = factor.partition("@")[0]
    is_group = any((folder / group).is_dir() for folder in option_folders())
    return option_label(group, level) if isinstance(level, str) and is_group else ""


def arm_label(levels: Mapping[str, object]) -> str:
    """Return a readable label for an arm: the labels of its factor levels, separated by commas."""
    return ", ".join(arm_labels(levels))


def arm_labels(levels: Mapping[str, object]) -> list[str]:
    """Return the labels of the levels of an arm.

    A level of `budget.short` is the number of steps of a second, shorter training budget, for which
    each run is tested too. This level does not distinguish models, so its label is left out if the
    arm has other levels. Parts of a model with the same level share a label: "layer norm in encoder
    and decoder".
    """
    named = {factor: level for factor, level in levels.items() if factor != SHORT} or levels
    labels = [level_label(factor, level) for factor, level in named.items()]
    places: dict[str, list[str]] = {}  # parts of the model that have the same level
    for label in labels:
        name, place = split.groups() if (split := PLACED.match(label)) else (label, "")
        places.setdefault(name, []).extend([place] if place else [])
    return [_placed(name, where) for name, where in places.items()]


def _placed(name: str, places: list[str]) -> str:
    """Return a label with its places: "layer norm in the encoder", "in encoder and decoder"."""
    if not places:
        return name
    if len(places) == 1:
        return f"{name} in {places[0]}"
    *first, last = (place.removeprefix("the ") for place in places)
    return f"{name} in {', '.join(first)} and {last}"


def factor_label(factor: str) -> str:
    """Return a readable name of a factor: "heads" for model.n_heads, "residual" for
    model/residual.
    """
    group, _, place = factor.partition("@")
    if factor in KEYS:
        words = " ".join(KEYS[factor].replace("{}", "").split()).strip(": ")
        return AROUND.sub("", words) or " ".join(_last(group))
    name = " ".join(_last(group)).removeprefix("n ")
    part = place.removeprefix("model.").partition(".")[0]
    return f"{name} ({PARTS.get(part, part)})" if place else name


def _last(factor: str) -> list[str]:
    """Return the words in the last part of a key: n and heads for model.n_heads."""
    return re.split(r"[./]", factor)[-1].split("_")


def _value(level: Any) -> str:
    if isinstance(level, bool):
        return "on" if level else "off"
    if isinstance(level, int):
        return f"{level:,}"
    if isinstance(level, Mapping):
        return " and ".join(f"{key} {_value(value)}" for key, value in level.items()) or "empty"
    return "none" if level is None else spelled(str(level))


class Title(NamedTuple):
    """The title and the purpose of an experiment; "" if its YAML file does not state them."""

    title: str = ""
    purpose: str = ""


def experiment_title(name: str, labels: Mapping[str, str] | None = None) -> Title:
    """Return the title and the purpose of an experiment.

    Args:
        name: the name of the experiment.
        labels: the labels that its sweep has stored.
    """
    if labels and {*Title._fields} & {*labels}:
        return Title(*(labels.get(key, "") for key in Title._fields))
    path = option_file("experiment", name) if FILE.fullmatch(name) else None
    return _title_in(path) if path else Title()


@cache
def _title_in(path: Path) -> Title:
    return Title(**dict(TITLE.findall(path.read_text(encoding="utf-8"))))


class Option(NamedTuple):
    """An option of a config group (`group=name`) with a summary; `folder` is "" for options of
    ablate.
    """

    group: str
    name: str
    summary: str
    folder: str = ""


def options(folder: Path | None = None, *, experiments: bool = False) -> list[Option]:
    """Return all options, sorted by group; in each group, the options of ablate come first, then
    the options of the catalogue, and then the options in the user's folder.

    Without `experiments`, the experiments of ablate and of the catalogue are left out, because
    there are many.
    """
    without = "." if experiments else "experiment"
    listed = _options(CONF, without)
    if home := catalogue_root():
        for path in catalogue_folders():
            place = path.relative_to(home.parent).as_posix()
            listed += [o._replace(folder=place) for o in _options(path, without)]
    if folder:
        listed += [option._replace(folder=str(folder)) for option in _options(folder)]
    return sorted(listed, key=lambda option: option.group)


def _options(folder: Path, without: str = ".") -> list[Option]:
    paths = sorted(folder.rglob("*.yaml"), key=lambda path: (path.parent, path.name))
    by_path = {path: path.relative_to(folder).parent.as_posix() for path in paths}
    return [
        Option(group, path.stem, _summary(path))
        for path, group in by_path.items()
        if group not in (".", without)
    ]


def _summary(path: Path) -> str:
    """Return a line about an option: a comment in its YAML file, or its class and its keys."""
    text = path.read_text(encoding="utf-8")
    comments = [line.lstrip("# ") for line in text.splitlines() if line.startswith("# ")]
    if comments := [line for line in comments if not SKIPPED.match(line)]:
        return comments[0].removeprefix("title: ")
    with path.open(encoding="utf-8") as file:  # whose name YAML's error messages have
        node = yaml.safe_load(file) or {}
    settings = {key: value for key, value in node.items() if key not in HIDDEN}
    keys = ", ".join(
        f"{key} {value}" for key, value in settings.items() if not isinstance(value, dict)
    )
    first = _docstring(str(node.get("_target_", "")))
    return "; ".join(part for part in (first, keys) if part)


def _docstring(target: str) -> str:
    """Return the first paragraph of the docstring of a class of ablate, of the catalogue or of a
    package in the current folder, without its full stop.

    The docstring of a module without other classes stands for the docstring of the class. `target`
    is the full name of the class. It is returned if there is no such docstring.
    """
    package, *names = target.split(".")
    if not names:
        return target
    homes = {path.name: path for path in (catalogue_root(), PACKAGE) if path}
    module = homes.get(package, Path(package)).joinpath(*names[:-1])
    source = next(filter(Path.is_file, (module.with_suffix(".py"), module / "__init__.py")), None)
    if source is None:
        return target
    tree = _tree(source)
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    documented = classes.get(names[-1], tree)
    docstring = (
        (len(classes) < 2 and ast.get_docstring(tree)) or ast.get_docstring(documented) or target
    )
    paragraph = docstring.partition("\n\n")[0]
    return " ".join(paragraph.split()).rstrip(".")


@cache
def _tree(source: Path) -> ast.Module:
    return ast.parse(source.read_text(encoding="utf-8"))
