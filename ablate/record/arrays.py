"""Write files of arrays.

This module is separate from `files`, so that reading verdicts needs no numpy.
"""

import io
import zipfile
from pathlib import Path

import numpy as np

from ablate.record.files import write_bytes


def write_arrays(path: Path, arrays: dict[str, np.ndarray]) -> None:
    """Write named arrays as an .npz file, atomically and with reproducible bytes."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as file:
        for name, array in arrays.items():
            content = io.BytesIO()
            np.lib.format.write_array(content, array, allow_pickle=False)
            # without a date, so that the bytes are reproducible
            member = zipfile.ZipInfo(f"{name}.npy")
            file.writestr(member, content.getvalue(), zipfile.ZIP_LZMA)
    write_bytes(path, packed.getvalue())
