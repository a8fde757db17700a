"""Options that name a file to write: what cannot be written is refused before the work begins."""

from __future__ import annotations

from pathlib import Path

from workbench.core.errors import WorkbenchError
from workbench.output import check_output

PICTURES = (".png", ".svg", ".pdf")


def output_file(path: Path | None) -> Path | None:
    """Refuse a file that cannot be written. The callback of an option."""
    if path is not None:
        check_output(path)
    return path


def picture_file(path: Path | None) -> Path | None:
    """Refuse a picture that cannot be written. The callback of an option."""
    if path is not None and path.suffix.lower() not in PICTURES:
        raise WorkbenchError(
            f"a picture ends in {', '.join(PICTURES)}, not in {path.suffix or 'nothing'!r}: {path}"
        )
    return output_file(path)
