"""Run the cells of a sweep as one of its workers, and wait for cells that other workers run.

All workers execute the same stages in the same order. A stage is complete when all its cells are
done by any worker.
"""

import signal
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hydra.types import HydraContext
from omegaconf import DictConfig

from ablate.errors import UserError
from ablate.record.sealed import read_sealed
from ablate.record.types import Fingerprints, Link, OutcomeBase
from ablate.sweep.cell import Cell, write_link
from ablate.sweep.cell_queue import CellQueue
from ablate.sweep.pool import Pool
from ablate.sweep.share import alone
from ablate.sweep.view import View

# Exit statuses of a run that was interrupted: it has saved its state, and did not fail.
INTERRUPTED = {end for n in (signal.SIGTERM, signal.SIGINT) for end in (128 + n, -n)}


@dataclass(frozen=True)
class Runner:
    """A worker process of a sweep, which executes runs until all runs of a stage are done.

    A stage has the runs between two planned interim analyses. `data` has the hashes of the data
    (`ablate.sweep.preflight`). Without `stay`, the worker exits when other workers hold all
    remaining runs of a stage.
    """

    context: HydraContext
    config: DictConfig
    pool: Pool
    view: View
    data: Mapping[str, Fingerprints]
    stay: bool

    def all(self, cells: Sequence[Cell], *, again: bool = True) -> list[Link]:
        """Execute all runs of a stage, and return their outcomes in the order of `cells`.

        Args:
            cells: the runs.
            again: whether to retry runs that failed earlier.

        Raises:
            SystemExit: other workers hold the remaining runs, and this worker may not wait.
        """
        self._forget(cells, again=again)
        while True:
            self._work(cells)
            try:
                return [read_sealed(cell.link) for cell in cells]
            except FileNotFoundError:  # another worker is retrying a failed cell
                continue

    def _work(self, cells: Sequence[Cell]) -> None:
        queue = CellQueue(cells)
        ends = self.pool.run(queue, self.context, self.view.started, stay=self.stay)
        for cell, status in ends:
            if status in INTERRUPTED and not cell.link.exists():
                self.view.interrupted()
                continue
            if status is not None and not cell.link.exists():
                _note_crash(cell, status)
            self.view.finished(cell.label, read_sealed(cell.link), here=status is not None)
        if queue.open:
            print(f"Other workers are running the last {queue.open} cells and will end the sweep.")
            sys.exit(0)

    def _forget(self, cells: Sequence[Cell], *, again: bool) -> None:
        """Remove stored outcomes that are invalid, so that their runs are repeated.

        Args:
            cells: the runs of a stage.
            again: whether the outcome of a failed run is invalid.
        """
        stale = [cell for cell in cells if not self._outcome_is_valid(cell, again=again)]
        if stale:
            with alone(self.config):
                for cell in stale:
                    cell.link.unlink(missing_ok=True)

    def _outcome_is_valid(self, cell: Cell, *, again: bool) -> bool:
        """Return whether a run has no stored outcome, or an outcome that is valid for its present
        config.

        If the result is False, the caller removes the outcome, so that the run is repeated.

        Args:
            cell: the run.
            again: whether the stored outcome of a failed run must be removed.
        """
        # here, because it imports torch, and the server imports torch at the same time
        from ablate.sweep.preflight import record_of

        try:
            link: Link = read_sealed(cell.link)
        except FileNotFoundError:
            return True
        except UserError as error:
            print(f"{error}: the run will be repeated", flush=True)
            return False
        if link["status"] == "failed":
            return not again
        result = record_of(cell, self.data).stored_result()
        return result is not None and result["identity"] == link["identity"]


def _note_crash(cell: Cell, status: int) -> None:
    """Store the failure of a run whose process was killed."""
    failure: OutcomeBase = {"status": "failed", "error": f"the process ended with status {status}"}
    write_link(Path(cell.arm.hydra.sweep.dir), cell.config, failure)
