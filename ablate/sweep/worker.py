"""Define the main function of a process that executes one run of a sweep."""

import sys

from hydra.core.utils import run_job, setup_globals
from hydra.types import HydraContext

from ablate.errors import UserError
from ablate.process import act_as_command, end_with_parent, write_output_to
from ablate.sweep.cell import Cell


def work(context: HydraContext, cell: Cell, argv: list[str], log: str) -> None:
    """Execute a run with its output in a file; exit with status 1 if the run failed.

    Args:
        context: Hydra's context.
        cell: the run.
        argv: the command line of the run.
        log: path of the file.
    """
    write_output_to(log)
    end_with_parent()
    setup_globals()
    act_as_command("ablate.__main__", argv)
    from ablate.train.resolve import resolve
    from ablate.train.run import run

    done = run_job(
        task_function=lambda config: run(resolve(config)),
        config=cell.config,
        job_dir_key="hydra.sweep.dir",
        job_subdir_key="hydra.sweep.subdir",
        hydra_context=context,
    )
    try:
        _ = done.return_value
    except UserError as error:
        print(f"ablate: {error}", file=sys.stderr)
        sys.exit(1)
    except Exception as error:
        sys.excepthook(type(error), error, error.__traceback__)
        sys.exit(1)
