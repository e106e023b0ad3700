"""The evidence of a study: everything that its verdict and its report are made from.

experiments/<name>/, and the folder of every sweep that has a study:
    study.json       the study, the regime, when the study was registered
    runs.jsonl       one line per run            screening.jsonl   runs that tuned a nuisance
    statistics.npz   BLEU statistics per sentence, of every run and split
"""

import json
import lzma
import zipfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Int

from ablate.errors import UserError
from ablate.tracking.files import finite, write_arrays, write_json, write_text

Run = dict[str, Any]
Rows = Int[np.ndarray, "sentences 10"]
RUNS = " of runs"  # of the arrays that say whose rows they are
PARTS = ("name", "study", "regime", "registration")
FILES = ("study.json", "runs.jsonl", "screening.jsonl", "statistics.npz")


@dataclass(frozen=True)
class Evidence:
    """What is known of one sweep over one study.

    `statistics` holds sacreBLEU's sufficient statistics, by identity of the run and split.
    """

    name: str
    study: dict[str, Any]
    regime: dict[str, Any]
    registration: dict[str, Any]
    runs: list[Run]
    screening: list[Run] = field(default_factory=list)
    statistics: dict[str, dict[str, Rows]] = field(default_factory=dict)

    def save(self, folder: Path) -> None:
        """Write the four files."""
        folder.mkdir(parents=True, exist_ok=True)
        write_json(folder / "study.json", {part: getattr(self, part) for part in PARTS})
        _write_lines(folder / "runs.jsonl", self.runs)
        if self.screening:
            _write_lines(folder / "screening.jsonl", self.screening)
        _write_statistics(folder / "statistics.npz", self.statistics)

    @classmethod
    def load(cls, folder: Path) -> "Evidence":
        """Read what `save` wrote.

        Raises:
            UserError: a file is missing or damaged; the sentence names it.
        """
        about = read_json(folder / "study.json")
        missing = [part for part in PARTS if part not in about]
        if missing:
            raise UserError(f"{folder / 'study.json'} has no {missing[0]}")
        screening = folder / "screening.jsonl"
        return cls(
            **{part: about[part] for part in PARTS},
            runs=_read_lines(folder / "runs.jsonl"),
            screening=_read_lines(screening) if screening.exists() else [],
            statistics=_read_statistics(folder / "statistics.npz"),
        )


def _write_lines(path: Path, lines: list[Run]) -> None:
    text = "".join(json.dumps(finite(line), allow_nan=False) + "\n" for line in lines)
    write_text(path, text)


def _read_lines(path: Path) -> list[Run]:
    try:
        return [json.loads(line) for line in path.read_text().splitlines()]
    except FileNotFoundError:
        raise UserError(f"{path} is missing: this is not the folder of a study") from None
    except (OSError, ValueError) as error:
        raise UserError(f"{path} cannot be read: {error}") from None


def read_json(path: Path) -> dict[str, Any]:
    """Return what a file of a study's folder says.

    Raises:
        UserError: it is missing or damaged.
    """
    try:
        found = json.loads(path.read_text())
    except FileNotFoundError:
        raise UserError(f"{path} is missing: this is not the folder of a study") from None
    except (OSError, ValueError) as error:
        raise UserError(f"{path} cannot be read: {error}") from None
    if not isinstance(found, dict):
        raise UserError(f"{path} does not hold a study")
    return found


def _write_statistics(path: Path, statistics: dict[str, dict[str, Rows]]) -> None:
    """One array per split, sentences x runs x statistics, as narrow as it can be.

    All runs of a sentence lie together, and LZMA sees that they are alike.
    """
    arrays: dict[str, np.ndarray] = {}
    for split in sorted({split for splits in statistics.values() for split in splits}):
        runs = {one: splits[split] for one, splits in sorted(statistics.items()) if split in splits}
        stacked = np.stack(list(runs.values()), 1)
        narrow = stacked.astype(np.min_scalar_type(stacked.max(initial=0)))
        arrays |= {split: narrow, f"{split}{RUNS}": np.array(list(runs))}
    write_arrays(path, arrays)


def _read_statistics(path: Path) -> dict[str, dict[str, Rows]]:
    found: dict[str, dict[str, Rows]] = {}
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            for split in (name for name in arrays if not name.endswith(RUNS)):
                rows = arrays[split].swapaxes(0, 1).astype(np.int64)
                for identity, one in zip(arrays[f"{split}{RUNS}"], rows, strict=True):
                    found.setdefault(str(identity), {})[split] = one
    except FileNotFoundError:
        raise UserError(f"{path} is missing: this is not the folder of a study") from None
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, lzma.LZMAError) as error:
        raise UserError(f"{path} cannot be read: {error}") from None
    return found
