"""Declare the content of study.json, and check that evidence has its declared form, is as it was
written, and is complete.

study.json has a seal: a digest of each file of the evidence, and of study.json except the study
(which the hash of its registration covers). Every function that reads evidence for a verdict checks
the seal. It detects damage and careless edits, but it is not a signature. Deliberate forgery is
found by running the study again.

experiments/manifest.jsonl gets a line whenever `ablate judge SWEEP to=experiments/NAME` saves
evidence: the claims of the study, and a digest of its files. If a folder was deleted, or was sealed
again without some of its runs, it differs from the manifest. The copy of the analysis log beside
evidence lists the seeds that were analysed. Each line of the manifest and of the log has a digest.
"""

import gzip
import json
import zlib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NotRequired, cast

from pydantic import TypeAdapter, ValidationError
from typing_extensions import TypedDict

from ablate.config import catalogue_root
from ablate.config.study import Study
from ablate.errors import UserError
from ablate.evidence.outcome import Reason, Run
from ablate.phrases import listed
from ablate.record.files import (
    append_line,
    check_seal,
    digest,
    digest_of,
    finite,
    read_log,
    seal,
    write_json,
)
from ablate.record.results import key

if TYPE_CHECKING:
    from ablate.evidence.folder import Evidence  # imports numpy


ABOUT, REGISTERED, STATISTICS = "study.json", "registered.json", "statistics.npz"
RUNS, SCREENING, ANALYSIS_LOG = "runs.jsonl", "screening.jsonl", "book.jsonl"
COMPRESSED = ".gz"  # suffix of RUNS and SCREENING, if they are large
SEALED = (RUNS, RUNS + COMPRESSED, SCREENING, SCREENING + COMPRESSED, STATISTICS, ANALYSIS_LOG)
FILES = (ABOUT, REGISTERED, *SEALED[:-1])
PARTS = ("name", "study", "regime", "registration")
MANIFEST = "manifest.jsonl"
FOLDER = "experiments"  # name of folders in which evidence is kept
Record = dict[str, Any]  # a JSON object
PER_REPLICATE = 1_000_000  # an earlier version numbered seed 3 of replicate 2 as 2,000,003
adapter = cache(TypeAdapter[Any])  # pydantic's validator of a type
LARGEST = 1 << 30  # bytes of a file of runs after unpacking; evidence may come from strangers


class Setting(TypedDict):
    """The setting in which a study was run: data, model size, training steps, device and so on. Its
    verdicts hold in this setting.
    """

    scale: str
    data: str
    corpus: NotRequired[str]  # files and size; missing in older evidence
    model: str
    device: str
    precision: str
    d_model: int
    n_layers: NotRequired[int]
    steps: int
    tokens_per_step: int
    threads: int
    test_sentences: dict[str, int]
    short: NotRequired[int]


class History(TypedDict):
    """The history of a claim in the analysis log (ablate.evidence.log).

    `looks` contains the seeds of each earlier analysis. `tried` contains the reasons why the claim
    is exploratory. `regimes` is the number of other settings in which the question was asked.
    """

    looks: list[list[int]]
    tried: list[Reason]
    regimes: int


class Registration(TypedDict):
    """The registration of a study, that is, of the claims, arms and decision rules that were fixed
    before the runs, with the history of earlier analyses.

    `hash` identifies everything that was fixed. `time` is the unix time when a sweep of the study
    was first started, and `commit` the commit of the source at its last start. `earlier` lists the
    hashes of other versions of the study that were started before this time. `looks` is the largest
    number of earlier analyses of a claim, and `asked` has the history of each claim. `sweep` is the
    folder of the sweep.
    """

    hash: str
    time: float
    commit: NotRequired[str]
    earlier: list[str]
    looks: int
    asked: NotRequired[dict[str, History]]
    sweep: NotRequired[str]
    components: NotRequired[dict[str, str]]  # options of config groups that all arms share
    command: NotRequired[str]
    # labels of the user's options by GROUP=OPTION, and title and purpose of the user's experiment
    labels: NotRequired[dict[str, str]]
    part: NotRequired[bool]  # whether this is only a part of a study, without a verdict


Seal = dict[str, str]  # digests by name of file


class About(TypedDict):
    """The content of study.json: a study with its setting and its registration (the hash and the
    time of the study as it was fixed before the runs).

    `seal` has digests by which edited files are detected. `registered` is the content of
    registered.json, the study as it was fixed before the runs; it may be empty.
    """

    name: str
    study: Study
    regime: Setting
    registration: Registration
    seal: NotRequired[Seal]
    registered: NotRequired[Mapping[str, object]]


