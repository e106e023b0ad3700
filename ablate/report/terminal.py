"""Print verdicts in a terminal."""

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from ablate.phrases import grouped, interpretation
from ablate.report.content import combined_lines, regime
from ablate.report.marks import MARKS
from ablate.verdict.types import Answer, Entry, Verdict
from ablate.words.answer import evidence_line, opening
from ablate.words.reasons import bounds, caveat_text


def announce(console: Console, verdict: Verdict) -> None:
    """Print the verdict of every claim, the setting to which it applies, and all caveats."""
    for claim in verdict["claims"]:
        reading = interpretation(claim, verdict["claims"])
        statement = f" {claim['statement']}{f' [{reading}]' if reading else ''}"
        still = claim["learning"]["still"] if "learning" in claim else ()
        console.print("\n", _headed(claim, claim, still), statement, sep="", soft_wrap=True)
        console.print(f"  {evidence_line(claim, claim)}", soft_wrap=True)
        if short := claim.get("short"):
            when = f"  After {grouped(short['steps'])} steps: "
            line = f" {evidence_line(claim, short)}"
            console.print(when, _headed(claim, short), line, sep="", soft_wrap=True)
    for line in combined_lines(verdict["combined"]) if "combined" in verdict else ():
        console.print(f"\n{line}", soft_wrap=True)
    console.print(f"\n{bounds(verdict)}", soft_wrap=True)
    console.print(f"Setting: {regime(verdict)}.", soft_wrap=True)
    for caveat in verdict["caveats"]:
        console.print(f"- {caveat_text(caveat)}", soft_wrap=True)


def _headed(claim: Entry, answer: Answer, still: Sequence[str] = ()) -> Text:
    """Return the coloured answer to a claim, followed where it applies by "(exploratory)" and
    "(models were still improving)".

    Args:
        claim: the claim.
        answer: the answer after one of the numbers of training steps (budgets).
        still: arms that were still learning at the end of training.
    """
    mark = MARKS[answer["verdict"]]
    exploratory = " (exploratory)" if answer["exploratory"] else ""
    learning = " (models were still improving)" if still else ""
    words = f"{mark.letter} {opening(claim, answer)}."
    return Text.assemble((words, f"bold {mark.colour}"), exploratory, learning)
