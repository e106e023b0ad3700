"""Print to the terminal without interpreting markup, because a path may contain brackets."""

from io import StringIO

from rich.console import Console as RichConsole


class Console(RichConsole):
    """Rich's console, but a closed output pipe raises an exception as with `print`."""

    def on_broken_pipe(self) -> None:
        """Raise the current exception again; rich's own method would end the process with status
        1.
        """
        raise  # noqa: PLE0704


def make_console(
    *, stderr: bool = False, file: StringIO | None = None, width: int | None = None
) -> Console:
    """Return a console that prints brackets, colons and numbers without markup, emoji or colours.

    For styled output, use `rich.text.Text` or the argument `style`.
    """
    return Console(
        stderr=stderr, file=file, width=width, markup=False, emoji=False, highlight=False
    )