class Begun(TypedDict):
    """The content of study.json at the start of a sweep, which may lack a study, and whose setting
    lacks what the runs record.
    """

    name: str
    study: dict[str, object] | None
    regime: dict[str, object]
    registration: dict[str, object]
    seal: NotRequired[dict[str, object]]


def read_runs(path: Path) -> list[Run]:
    """Return the runs in a file, one per line; with the ending .gz, the file is compressed.

    Raises:
        UserError: the file is missing or damaged, a line is not a run, or two runs are equal.
    """
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            content = file.read(LARGEST + 1)
        if len(content) > LARGEST:
            raise ValueError(f"it has more than {LARGEST:,} bytes")
        runs = [json.loads(line) for line in content.decode().splitlines()]
    except (OSError, EOFError, zlib.error, ValueError, RecursionError) as error:
        raise UserError(f"{path} cannot be read: {error}") from None
    check_form(str(path), runs, list[Run])
    check_runs(str(path), runs)
    return runs


def check_runs(where: str, runs: list[Any]) -> None:
    """Raise UserError if two runs have the same number (`cell`), or the same levels, seed and tuned
    value, or if an arm's label stands for different levels.
    """
    seen: dict[str, int] = {}
    for run in runs:
        tuned = run.get("tuned", {}).get("value")
        for same in (str(run["cell"]), json.dumps([key(run["levels"]), run["seed"], tuned])):
            if same in seen:
                raise UserError(f"{where}: cells {seen[same]} and {run['cell']} are both {same}")
            seen[same] = run["cell"]
    check_arms(where, runs)


def check_arms(where: str, runs: list[Any]) -> None:
    """Raise UserError if an arm's label stands for different levels in different runs.

    Tables and figures group runs by the label of their arm (`arm`).
    """
    first: dict[str, Any] = {}
    for run in runs:
        other = first.setdefault(run["arm"], run)
        if key(other["levels"]) != key(run["levels"]):
            raise UserError(
                f"{where}: cells {other['cell']} and {run['cell']} are both called {run['arm']!r}, "
                f"but their levels differ ({key(other['levels'])}, {key(run['levels'])}): "
                "run the sweep again"
            )


def check_form(where: str, value: Any, form: Any) -> None:
    """Raise UserError unless a value from a JSON file has the form of a type annotation, and all of
    its numbers are finite.

    The form of a TypedDict is an object with these keys; further keys are allowed.

    Args:
        where: description of the value, for the message.
        value: the value.
        form: the annotation, such as a TypedDict.
    """
    try:
        adapter(form).validate_python(value, strict=True)
    except ValidationError as error:
        raise UserError(f"{where}: {first_problem(error)}") from None
    if finite(value) != value:
        raise UserError(f"{where}: a number is not finite: restore the file")


def first_problem(error: ValidationError) -> str:
    """Return the first problem that pydantic found, with the path of the value."""
    first = error.errors(include_url=False)[0]
    return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"


def write_about(folder: Path, about: About, registered: Mapping[str, object]) -> None:
    """Write study.json with a seal of the files that are already in the folder, and registered.json
    unless the registered study is unknown.

    Args:
        folder: the folder of the evidence.
        about: the content of study.json, with the keys `PARTS`.
        registered: the content of registered.json.
    """
    if registered:
        write_json(folder / REGISTERED, dict(registered))
    write_json(folder / ABOUT, {**about, "seal": digests(folder, about)})


def read_about(folder: Path) -> About:
    """Return the content of study.json, and of registered.json under the key `registered` ({} if it
    does not exist), after checking the digest of study.json.

    Raises:
        UserError: a file is missing, damaged, or was changed after it was sealed.
    """
    about = read_parts(folder)
    check_digests(folder, about, files=False)
    return about


def check_digests(folder: Path, about: About, *, files: bool = True) -> None:
    """Raise UserError for a file that was changed after it was sealed: study.json, or any file."""
    now, sealed = digests(folder, about), about.get("seal", {})
    for name in {**now, **sealed} if files else (ABOUT,):
        if now.get(name) != sealed.get(name):
            raise UserError(
                f"{folder / name} has changed since its checksum was recorded: restore the files, "
                "or run the study again"
            )


