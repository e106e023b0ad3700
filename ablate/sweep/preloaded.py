"""What every run of a sweep needs, done once, in the server that the runs are forked from.

Importing torch, Lightning and W&B takes seconds; a run that finds them imported begins at once.
"""

import pandas  # noqa: F401  # W&B's tables import it
import wandb.sdk.launch  # noqa: F401  # wandb.init imports it: a second of a core

import ablate.observe.pictures
import ablate.sweep.worker
import ablate.train.resolve
import ablate.train.run
import ablate.wandb.logger  # noqa: F401
from ablate.process import exempt_imports
from ablate.record.commit import source_commit
from ablate.record.identity import ENTRY_MODULES, source_hashes
from ablate.record.training import packages

source_hashes([*ENTRY_MODULES])  # to read the source of a run takes a third of a second
packages()
source_commit()
exempt_imports()  # all of this stays: no run has to go through it for garbage
