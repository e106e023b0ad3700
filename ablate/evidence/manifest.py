"""Keep the manifest, a list of all studies whose evidence was ever saved in a folder.

experiments/manifest.jsonl gets a sealed line whenever `ablate judge SWEEP to=experiments/NAME`
saves evidence: the claims of the study, and a digest of its runs. Lines are only appended. If a
folder was deleted, or was sealed again without some of its runs, the folder differs from the
manifest. The ledger (the list of all verdicts), the site and `judge` then report the difference.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ablate.errors import UserError
from ablate.evidence.looks import split_claims
from ablate.evidence.registration import digest
from ablate.evidence.seal import RUNS, seal_of
from ablate.record.files import SEAL, append_line, check_seal, read_log, seal, writing

if TYPE_CHECKING:
    from ablate.evidence.folder import Evidence  # imports numpy

MANIFEST = "manifest.jsonl"
FOLDER = "experiments"  # name of folders in which evidence is kept


@dataclass(frozen=True)
class KeptStudy:
    """A line of the manifest, which describes the saved evidence of one study.

    Args:
        name: name of the folder.
        claims: (id, reading) of every judged claim. A reading is one of several ways to understand
            a claim, and "" for a claim that has only one.
        runs: number of runs.
        digest: digest of all runs, as in the seal of study.json.
        logged: whether a copy of the analysis log was saved, too.
    """

    name: str
    claims: list[tuple[str, str]]
    runs: int
    digest: str
    logged: bool


def read_manifest(folder: Path) -> dict[str, KeptStudy]:
    """Return the last manifest line of every study, by name of the study's folder.

    Raises:
        UserError: the file cannot be read, or a line was changed after it was written.
    """
    return {line.name: line for line in _lines(folder / MANIFEST)}


def _lines(path: Path) -> Iterator[KeptStudy]:
    for number, line in enumerate(read_log(path).splitlines(), 1):
        try:
            fields = json.loads(line)
            intact = check_seal(fields)
            del fields[SEAL]
            claims = [(str(claim), str(reading)) for claim, reading in fields.pop("claims")]
            study = KeptStudy(claims=claims, **fields)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            intact = False
        if not intact:
            raise UserError(f"{path}: line {number} is damaged or was edited: restore the file")
        yield study


def keep(folder: Path, evidence: "Evidence", *, logged: bool) -> None:
    """Append a line to the manifest, for evidence that was saved in a folder of experiments/.

    Do nothing for evidence in another folder, or if the last line of the study says the same.

    Args:
        folder: the folder of the evidence.
        evidence: the evidence.
        logged: whether a copy of the analysis log was saved, too.

    Raises:
        UserError: the manifest is damaged or cannot be written.
    """
    folder = folder.resolve()
    if folder.parent.name != FOLDER:
        return
    judged, _ = split_claims(evidence.runs, evidence.study)
    study = KeptStudy(
        folder.name,
        [(claim["id"], claim.get("reading") or "") for claim in judged],
        len(evidence.runs),
        digest_of_runs(seal_of(folder, evidence.runs, evidence.screening)),
        logged,
    )
    if read_manifest(folder.parent).get(folder.name) != study:
        with writing(folder.parent / MANIFEST):
            append_line(folder.parent / MANIFEST, json.dumps(seal(asdict(study))))


def digest_of_runs(sealed: Mapping[str, object]) -> str:
    """Return a single digest of all runs.

    Args:
        sealed: the seal of the evidence, that is, the hashes of its parts as they are stored in
            study.json.
    """
    return digest(sealed.get(RUNS))
