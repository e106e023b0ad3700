"""Import modules and compute values that all runs of a sweep share, once in the fork server.

Importing torch and Lightning takes seconds. Forked runs start immediately. Python lets the
server search the current folder first, where a file could shadow an installed package. So the
module removes that folder from the import path before it imports anything else.
"""

import gc
from importlib import import_module

from ablate.config import leave_current_folder

leave_current_folder()
identity = import_module("ablate.record.identity")
for name in ("ablate.sweep.cell", *identity.ENTRY_MODULES):
    import_module(name)
# cached here, because hashing the source takes a third of a second
identity.source_hashes(identity.ENTRY_MODULES)
identity.packages()
identity.source_commit()
gc.freeze()  # garbage collection in runs skips the imported objects
