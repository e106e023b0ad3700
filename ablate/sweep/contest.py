"""A committed experiment run again with seeds that nobody has seen."""

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import hydra

from ablate.config.location import CONF
from ablate.errors import UserError
from ablate.evidence.analysis_log import Book, questions
from ablate.evidence.command import CONFIG_DIR
from ablate.evidence.folder import Evidence
from ablate.evidence.registration import deciding
from ablate.record.files import write_json
from ablate.sweep.cell import plain_study
from ablate.sweep.evidence import from_folder
from ablate.verdict.conclude import conclude
from ablate.verdict.load import load_evidence
from ablate.verdict.replication import replications
from ablate.verdict.replication_file import RESULT, used_replicate

LEFT_OUT = ("-m", "--multirun")


@dataclass(frozen=True)
class Contest:
    """The first evidence, and the overrides with which it is asked again.

    Of committed evidence only the verdict and the replicates of its seeds matter: no run of it is
    reused or pooled, and it spends no alpha of the fresh sweep.
    """

    first: Evidence
    overrides: list[str]
    results: Path
    experiments: Path

    @classmethod
    def of(cls, name: str, experiments: Path, results: Path) -> "Contest":
        """Read the evidence, and choose a replicate that was not seen.

        Raises:
            UserError: there is no such evidence, its study is another one now, or replicates are
                its arms.
        """
        first = from_folder(experiments / name)
        given = shlex.split(first.registration["command"])[3:]
        said = [word for word in given if word not in LEFT_OUT]
        with hydra.initialize_config_dir(str(CONF), version_base="1.3"):
            config = hydra.compose("config", _searching(said))
            study = plain_study(config)
        if deciding(study) != deciding(first.study):
            raise UserError(
                f"{experiments / name} is of another form of its study than "
                f"{shlex.join(said)} is now: run that first"
            )
        if "replicate" in study["factors"]:
            raise UserError(f"{name}: replicates are its arms, so none of them is fresh")
        used = _replicates(experiments / name, first, int(config.replicate))
        number = _fresh(Book.read(results), first, results, used)
        fresh = [f"replicate={number}", "contest=true", f"paths.results={results}"]
        return cls(first, [*said, *fresh, f"paths.experiments={experiments}"], results, experiments)

    def told(self) -> Iterator[str]:
        """What was reproduced, as lines; contest.json in the folder of the sweep has the same."""
        sweeps = Book.read(self.results).sweeps
        last = [one for one in sweeps if one.contest and one.name == self.first.name][-1]
        sweep = self.results / last.folder
        fresh = load_evidence(sweep)
        found = replications(conclude(self.first), conclude(fresh))
        told = {"name": self.first.name, "replicate": last.replicate, "claims": found}
        write_json(sweep / RESULT, told)
        for claim in found:
            exploratory = " (exploratory: contested before)" if claim["exploratory"] else ""
            yield f"\n{claim['replication'].upper()}{exploratory}  {claim['statement']}"
            yield f"  first: {claim['first']['evidence']}"
            yield f"  fresh: {claim['fresh']['evidence']}"
        kept = self.experiments / self.first.name
        yield f"\ncontest: {sweep / RESULT}"
        yield f"Copied to {kept}, it stands in the report after: python -m ablate judge {kept}"


def _replicates(folder: Path, first: Evidence, number: int) -> set[int]:
    """Return the replicates that committed evidence and the contest beside it have used.

    `number` is the replicate of the sweep that left the evidence.
    """
    used = {number, *(run["replicate"] for run in first.runs if "replicate" in run)}
    contested = used_replicate(folder, max(used) + 1)
    return used if contested is None else {*used, contested}


def _searching(words: list[str]) -> list[str]:
    """Return the words of a command as overrides alone: hydra.compose takes no --config-dir."""
    if CONFIG_DIR not in words:
        return words
    place = words.index(CONFIG_DIR)
    folder = Path(words[place + 1]).absolute()
    return [f"hydra.searchpath=[file://{folder}]", *words[:place], *words[place + 2 :]]


def _fresh(book: Book, first: Evidence, results: Path, used: set[int]) -> int:
    """Return a replicate that was not used for these questions.

    A contest that was begun and has not ended goes on with its replicate.
    """
    asked = questions(first.study).keys()
    known = [s for s in book.sweeps if s.name == first.name or s.questions.keys() & asked]
    begun = [s for s in known if s.contest and not (results / s.folder / RESULT).exists()]
    if begun:
        return begun[-1].replicate
    return 1 + max(used.union(sweep.replicate for sweep in known))
