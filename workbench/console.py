"""The console that every command prints to. Names and labels of tasks come from files, so no text
is taken as rich's markup.

>>> plain_console().print("a task named [/red]")
a task named [/red]
"""

from __future__ import annotations

import shutil
from typing import Any

from rich.console import Console

from workbench.text import printable


class _PlainConsole(Console):
    def print(self, *objects: Any, **options: Any) -> None:
        super().print(*(printable(x) if isinstance(x, str) else x for x in objects), **options)


def plain_console(stderr: bool = False) -> Console:
    """Make a console that prints every text as it is. It knows no markup, no emoji and no colours,
    and escapes control characters."""
    return _PlainConsole(stderr=stderr, markup=False, emoji=False, highlight=False)


def print_sheet(sheet: Any) -> None:
    """Print the table of a result, as wide as the terminal is."""
    print(printable(sheet.text(shutil.get_terminal_size().columns)))
