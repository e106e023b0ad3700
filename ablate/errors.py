"""The exception for errors that a user can correct."""


class UserError(Exception):
    """Invalid config, data, checkpoint or combination.

    The message is one sentence that names the key or file, the given value, and what is allowed. It
    is printed without a traceback and ends the process with a non-zero status. Unprintable
    characters, such as a line feed in a value, are escaped.
    """

    def __str__(self) -> str:
        return "".join(
            letter if letter.isprintable() else letter.encode("unicode_escape").decode()
            for letter in super().__str__()
        )
