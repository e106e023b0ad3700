"""Define the stored results of runs and sweeps (result.json, environment.json, cells/NUMBER.json),
read them after a check of seals and digests, and determine the arm of a run.

The arm of a run is given by the levels of the compared factors. They are written as text such that
different levels have different texts. Plain words are written unchanged. A text that could be
mistaken for another type, such as "1" or "null", or that contains spaces, is quoted. A list or a
node is written like an override.
"""

import itertools
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from os.path import normpath, relpath
from pathlib import Path
from typing import Any, Literal, NamedTuple, NotRequired, cast

from omegaconf import DictConfig, OmegaConf
from typing_extensions import TypedDict

from ablate.config import is_below, place
from ablate.config.screen import is_combinations
from ablate.config.study import Levels
from ablate.errors import UserError
from ablate.record.files import digest, digest_of, lies_in, read_sealed, seal, write_json

RESULT = "result.json"
IDENTITY = "identity.json"  # file of a run or an evaluation: everything that determines its results
FOLDERS = ("folder", "evaluation")  # keys of an outcome
Metrics = dict[str, int | float | None]  # by name; None means not finite
# keys (with everything below them) that cannot change a result
WITHOUT_EFFECT = (
    *("name", "contest", "n_jobs", "without", "fresh", "logger", "study", "paths", "trust"),
    "engine",
)
SEEDS = ("seed", "replicate")  # keys that distinguish runs of an arm rather than arms

WORD = re.compile(r"[^\s\"'=,:|\[\]{}]+")
DIGITS = 6  # number of digits of the digest that replaces the cut part


class Fingerprints(NamedTuple):
    """Hashes of the text that a run reads.

    `training` covers the text for training and validation. `tests` covers, for each split,
    additional text that a test reads. A split without such text is left out.
    """

    training: str
    tests: Mapping[str, str]


class Result(TypedDict):
    """The result of a training, of an evaluation or of both; of a failed run, its status and error.

    The file result.json has a digest of this content, too, which seals the file. It has none of the
    keys from `training` on, which are added to the result that a run returns.
    """

    status: Literal["finished", "diverged", "collapsed", "failed"]
    error: NotRequired[str]
    identity: NotRequired[str]
    metrics: NotRequired[Metrics]
    seconds: NotRequired[dict[str, float]]  # by phase
    wall_seconds: NotRequired[float]
    ended: NotRequired[float]  # unix time
    weights: NotRequired[str | None]  # SHA-256 of the tested weights; null if they were not saved
    signatures: NotRequired[dict[str, str]]  # settings of each score, by metric
    samples: NotRequired[list[str]]  # texts that a language model generated
    files: NotRequired[dict[str, str]]  # SHA-256 by name; only in result.json
    training: NotRequired[str]  # identity of the training
    folder: NotRequired[str]  # folder of the training
    evaluation: NotRequired[str]  # folder of the evaluation, if it exists
    reused: NotRequired[bool]  # whether it was stored by an earlier command
    trained: NotRequired[bool]  # whether this command has trained the model
    logger_failures: NotRequired[list[str]]  # messages
    # of the run at its short budget, a smaller number of steps after which it was tested as well
    short: NotRequired["Result"]


class Tuned(TypedDict):
    """The value that a run uses for a tuned nuisance parameter, and the parameter's config key."""

    key: str
    value: Any


class Outcome(Result):
    """A run of a sweep with its outcome, the content of cells/NUMBER.json: the number, seed, levels
    and overrides that identify the run, and its outcome.
    """

    cell: int
    seed: int
    levels: Levels
    overrides: list[str]
    study: NotRequired[str]  # hash of the study under which the run was started
    matched: NotRequired[Levels]
    tuned: NotRequired[Tuned]


