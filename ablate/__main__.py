"""`python -m ablate`: compose the config, then run one cell, or every cell of a sweep with -m."""

import os
import sys
from pathlib import Path

import hydra
from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from omegaconf import DictConfig
from omegaconf.errors import OmegaConfBaseException

from ablate.config_check import explain, explain_bare
from ablate.errors import UserError
from ablate.schema import register

PACKAGE = Path(__file__).resolve().parent
# A wheel carries the configs inside the package; a checkout has them beside it.
CONF = PACKAGE / "conf" if (PACKAGE / "conf").is_dir() else PACKAGE.parent / "conf"

register()


@hydra.main(version_base="1.3", config_path=str(CONF), config_name="config")
def job(config: DictConfig) -> None:
    """Run one cell. Torch is imported here, not for --help."""
    from ablate.run import run

    if config.study is not None:
        _say_what_is_not_run(config)
    try:
        run(config)
    except UserError as error:
        sys.exit(_complain(str(error)))
    except OmegaConfBaseException as error:  # here, before Hydra adds a line of its own
        sys.exit(_complain(explain(error)))


def main() -> None:
    """Command line: exit status 0 done, 1 a run failed, 2 the user's mistake, 130 Ctrl-C."""
    os.environ["HYDRA_FULL_ERROR"] = "1"  # let errors through to the next lines
    # argparse refuses overrides on both sides of a flag, which is how people type -m
    sys.argv[1:] = sorted(sys.argv[1:], key=lambda word: word not in ("-m", "--multirun"))
    try:
        job()
    except UserError as error:
        sys.exit(_complain(str(error)))
    except (hydra.errors.HydraException, OmegaConfBaseException) as error:
        sys.exit(_complain(explain(error)))
    except KeyboardInterrupt:
        sys.exit(130)
    except Exception as error:
        if (sentence := explain_bare(error)) is None:
            raise
        sys.exit(_complain(sentence))


def _say_what_is_not_run(config: DictConfig) -> None:
    """Without -m Hydra quietly runs one cell of an experiment."""
    if HydraConfig.get().mode == RunMode.RUN and "LOCAL_RANK" not in os.environ:
        print(
            f"This is one run with the default levels, not the study {config.name}: "
            "no arms, no seeds, no verdict. Add -m to run the study."
        )


def _complain(sentence: str) -> int:
    print(f"ablate: {sentence}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    main()
