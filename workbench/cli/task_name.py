"""Tasks by name, for all commands."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from workbench.model.pomdp import POMDP


def find_task(name: str) -> POMDP:
    """The task that a name on the command line means: one of `pomdps`, or a file ending in .POMDP.

    >>> find_task("recall")
    POMDP recall: 6 states (1 terminal), 1 observation, 3 actions, 15 outcomes, gamma 19/20
    """
    from pomdps import TASKS
    from workbench.errors import UnknownLabel, WorkbenchError
    from workbench.text import did_you_mean

    if name.lower().endswith(".pomdp"):
        from workbench.interop.pomdp_file import load_pomdp

        try:
            return load_pomdp(name)
        except OSError as error:
            raise WorkbenchError(f"cannot read {name}: {error.strerror}") from None
    if name not in TASKS:
        raise UnknownLabel(
            f"unknown task {name!r}{did_you_mean(name, TASKS)}; known are {', '.join(TASKS)}, or a "
            "file ending in .POMDP"
        )
    return TASKS[name].make()
