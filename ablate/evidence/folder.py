"""Load and save the evidence of a study, from which its verdict and its report are computed.

Evidence is in experiments/<name>/, and in the folder of every sweep that has a study:
    study.json       the study, the setting, when the study was registered, and a seal
    registered.json  the study as it was registered
    runs.jsonl       one line per run
    screening.jsonl  runs that tuned a nuisance parameter, such as the learning rate
    statistics.npz   statistics of every run and split: BLEU per sentence, nll per block of text
Large files of runs are compressed, and have the suffix .gz.

Corpus BLEU is a mean over sentences, so that sentences can be resampled like seeds. Equation: for
the sums S of the sufficient statistics x_1 .. x_m, BLEU(S) is homogeneous of degree 0, so that
grad BLEU(S) . S = 0 and the contributions c_i = BLEU(S) + m grad BLEU(S) . x_i have the mean
BLEU(S). Their spread over m is the standard error of BLEU over samples of sentences, to first
order: the infinitesimal jackknife (Efron 1982, The Jackknife, the Bootstrap, section 6).
Expect: with at least 200 sentences, within 2 % of the standard error of the bootstrap.

The nll of a language model is a ratio of sums over its test text, and is split in the same way.
Neighbouring contexts of a text are alike, so the text is cut into `BLOCKS` blocks of consecutive
contexts, which take the place of sentences (docs/explanation/statistics.md).
"""

import gzip
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any, cast

import numpy as np
from jaxtyping import Float, Int, Num

from ablate.config.study import Study
from ablate.errors import UserError
from ablate.evidence.checks import (
    ABOUT,
    COMPRESSED,
    PARTS,
    RUNS,
    SCREENING,
    STATISTICS,
    About,
    Registration,
    Setting,
    check_digests,
    check_form,
    file_of_runs,
    read_about,
    read_runs,
    write_about,
)
from ablate.evidence.outcome import Reason, Run
from ablate.record.files import finite, write_arrays, write_bytes

Rows = Num[np.ndarray, "units K"]  # units: sentences, or blocks of text
Groups = Int[np.ndarray, " sentences"]
# parts of the names of arrays in statistics.npz
RUNS_OF = " of runs"  # suffix: the identities of the runs
SIZED = " of size "  # infix: runs whose test split has another number of sentences
GROUPS_OF = " of groups"  # suffix: the group number of each sentence
NLL = "/nll"  # suffix of a split: summed nll and number of tokens of each block of its text
WIDTH, NLL_WIDTH = 10, 2  # number of statistics per sentence, and per block
BLOCKS = 32  # largest number of blocks of a test text
PLAIN = 100_000  # bytes of a file of runs that is not compressed, at most


