"""Progress bars for work that may take longer than a few seconds."""

from typing import Any

from tqdm import tqdm


def progress(description: str, total: int | None, unit: str) -> Any:
    """Return a progress bar on standard error that appears only after two seconds.

    Use it as a context manager and call `.update(n)`. Nothing is shown without a terminal.
    """
    return tqdm(
        desc=description,
        total=total,
        unit=unit,
        unit_scale=True,
        delay=2,
        leave=False,
        disable=None,
    )