def read_result(folder: Path, identity: str | None = None) -> Result | None:
    """Return the result in the folder of a training or an evaluation; None if there is none.

    All files that the result names are verified. Weights are not among them, because they are
    verified when they are loaded.

    Raises:
        UserError: the result or one of its files was changed after it was written, belongs to
            another `identity`, or is outside the folder.
    """
    try:
        result: Result = read_sealed(folder / RESULT)
    except FileNotFoundError:
        return None
    if identity is not None and result["identity"] != identity:
        raise UserError(
            f"{folder / RESULT} belongs to another run, {result['identity']}: remove the folder"
        )
    for name, sha in result["files"].items():
        path = folder / name
        if not lies_in(path, folder):
            raise UserError(f"{folder / RESULT} lists {name}, which is outside of {folder}")
        if not path.is_file() or digest_of(path) != sha:
            raise UserError(f"{path} is damaged or was edited: it has not the digest in {RESULT}")
    return result


def outcome_path(sweep: Path, number: int) -> Path:
    """Return the path of the file in which a sweep stores the outcome of run `number`."""
    return sweep / "cells" / f"{number:04d}.json"


def write_outcome(path: Path, outcome: Outcome) -> None:
    """Write the outcome of a run of a sweep to its file.

    The folders of the run are stored relative to the folder of the sweep, so that a results folder
    can be moved.
    """
    write_json(path, seal(_with_folders(outcome, lambda folder: relpath(folder, path.parents[1]))))


def read_outcome(path: Path) -> Outcome:
    """Return the outcome of a run of a sweep from its file.

    Raises:
        FileNotFoundError: the file does not exist.
        UserError: the file was changed after it was written.
    """
    sealed, sweep = read_sealed(path), path.parents[1]
    return cast(Outcome, _with_folders(sealed, lambda folder: normpath(sweep / folder)))


def _with_folders(outcome: Any, change: Callable[[str], str]) -> Any:
    """Return an outcome, also that of a short run in it, with other paths of its folders."""
    folders = {key: change(outcome[key]) for key in FOLDERS if key in outcome}
    short = {"short": _with_folders(outcome["short"], change)} if "short" in outcome else {}
    return {**outcome, **folders, **short}


def read_outcomes(sweep: Path) -> list[Outcome]:
    """Return the outcomes of all runs of a sweep, in order of their numbers.

    Raises:
        UserError: a file was changed after it was written.
    """
    return [read_outcome(path) for path in sorted((sweep / "cells").glob("*.json"))]


def folders_of(outcome: Outcome) -> list[str]:
    """Return the folders of a run and of its evaluation, also of its short run."""
    ends: tuple[Any, ...] = (outcome, outcome.get("short", {}))
    return [end[key] for end in ends for key in FOLDERS if key in end]


def executed_source(outcome: Outcome) -> Iterator[tuple[str, str]]:
    """Yield each module that a run and its evaluation executed, and the hash of its source.

    Yield nothing for a failed run.
    """
    for folder in folders_of(outcome):
        parts = json.loads(Path(folder, IDENTITY).read_text(encoding="utf-8"))
        yield from parts["modules"].items()


def swept(runs: list[Outcome]) -> list[str]:
    """Return the factors whose level differs between runs."""
    keys = dict.fromkeys(itertools.chain.from_iterable(run["levels"] for run in runs))
    return [k for k in keys if len({value_text(run["levels"].get(k)) for run in runs}) > 1]


def key(levels: Levels) -> str:
    """Return a text that is equal for two sets of levels exactly if their values and types are
    equal.

    Python considers 1, 1.0 and True equal, but they are three configs.
    """
    return json.dumps(levels, sort_keys=True, default=str)


def run_key(levels: Levels, seed: int) -> str:
    """Return a text that identifies a run of a study by the levels of its arm and by its seed.

    By this text, the same run is recognised in several sweeps of the study.
    """
    return json.dumps([key(levels), seed])


def value_text(value: Any) -> str:
    """Return a value as it is written in an override: 0.5, null, relu, "1", {rate:0.5}."""
    if isinstance(value, dict):
        items = (f"{value_text(name)}:{value_text(item)}" for name, item in value.items())
        return f"{{{','.join(items)}}}"
    if isinstance(value, list):
        return f"[{','.join(map(value_text, value))}]"
    is_word = isinstance(value, str) and _is_word(value)
    return value if is_word else json.dumps(value, ensure_ascii=False, default=str)


def _is_word(text: str) -> bool:
    """Return whether a text cannot be mistaken for a number or another type."""
    if not WORD.fullmatch(text) or text.lower() in ("null", "true", "false"):
        return False
    try:
        float(text)
    except ValueError:
        return True
    return False


