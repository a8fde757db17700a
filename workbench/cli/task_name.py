"""Tasks by name, for all commands."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from workbench.model.pomdp import POMDP


def find_task(name: str) -> POMDP:
    """The task that a name on the command line means: one of `pomdps`, or a file ending in .POMDP.

    >>> find_task("recall")
    POMDP recall: 6 states (1 terminal), 1 observation, 3 actions, 15 outcomes, gamma 19/20
    """
    from workbench.errors import UnknownLabel, WorkbenchError

    if name.lower().endswith(".pomdp"):
        from workbench.interop.pomdp_file import load_pomdp

        try:
            return load_pomdp(name)
        except OSError as error:
            raise WorkbenchError(f"cannot read {name}: {error.strerror}") from None
    tasks = _tasks()
    if name not in tasks:
        near = difflib.get_close_matches(name, tasks, n=1)
        hint = f" (did you mean {near[0]}?)" if near else ""
        raise UnknownLabel(
            f"unknown task {name!r}{hint}; known are {', '.join(sorted(tasks))}, or a file ending "
            "in .POMDP"
        )
    return tasks[name]()


def _tasks() -> dict[str, Callable[[], POMDP]]:
    """The functions of `pomdps` that make a task without being told anything."""
    import pomdps

    found: dict[str, Callable[[], POMDP]] = {}
    for name in pomdps.__all__:
        make = getattr(pomdps, name)
        if inspect.isfunction(make) and all(
            parameter.default is not parameter.empty
            or parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
            for parameter in inspect.signature(make).parameters.values()
        ):
            found[name] = make
    return found
