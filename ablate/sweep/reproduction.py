"""Reproduce a committed experiment with new seeds, for `ablate reproduce`."""

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hydra._internal.utils import get_args_parser

from ablate.errors import UserError
from ablate.evidence.folder import Evidence
from ablate.evidence.gather import CONFIG_DIR
from ablate.evidence.log import read_log, sweeps_of
from ablate.evidence.registration import deciding, questions
from ablate.phrases import claim_name
from ablate.record.files import write_json
from ablate.sweep.cell import plain_study
from ablate.sweep.load import from_folder
from ablate.sweep.runs import compose_sweep
from ablate.verdict.conclude import conclude, load_evidence
from ablate.verdict.stored import RESULT, Short, read_contest, replications, used_replicate
from ablate.verdict.types import Entry
from ablate.words.answer import effect_text, short_answer


@dataclass(frozen=True)
class Reproduction:
    """The committed evidence of an experiment (its runs and metrics), and the Hydra overrides that
    repeat the experiment with new seeds.

    From the committed evidence come only the verdict that is compared with the new verdict, and the
    replicate numbers that new runs must not use. Its runs are neither reused nor pooled, and it
    spends no alpha of the new sweep.
    """

    first: Evidence
    overrides: list[str]
    results: Path
    experiments: Path

    @classmethod
    def of(cls, name: str, experiments: Path, results: Path) -> "Reproduction":
        """Prepare the replication of an experiment: read its evidence (runs and metrics), and
        choose a replicate number that has not been used.

        The replicate number is part of every random seed, so that seeds 0, 1, ... with another
        replicate number give new runs.

        Args:
            name: name of the experiment.
            experiments: folder with the evidence of all experiments.
            results: folder in which the new sweep stores its results.

        Raises:
            UserError: the evidence does not exist, its study has changed, its claims are all exact
                (so that seeds do not matter), or the study itself varies the replicate number.
        """
        first = from_folder(experiments / name)
        command = shlex.split(first.registration["command"])[3:]
        given, after_flags = get_args_parser().parse_known_args(command)
        overrides = [*given.overrides, *after_flags]
        with compose_sweep(overrides, given.config_dir) as sweep:
            study, replicate = plain_study(sweep.config), int(sweep.config.replicate)
        if deciding(study) != deciding(first.study):
            raise UserError(
                f"the study of {shlex.join(overrides)} has changed since {experiments / name} was "
                f"made: run {first.registration['command']} first, then repeat this command"
            )
        trained = any("steps" in run["metrics"] for run in first.runs)
        if not trained and all(claim["kind"] == "exact" for claim in first.study["claims"]):
            raise UserError(
                f"all claims of {name} are kind=exact, which new seeds do not test: repeat it with "
                f"{first.registration['command']}"
            )
        if "replicate" in study["factors"]:
            raise UserError(
                f"{name} has `replicate` as a factor, so it cannot be reproduced with a new value "
                f"of replicate: repeat it with {first.registration['command']}"
            )
        number = _fresh(first, experiments / name, results, replicate)
        fresh = [f"replicate={number}", "contest=true"]
        folders = [f"paths.results={results}", f"paths.experiments={experiments}"]
        config_dir = [CONFIG_DIR, given.config_dir] if given.config_dir else []
        words = [*config_dir, *overrides, *fresh, *folders]
        return cls(first, words, results, experiments)

    def lines(self) -> Iterator[str]:
        """Compare the verdict on the committed evidence with the verdict on new seeds.

        Write the comparison to contest.json in the folder of the new sweep, and yield the lines of
        a report.
        """
        sweeps = sweeps_of(read_log(self.results))
        last = [sweep for sweep in sweeps if sweep.contest and sweep.name == self.first.name][-1]
        sweep = self.results / last.folder
        kept = self.experiments / self.first.name
        verdicts = conclude(self.first), conclude(load_evidence(sweep))
        claims = replications(*verdicts, bool(read_contest(kept)))
        report = {"name": self.first.name, "replicate": last.replicate, "claims": claims}
        write_json(sweep / RESULT, report)
        answers = {claim_name(answer): answer for answer in verdicts[0]["claims"]}
        for claim in claims:
            exploratory = " (exploratory: contested before)" if claim["exploratory"] else ""
            yield f"\n{claim['replication'].upper()}{exploratory}  {claim['statement']}"
            for word in ("first", "fresh"):
                yield f"  {word}: {_effect(answers[claim_name(claim)], claim[word])}"
        yield f"\ncontest: {sweep / RESULT}"
        yield f"Copied to {kept}, it stands in the report after: python -m ablate judge {kept}"


def _effect(claim: Entry, answer: Short) -> str:
    """Return the verdict on a claim, with its effect and interval if there are any."""
    verdict = short_answer(claim, answer)
    if answer["effect"] is None:
        return verdict
    level = 1 - claim["alpha"]
    return f"{verdict}. {effect_text(claim, answer['effect'], answer['interval'], level)}"


def _fresh(first: Evidence, folder: Path, results: Path, number: int) -> int:
    """Return a replicate number that neither the evidence, nor an earlier replication of it, nor a
    sweep in the analysis log has used for the questions of the evidence.

    A replicate number is part of every random seed of a sweep. An unfinished replication is
    continued with its number.

    Args:
        first: the committed evidence.
        folder: folder of the evidence.
        results: folder of all results.
        number: the replicate number of the sweep that made the evidence.
    """
    used = {number, *(run["replicate"] for run in first.runs if "replicate" in run)}
    contested = used_replicate(folder, max(used) + 1)
    asked = questions(first.study).keys()
    sweeps = sweeps_of(read_log(results))
    related = [s for s in sweeps if s.name == first.name or s.questions.keys() & asked]
    begun = [s for s in related if s.contest and not (results / s.folder / RESULT).exists()]
    if begun:
        return begun[-1].replicate
    return 1 + max(*used, contested or 0, *(sweep.replicate for sweep in related))
