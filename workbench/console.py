"""The console that every command prints to. Names and labels of tasks come from files, so no text
is taken as rich's markup.

>>> plain_console().print("a task named [/red]")
a task named [/red]
"""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from rich.console import Console

if TYPE_CHECKING:
    from workbench.core.sheet import Sheet


def plain_console(stderr: bool = False) -> Console:
    """Make a console that prints every text as it is: no markup, no emoji, no colours."""
    return Console(stderr=stderr, markup=False, emoji=False, highlight=False)


def print_sheet(sheet: Sheet) -> None:
    """Print the table of a result, as wide as the terminal is."""
    print(sheet.text(shutil.get_terminal_size().columns))