def short_names(factors: Iterable[str]) -> dict[str, str]:
    """Return, by factor, the shortest suffix of its name that distinguishes it from other factors.

    If a config group is placed at another key, as in model/norm@model.encoder.norm, the suffix is
    taken from this key: encoder.norm.
    """
    parts = {factor: re.split("[./]", place(factor)) for factor in factors}
    names = {}
    for factor, words in parts.items():
        others = [parts[other] for other in parts if other != factor]
        sizes = range(1 + ("@" in factor), len(words))
        distinct = (n for n in sizes if not any(other[-n:] == words[-n:] for other in others))
        names[factor] = ".".join(words[-next(distinct, len(words)) :])
    return names


def cut(text: str, longest: int) -> str:
    """Return a text, cut to at most `longest` characters.

    A cut text ends with a digest of the whole text.
    """
    mark = f"~{digest(text, DIGITS)}"
    return text if len(text) <= longest else text[: longest - len(mark)] + mark


def say(named: Levels) -> str:
    """Return the label of an arm, such as "pre_ln n_heads=8": options by their name, other values
    with their key; "single" without levels.

    Different levels of the same factors have different labels.
    """
    names = short_names(named)
    words = [
        value_text(value)
        if isinstance(value, str) and "@" not in factor
        else f"{names[factor]}={value_text(value)}"
        for factor, value in named.items()
    ]
    return " ".join(words) or "single"


def levels(config: DictConfig, *, nuisance: bool = False) -> Levels:
    """Return the level of each factor of the study; without a study, of each override.

    A level is plain data. For a config group, the level is the name of the chosen option (or a list
    of names). For a node given as {key:value}, the level is this node. For any other key, the level
    is the resolved value, including everything below the key. Runs with equal levels have equal
    configs except for the seed (ablate.sweep.compose).

    Args:
        config: the config of a run.
        nuisance: whether to add the overridden nuisance parameters of a study, such as a learning
            rate that is being tuned.
    """
    if is_combinations(config):
        from ablate.config.combinations import levels_of  # imports NumPy

        return levels_of(config)
    from ablate.config.settle import hydra_node  # slow to import

    node = hydra_node(config)
    words = [] if node is None else node.overrides.task
    keys = [key for word in words if makes_arms(key := word.lstrip("+~").partition("=")[0])]
    if (study := config.study) is not None:
        free = [*study.nuisance, *([study.tune.key] if study.tune else [])] if nuisance else []
        keys = [*study.factors, *(key for key in keys if key in free)]
    chosen, nodes, by_factor = choices(node), _nodes(words), {}
    for factor in keys:
        value = OmegaConf.select(config, place(factor))
        if factor in nodes and OmegaConf.is_dict(value):
            value = nodes[factor]
        elif factor in chosen:
            value = chosen[factor]
        elif OmegaConf.is_config(value):
            value = OmegaConf.to_container(value, resolve=True)
        by_factor[factor] = value
    plain: Levels = json.loads(json.dumps(by_factor, default=str))
    return plain


def _nodes(overrides: Iterable[str]) -> Levels:
    """Return the values of overrides that are lists or mappings, by key.

    These overrides are parsed here, because Hydra's record of the chosen options
    (hydra.runtime.choices) does not contain options that were chosen as a list.
    """
    from hydra.core.override_parser.overrides_parser import OverridesParser  # slow to import

    words = [word for word in overrides if re.search(r"=.*[\[{]", word)]
    parsed = OverridesParser.create().parse_overrides(words)
    values = {override.key_or_group: override.value() for override in parsed}
    return {key: value for key, value in values.items() if isinstance(value, list | dict)}


def choices(node: Any) -> dict[str, str | None]:
    """Return the chosen option of every config group, given Hydra's node of a config, or None."""
    chosen = {} if node is None else node.runtime.choices
    return {group: level for group, level in chosen.items() if not group.startswith("hydra/")}


def makes_arms(key: str) -> bool:
    """Return whether runs that differ in this config key belong to different arms."""
    return not is_below(place(key), (*WITHOUT_EFFECT, *SEEDS, "experiment", "hydra"))
