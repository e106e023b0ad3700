"""The exception for errors that a user can correct, and the first lines of other exceptions."""


class UserError(Exception):
    """The exception for an invalid config, corpus or checkpoint, or for settings that do not fit
    together.

    The message is one sentence that names the key or file, the given value, and the allowed values.
    A command prints the message without a traceback, and exits with a non-zero status. Unprintable
    characters, such as a line feed in a value, are escaped.
    """

    def __str__(self) -> str:
        return "".join(
            letter if letter.isprintable() else letter.encode("unicode_escape").decode()
            for letter in super().__str__()
        )


def first_line(error: BaseException) -> str:
    """Return the first line of an exception's message; the name of its class if it has none."""
    return next(filter(None, str(error).splitlines()), type(error).__name__)


def class_and_line(error: BaseException) -> str:
    """Return the class of an exception with the first line of its message, as in "KeyError: 3"."""
    return ": ".join(dict.fromkeys((type(error).__name__, first_line(error))))