@dataclass(frozen=True)
class Evidence:
    """The evidence of one study: its runs with their results, their shared setting
    (corpus, model, budget and device), and the registration of the study.

    `statistics` has sacreBLEU's sufficient statistics of each test sentence, by run identity and
    split, and the nll of each block of a text under the name of the split with `NLL`. `groups` has
    the group number of every sentence by split, if the corpus defines groups. `registered` is the
    study as it was registered, or empty if only the hash of that study is known. `screening` has
    the runs that tuned a nuisance parameter. `notes` has caveats on a table of runs that other
    programs made.
    """

    name: str
    study: Study
    regime: Setting
    registration: Registration
    runs: list[Run]
    screening: list[Run] = field(default_factory=list)
    statistics: dict[str, dict[str, Rows]] = field(default_factory=dict)
    registered: Mapping[str, object] = field(default_factory=dict)
    groups: dict[str, Groups] = field(default_factory=dict)
    notes: list[Reason] = field(default_factory=list)

    @property
    def is_table(self) -> bool:
        """Whether the runs are those of a table, made by other programs: their settings and the
        time of the question are unknown.
        """
        return any("design" in claim for claim in self.study["claims"])

    @property
    def is_part(self) -> bool:
        """Whether there are only some of the runs of a study, and therefore no verdict."""
        return bool(self.registration.get("part"))

    @property
    def seed_count(self) -> str:
        """The number of seeds that every arm has, as a phrase: "8 of 12 planned seeds".

        In a study of combinations every run has a seed of its own.
        """
        arms = {run["arm"] for run in self.runs}
        cells = {(run["arm"], run["seed"]) for run in self.runs}
        seeds = {seed for _, seed in cells}
        if not self.study.get("design"):
            seeds = {seed for seed in seeds if all((arm, seed) in cells for arm in arms)}
        return f"{len(seeds)} of {self.study['seeds']} planned seeds"

    @property
    def short(self) -> "Evidence | None":
        """The evidence at the short budget, a smaller number of steps after which every run was
        tested as well.

        The value is None if the runs have only one number of steps (budget).
        """
        steps = self.regime.get("short")
        if steps is None:
            return None
        regime: Setting = {**self.regime, "steps": steps}
        del regime["short"]
        runs = [{**run, **run.get("short", {})} for run in self.runs]
        return replace(self, regime=regime, runs=cast(list[Run], runs))

    @classmethod
    def synthetic(
        cls, study: Mapping[str, object], runs: Iterable[Mapping[str, object]], **fields: Any
    ) -> "Evidence":
        """Create evidence from runs of a table, planned runs or simulated runs, which have only the
        fields that a verdict needs.

        Args:
            study: the study.
            runs: the runs.
            fields: further fields of the evidence, by name.
        """
        fields = {"name": "", "regime": {}, "registration": {}, **fields}
        return cls(study=cast(Study, study), runs=cast(list[Run], [*runs]), **fields)

    def save(self, folder: str | PathLike[str]) -> None:
        """Write all files of the evidence.

        The last file is study.json, which stores the digests of the other files, so that later
        changes are detected.
        """
        folder = Path(folder).expanduser()
        folder.mkdir(parents=True, exist_ok=True)
        _write_lines(folder / RUNS, self.runs)
        if self.screening:
            _write_lines(folder / SCREENING, self.screening)
        else:  # remove the runs of evidence that was saved in this folder before
            file_of_runs(folder, SCREENING).unlink(missing_ok=True)
        _write_statistics(folder / STATISTICS, self.statistics, self.groups)
        about: Any = {part: getattr(self, part) for part in PARTS}
        write_about(folder, about, self.registered)

    @classmethod
    def load(cls, folder: str | PathLike[str], statistics: bool = True) -> "Evidence":
        """Read evidence, and check its seal: digests in study.json by which changes are detected.

        Args:
            folder: the folder of the evidence.
            statistics: whether to read the statistics of sentences, too.

        Raises:
            UserError: a file is missing, damaged, malformed, or does not match its seal; the
                message names the file and the run.
        """
        folder = Path(folder).expanduser()
        about = read_about(folder)
        check_form(str(folder / ABOUT), about, About)
        screening = file_of_runs(folder, SCREENING)
        scores, groups = _read_statistics(folder / STATISTICS) if statistics else ({}, {})
        parts: Any = {part: about.get(part) for part in (*PARTS, "registered")}
        evidence = cls(
            **parts,
            runs=read_runs(file_of_runs(folder)),
            screening=read_runs(screening) if screening.exists() else [],
            statistics=scores,
            groups=groups,
        )
        check_digests(folder, about)
        return evidence


def _write_lines(path: Path, runs: list[Run]) -> None:
    """Write a run per line. A large file is compressed, and its name gets a suffix.

    Equal runs give equal bytes.
    """
    compact = json.JSONEncoder(allow_nan=False, separators=(",", ":"))
    lines = "".join(compact.encode(finite(run)) + "\n" for run in runs).encode()
    compressed = path.with_name(f"{path.name}{COMPRESSED}")
    if len(lines) > PLAIN:
        write_bytes(compressed, gzip.compress(lines, mtime=0))
        path.unlink(missing_ok=True)
    else:
        write_bytes(path, lines)
        compressed.unlink(missing_ok=True)


