"""Remove the current folder from the import path of the server from which runs are forked.

The server imports this module first. Python lets such a process search the current folder first,
where a file could shadow an installed package.
"""

from ablate.config.imports import leave_current_folder

leave_current_folder()
