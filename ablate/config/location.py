"""Define the folder with the YAML files of the config."""

from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]
# A wheel carries the configs inside the package; a checkout has them beside it.
CONF = PACKAGE / "conf" if (PACKAGE / "conf").is_dir() else PACKAGE.parent / "conf"
