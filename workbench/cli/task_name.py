"""Tasks and memories by name, the same for all commands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from workbench.core.pomdp import POMDP

TaskName = Annotated[
    str, typer.Argument(help="A task, such as recall4, or a .POMDP, .drn or .umb file.")
]
MemoryNames = Annotated[
    list[str] | None,
    typer.Option(
        "-m", "--memory", help="A memory, such as OA1; may be repeated.", show_default="none"
    ),
]


def whole_name(name: str) -> str:
    """The name of the only task that has this word in its name. Else the name as it is.

    >>> whole_name("cookie"), whole_name("maze"), whole_name("recall")
    ('hallway_cookie', 'maze', 'recall')
    """
    from pomdps import TASKS

    meant = [task for task in TASKS if name in task.split("_")]
    return meant[0] if name not in TASKS and len(meant) == 1 else name


def find_task(name: str) -> POMDP:
    """The task that a name on the command line means: one of `pomdps`, or a file.

    A word that only one task has in its name is enough (`whole_name`). A file ends in .POMDP, .drn
    or .umb.

    >>> find_task("recall")
    POMDP recall: 6 states (1 terminal), 1 observation, 3 actions, 15 outcomes, gamma 19/20
    """
    from pomdps import TASKS
    from workbench.core.errors import UnknownLabel
    from workbench.text import did_you_mean

    if name.lower().endswith(".pomdp"):
        from workbench.interop.pomdp_file import load_pomdp

        return load_pomdp(name)
    if name.lower().endswith(".drn"):
        from workbench.interop.drn_file import load_drn

        return load_drn(name)
    if name.lower().endswith(".umb"):
        from workbench.interop.umb import from_umb

        return from_umb(name)
    name = whole_name(name)
    if name not in TASKS:
        raise UnknownLabel(
            f"unknown task {name!r}{did_you_mean(name, TASKS)}; `workbench list tasks` names them, "
            "and a file ends in .POMDP, .drn or .umb"
        )
    return TASKS[name].make()
