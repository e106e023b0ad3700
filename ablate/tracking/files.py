"""Writing files so that a reader never sees half of one."""

import io
import json
import math
import os
from pathlib import Path
from typing import Any

import numpy as np


def write_text(path: Path, text: str) -> None:
    """Write a whole file or nothing: a temporary file beside it is renamed over it."""
    write_bytes(path, text.encode())


def write_arrays(path: Path, arrays: dict[str, np.ndarray]) -> None:
    """Write named arrays as a compressed .npz, atomically."""
    packed = io.BytesIO()
    np.savez_compressed(packed, allow_pickle=False, **arrays)
    write_bytes(path, packed.getvalue())


def write_bytes(path: Path, content: bytes) -> None:
    """Write a whole file or nothing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with unfinished.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)


def write_json(path: Path, value: Any) -> None:
    """Write plain data as indented JSON, atomically; NaN and infinities become null."""
    write_text(path, json.dumps(finite(value), indent=2, allow_nan=False) + "\n")


def finite(value: Any) -> Any:
    """Plain data with null in place of NaN and infinities, which JSON does not have."""
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
