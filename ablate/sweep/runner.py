"""What one worker of a sweep does: it has cells run, by itself or by other workers.

All workers run the same stages of a sweep in the same order. A stage is over for a worker when
every cell of it is done, whoever has done it.
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
from ablate.record.types import Ended, Fingerprints, Link
from ablate.sweep.cell import Cell, write_link
from ablate.sweep.deal import Deal
from ablate.sweep.pool import Pool
from ablate.sweep.share import alone
from ablate.sweep.view import View

# Exit statuses of a run that was told to end: it has saved its state, and did not fail.
INTERRUPTED = {end for n in (signal.SIGTERM, signal.SIGINT) for end in (128 + n, -n)}


@dataclass(frozen=True)
class Runner:
    """A worker of the sweep of a config.

    `data` holds the fingerprints of the data (`ablate.sweep.preflight`). Without `stay` it leaves
    when others hold all cells that are left of a stage.
    """

    context: HydraContext
    config: DictConfig
    pool: Pool
    view: View
    data: Mapping[str, Fingerprints]
    stay: bool

    def all(self, cells: Sequence[Cell], *, again: bool = True) -> list[Link]:
        """Have all cells done, and return what became of them, in their order.

        What failed before this worker came is tried `again`.

        Raises:
            SystemExit: others hold what is left, and this worker is not to stay.
        """
        self._forget(cells, again=again)
        while True:
            self._work(cells)
            try:
                return [read_sealed(cell.link) for cell in cells]
            except FileNotFoundError:  # a worker that came later tries a failed cell again
                continue

    def _work(self, cells: Sequence[Cell]) -> None:
        deal = Deal(cells)
        ends = self.pool.run(deal, self.context, self.view.started, stay=self.stay)
        for cell, status in ends:
            if status in INTERRUPTED and not cell.link.exists():
                self.view.interrupted(cell.label)
                continue
            if status is not None and not cell.link.exists():
                _note_crash(cell, status)
            self.view.finished(cell.label, read_sealed(cell.link), here=status is not None)
        if deal.open:
            print(f"Other workers hold the last {deal.open} cells, and end the sweep.")
            sys.exit(0)

    def _forget(self, cells: Sequence[Cell], *, again: bool) -> None:
        """Remove links that stand for no result: their cells run once more."""
        stale = [cell for cell in cells if not self._stands(cell, again=again)]
        if stale:
            with alone(self.config):
                for cell in stale:
                    cell.link.unlink(missing_ok=True)

    def _stands(self, cell: Cell, *, again: bool) -> bool:
        """Whether there is no link, or one whose run is whole and would be the same now."""
        from ablate.sweep.preflight import record_of  # torch: while the server imports it as well

        try:
            link: Link = read_sealed(cell.link)
        except FileNotFoundError:
            return True
        except UserError as error:
            print(f"{error}: the cell is done again", flush=True)
            return False
        if link["status"] == "failed":
            return not again
        found = record_of(cell, self.data).found()
        return found is not None and found["identity"] == link["identity"]


def _note_crash(cell: Cell, status: int) -> None:
    """A process that was killed could not say what became of its cell."""
    found: Ended = {"status": "failed", "error": f"the process ended with status {status}"}
    write_link(Path(cell.arm.hydra.sweep.dir), cell.config, found)
