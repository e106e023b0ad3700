"""The one exception that a user is meant to read."""


class UserError(Exception):
    """Bad config, data, checkpoint or combination.

    The message is one sentence that names the key or file, what was given and what is allowed.
    It is printed without a traceback and ends the process with a non-zero status. What a terminal
    would not show as it stands, such as the line feed of a value, is written as in a string.
    """

    def __str__(self) -> str:
        return "".join(
            letter if letter.isprintable() else letter.encode("unicode_escape").decode()
            for letter in super().__str__()
        )