def _write_statistics(
    path: Path, statistics: dict[str, dict[str, Rows]], groups: dict[str, Groups]
) -> None:
    """Write the statistics of test sentences and blocks, and the groups of sentences, to a file.

    The file has an array of shape (sentences, runs, statistics) for each split, in the smallest
    integer type, or in single precision for blocks. The runs of a sentence are adjacent, because
    this order is compressed well. If runs have different numbers of sentences in a split, there is
    an array for each number.

    Args:
        path: the file.
        statistics: statistics of every sentence or block, by run identity and split.
        groups: group number of every sentence, by split.
    """
    arrays = {f"{split}{GROUPS_OF}": groups[split] for split in groups}
    for split in sorted({split for splits in statistics.values() for split in splits}):
        runs = {
            identity: splits[split]
            for identity, splits in sorted(statistics.items())
            if split in splits
        }
        for rank, size in enumerate(dict.fromkeys(map(len, runs.values()))):
            alike = {identity: rows for identity, rows in runs.items() if len(rows) == size}
            stacked = np.stack(list(alike.values()), 1)
            smallest = (
                np.float32 if split.endswith(NLL) else np.min_scalar_type(stacked.max(initial=0))
            )
            narrow = stacked.astype(smallest)
            name = f"{split}{SIZED}{size}" if rank else split
            arrays |= {name: narrow, f"{name}{RUNS_OF}": np.array(list(alike))}
    write_arrays(path, arrays)


@contextmanager
def arrays_in(path: Path) -> Iterator[Mapping[str, Any]]:
    """Open a file of named arrays for a `with` block, which reads them by name.

    Raises:
        UserError: the file is missing or damaged, or the block raises any exception, because damage
            shows only when an array is read.
    """
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            yield arrays
    except Exception as error:  # zipfile, lzma, zlib and numpy raise many types for damaged bytes
        raise UserError(f"{path} cannot be read: {error}") from None


def _read_statistics(path: Path) -> tuple[dict[str, dict[str, Rows]], dict[str, Groups]]:
    """Return the statistics of every sentence, by run identity and split, and the group number of
    every sentence, by split.

    Raises:
        UserError: the file is missing or damaged, or the groups of a split are not one number per
            sentence.
    """
    by_identity: dict[str, dict[str, Rows]] = {}
    groups: dict[str, Groups] = {}
    sizes: dict[str, set[int]] = {}
    with arrays_in(path) as arrays:
        for name in (name for name in arrays if not name.endswith((RUNS_OF, GROUPS_OF))):
            split = name.partition(SIZED)[0]
            form, width = (np.float64, NLL_WIDTH) if split.endswith(NLL) else (np.int64, WIDTH)
            rows = arrays[name].swapaxes(0, 1).astype(form, casting="safe")
            if rows.shape[2:] != (width,):
                raise ValueError(f"{name} has the shape {arrays[name].shape}")
            sizes.setdefault(split, set()).add(rows.shape[1])
            for identity, run_rows in zip(arrays[f"{name}{RUNS_OF}"], rows, strict=True):
                by_identity.setdefault(str(identity), {})[split] = run_rows
        for name in (name for name in arrays if name.endswith(GROUPS_OF)):
            numbers, split = arrays[name], name.removesuffix(GROUPS_OF)
            whole = numbers.ndim == 1 and numbers.dtype.kind in "iu"
            if not whole or sizes.get(split) != {len(numbers)}:
                raise ValueError(f"the groups of {split} are not one number per sentence")
            groups[split] = numbers
    return by_identity, groups


