"""Remove the current folder from the import path; imported first by the server of runs.

Python lets such a process search the current folder first, where a file could shadow an installed
package.
"""

from ablate.config.imports import leave_current_folder

leave_current_folder()
