"""Write the reference of all options, from the docstrings and the config tree.

example:
  python -m lab.options to=docs/reference/options.md
"""

import argparse
from itertools import groupby

from ablate.config.labels import options
from ablate.metric import METRICS
from lab.command import add_page, main, write_page

FIRST = "reading the options"
HEAD = """\
# Every option of every group

Made by `python -m lab.options to=docs/reference/options.md` from the docstrings and the config
tree. Choose one with `group=option`, as in `python -m ablate model/position=learned`;
`ablate --cfg job` shows its keys.
"""
METRIC_TABLE = """\
## Metrics

Keys in W&B, in data frames and in claims (`metric: test/nll`); a run has the metrics of its task.
`parameters`, `steps`, `diverged`, `collapsed` and `unstable` (diverged or collapsed) have no split.

| key | what it is | unit | better |
|---|---|---|---|"""


add_arguments = add_page


def run(arguments: argparse.Namespace) -> None:
    """Write the page."""
    write_page(arguments, page)


def page() -> str:
    """Return the page as Markdown, with a table for each config group."""
    parts = [HEAD]
    for group, members in groupby(options(), lambda option: option.group):
        parts.append(f"## {group}\n\n| option | what it is |\n|---|---|")
        for option in members:
            place = f" (in {option.folder})" if option.folder else ""
            described = f"{option.summary}{place}".replace("|", r"\|")
            parts.append(f"| `{option.name}` | {described} |")
        parts.append("")
    parts.append(METRIC_TABLE)
    for key, metric in ((key, x) for key, x in METRICS.items() if x.split):
        name = f"`test/{key}`" + f", `val/{key}`" * (metric.split == "val")
        parts.append(f"| {name} | {metric.name} | {metric.unit} | {metric.better} |")
    return "\n".join([*parts, ""])


if __name__ == "__main__":
    main("lab.options")
