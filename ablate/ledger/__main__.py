"""`python -m ablate.ledger`: every claim with all its verdicts, as a table and a page."""

import os
import sys
from pathlib import Path

from rich.console import Console

from ablate.errors import UserError
from ablate.ledger.claims import read_claims
from ablate.ledger.entries import FILTERS, join, pick
from ablate.ledger.table import lines, summary
from ablate.ledger.verdicts import collect, latest

USAGE = """\
usage: python -m ablate.ledger [key=value ...]

Shows all claims of the documents, with their verdicts in every regime.

  document=notes       claims of documents with this in their title
  factor=residual      claims about factors with this in their name
  verdict=refuted      supported, refuted, inconclusive, depends, no run decides, not tested, tested
  group=mask           claims of groups with this in their name
  kind=exact           exact, empirical or cost
  text=warm-up         claims that contain this, anywhere
  page=ledger.html     write all claims as a page with filters instead
  experiments=FOLDER   where verdicts are kept (default: experiments)
  results=FOLDER       where sweeps write (default: results)
"""
KEYS = (
    "document",
    "factor",
    "verdict",
    "group",
    "kind",
    "text",
    "page",
    "experiments",
    "results",
)
PIPE_WIDTH = 160  # where there is no terminal to fit


def parse(arguments: list[str]) -> dict[str, str]:
    """Return what `key=value` arguments give.

    Raises:
        UserError: an unknown key, a key without a value, or a folder that is not there.
    """
    options: dict[str, str] = {}
    for word in arguments:
        key, _, value = word.partition("=")
        if key not in KEYS:
            from ablate.config_check import unknown  # imports Hydra

            raise UserError(unknown(key, KEYS))
        if not value:
            raise UserError(f"{key} has no value; give one, for instance {key}=...")
        options[key] = value
    for key in ("experiments", "results"):
        if key in options and not Path(options[key]).is_dir():
            raise UserError(f"{key}={options[key]}: there is no such folder")
    return options


def show(options: dict[str, str]) -> None:
    """Print the ledger, or write its page."""
    folders = [Path(options.get(key, key)) for key in ("experiments", "results")]
    found, warnings = collect(*folders)
    for warning in warnings:
        print(f"ablate.ledger: {warning}", file=sys.stderr)
    entries = join(read_claims(), latest(found))
    wanted = {key: value for key, value in options.items() if key in FILTERS}
    picked = pick(entries, wanted, options.get("text", ""))
    console = Console()
    if not console.is_terminal:
        console.width = PIPE_WIDTH
    if "page" in options:
        from ablate.ledger.page import write  # imports Jinja

        write(entries, Path(options["page"]))
        console.print(f"{summary(entries, entries)}\npage: {options['page']}", soft_wrap=True)
        return
    for line in lines(picked, console.width) if picked else ():
        console.print(line)
    console.print("\n" + summary(picked, entries), highlight=False)


def main() -> None:
    """Command line: exit status 0 done, 2 the user's mistake."""
    arguments = sys.argv[1:]
    if {"-h", "--help"} & set(arguments):
        print(USAGE, end="")
        return
    try:
        show(parse(arguments))
    except UserError as error:
        print(f"ablate.ledger: {error}", file=sys.stderr)
        sys.exit(2)
    except BrokenPipeError:  # the reader has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    main()
