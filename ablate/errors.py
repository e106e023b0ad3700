"""The one exception that a user is meant to read."""


class UserError(Exception):
    """Bad config, data, checkpoint or combination.

    The message is one sentence that names the key or file, what was given and what is allowed.
    It is printed without a traceback and ends the process with a non-zero status.
    """
