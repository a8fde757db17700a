"""`workbench best`: how good a policy can be, with a certificate or a stated gap."""

from __future__ import annotations

from typing import Annotated, Any

import typer


def best_command(
    task: Annotated[
        str, typer.Argument(help="A task, such as recall4, or a file ending in .POMDP.")
    ],
    memory: Annotated[
        list[str] | None,
        typer.Option(
            "-m", "--memory", help="A memory, such as OA1; may be repeated.", show_default="none"
        ),
    ] = None,
    stochastic: Annotated[
        bool, typer.Option("--stochastic", help="Let policies be stochastic.")
    ] = False,
    history: Annotated[
        bool, typer.Option("--history", help="Ask what a policy of the whole history can reach.")
    ] = False,
    criterion: Annotated[
        str, typer.Option(help="What a policy is worth: return or average (reward per step).")
    ] = "return",
    exact: Annotated[bool, typer.Option("--exact", help="Compare values as fractions.")] = False,
    seconds: Annotated[float, typer.Option(help="The most time for each answer.")] = 60.0,
) -> None:
    """Find the best policy with each memory, and prove it.

    Example: workbench best recall4 -m B1 --stochastic --criterion average
    """
    from workbench.cli.task_name import find_task
    from workbench.console import print_sheet
    from workbench.core.augment import augment
    from workbench.core.errors import WorkbenchError
    from workbench.core.sheet import Column, Sheet
    from workbench.memories import attach
    from workbench.optima.best_history import best_history
    from workbench.optima.best_memoryless import best_memoryless
    from workbench.progress import until_ctrl_c

    if stochastic and exact:
        raise WorkbenchError("--exact is about deterministic policies, or --history")
    P = find_task(task)
    what = "average reward" if criterion == "average" else "value"
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
    print_sheet(Sheet.join(f"The best {what} on {P.name}", Column("memory"), rows))
