"""One stage of a sweep: cells that must all be done before the next thing is decided.

All workers of the sweep run its stages in the same order. A stage is over for a worker when every
cell of it is done, whoever has done it.
"""

import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hydra.types import HydraContext
from omegaconf import DictConfig

from ablate.errors import UserError
from ablate.record.links import link_path
from ablate.record.sealed import read_sealed
from ablate.sweep.cell import Cell, write_link
from ablate.sweep.deal import Deal
from ablate.sweep.pool import Pool
from ablate.sweep.share import alone
from ablate.sweep.view import View

# Exit statuses of a run that was told to end: it has saved its state, and did not fail.
INTERRUPTED = {end for n in (signal.SIGTERM, signal.SIGINT) for end in (128 + n, -n)}
Link = dict[str, Any]


class Stages:
    """Runs the stages of a sweep as one of its workers.

    `data` holds the fingerprints of the data (`ablate.sweep.preflight`).
    """

    def __init__(
        self,
        context: HydraContext,
        pool: Pool,
        view: View,
        data: Mapping[str, str],
        *,
        stay: bool,
    ) -> None:
        self._context = context
        self._pool = pool
        self._view = view
        self._data = data
        self._stay = stay

    def run(
        self, config: DictConfig, cells: Sequence[Cell], sweep: Path, *, again: bool = True
    ) -> list[Link]:
        """Have all cells done, and return what became of them, in their order.

        What failed before this worker came is tried `again`. `sweep` is the folder of the links,
        `config` that of the sweep.

        Raises:
            SystemExit: others hold what is left, and this worker is not to stay.
        """
        self._forget(config, cells, sweep, again=again)
        while True:
            self._work(cells, sweep)
            try:
                return [_found(sweep, cell) for cell in cells]
            except FileNotFoundError:  # a worker that came later tries a failed cell again
                continue

    def _work(self, cells: Sequence[Cell], sweep: Path) -> None:
        deal = Deal(cells, sweep)
        ends = self._pool.run(deal, self._context, self._view.started, stay=self._stay)
        for cell, status in ends:
            path = link_path(sweep, cell.number)
            if status in INTERRUPTED and not path.exists():
                self._view.interrupted(cell.label)
                continue
            if status is not None and not path.exists():
                _note_crash(sweep, cell, status)
            self._view.finished(cell.label, _found(sweep, cell), here=status is not None)
        if deal.open:
            print(f"Other workers hold the last {deal.open} cells, and end the sweep.")
            sys.exit(0)

    def _forget(
        self, config: DictConfig, cells: Sequence[Cell], sweep: Path, *, again: bool
    ) -> None:
        """Remove links that stand for no result: their cells run once more."""
        stale = [cell for cell in cells if not self._stands(cell, sweep, again=again)]
        if stale:
            with alone(config):
                for cell in stale:
                    link_path(sweep, cell.number).unlink(missing_ok=True)

    def _stands(self, cell: Cell, sweep: Path, *, again: bool) -> bool:
        """Whether there is no link, or one whose run is whole and would be the same now."""
        from ablate.record.training import Record  # torch: while the server imports it as well
        from ablate.sweep.preflight import corpus

        try:
            link = _found(sweep, cell)
        except FileNotFoundError:
            return True
        except UserError:
            return False
        if link["status"] == "failed":
            return not again
        config = cell.task_config()
        found = Record(config, self._data[corpus(config)]).found()
        return found is not None and found["identity"] == link["identity"]


def _note_crash(sweep: Path, cell: Cell, status: int) -> None:
    """A process that was killed could not say what became of its cell."""
    found = {"status": "failed", "error": f"the process ended with status {status}"}
    write_link(sweep, cell.config, found)


def _found(sweep: Path, cell: Cell) -> Link:
    return read_sealed(link_path(sweep, cell.number))
