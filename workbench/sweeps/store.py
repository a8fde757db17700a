"""Finished cells on disk: one Parquet file each, atomic, checked, readable by anything that reads
Parquet.

A cell is a table, and its file `KEY.parquet` is named by its content (`workbench.sweeps.cell`). The
file's own metadata holds

    content      all that the numbers depend on, as JSON
    made_with    the versions of the libraries that computed them, as JSON
    sha256       the SHA-256 of the whole file, in which this digest itself counts as 64 zeros

A file is written under another name, flushed to the disk and renamed, so that it is there whole or
not at all. It is parsed only after its checksum was found right; Parquet holds plain columns and no
objects, so that reading never runs code. Whatever does not fit, a cut file, a changed byte, the
record of another cell, is moved into `set-aside/`, and the cell counts as not computed.

Several processes may work on the same folder: before a cell is computed it is claimed
(`workbench.sweeps.lock`).
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import platform
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from workbench.learning.run import Columns
from workbench.output import StorageError, check_folder, write_whole
from workbench.sweeps.cell import key_of
from workbench.sweeps.lock import Claims, claims_of

ENDING = ".parquet"

_OLD = 3600
"""Seconds after which a half-written file is nobody's."""

_MARK, _ZEROS = b"sha256:", b"0" * 64


@dataclass
class Store:
    """A folder of finished cells.

    Attributes
    ----------
    room : bytes that are going to be written, checked at once.
    set_aside : what was found damaged so far, one line for each cell.
    """

    folder: Path
    room: int = 0
    set_aside: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        check_folder(self.folder, self.room)
        self.claims: Claims = claims_of(self.folder / ".claims")
        for left in self.folder.glob(".part-*"):
            _remove_if_left(left)

    def holds(self, content: dict[str, Any]) -> bool:
        """Whether a cell is finished and whole. A damaged file is set aside."""
        return self._whole(content) is not None

    def load(self, content: dict[str, Any]) -> Columns | None:
        """The columns of a cell, or None if it is not finished. A damaged file is set aside."""
        data = self._whole(content)
        if data is None:
            return None
        try:
            found, columns = unpack(data)
            if found != content:
                raise ValueError("its record describes another cell")
            return columns
        except ValueError as error:
            self._put_aside(key_of(content), str(error))
            return None

    def save(self, content: dict[str, Any], columns: Columns) -> None:
        """Keep the columns of a cell."""
        write_whole(self.path(key_of(content)), pack(content, columns))

    def path(self, key: str) -> Path:
        """Where a cell is kept."""
        return self.folder / f"{key}{ENDING}"

    def _whole(self, content: dict[str, Any]) -> bytes | None:
        key = key_of(content)
        try:
            data = self.path(key).read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise StorageError(f"cannot read {self.path(key)}: {error.strerror or error}") from None
        if not is_whole(data):
            self._put_aside(key, "its checksum does not match")
            return None
        return data

    def _put_aside(self, key: str, why: str) -> None:
        aside = self.folder / "set-aside"
        try:
            aside.mkdir(exist_ok=True)
            os.replace(
                self.path(key),
                Path(tempfile.mkdtemp(dir=aside, prefix=f"{key[:12]}-")) / f"{key}{ENDING}",
            )
        except FileNotFoundError:
            return  # another process was faster
        except OSError as error:
            raise StorageError(
                f"cannot set the damaged cell {key} aside in {aside}: {error.strerror}"
            ) from None
        self.set_aside.append(f"{key}: {why}")


def cells_in(folder: Path) -> Iterator[tuple[Path, dict[str, Any] | None, Columns]]:
    """All cells of a folder, with their contents; None for the content of a damaged one. Nothing is
    changed."""
    for path in sorted(folder.glob(f"*{ENDING}")):
        try:
            data = path.read_bytes()
            if not is_whole(data):
                raise ValueError("its checksum does not match")
            yield path, *unpack(data)
        except (OSError, ValueError):
            yield path, None, {}


def _remove_if_left(path: Path) -> None:
    """Remove what a killed process left half-written long ago; a newer file may be another
    process's."""
    with contextlib.suppress(OSError):
        if time.time() - path.stat().st_mtime > _OLD:
            path.unlink()


# ---------------------------------------------------------------------- the file format


def pack(content: dict[str, Any], columns: Columns) -> bytes:
    """A cell as the bytes of a Parquet file. Columns are of integers, floats or text, all of the
    same length."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.table({name: pa.array(column) for name, column in columns.items()})
    sink = pa.BufferOutputStream()
    with pq.ParquetWriter(sink, table.schema, compression="zstd", store_schema=False) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata(
            {
                "content": json.dumps(content, sort_keys=True),
                "made_with": json.dumps(_versions()),
                "sha256": (_MARK + _ZEROS).decode(),
            }
        )
    data: bytes = sink.getvalue().to_pybytes()
    start = data.rindex(_MARK + _ZEROS) + len(_MARK)
    return data[:start] + hashlib.sha256(data).hexdigest().encode() + data[start + 64 :]


def is_whole(data: bytes) -> bool:
    """Whether the bytes of a file fit to the checksum that they hold."""
    start = data.rfind(_MARK) + len(_MARK)
    if start < len(_MARK) or len(data) < start + 64:
        return False
    zeroed = data[:start] + _ZEROS + data[start + 64 :]
    return hashlib.sha256(zeroed).hexdigest().encode() == data[start : start + 64]


def unpack(data: bytes) -> tuple[dict[str, Any], Columns]:
    """The content and the columns of a cell, from the bytes of its file; `ValueError` if it holds
    something else."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(pa.BufferReader(data)) as file:
            content = json.loads(file.metadata.metadata[b"content"])
            table = file.read(use_threads=False)
    except (pa.ArrowException, OSError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"it is no cell: {type(error).__name__}") from None
    if not isinstance(content, dict):
        raise ValueError("its record is no object")
    return content, {name: _numpy(table.column(name)) for name in table.column_names}


def _numpy(column: Any) -> Any:
    import pyarrow as pa

    if pa.types.is_string(column.type):
        return np.array(column.to_pylist(), dtype=np.str_)
    return column.combine_chunks().to_numpy(zero_copy_only=False).copy()


@cache
def _versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for name in ("numpy", "numba", "scipy", "jax", "optax"):
        with contextlib.suppress(PackageNotFoundError):  # the last two belong to an extra
            found[name] = version(name)
    return found
