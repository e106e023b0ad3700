"""The exception for errors that a user can correct."""


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
