"""Compute the identity of a run, a hash of everything that can change its results, and describe the
command, machine and versions of a run.

The hash covers the resolved config of the run, the content of the data, the versions of the
numerical libraries, and the source of the modules that the run executes.
The hash does not cover paths, logger, names, the number of jobs, and the study. So after a change
of the README, of a comment or of an unrelated component, existing results stay valid.

The identity of training does not cover config keys and text that are used only in testing. The
identity of an evaluation covers them and the identity of the training, so a change of the search or
of a test file evaluates the same weights again.

A module of this package or of the user is identified by its source: a hash of its syntax tree,
without comments, docstrings and layout. The modules that it imports are identified, too, also
imports inside functions, and modules that are named by a text, as in `import_module("mine.part")`.
An installed package is identified by its version and by the hashes of its modules that pip has
recorded. A package without a version, or one that Python reads from its own folder
(`pip install --editable`), is identified by its source like a module of the user. Modules of Python
itself are left out. No module is imported here, because that would execute it.
"""

import ast
import functools
import hashlib
import importlib.metadata
import importlib.util
import platform
import re
import subprocess
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

from omegaconf import DictConfig, OmegaConf

from ablate.config import PACKAGE, is_below, leaves, spec_of
from ablate.config.settle import USUAL_BLEU, bleu_tokenizer
from ablate.record.results import WITHOUT_EFFECT

# Keys that cannot change a result, or of which the identity covers the content or the effect: the
# files of `initial`, the text of test_sentences, the changes of a variant.
OUTSIDE = (
    *WITHOUT_EFFECT,
    *("variant", "budget.seeds", "budget.short", "budget.test_sentences", "checkpoint.save_every"),
    *("trainer.enable_progress_bar", "trainer.log_every_n_steps", "initial.folder", "initial.file"),
)
IN_TESTING = (
    *("search", "test_splits", "measure", "metric", "weights"),
    *("batch.test_bucket", "batch.test_padding"),
)
LIBRARIES = ("torch", "pytorch-lightning", "torchmetrics", "numpy", "tokenizers", "sacrebleu")
ENTRY_MODULES = ("ablate.train.resolve", "ablate.train.run")
EVALUATE = "ablate.train.apply"  # its imports are those of training
CHANGED = "+changes"  # after a commit: Python or YAML files of its repository have changed since
Parts = dict[str, Any]  # everything on which an identity depends, by name


def parts(config: DictConfig, data_fingerprint: str, weights: str = "") -> Parts:
    """Return everything on which the identity of a training run depends, as plain data.

    Args:
        config: the config of the run.
        data_fingerprint: hash of the text that training reads.
        weights: hash of the files with the initial weights; "" if there are none.
    """
    plain: Any = OmegaConf.to_container(config, resolve=True)
    # the hash of the text replaces the node `data`
    outside = (*OUTSIDE, *IN_TESTING, "data")
    values: dict[str, Any] = {k: x for k, x in leaves(plain).items() if not is_below(k, outside)}
    words = values.pop("task.tokenize", USUAL_BLEU)
    return {
        "config": values,
        "data": data_fingerprint,
        "device": device_kind(config),
        "libraries": library_versions(),
        "modules": source_hashes([*ENTRY_MODULES, *dotted_names([values, plain["data"]])]),
        "initial": weights,
        "bleu": bleu_tokenizer(words, plain["data"].get("target") or ""),
    }


def evaluation_parts(
    config: DictConfig, training: str, tests: Mapping[str, str] | None = None
) -> Parts:
    """Return everything on which the identity of an evaluation depends, as plain data.

    Args:
        config: the config of the run.
        training: identity of the training run.
        tests: hash of the additional text that a test reads, by split.
    """
    plain: Any = OmegaConf.to_container(config, resolve=True)
    values = {key: x for key, x in leaves(plain).items() if is_below(key, IN_TESTING)}
    return {
        "training": training,
        "config": values,
        "modules": source_hashes(dotted_names(values)) | {EVALUATE: source_hash(EVALUATE)},
        "data": {split: of for split, of in (tests or {}).items() if split in config.test_splits},
    }


