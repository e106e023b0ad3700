"""`python -m ablate.verdict`: the verdict of a sweep once more, from W&B or from its folder."""

import sys
from pathlib import Path

from ablate.errors import UserError
from ablate.study.evidence import Evidence
from ablate.tracking.files import check_links, writing

USAGE = """\
usage: python -m ablate.verdict from=wandb project=ENTITY/PROJECT group=NAME [to=FOLDER]
       python -m ablate.verdict from=SWEEP [to=FOLDER]

Judges the runs of a sweep that has a study, and prints the verdict of every claim. Nothing is
trained.

  from=wandb   the latest sweep whose runs and analysis W&B has in this project and group
  from=SWEEP   the folder of a sweep, or experiments/NAME
  to=FOLDER    write the evidence, the verdict and the report there
"""
ALLOWED = ("from", "project", "group", "to")


def main() -> None:
    """Command line: exit status 0 done, 2 the user's mistake."""
    if {"-h", "--help"} & set(sys.argv[1:]):
        print(USAGE, end="")
        return
    try:
        judge(parse(sys.argv[1:]))
    except UserError as error:
        print(f"ablate.verdict: {error}", file=sys.stderr)
        sys.exit(2)


def parse(arguments: list[str]) -> dict[str, str]:
    """Return what is given for each key.

    Raises:
        UserError: a key is unknown, missing, empty, or of no use with the others.
    """
    given = {}
    for argument in arguments:
        key, _, value = argument.partition("=")
        if key not in ALLOWED:
            raise UserError(f"{key} is not known; allowed is {', '.join(f'{k}=' for k in ALLOWED)}")
        if not value:
            raise UserError(f"{key}= has no value")
        given[key] = value
    if "from" not in given:
        raise UserError("from= is missing: wandb, or the folder of a sweep")
    for key in ("project", "group"):
        if (key in given) != (given["from"] == "wandb"):
            verb = "takes no" if key in given else "needs"
            raise UserError(f"from={given['from']} {verb} {key}=")
    return given


def judge(given: dict[str, str]) -> None:
    """Print the verdict, and write it where that is wanted.

    Raises:
        UserError: there is no evidence, or the folder cannot be written.
    """
    from rich.console import Console  # only now, as it all takes a second to import

    from ablate.report.write import write_files
    from ablate.study.conclude import conclude
    from ablate.sweep.end import announce

    if given["from"] == "wandb":
        evidence = from_wandb(given["project"], given["group"])
    else:
        evidence = from_folder(Path(given["from"]).expanduser())
    verdict = conclude(evidence)
    announce(Console(), verdict)
    if "to" in given:
        target = Path(given["to"]).expanduser()
        check_links(target, target)
        with writing(target):
            evidence.save(target)
            write_files(evidence, verdict, target)
        print(f"\nreport: {target / 'report.md'}, {target / 'report.html'}")


def from_wandb(project: str, group: str) -> Evidence:
    """Read the latest sweep of a group, and say where its results are from.

    Raises:
        UserError: W&B is not reached, or does not have it.
    """
    from ablate.tracking.fetch import connect, fetch

    found = fetch(connect(), project, group)
    runs = len(found.evidence.runs)
    print(f"{found.analysis}: {found.own} of {runs} results are from the W&B runs themselves.")
    if found.own < runs:
        print("The others are from the evidence that was logged with the verdict.")
    return found.evidence


def from_folder(folder: Path) -> Evidence:
    """Read the records of a sweep's runs, or what is kept of them under experiments/.

    Raises:
        UserError: the folder is not that of a sweep with a study that has ended.
    """
    from ablate.study.gather import gather

    check_links(folder, folder)
    if not (folder / "cells").is_dir():
        return Evidence.load(folder)
    _check_cells(folder)
    evidence = gather(folder)
    if "looks" not in evidence.registration:  # a look that nobody counts
        raise UserError(
            f"{folder} is of a sweep without a study, or of one that has not ended: the same "
            "command goes on with it"
        )
    return evidence


def _check_cells(sweep: Path) -> None:
    """Refuse a sweep whose cells say that the records of their runs lie outside of its results."""
    from ablate.study.gather import SCREENING
    from ablate.sweep.cell import read_links

    results = (sweep.resolve() / "../../..").resolve()  # it is RESULTS/sweeps/NAME/TIME
    for link in (*read_links(sweep), *read_links(sweep / SCREENING)):
        for record in (link[key] for key in ("folder", "evaluation") if key in link):
            if not Path(record).resolve().is_relative_to(results):
                raise UserError(
                    f"{sweep}: cell {link['cell']} is at {record}, outside of {results}"
                )


if __name__ == "__main__":
    main()
