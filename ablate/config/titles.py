"""Read the title and the purpose of an experiment from two comments in its YAML file.

The comments are `# title: Pre-LN against Post-LN` and `# purpose: Compare ... .`. Comments are not
part of the config, so they affect neither the registration of a study nor the identity of a run.
"""

import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

from ablate.config.location import CONF

LINE = re.compile(r"^# (title|purpose): (.+)$", re.MULTILINE)
FILE = re.compile(r"\w[\w-]*", re.ASCII)


class Title(NamedTuple):
    """The title and the purpose of an experiment; "" if its YAML file does not state them."""

    title: str = ""
    purpose: str = ""


@cache
def experiment_title(name: str) -> Title:
    """Return the title and the purpose of an experiment.

    Args:
        name: the name of a YAML file, without its ending, in conf/experiment of the package or of
            the current folder.
    """
    if not FILE.fullmatch(name):
        return Title()
    paths = (folder / "experiment" / f"{name}.yaml" for folder in (CONF, Path("conf")))
    path = next((path for path in paths if path.is_file()), None)
    lines = LINE.findall(path.read_text(encoding="utf-8")) if path else []
    return Title(**dict(lines))
