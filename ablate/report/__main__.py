"""`python -m ablate.report FOLDER [to=OTHER]`: verdict and report from the files of a study."""

import shutil
import sys
from pathlib import Path

from ablate.errors import UserError

USAGE = """\
usage: python -m ablate.report FOLDER [to=OTHER] [seal=true]

Writes verdict.json, report.md, report.html and figures/ from the evidence in FOLDER: that of a
sweep with a study, or experiments/NAME. Nothing is trained, and nothing is asked of a network.

  to=OTHER     copy the evidence to this folder and write there
  seal=true    first seal evidence that has no seal, being older than seals, as it is
"""


def main() -> None:
    """Command line: exit status 0 done, 2 the user's mistake."""
    if {"-h", "--help"} & set(sys.argv[1:]):
        print(USAGE, end="")
        return
    try:
        source, target, seals = parse(sys.argv[1:])
        if seals:
            seal(source)
        build(source, target)
    except UserError as error:
        print(f"ablate.report: {error}", file=sys.stderr)
        sys.exit(2)


def parse(arguments: list[str]) -> tuple[Path, Path, bool]:
    """Return the folder to read, the folder to write, and whether to seal what is read.

    Raises:
        UserError: an unknown argument, or not exactly one folder.
    """
    folders = [given for given in arguments if "=" not in given or Path(given).is_dir()]
    options = dict(given.split("=", 1) for given in arguments if given not in folders)
    for key in options:
        if key not in ("to", "seal"):
            raise UserError(f"{key}= is not known; allowed is FOLDER, to=OTHER and seal=true")
    if options.get("seal", "true") != "true":
        raise UserError(f"seal={options['seal']}: allowed is true")
    if len(folders) != 1:
        raise UserError(f"{len(folders)} folders are given; it takes one, FOLDER, and to=OTHER")
    folder = Path(folders[0]).expanduser()
    if not options.get("to", folder):
        raise UserError("to= has no value: give the folder to write to")
    return folder, Path(options.get("to", folder)).expanduser(), "seal" in options


def seal(folder: Path) -> None:
    """Seal the evidence of a folder, unless it is sealed.

    Raises:
        UserError: the folder holds no evidence that could be judged, or takes nothing.
    """
    from ablate.study.evidence import Evidence
    from ablate.study.seal import read_parts

    if "seal" not in read_parts(folder):
        Evidence.read(folder).seal(folder)


def build(source: Path, target: Path) -> None:
    """Build the report of the evidence in `source` inside `target`, and print its verdicts.

    Raises:
        UserError: the folder holds no evidence, or the target cannot be written.
    """
    from ablate.report.content import slice_warning
    from ablate.report.write import write_report  # only now: it imports scipy and matplotlib
    from ablate.study.evidence import Evidence

    evidence = Evidence.load(source)
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
    target.mkdir(parents=True, exist_ok=True)
    from ablate.study.seal import FILES

    for name in FILES:
        if (source / name).exists():
            shutil.copyfile(source / name, target / name)


if __name__ == "__main__":
    main()
