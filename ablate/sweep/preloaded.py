"""Import modules and compute values that all runs of a sweep share, once in the fork server.

Importing torch, Lightning and W&B takes seconds. Forked runs start immediately.
"""

import gc

import pandas  # noqa: F401  # W&B's tables import it
import wandb  # noqa: F401  # a logger imports it only when its run begins

import ablate.observe.pictures
import ablate.sweep.task
import ablate.train.resolve
import ablate.train.run
import ablate.wandb.logger  # noqa: F401
from ablate.record.environment import packages, source_commit
from ablate.record.identity import ENTRY_MODULES
from ablate.record.source import source_hashes

source_hashes([*ENTRY_MODULES])  # cached here, because hashing the source takes a third of a second
packages()
source_commit()
gc.freeze()  # garbage collection in runs skips the imported objects
