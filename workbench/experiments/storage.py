"""Finished cells on disk: atomic, checked, readable without Python.

A cell is two files named by its key: `KEY.npz` (arrays, a zip of .npy files, no pickles) and `KEY.json` (its content, the
SHA-256 of the .npz, and the versions of the libraries that computed it). Each is written under another name, flushed to
the disk and renamed; the .json comes last and marks the cell as finished. Whatever does not fit together, a half-written
file, a changed byte, a .npz without its .json, is moved into `set-aside/` and the cell counts as not computed.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import platform
import shutil
import tempfile
import zipfile
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from workbench.errors import WorkbenchError
from workbench.experiments.cells import key_of
from workbench.experiments.computing import Arrays

_ROOM = 50_000_000
"""Bytes that should be free before the work begins: the results of all figures take less."""


class StorageError(WorkbenchError):
    """A folder that results cannot be written to."""


def check_folder(folder: Path, room: int = _ROOM) -> None:
    """Make the folder if need be, and raise a `StorageError` unless a file can be written there and there is room."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder, prefix=".probe-") as probe:
            probe.write(b"probe")
    except OSError as error:
        raise StorageError(f"cannot write to {folder}: {error.strerror or error}") from None
    free = shutil.disk_usage(folder).free
    if free < room:
        raise StorageError(f"{folder} has only {free / 1e6:.0f} MB of free space; {room / 1e6:.0f} MB are needed")


def write_whole(path: Path, content: bytes) -> None:
    """Write a file so that it is there whole or not at all."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".part-", suffix=path.suffix)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, 0o644)
        os.replace(name, path)
    except OSError as error:
        Path(name).unlink(missing_ok=True)
        raise StorageError(f"cannot write {path}: {error.strerror or error}") from None
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


@dataclass
class Store:
    """A folder of finished cells.

    Attributes
    ----------
    set_aside : what was found damaged so far, one line for each cell.
    """

    folder: Path
    set_aside: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        check_folder(self.folder)

    def load(self, content: dict[str, Any]) -> Arrays | None:
        """The arrays of a cell, or None if it is not finished. Damaged files are set aside."""
        key = key_of(content)
        data, record = self._files(key)
        if not data.exists() and not record.exists():
            return None
        try:
            if not record.exists():
                raise ValueError("half-written: its record is missing")
            return _read(data, record, content)
        except (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile) as error:
            self._put_aside(
                key, f"{type(error).__name__}: {error}" if not isinstance(error, ValueError) else str(error)
            )
            return None

    def save(self, content: dict[str, Any], arrays: Arrays) -> None:
        """Keep the arrays of a cell."""
        data, record = self._files(key_of(content))
        buffer = io.BytesIO()
        np.savez(buffer, allow_pickle=False, **arrays)
        packed = buffer.getvalue()
        note = {"content": content, "sha256": hashlib.sha256(packed).hexdigest(), "made_with": _versions()}
        write_whole(data, packed)
        write_whole(record, json.dumps(note, indent=1, sort_keys=True).encode())

    def _files(self, key: str) -> tuple[Path, Path]:
        return self.folder / f"{key}.npz", self.folder / f"{key}.json"

    def _put_aside(self, key: str, why: str) -> None:
        aside = self.folder / "set-aside"
        try:
            aside.mkdir(exist_ok=True)
            place = Path(tempfile.mkdtemp(dir=aside, prefix=f"{key[:12]}-"))
            for path in self._files(key):
                if path.exists():
                    os.replace(path, place / path.name)
        except OSError as error:
            raise StorageError(f"cannot set the damaged cell {key} aside in {aside}: {error.strerror}") from None
        self.set_aside.append(f"{key}: {why}")


def _read(data: Path, record: Path, content: dict[str, Any]) -> Arrays:
    note = json.loads(record.read_bytes())
    packed = data.read_bytes()
    if not isinstance(note, dict) or hashlib.sha256(packed).hexdigest() != note.get("sha256"):
        raise ValueError("its checksum does not match")
    if note.get("content") != content:
        raise ValueError("its record describes another cell")
    with np.load(io.BytesIO(packed), allow_pickle=False) as arrays:
        return {name: arrays[name] for name in arrays.files}


def _versions() -> dict[str, str]:
    return {"python": platform.python_version(), **{name: version(name) for name in ("numpy", "numba", "scipy")}}