def read_parts(folder: Path) -> About:
    """Return the content of study.json and registered.json without checking digests."""
    about = read_json(folder / ABOUT)
    check_form(str(folder / ABOUT), about, Begun)
    kept = folder / REGISTERED
    return cast(About, {**about, "registered": read_json(kept) if kept.exists() else {}})


def read_json(path: Path) -> Record:
    """Return the object in a JSON file of a study's folder.

    Raises:
        UserError: the file is missing or damaged.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(f"{path} cannot be read: {error}") from None
    if not isinstance(content, dict):
        raise UserError(f"{path} is not the description of a study: it must be a JSON object")
    return content


def file_of_runs(folder: Path, name: str = RUNS) -> Path:
    """Return the path of a file with one run per line: plain, or compressed if it is large.

    Args:
        folder: the folder of the evidence.
        name: `RUNS`, or `SCREENING` for the runs that tuned a nuisance parameter.
    """
    compressed = folder / f"{name}{COMPRESSED}"
    return compressed if compressed.exists() else folder / name


def digests(folder: Path, about: About) -> Seal:
    """Return the digest of each file of the evidence in a folder, and of `about`, the content of
    study.json, except the study.
    """
    fields: Mapping[str, object] = about
    return {ABOUT: digest({x: fields[x] for x in PARTS if x != "study"}), **_files(folder)}


def _files(folder: Path) -> Seal:
    return {name: digest_of(folder / name) for name in SEALED if (folder / name).exists()}


def digest_of_evidence(folder: Path) -> str:
    """Return a single digest of the files of evidence, apart from study.json."""
    return digest(_files(folder))


def read_sealed_records(path: Path) -> Iterator[Record]:
    """Yield the JSON objects of a log file, after checking the checksum (seal) of each line. A
    missing file yields nothing.

    Raises:
        UserError: the file cannot be read, or a line was changed after it was written.
    """
    for number, line in enumerate(read_log(path).splitlines(), 1):
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            record = None
        if not check_seal(record):
            raise UserError(f"{path}: line {number} is damaged or was edited: restore the file")
        yield record


def read_manifest(folder: Path) -> dict[str, Record]:
    """Return the last manifest line of every study, by name of the study's folder: its claims (id
    and reading) and the digest of its files.

    Raises:
        UserError: the file cannot be read, or a line was changed after it was written.
    """
    return {line["name"]: line for line in read_sealed_records(folder / MANIFEST)}


def add_to_manifest(folder: Path, evidence: "Evidence") -> None:
    """Append a line with the digest and the claims of saved evidence to the manifest of its
    catalogue, unless the manifest has this line.

    Nothing is written if `folder` is neither in the catalogue nor in a folder `experiments`.
    """
    folder = folder.resolve()
    if folder.parent.name != FOLDER and folder.parent != catalogue_root():
        return
    claims = [[claim["id"], claim.get("reading") or ""] for claim in evidence.study["claims"]]
    line = {"name": folder.name, "claims": claims, "digest": digest_of_evidence(folder)}
    if read_manifest(folder.parent).get(folder.name) != seal(line):
        append_line(folder.parent / MANIFEST, json.dumps(seal(line)))


def check_complete(folder: Path, evidence: "Evidence") -> None:
    """Check that no evidence was removed: its files have the digest in the manifest, and its runs
    include all seeds of the analyses that the log in its folder records.

    Raises:
        UserError: the manifest or the log is damaged, a file has changed, or runs are missing.
    """
    folder = folder.resolve()
    line = read_manifest(folder.parent).get(folder.name)
    if line and line["digest"] != digest_of_evidence(folder):
        raise UserError(
            f"{folder}: the digest of the files differs from the one in {MANIFEST}: restore the "
            "files, or save a new sweep in this folder with to="
        )
    runs, sweep = {run["seed"] for run in evidence.runs}, evidence.registration.get("sweep")
    lines = read_sealed_records(folder / ANALYSIS_LOG)
    looks = [line for line in lines if line["what"] == "look" and line["folder"] == sweep]
    seen = {(r, s) for look in looks for r, s in (*look["seeds"], *look["failed"])}
    if gone := [s for r, s in sorted(seen) if not {s, s + PER_REPLICATE * r} & runs]:
        raise UserError(
            f"{folder}: {ANALYSIS_LOG} records an analysis of seed{'s' * (len(gone) > 1)} "
            f"{listed(gone)}, but runs.jsonl has no such runs: restore it, or run the sweep again"
        )
