"""Imported first by the server of runs: what it imports next is what is installed.

Python lets such a process search the current folder first; its runs search it last.
"""

from ablate.config.imports import leave_current_folder

leave_current_folder()
