"""Files that the workbench writes: whole or not at all, and refused before the work, not after it.

A file is written beside its name, flushed to the disk and renamed. An interruption or a full disk
leaves what was there before.

>>> import tempfile
>>> path = Path(tempfile.mkdtemp()) / "values.json"
>>> check_output(path)
>>> write_whole(path, "[1, 2]")
>>> path.read_text(), [found.name for found in path.parent.iterdir()]
('[1, 2]', ['values.json'])
"""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from workbench.core.errors import WorkbenchError

_RESERVE = 50_000_000
"""Bytes that should be free beyond what is going to be written to a folder."""

_ONE_FILE = 10_000_000
"""Bytes that should be free for a file: pages and pictures are smaller."""


class StorageError(WorkbenchError):
    """A file or folder that cannot be written or read."""


def check_folder(folder: str | Path, room: int = 0, make: bool = True) -> None:
    """Make the folder if need be, and refuse one that cannot be written to or has no room.

    Parameters
    ----------
    room : how many bytes are going to be written.
    make : False asks the folder that is there in which it would be made, and makes nothing.
    """
    asked = folder = Path(folder)
    try:
        if make:
            folder.mkdir(parents=True, exist_ok=True)
        else:
            asked = next(x for x in (folder, *folder.absolute().parents) if os.path.lexists(x))
        _probe(asked, room + _RESERVE)
    except (OSError, ValueError) as error:  # ValueError: a name with a NUL
        if isinstance(error, StorageError):
            raise
        raise StorageError(f"cannot write to {folder}: {_reason(error)}") from None


def check_output(path: str | Path) -> None:
    """Refuse a file that `write_whole` could not write. Called before the work begins."""
    path = Path(path)
    try:
        if path.is_dir():
            raise StorageError(f"cannot write {path}: it is a folder")
        target = _target(path)
        if target.parent == path.parent and not target.parent.is_dir():
            raise StorageError(f"cannot write {path}: there is no folder {path.parent}")
        with contextlib.suppress(FileNotFoundError):
            os.lstat(target)  # a name that is too long, or holds a NUL
        if not _is_special(target):
            _probe(target.parent, _ONE_FILE)
    except (OSError, ValueError) as error:
        if isinstance(error, StorageError):
            raise
        raise StorageError(f"cannot write {path}: {_reason(error)}") from None


def write_whole(path: str | Path, content: str | bytes) -> None:
    """Write a file atomically. Text is written as UTF-8."""
    data = content.encode() if isinstance(content, str) else content
    part = None
    try:
        target = _target(Path(path))
        if _is_special(target):
            target.write_bytes(data)
            return
        handle, part = tempfile.mkstemp(dir=target.parent, prefix=".part-")
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(part, target.stat().st_mode & 0o777 if target.exists() else 0o644)
        os.replace(part, target)
    except (OSError, ValueError) as error:
        raise StorageError(f"cannot write {path}: {_reason(error)}") from None
    finally:
        if part is not None:
            Path(part).unlink(missing_ok=True)


def read_whole(path: str | Path) -> bytes:
    """The bytes of a file."""
    try:
        return Path(path).read_bytes()
    except (OSError, ValueError) as error:  # ValueError: a name with a NUL
        raise StorageError(f"cannot read {path}: {_reason(error)}") from None


def write_figure(path: str | Path, figure: Any, **options: Any) -> None:
    """Write a figure of matplotlib, in the format that the ending of the path names."""
    drawn = io.BytesIO()
    figure.savefig(drawn, format=Path(path).suffix.removeprefix("."), **options)
    write_whole(path, drawn.getvalue())


def _target(path: Path) -> Path:
    """Where the file really is: renaming onto a link would replace the link."""
    return Path(os.path.realpath(path)) if path.is_symlink() else path


def _is_special(path: Path) -> bool:
    """Whether it is there and no file: a terminal or `/dev/null` is written to, never replaced."""
    return path.exists() and not path.is_file()


def _probe(folder: Path, room: int) -> None:
    """Write a few bytes, and refuse a folder that has less room than that."""
    with tempfile.NamedTemporaryFile(dir=folder, prefix=".probe-") as probe:
        probe.write(b"probe")
        probe.flush()
        os.fsync(probe.fileno())
    free = shutil.disk_usage(folder).free
    if free < room:
        raise StorageError(
            f"{folder} has only {free / 1e6:.0f} MB of free space; {room / 1e6:.0f} MB are needed"
        )


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)