def read_source(config: DictConfig) -> None:
    """Read the source of all components in a config, before they are imported.

    Otherwise a file that changes between the import and the computation of the identity would give
    a run the identity of code that it did not execute.
    """
    plain: Any = OmegaConf.to_container(config, resolve=False)
    nodes = [plain[key] for key in plain if key not in OUTSIDE]
    source_hashes([*ENTRY_MODULES, *dotted_names(nodes)])


@functools.cache  # every run of a sweep asks for them
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


DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
PYTHON = Path(sysconfig.get_path("stdlib"))
INSTALLED = {"site-packages", "dist-packages"}  # folders of installed packages
NAME = re.compile(r"\.*[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")  # a name in Python code, such as mine.Part
OURS = "ablate."
# Observing a run does not change it, and neither does code that only accepts or rejects a config:
# the config is part of the identity anyway. `evaluate` belongs to evaluations.
UNEXECUTED = (
    *("ablate.record", "ablate.wandb", "ablate.stats", "ablate.evidence", "ablate.verdict"),
    *("ablate.config.schema", "ablate.config.check", "ablate.config.limits"),
    *("ablate.config.settle", "ablate.errors", "ablate.train.apply", "ablate.train.tracking"),
)


class Source(NamedTuple):
    """A hash of the source of a module, and the dotted names that the source mentions; or the
    version of an installed package.
    """

    hash: str
    imports: Sequence[str] = ()


def source_hashes(names: Iterable[str]) -> dict[str, str]:
    """Return a hash of the source of each module that importing `names` executes (`closure`), by
    name of the module; for an installed package its version.

    Args:
        names: modules, or their classes and functions, as dotted names.
    """
    return {name: source_hash(name) for name in sorted(closure(names))}


def source_hash(name: str) -> str:
    """Return a hash of the source of a module; for an installed package its version.

    The result is "" if there is no such module. A module is read once in each process, so the
    result is the same after a change of the file.
    """
    return _read(name).hash


def has_changed(name: str) -> bool:
    """Return whether the source of a module differs from that when this process first read it."""
    return _read.__wrapped__(name) != _read(name)


def closure(names: Iterable[str]) -> set[str]:
    """Return the modules of this package or of the user, and the installed packages, that importing
    `names` executes.

    Modules that cannot change the results of a run (`UNEXECUTED`) are left out.
    """
    modules: set[str] = set()
    waiting = list(names)
    while waiting:
        name, _ = _locate(waiting.pop())
        if name in modules or not name or name.startswith(UNEXECUTED):
            continue
        modules.add(name)
        waiting += _read(name).imports
        if not name.startswith(OURS):
            waiting.append(name.rpartition(".")[0])  # its package is executed first
    return modules


def dotted_names(tree: Any) -> Iterator[str]:
    """Yield all texts in a config that may name a class or a function, as `_target_` does."""
    if isinstance(tree, str) and "." in tree and NAME.fullmatch(tree):
        yield tree
    elif isinstance(tree, dict | list):
        for value in tree.values() if isinstance(tree, dict) else tree:
            yield from dotted_names(value)


@functools.cache
def _locate(path: str) -> tuple[str, Path | None]:
    """Return the module that a dotted name means, or in which it lies, and the module's file.

    The longest module is returned: a.b for a.b.Part. In an installed package with a version, the
    package is returned without a file. The name is "" if there is no module.
    """
    module: tuple[str, Path | None] = "", None
    package = path.partition(".")[0]
    for name in accumulate(path.split("."), "{}.{}".format):
        spec = spec_of(name)
        if spec is None:
            break
        if not spec.has_location or name == "ablate":  # a namespace, or built into Python
            continue
        file = Path(str(spec.origin))
        installed = package != "ablate" and not INSTALLED.isdisjoint(file.parts)
        if installed and _version(package):
            return package, None
        if not installed and file.is_relative_to(PYTHON):
            break
        module = name, file
    return module


@functools.cache
def _version(package: str) -> str:
    """Return the version of an installed package and a digest of the recorded hashes of its
    modules; "" if the package has no version.
    """
    try:
        installed = [importlib.metadata.distribution(package)]
    except importlib.metadata.PackageNotFoundError:  # PIL belongs to Pillow
        names = importlib.metadata.packages_distributions().get(package, [])
        installed = [importlib.metadata.distribution(name) for name in names]
    lines = "\n".join(part.read_text("RECORD") or "" for part in installed).splitlines()
    modules = "\n".join(sorted(line for line in lines if ".py,sha256" in line))
    versions = [str(part.version) for part in installed if part.version]
    return " ".join([*versions, hashlib.sha256(modules.encode()).hexdigest()[:16]] * bool(versions))


