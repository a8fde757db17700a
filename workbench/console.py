"""The console that every command prints to: names and labels of tasks come from files, so no text
is taken as rich's markup.

>>> plain_console().print("a task named [/red]")
a task named [/red]
"""

from __future__ import annotations

from rich.console import Console


def plain_console(stderr: bool = False) -> Console:
    """Make a console that prints every text as it is: no markup, no emoji, no colours."""
    return Console(stderr=stderr, markup=False, emoji=False, highlight=False)
