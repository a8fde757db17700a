"""Every command with a wrong option, one at a time.

`broken_calls(name, words)` lists the calls of a command that end in anything else than success, an
error in words or, after Ctrl-C, status 130. A call that takes longer than `PATIENCE` seconds gets
Ctrl-C, and has to end soon after.
"""

from __future__ import annotations

import contextlib
import io
import signal
import typing
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from typer.models import ArgumentInfo

from workbench.cli.main import app, main

PATIENCE, HANGS = 2.0, 30.0

VALUES = {
    "integer": ["-1", "0", "99999999999999999999"],
    "float": ["nan", "inf", "-1", "0", "1e308"],
    "text": ["", "x", "\0", "[/red]", "1/0", "-1", "1e999", "nan", "9" * 5000, "a=b", "\u2028"],
    "path": ["", "/", "/nowhere/file", "\0", "x" * 300, "/dev/full", "name.png"],
}

KINDS: dict[Any, str] = {int: "integer", float: "float", str: "text", Path: "path"}
KINDS |= {(one,): kind for one, kind in KINDS.items()}  # list[str] | None

CALLS = {
    "list": ["tasks"],
    "show": ["t_maze", "-m", "O1"],
    "compare": ["recall4", "-m", "none"],
    "improve": ["recall4"],
    "best": ["recall4", "--seconds", "1"],
    "critical-points": ["recall_variant"],
    "shortcuts": ["recall4"],
    "learn": ["recall4", "--steps", "100", "--seeds", "1"],
    "equilibria": ["recall4"],
    "needs-memory": ["recall4", "--up-to", "1", "--seconds", "1"],
    "diagnose": ["recall4", "--seconds", "1"],
    "frontier": ["recall4", "--up-to", "1", "--seconds", "1"],
    "controller": ["recall4", "--seconds", "1"],
    "census": ["recall4", "--seconds", "1"],
    "search": ["oracle-stuck", "-m", "B1", "--no-save", "--tries", "20"],
    "gallery": ["list"],
    "sweep": ["--dry-run"],
    "results": ["nowhere"],
    "verify": ["S4.ignore", "-j", "1"],
}
"""A short call of each command; the others build pages and run for minutes."""


def options_of(name: str) -> Iterator[tuple[str | None, str]]:
    """The options and arguments of a command (None for an argument), each with its type."""
    function = next(one.callback for one in app.registered_commands if one.name == name)
    hints = typing.get_type_hints(function, include_extras=True)
    del hints["return"]
    for key, hint in hints.items():
        type_, option = typing.get_args(hint)
        inner = [type_, *typing.get_args(type_), *map(typing.get_args, typing.get_args(type_))]
        kind = next((KINDS[one] for one in inner if one in KINDS), None)
        if kind is not None:
            given = [*(getattr(option, "param_decls", None) or ()), f"--{key.replace('_', '-')}"]
            yield (None if isinstance(option, ArgumentInfo) else given[0]), kind


def broken_calls(name: str, chosen: Iterable[tuple[str | None, str]]) -> list[str]:
    """The calls that break, each with how: an option with its value after the words of a right
    call, an argument in their place."""
    found = []
    for option, value in chosen:
        words = [name, value, *CALLS[name][1:]] if option is None else [name, *CALLS[name]]
        words += [] if option is None else [option, value]
        if how := _outcome(words):
            found.append(f"workbench {' '.join(words)[:200]!r}: {how}")
    return found


def _outcome(words: list[str]) -> str:
    interrupted = False

    def late(*_: Any) -> None:
        nonlocal interrupted
        if interrupted:
            raise AssertionError("it goes on after Ctrl-C")
        interrupted = True
        signal.setitimer(signal.ITIMER_REAL, HANGS)
        signal.raise_signal(signal.SIGINT)

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, PATIENCE)
    told = io.StringIO()
    try:
        with contextlib.redirect_stdout(told), contextlib.redirect_stderr(told):
            main(words)
    except SystemExit as end:
        status = end.code or 0
    except BaseException as error:
        return f"{type(error).__name__}: {str(error)[:200]}"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    if interrupted and status not in (0, 130):
        return f"status {status} after Ctrl-C: {told.getvalue()[-200:]}"
    return "" if status in (0, 1, 2, 130) else f"status {status}"


def run(folder: Path) -> None:
    """Print every call that breaks; files are written below the folder."""
    with contextlib.chdir(folder):
        for name in CALLS:
            pairs = [(o, value) for o, kind in options_of(name) for value in VALUES[kind]]
            for line in broken_calls(name, pairs):
                print(line, flush=True)


if __name__ == "__main__":
    import tempfile

    run(Path(tempfile.mkdtemp()))
