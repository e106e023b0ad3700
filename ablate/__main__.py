"""`python -m ablate`: the same as the console script `ablate`."""

from ablate.cli.main import main as run_command_line
from ablate.cli.process import prepare_streams, use_utf8


def main() -> None:
    """Make text and output independent of the locale, and execute the command line."""
    use_utf8()
    prepare_streams()
    run_command_line()


if __name__ == "__main__":
    main()
