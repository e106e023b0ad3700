"""The list of probes by subject."""

import re
from pathlib import Path


def test_the_package_lists_every_probe_once_and_tells_levels_from_what_they_share():
    import ablate.probe
    from ablate.config.schema import CONF

    folder = Path(ablate.probe.__file__).parent
    levels, shared = [], []
    for line in ablate.probe.__doc__.splitlines()[2:]:
        names = levels if "shared:" not in line else shared
        names += re.findall(r"[a-z_]+(?=,|$)", line)
    files = {path.stem for path in folder.glob("*.py")} - {"__init__"}
    assert sorted([*levels, *shared]) == sorted(files)
    of_yaml = {path.stem for path in (CONF / "probe").glob("*.yaml")} - {"none"}
    assert set(levels) == of_yaml
