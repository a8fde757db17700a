"""Paragraphs and small tables in plain text. Powers as gamma^2, however they were computed."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any


def text(*parts: str) -> str:
    """Paragraphs filled to 78 columns, one below the other. Parts that begin with a blank stay as
    they are."""
    written = [part.replace("**", "^") for part in parts]
    return "\n".join(part if part.startswith(" ") else textwrap.fill(part, 78) for part in written)


def table_text(head: Sequence[str], lines: Sequence[Sequence[Any]]) -> str:
    """A small table in plain text."""
    cells = [[str(x).replace("**", "^") for x in line] for line in (head, *lines)]
    widths = [max(len(line[j]) for line in cells) for j in range(len(head))]
    return "\n".join(
        "  " + "  ".join(x.rjust(w) for x, w in zip(line, widths, strict=True)) for line in cells
    )
