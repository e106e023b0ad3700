"""Read the folder of an experiment (verdict, report and results) for the site."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from ablate.config.labels import Title, experiment_title, option_label
from ablate.data.text import read_text
from ablate.errors import UserError
from ablate.evidence.folder import Evidence
from ablate.evidence.seal import ABOUT
from ablate.evidence.types import Entry, Question, Verdict
from ablate.ledger.places import COMMITTED
from ablate.phrases import each_of, interpretation
from ablate.report.content import regime
from ablate.verdict.decision import at_each_budget, read_verdict, was_trained
from ablate.verdict.replication import Replication, asked_again, read_contest
from ablate.verdict.sides import has
from ablate.words.answer import bounds
from ablate.words.reasons import caveat_text


@dataclass(frozen=True)
class Source:
    """The content of an experiment's folder; `evidence` (the results of the runs) is None if it is
    incomplete or missing.

    The results lack the statistics of sentences, because pages do not show them.
    """

    folder: Path
    verdict: Verdict
    evidence: Evidence | None = None
    report: str = ""  # Markdown
    pictures: dict[str, Path] = field(default_factory=dict)  # figures by name
    pages: dict[str, str] = field(default_factory=dict)  # further Markdown pages by name
    contest: list[Replication] = field(default_factory=list)  # replications of the verdicts
    origin: str = COMMITTED

    @property
    def name(self) -> str:
        """The name of the experiment."""
        return str(self.verdict["experiment"])

    @property
    def title(self) -> str:
        """The title of the experiment from its YAML file, else its name."""
        return self._heading.title or self.name.replace("_", " ")

    @property
    def purpose(self) -> str:
        """The purpose of the experiment in one line from its YAML file, else its first claim."""
        first = self.verdict["claims"][0]["statement"]
        return self._heading.purpose or f"Tests whether this holds: {first}"

    @property
    def _heading(self) -> Title:
        labels = self.evidence.registration.get("labels") if self.evidence else None
        return experiment_title(self.name, labels)

    @property
    def entries(self) -> list[Entry]:
        """The verdict on every claim at every training budget; none if the results or the verdict
        are damaged.
        """
        return [*at_each_budget(self.verdict["claims"])]

    @cached_property
    def answers(self) -> list[Entry]:
        """The verdict on every claim at every training budget."""
        if self.evidence is not None:
            return [*at_each_budget(self.verdict["claims"])]
        return self.entries

    def again(self, claim: Entry) -> Replication | None:
        """Return the replication of a verdict with new seeds; None if there is none."""
        return asked_again(claim, self.contest)

    def interpretation(self, claim: Entry) -> str:
        """Return the reading of a claim if other claims have the same statement; else ""."""
        return interpretation(claim, self.entries)

    @property
    def by_user(self) -> str:
        """A label for the user's own experiments; "" for experiments in the repository."""
        return "" if self.origin == COMMITTED else self.origin

    @property
    def corpora(self) -> list[str]:
        """The labels of the corpora on which the models were trained; none without training."""
        if not was_trained(self.verdict):
            return []
        return [option_label("data", name) for name in each_of(self.verdict["regime"]["data"])]

    @property
    def largest(self) -> int:
        """The number of parameters of the largest trained model; 0 without training."""
        if not was_trained(self.verdict):
            return 0
        arms = (arm["metrics"].get("parameters") for arm in self.verdict["arms"])
        return max((round(spread["mean"]) for spread in arms if spread), default=0)

    @property
    def bounds(self) -> str:
        """A sentence on the model sizes, the corpus and the number of steps for which the verdicts
        hold.
        """
        return bounds(self.verdict)

    @property
    def regime(self) -> str:
        """The setting of the experiment (data, model, training, test, machine) in one line."""
        if self.evidence:
            return regime(self.verdict)
        setting = self.verdict["regime"]
        return f"scale {setting['scale']}, data {setting['data']}, model {setting['model']}"

    @property
    def caveats(self) -> list[str]:
        """Sentences on the limits of the experiment's verdicts."""
        return [caveat_text(caveat) for caveat in self.verdict["caveats"]]

    @property
    def tuned(self) -> str:
        """The config key of the hyperparameter that was tuned for every arm; "" if none was."""
        tune = self.evidence.study.get("tune") if self.evidence else None
        return tune["key"] if tune else ""

    @property
    def seconds(self) -> float:
        """The total time of all runs in seconds, each measured on the machine of the run."""
        return sum(run["seconds"] for run in self.evidence.runs) if self.evidence else 0.0

    def per_seed(self, claim: Entry) -> float:
        """Return the seconds that the arms of a claim took per seed, including tuning."""
        evidence = self.evidence
        if evidence is None or not evidence.runs:
            return 0.0
        if "short" in claim and claim["steps"] == claim["short"]["steps"]:
            evidence = evidence.short or evidence
        where = claim["where"]
        places = [where, where | claim["minus"]] if claim["minus"] else [where]
        arms = [place | claim[arm] for place in places for arm in ("treatment", "baseline")]
        asked, chose = (
            [run for run in runs if any(has(run, arm) for arm in arms)]
            for runs in (evidence.runs, evidence.screening)
        )
        took = sum(run["seconds"] for run in (*asked, *chose))
        return took / max(len({run["seed"] for run in asked}), 1)

    @property
    def command(self) -> str:
        """The command line that repeats the experiment."""
        again = f"python -m ablate +experiment={self.name} -m"
        return self.evidence.registration.get("command", again) if self.evidence else again


def read(folder: Path, warnings: list[str], origin: str = COMMITTED) -> Source:
    """Read the folder of an experiment.

    Args:
        folder: folder with a verdict.
        warnings: list to which a warning is appended if the results are damaged; the results are
            then left out.
        origin: one of ablate.ledger.places.ORIGINS: whether the folder is part of the repository
            or belongs to the user.
    """
    verdict = read_verdict(folder / "verdict.json")
    packaged, report = not (folder / ABOUT).exists(), folder / "report.md"
    evidence = None
    try:
        evidence = None if packaged else _evidence(folder, verdict)
    except UserError as error:
        warnings.append(f"{error}; its page shows the verdicts alone")
    return Source(
        folder,
        verdict,
        evidence,
        read_text(report) if report.exists() else "",
        {path.stem: path for path in sorted(folder.glob("figures/*.svg"))},
        {path.stem: read_text(path) for path in sorted(folder.glob("pages/*.md"))},
        read_contest(folder),
        origin,
    )


def _evidence(folder: Path, verdict: Verdict) -> Evidence:
    """Return the results of the runs in a folder.

    Raises:
        UserError: a file is missing, damaged or malformed, or differs from its digest.
    """
    evidence = Evidence.load(folder, statistics=False)
    if not _keys(evidence.study["claims"]) >= _keys(verdict["claims"]):
        raise UserError(
            f"{folder / 'verdict.json'} has claims that its study lacks: run `ablate judge "
            f"{folder}`"
        )
    return evidence


def _keys(questions: Iterable[Question]) -> set[tuple[str, str]]:
    return {(claim["id"], claim.get("reading", "")) for claim in questions}
