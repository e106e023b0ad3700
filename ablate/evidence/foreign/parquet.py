"""Read results of runs from a Parquet file.

Requires pyarrow, which the extra `parquet` installs.
"""

from collections.abc import Iterable
from pathlib import Path

from ablate.errors import UserError
from ablate.evidence.foreign.builder import CHUNK, from_chunks
from ablate.evidence.foreign.table import Table


def read(path: Path, wanted: Iterable[str] = (), names: Iterable[str] = ()) -> Table:
    """Return the rows of a Parquet file as a table.

    Raises:
        UserError: pyarrow is not installed, or the file cannot be read.
    """
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        raise UserError(
            f"{path}: a Parquet file needs pyarrow: run pip install 'ablate[parquet]'"
        ) from None
    try:
        file = parquet.ParquetFile(path)
        pieces = (
            {
                str(name): cells.to_pylist()
                for name, cells in zip(batch.schema.names, batch, strict=True)
            }
            for batch in file.iter_batches(batch_size=CHUNK)
        )
        return from_chunks(str(path), pieces, wanted, names)
    except (OSError, pa.ArrowException) as error:
        raise UserError(f"{path} cannot be read as Parquet: {error}") from None