def bleu(rows: Int[np.ndarray, "sentences 10"]) -> float:
    """Return corpus BLEU (0 to 100) from sacreBLEU's sufficient statistics of each sentence."""
    # not at the top, because it imports torch, which is not needed to check a study
    from ablate.metric.corpus import bleu_of_resamples

    return float(bleu_of_resamples(rows.sum(0, dtype=np.int64)[None])[0])


def contributions(rows: Int[np.ndarray, "sentences 10"]) -> Float[np.ndarray, " sentences"]:
    """Return the contribution of each sentence to corpus BLEU; their mean is BLEU (0 to 100).

    Args:
        rows: sacreBLEU's sufficient statistics of each sentence.
    """
    score = bleu(rows)
    if score == 0:
        return np.zeros(len(rows))
    influence = len(rows) * (rows @ _gradient(rows.sum(0, dtype=np.float64)))
    # the mean of the influence is 0, unless BLEU smooths an n-gram order without a match
    return score * (1 + influence - influence.mean())


def in_blocks(rows: Num[np.ndarray, "rows K"]) -> Float[np.ndarray, "blocks K"]:
    """Return the sums of rows over at most `BLOCKS` blocks of consecutive rows.

    The rows are in the order of the text. The lengths of two blocks differ by at most one row.
    """
    if not (count := min(BLOCKS, len(rows))):
        return np.zeros((0, rows.shape[1]))
    starts = np.arange(count) * len(rows) // count
    return np.add.reduceat(rows, starts, dtype=np.float64)


def contributions_of_blocks(rows: Num[np.ndarray, "blocks 2"]) -> Float[np.ndarray, " blocks"]:
    """Return the contribution of each block to the nll per token of a text, which is their mean.

    Args:
        rows: summed nll and number of tokens of each block.
    """
    nll, tokens = rows.T
    mean = nll.sum() / tokens.sum()
    return np.asarray(mean + (nll - mean * tokens) / tokens.mean())


def by_group(
    parts: Float[np.ndarray, "seeds sentences"], groups: Int[np.ndarray, " sentences"]
) -> Float[np.ndarray, "seeds groups"]:
    """Return the contribution of each group of sentences to corpus BLEU, scaled so that the mean
    over groups equals the mean over sentences.

    Args:
        parts: contributions of sentences, for each seed.
        groups: group number of each sentence.
    """
    _, number = np.unique(groups, return_inverse=True)
    sums = np.stack([np.bincount(number, weights=row) for row in parts])
    return sums * sums.shape[1] / parts.shape[1]


def _gradient(sums: Float[np.ndarray, " 10"]) -> Float[np.ndarray, " 10"]:
    """Return the gradient of log BLEU with respect to the summed sufficient statistics.

    If an n-gram order has no match, the derivative with respect to its matches is set to 0.
    """
    sys_len, ref_len = sums[:2]
    counts, totals = sums[2:6], sums[6:]
    matched = counts > 0
    gradient = np.zeros(10)
    gradient[2:6][matched] = 0.25 / counts[matched]
    gradient[6:] = -0.25 / totals
    if sys_len < ref_len:  # the brevity penalty applies
        gradient[0] = ref_len / sys_len**2
        gradient[1] = -1 / sys_len
    return gradient


def differing_sentences(
    pair: tuple[Run, Run], split: str, evidence: Evidence
) -> Float[np.ndarray, " sentences"]:
    """Return for each sentence 1 if its BLEU statistics differ between two runs, else 0.

    If one run has no translations because it diverged or collapsed, all sentences have 1.

    Raises:
        KeyError: neither run has statistics of this split, or their numbers of sentences differ.
    """
    rows = [evidence.statistics.get(run["identity"], {}).get(split) for run in pair]
    present = [row for row in rows if row is not None]
    if len(present) == 1:  # the other run diverged or collapsed, so it has no translations
        return np.ones(len(present[0]))
    if not present or len(present[0]) != len(present[1]):
        raise KeyError(split)
    return (present[0] != present[1]).any(1).astype(np.float64)
