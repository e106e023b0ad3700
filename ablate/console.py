"""The terminal, to which text goes as it is: a path may hold what rich reads as markup."""

from rich.console import Console


def make_console(*, stderr: bool = False) -> Console:
    """Return a console that gives no meaning to brackets, colons and numbers.

    What is to look otherwise is given as `rich.text.Text`, or with a `style`.
    """
    return Console(stderr=stderr, markup=False, emoji=False, highlight=False)
