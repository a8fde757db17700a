"""`workbench best`: how good a policy can be, with a certificate or a stated gap."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from workbench.cli.task_name import MemoryNames, TaskName, find_task


def best_command(
    task: TaskName,
    memory: MemoryNames = None,
    stochastic: Annotated[
        bool, typer.Option("--stochastic", help="Let policies be stochastic.")
    ] = False,
    history: Annotated[
        bool, typer.Option("--history", help="Ask what a policy of the whole history can reach.")
    ] = False,
    criterion: Annotated[
        str, typer.Option(help="What a policy is worth: return or average (reward per step).")
    ] = "return",
    reach: Annotated[
        str | None,
        typer.Option(
            help="A state or an observation: ask for the probability of reaching it, not the "
            "return.",
            show_default=False,
        ),
    ] = None,
    within: Annotated[
        int | None,
        typer.Option(
            help="With --reach: the largest number of time steps.", show_default="no limit"
        ),
    ] = None,
    steps_to: Annotated[
        str | None,
        typer.Option(
            help="A state or an observation: ask for minus the expected time steps to it.",
            show_default=False,
        ),
    ] = None,
    exact: Annotated[bool, typer.Option("--exact", help="Compare values as fractions.")] = False,
    seconds: Annotated[float, typer.Option(help="The most time for each answer.")] = 60.0,
) -> None:
    """Find the best policy with each memory, and prove it.

    Example: workbench best recall4 -m B1 --stochastic --criterion average

    How likely is cell 3 within 6 time steps: workbench best short_corridor --reach 3 --within 6
    --stochastic
    """
    from workbench.agents.goal import with_goal
    from workbench.console import print_sheet
    from workbench.core.augment import augment
    from workbench.core.errors import WorkbenchError
    from workbench.memories import attach
    from workbench.optima.best_history import best_history
    from workbench.optima.best_memoryless import best_memoryless
    from workbench.progress import until_ctrl_c
    from workbench.tables.sheet import Column, Sheet

    if stochastic and exact:
        raise WorkbenchError("--exact is about deterministic policies, or --history")
    P = find_task(task)
    title = f"The best {'average reward' if criterion == 'average' else 'value'} on {P.name}"
    if reach is not None or steps_to is not None:
        if (reach is not None and steps_to is not None) or criterion != "return":
            raise WorkbenchError("give one of --reach, --steps-to and --criterion")
        soon = "" if within is None else f" within {within} time steps"
        what = f"minus the time steps to {steps_to}" if reach is None else f"how likely {reach} is"
        title = f"{title}: {what}{soon}"
        P = with_goal(P, steps_to if reach is None else reach, within, steps=reach is None)
    elif within is not None:
        raise WorkbenchError("--within is about a goal: give --reach or --steps-to")
    rows: dict[str, Sheet] = {}
    with until_ctrl_c(rows):
        for name, m in {name: attach(name, P) for name in memory or ["none"]}.items():
            options: dict[str, Any] = {"criterion": criterion, "max_seconds": seconds}
            options |= {"deterministic": False} if stochastic else {"exact": exact}
            found: Any = best_memoryless(augment(P, m), **options)
            rows[name] = found.sheet()
        if history:
            best = best_history(P, exact or None, criterion=criterion, max_seconds=seconds)
            rows["history"] = best.sheet()
    print_sheet(Sheet.join(title, Column("memory"), rows))
