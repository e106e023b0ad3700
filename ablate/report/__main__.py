"""`python -m ablate.report FOLDER [to=OTHER]`: verdict and report from the files of a study."""

import sys
from pathlib import Path

from ablate.errors import UserError
from ablate.tracking.files import check_links, write_bytes

USAGE = """\
usage: python -m ablate.report FOLDER [to=OTHER]

Writes verdict.json, report.md, report.html and figures/ from the evidence in FOLDER: that of a
sweep with a study, or experiments/NAME. Nothing is trained, and nothing is asked of a network.

  to=OTHER     copy the evidence to this folder and write there
"""


def main() -> None:
    """Command line: exit status 0 done, 2 the user's mistake."""
    if {"-h", "--help"} & set(sys.argv[1:]):
        print(USAGE, end="")
        return
    try:
        build(*parse(sys.argv[1:]))
    except UserError as error:
        print(f"ablate.report: {error}", file=sys.stderr)
        sys.exit(2)


def parse(arguments: list[str]) -> tuple[Path, Path]:
    """Return the folder to read and the folder to write.

    Raises:
        UserError: an unknown argument, or not exactly one folder.
    """
    folders = [given for given in arguments if "=" not in given or Path(given).is_dir()]
    options = dict(given.split("=", 1) for given in arguments if given not in folders)
    for key in options:
        if key != "to":
            raise UserError(f"{key}= is not known; allowed is FOLDER and to=OTHER")
    if len(folders) != 1:
        raise UserError(f"{len(folders)} folders are given; it takes one, FOLDER, and to=OTHER")
    folder = Path(folders[0]).expanduser()
    if "to" not in options:
        return folder, folder
    if not options["to"]:
        raise UserError("to= has no value: give the folder to write to")
    return folder, Path(options["to"]).expanduser()


def build(source: Path, target: Path) -> None:
    """Build the report of the evidence in `source` inside `target`, and print its verdicts.

    Raises:
        UserError: the folder holds no evidence, or the target cannot be written.
    """
    from ablate.report.content import slice_warning
    from ablate.report.write import write_report  # only now: it imports scipy and matplotlib
    from ablate.study.evidence import Evidence

    for folder in (source, target):
        check_links(folder, folder)
    evidence = Evidence.load(source)
    if not (evidence.study or {}).get("claims"):
        raise UserError(f"{source / 'study.json'} has no claims: there is nothing to judge")
    try:
        if target.resolve() != source.resolve():
            _copy(source, target)
        verdict = write_report(evidence, target)
    except OSError as error:
        raise UserError(f"{target} cannot be written: {error.strerror or error}") from None
    if warning := slice_warning(verdict):
        print(warning)
    for claim in verdict["claims"]:
        print(f"{claim['verdict'].upper()}  {claim['statement']}\n  {claim['sentence']}")
    print(f"report: {target / 'report.md'}, {target / 'report.html'}")


def _copy(source: Path, target: Path) -> None:
    from ablate.study.evidence import FILES

    for name in FILES:
        if (source / name).exists():
            write_bytes(target / name, (source / name).read_bytes())


if __name__ == "__main__":
    main()
