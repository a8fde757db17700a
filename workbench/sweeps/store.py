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

from workbench.extras import need
from workbench.learning.run import Columns
from workbench.output import StorageError, check_folder, write_whole
from workbench.sweeps.cell import key_of
from workbench.sweeps.lock import Claims, claims_of

ENDING = ".parquet"

_OLD = 3600
"""Seconds after which a half-written file is nobody's."""

_MARK, _ZEROS = b"sha256:", b"0" * 64

_MOST_VALUES = 32_000_000
_LONGEST_WORD = 200
"""The most that a cell may hold; a file of a megabyte can stand for gigabytes of equal numbers."""


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
        need("pyarrow", "sweeps")  # now, not when the first cell is finished
        check_folder(self.folder, self.room)
        self.claims: Claims = claims_of(self.folder / ".claims")
        for left in self.folder.glob(".part-*"):
            _remove_if_left(left)

    def load(self, content: dict[str, Any]) -> Columns | None:
        """The columns of a cell, or None if it is not finished.

        The record of its file must be the one that its name stands for; a damaged file, or another
        one, is set aside.
        """
        path = self.path(key_of(content))
        try:
            found, columns = unpack(path.read_bytes())
            if found != content:
                raise ValueError("its record describes another cell")
            return columns
        except FileNotFoundError:
            return None
        except OSError as error:
            raise StorageError(f"cannot read {path}: {error.strerror or error}") from None
        except ValueError as error:
            self.put_aside(key_of(content), str(error))
            return None

    def save(self, content: dict[str, Any], columns: Columns) -> None:
        """Keep the columns of a cell."""
        write_whole(self.path(key_of(content)), pack(content, columns))

    def path(self, key: str) -> Path:
        """Where a cell is kept."""
        return self.folder / f"{key}{ENDING}"

    def put_aside(self, key: str, why: str) -> None:
        """Move a damaged cell out of the way, so that it counts as not computed."""
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
    """All cells of a folder, with their contents. A damaged file is None, and a whole file of
    another version is left out. Nothing is changed."""
    for path in sorted(folder.glob(f"*{ENDING}")):
        try:
            yield path, *unpack(path.read_bytes())
        except (OSError, _Damaged):
            yield path, None, {}
        except ValueError:
            yield path, {}, {}


def _remove_if_left(path: Path) -> None:
    """Remove what a killed process left half-written long ago. A newer file may be another
    process's."""
    with contextlib.suppress(OSError):
        if time.time() - path.stat().st_mtime > _OLD:
            path.unlink()


# ---------------------------------------------------------------------- the file format


def pack(content: dict[str, Any], columns: Columns) -> bytes:
    """A cell as the bytes of a Parquet file. Columns are of integers, floats or text, all of the
    same length."""
    pa, pq = need("pyarrow", "sweeps"), need("pyarrow.parquet", "sweeps")

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


class _Damaged(ValueError):
    """Bytes that do not fit to the checksum that they hold."""


def unpack(data: bytes) -> tuple[dict[str, Any], Columns]:
    """The content and the columns of a cell, from the bytes of its file.

    `ValueError` if it holds something else, or columns that are too large or no numbers or words.
    """
    pa, pq = need("pyarrow", "sweeps"), need("pyarrow.parquet", "sweeps")

    if not is_whole(data):
        raise _Damaged("its checksum does not match")
    try:
        # words stay in a dictionary: one long word repeated in every row would fill the memory
        with pq.ParquetFile(pa.BufferReader(data)) as about:
            words = [field.name for field in about.schema_arrow if pa.types.is_string(field.type)]
        with pq.ParquetFile(pa.BufferReader(data), read_dictionary=words) as file:
            content = json.loads(file.metadata.metadata[b"content"])
            if not isinstance(content, dict):
                raise ValueError("its record is no object")
            return content, _columns(file)
    except (pa.ArrowException, OSError, KeyError, TypeError, RecursionError, MemoryError) as error:
        raise ValueError(f"it is no cell: {type(error).__name__}") from None


def _columns(file: Any) -> Columns:
    about = file.metadata
    groups = [about.row_group(i) for i in range(about.num_row_groups)]
    if (
        about.num_rows * about.num_columns > _MOST_VALUES
        or sum(group.total_byte_size for group in groups) > 8 * _MOST_VALUES
    ):
        raise ValueError(f"it holds more than {_MOST_VALUES:,} numbers")
    table = file.read(use_threads=False)
    columns: Columns = {}
    characters = 0
    for name in table.column_names:
        columns[name] = _numpy(name, table.column(name), 2 * _MOST_VALUES - characters)
        if columns[name].dtype.kind == "U":
            characters += columns[name].nbytes // 4
    return columns


def _numpy(name: str, column: Any, most: int) -> Any:
    """A column as an array, of at most so many characters."""
    pa = need("pyarrow", "sweeps")

    kind = column.type
    if column.null_count:
        raise ValueError(f"its column {name} has gaps")
    if pa.types.is_dictionary(kind) and pa.types.is_string(kind.value_type):
        parts = [(part.dictionary.to_pylist(), part.indices.to_numpy()) for part in column.chunks]
        longest = max((len(word) for words, _ in parts for word in words), default=0)
        if longest > _LONGEST_WORD:
            raise ValueError(f"its column {name} has words of more than {_LONGEST_WORD} characters")
        if longest * len(column) > most:  # numpy gives every word the longest's room
            raise ValueError(f"its words have more than {2 * _MOST_VALUES:,} characters")
        text = f"<U{max(longest, 1)}"
        empty = np.empty(0, dtype=text)
        return np.concatenate([empty, *(np.array(words, dtype=text)[i] for words, i in parts)])
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return column.combine_chunks().to_numpy(zero_copy_only=False).copy()
    raise ValueError(f"its column {name} holds neither numbers nor words")


@cache
def _versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for name in ("numpy", "numba", "scipy", "jax", "optax"):
        with contextlib.suppress(PackageNotFoundError):  # the last two belong to an extra
            found[name] = version(name)
    return found
