"""A committed experiment run again with seeds that nobody has seen."""

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import hydra

from ablate.config.schema import CONF
from ablate.errors import UserError
from ablate.record.files import write_json
from ablate.study.book import Book, questions
from ablate.study.conclude import conclude
from ablate.study.contest import replications
from ablate.study.contested import RESULT
from ablate.study.evidence import Evidence
from ablate.study.registration import study_hash
from ablate.sweep.cell import plain_study
from ablate.sweep.evidence import from_folder

LEFT_OUT = ("-m", "--multirun")


@dataclass(frozen=True)
class Contest:
    """The first evidence, and the overrides with which it is asked again."""

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
            study = plain_study(hydra.compose("config", said))
        if study_hash(study) != first.registration["hash"]:
            raise UserError(
                f"{experiments / name} is of another form of its study than "
                f"{shlex.join(said)} is now: run that first"
            )
        if "replicate" in study["factors"]:
            raise UserError(f"{name}: replicates are its arms, so none of them is fresh")
        number = _fresh(Book.read(results, experiments), first, results)
        fresh = [f"replicate={number}", "contest=true", f"paths.results={results}"]
        return cls(first, [*said, *fresh, f"paths.experiments={experiments}"], results, experiments)

    def told(self) -> Iterator[str]:
        """What was reproduced, as lines; contest.json in the folder of the sweep has the same."""
        sweeps = Book.read(self.results, self.experiments).sweeps
        last = [one for one in sweeps if one.contest and one.name == self.first.name][-1]
        sweep = self.results / last.folder
        fresh = Evidence.load(sweep)
        found = replications(conclude(self.first), conclude(fresh))
        write_json(sweep / RESULT, {"name": self.first.name, "claims": found})
        for claim in found:
            exploratory = " (exploratory: contested before)" if claim["exploratory"] else ""
            yield f"\n{claim['replication'].upper()}{exploratory}  {claim['statement']}"
            yield f"  first: {claim['first']['sentence']}"
            yield f"  fresh: {claim['fresh']['sentence']}"
        kept = self.experiments / self.first.name
        yield f"\ncontest: {sweep / RESULT}"
        yield f"Copied to {kept}, it stands in the report after: python -m ablate judge {kept}"


def _fresh(book: Book, first: Evidence, results: Path) -> int:
    """A replicate that nobody has asked the questions with; an unfinished contest goes on."""
    asked = questions(first.study).keys()
    known = [s for s in book.sweeps if s.name == first.name or s.questions.keys() & asked]
    begun = [s for s in known if s.contest and not (results / s.folder / RESULT).exists()]
    if begun:
        return begun[-1].replicate
    return 1 + max((sweep.replicate for sweep in known), default=0)