@functools.cache
def _read(name: str) -> Source:
    place, file = _locate(name)
    if file is None:
        return Source(_version(place) if place else "")
    content = file.read_bytes()  # so that the encoding that the module declares is used
    if file.suffix != ".py":
        return Source(hashlib.sha256(content).hexdigest()[:16])
    package = name if file.name == "__init__.py" else name.rpartition(".")[0]
    tree, ours = ast.parse(content), name.startswith(OURS)
    source = tree_hash(tree)
    names = _names(tree, package, texts=not ours)
    return Source(source, tuple(n for n in names if n.startswith(OURS) or not ours))


def _names(tree: ast.Module, package: str, *, texts: bool) -> Iterator[str]:
    """Yield the dotted names that are imported anywhere in the source of a module in a package.

    With `texts`, also yield the modules that are not installed and that texts in the source name.
    """
    for node in ast.walk(tree):
        match node:
            case ast.Import():
                yield from (alias.name for alias in node.names)
            case ast.ImportFrom():
                base = _absolute("." * node.level + (node.module or ""), package)
                # the names that * imports are in the source of `base`
                yield from (base, *(f"{base}.{alias.name}" for alias in node.names))
            case ast.Constant(value=str(text)) if texts and NAME.fullmatch(text):
                for name in {_absolute(text, package), _absolute(f".{text}", package)}:
                    if _locate(name)[1]:
                        yield name


def _absolute(name: str, package: str) -> str:
    """Return a dotted name without leading dots; "" if it lies outside all packages."""
    with suppress(ImportError):
        return importlib.util.resolve_name(name, package)
    return ""


def tree_hash(tree: ast.Module) -> str:
    """Return a hash of 16 hexadecimal digits that ignores comments, docstrings and layout.

    Docstrings are removed from `tree`. The hash depends on the version of Python, because syntax
    trees differ between versions.
    """
    for node in ast.walk(tree):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            del node.body[0]
    return hashlib.sha256(ast.dump(tree).encode()).hexdigest()[:16]


def environment() -> dict[str, Any]:
    """Return the command, machine and versions that produced the numbers of a run.

    "instructions" is the instruction set of torch's kernels, such as "AVX2" or "AVX512", which add
    numbers in different orders.
    """
    import torch  # slow to import; a run has imported it

    return {
        "command": [Path(sys.argv[0]).name, *sys.argv[1:]],
        "python": platform.python_version(),
        "platform": platform.platform(),
        "processor": processor(),
        "instructions": torch.backends.cpu.get_cpu_capability(),
        "commit": source_commit(),
        "packages": packages(),
    }


@functools.cache
def processor() -> str:
    """Return the name of the processor as the system reports it."""
    cpu_info = Path("/proc/cpuinfo")  # exists only on Linux
    text = cpu_info.read_text(encoding="utf-8") if cpu_info.exists() else ""
    names = re.findall(r"^model name\s*: (.*)", text, re.MULTILINE)
    return str(names[0]) if names else platform.processor() or platform.machine()


@functools.cache
def packages() -> dict[str, str]:
    """Return the versions of all installed packages."""
    installed = (each.metadata for each in importlib.metadata.distributions())
    return {about["Name"]: about["Version"] for about in installed}


@functools.cache
def source_commit() -> str | None:
    """Return the commit of this package, followed by `CHANGED` if code or configs differ from it.

    Return None if git does not track these files: an installed package may be inside the repository
    of another project.
    """
    if not _git("ls-files", "__init__.py"):
        return None
    changed = _git("status", "--porcelain", "--untracked-files=all", "--", ":/*.py", ":/*.yaml")
    commit = _git("rev-parse", "HEAD")
    return commit and commit + CHANGED * bool(changed)


def _git(*words: str) -> str:
    """Return the output of a git command in the folder of this package; "" if the command fails."""
    command = ["git", "-C", str(PACKAGE), *words]
    try:
        output = subprocess.run(command, capture_output=True, timeout=5, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return ""
    return output.decode(errors="backslashreplace").strip()
