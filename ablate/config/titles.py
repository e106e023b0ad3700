"""The title and the purpose of an experiment, as its YAML file has them in two comments.

`# title: Pre-LN against Post-LN` and `# purpose: Compare ... .` reach no config, so that they are
part of no registration and of no run's identity.
"""

import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

from ablate.config.location import CONF

LINE = re.compile(r"^# (title|purpose): (.+)$", re.MULTILINE)
FILE = re.compile(r"\w[\w-]*", re.ASCII)


class Title(NamedTuple):
    """How a person calls an experiment, and what it is for; "" where its file does not say."""

    title: str = ""
    purpose: str = ""


@cache
def experiment_title(name: str) -> Title:
    """Return the title and the purpose of an experiment.

    Args:
        name: the name of a file of conf/experiment, of the package or of this folder, without
            its ending.
    """
    if not FILE.fullmatch(name):
        return Title()
    paths = (folder / "experiment" / f"{name}.yaml" for folder in (CONF, Path("conf")))
    path = next((path for path in paths if path.is_file()), None)
    lines = LINE.findall(path.read_text(encoding="utf-8")) if path else []
    return Title(**dict(lines))
