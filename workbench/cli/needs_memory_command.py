"""`workbench needs-memory`: does a task need memory, and how much?"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from workbench.core.pomdp import POMDP
    from workbench.sufficiency.needs_memory import Necessity

ENV_ID = re.compile(r"([\w:.-]+/)?[\w:.-]+-v\d+(\?.*)?")


def needs_memory_command(
    task: Annotated[
        str,
        typer.Argument(
            help=(
                "A task such as tiger, a file ending in .POMDP, or the id of a "
                "Gymnasium environment."
            )
        ),
    ],
    up_to: Annotated[
        int, typer.Option("--up-to", min=1, help="The largest memory of each family to try.")
    ] = 3,
    family: Annotated[
        list[str] | None,
        typer.Option(
            "--family", "-f", help="K, B, O or OA; may be repeated.", show_default="all four"
        ),
    ] = None,
    seconds: Annotated[float, typer.Option(min=0.01, help="The time limit of each search.")] = 10.0,
    at_least: Annotated[
        int,
        typer.Option(
            "--at-least", min=0, help="Exit 1 unless every family needs at least this size."
        ),
    ] = 0,
    solvable: Annotated[
        bool,
        typer.Option("--solvable", help="Exit 1 unless some memory is found that is enough."),
    ] = False,
) -> None:
    """Decide whether a task needs memory, and how much is enough.

    Compares the best value without memory with the best value of any policy of the history.

    Prints the smallest memory of each family found with which a memoryless policy is as good as any
    policy of the whole history. Ctrl-C keeps what was found. An environment is explored into an
    exact POMDP first, with gamma 0.99. With --at-least and --solvable it is a check, for the CI of
    an environment: what is not decided counts as violated. Settings of an environment follow a
    question mark; seed=0 begins every episode as that seed does.

    Example: workbench needs-memory t_maze

    Example: workbench needs-memory MiniGrid-MemoryS7-v0 --up-to 1 --seconds 5

    Example: workbench needs-memory t_maze --at-least 1 --solvable

    Example: workbench needs-memory "popgym-RepeatPreviousEasy-v0?ranks=1&k=2" --at-least 1
    """
    from dataclasses import replace

    from workbench.console import plain_console, print_sheet
    from workbench.progress import Waiting
    from workbench.sufficiency.needs_memory import FAMILIES, Limits, in_stages

    console = plain_console()
    P = find_task_or_environment(task)
    result: Necessity | None = None
    with Waiting(f"memories for {P.name}") as waiting:
        try:
            for result in in_stages(P, family or FAMILIES, up_to, Limits(seconds=seconds)):
                waiting.tell(f"{len(result.families)} families looked at")
        except KeyboardInterrupt:
            if result is None:
                raise
            result = replace(result, interrupted=True)
    assert result is not None
    print_sheet(result.sheet())
    violations = violated(result, at_least, solvable)
    for words in violations:
        console.print(f"Violated: {words}")
    if violations:
        raise typer.Exit(1)
    if at_least or solvable:
        console.print(f"Holds: {held(result, at_least, solvable)}.")


def held(result: Necessity, at_least: int, solvable: bool) -> str:
    """Describe the requirements that a task meets."""
    found = [f"every family needs a memory of size {at_least} at least"] if at_least else []
    if solvable:
        enough = [f"{x.kind}{x.k}" for x in result.families if x.k]
        found.append(f"{' or '.join(enough)} is enough" if enough else "no memory is needed")
    return ", and ".join(found)


def violated(result: Necessity, at_least: int, solvable: bool) -> list[str]:
    """List the requirements that a task is not known to meet."""
    found = []
    if at_least and result.needed is not True:
        known = "is not decided" if result.needed is None else "is not the case"
        found.append(f"that {result.P.name} needs memory {known}")
    for family in result.families:
        if result.needed and family.at_least < at_least:
            found.append(
                f"{family.kind}{family.at_least} is not known to be too small"
                if family.k is None or family.k > family.at_least
                else f"{family.kind}{family.k} is enough"
            )
    if solvable and not any(family.k is not None for family in result.families):
        found.append(f"no memory was found that is enough for {result.P.name}")
    return found


def find_task_or_environment(
    name: str, max_states: int = 100_000, max_seconds: float | None = None
) -> POMDP:
    """A task of `pomdps`, a file ending in .POMDP, or a Gymnasium environment explored into a
    POMDP.

    What follows a question mark is passed on to the environment, `seed` to its reset: see
    `interop.gym.named`.

    >>> find_task_or_environment("recall4")
    POMDP recall4: 6 states (1 terminal), 1 observation, 4 actions, 20 outcomes, gamma 1
    >>> find_task_or_environment("workbench/recall4-v0").gamma
    Fraction(99, 100)
    """
    from workbench.cli.task_name import find_task

    if name.lower().endswith(".pomdp") or not ENV_ID.fullmatch(name):
        return find_task(name)
    from workbench.interop.gym.named import explore_id

    return explore_id(name, max_states=max_states, max_seconds=max_seconds)
