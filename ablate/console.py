"""The terminal, to which text goes as it is: a path may hold what rich reads as markup."""

from rich.console import Console as RichConsole


class Console(RichConsole):
    """Rich's console, which leaves a reader that has gone away to the caller, as `print` does."""

    def on_broken_pipe(self) -> None:
        """Raise the error that is being handled; rich would end the process with status 1."""
        raise  # noqa: PLE0704


def make_console(*, stderr: bool = False) -> Console:
    """Return a console that gives no meaning to brackets, colons and numbers.

    What is to look otherwise is given as `rich.text.Text`, or with a `style`.
    """
    return Console(stderr=stderr, markup=False, emoji=False, highlight=False)
