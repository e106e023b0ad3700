"""Read the folder of an experiment (verdict, report, figures) for the site."""

import json
from dataclasses import dataclass
from pathlib import Path

from ablate.config.labels import Title, experiment_title, option_label
from ablate.phrases import claim_name, each_of, number_of
from ablate.verdict.stored import Replication, read_contest, read_verdict, was_trained
from ablate.verdict.types import Entry, Verdict
from ablate.words.reasons import scope_sentence, sentence


@dataclass(frozen=True)
class Source:
    """The content of an experiment's folder."""

    folder: Path
    verdict: Verdict
    command: str  # the command line that repeats the experiment
    report: str  # Markdown; "" if there is no report
    pages: dict[str, str]  # further Markdown pages by name
    contest: list[Replication]  # replications of the verdicts

    @property
    def name(self) -> str:
        """The name of the experiment."""
        return self.verdict["experiment"]

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
        return experiment_title(self.name)

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
        return scope_sentence(self.verdict)

    def caveats(self, claim: Entry) -> list[str]:
        """Return sentences on the limits of the verdict on a claim."""
        number = number_of(self.verdict["claims"])[claim_name(claim)]
        caveats = self.verdict["caveats"]
        return [sentence(each) for each in caveats if number in (each["claims"] or [number])]


def read(folder: Path) -> Source:
    """Read the folder of an experiment that has a verdict."""
    verdict = read_verdict(folder / "verdict.json")
    study, report = folder / "study.json", folder / "report.md"
    about = json.loads(study.read_text(encoding="utf-8")) if study.exists() else {}
    again = f"python -m ablate +experiment={verdict['experiment']} -m"
    return Source(
        folder,
        verdict,
        about.get("registration", {}).get("command", again),
        report.read_text(encoding="utf-8") if report.exists() else "",
        {path.stem: path.read_text(encoding="utf-8") for path in sorted(folder.glob("pages/*.md"))},
        read_contest(folder),
    )
