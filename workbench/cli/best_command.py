"""`workbench best`: how good a policy can be, with a certificate or a stated gap."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from workbench.core.pomdp import POMDP

_MOST_ROWS_TOLD = 6


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
    from rich.table import Table

    from workbench.cli.task_name import find_task
    from workbench.console import plain_console
    from workbench.core.augment import augment
    from workbench.core.errors import WorkbenchError
    from workbench.memories import attach
    from workbench.optima.best_history import best_history
    from workbench.optima.best_memoryless import best_memoryless
    from workbench.progress import until_ctrl_c
    from workbench.text import brief

    if stochastic and exact:
        raise WorkbenchError("--exact is about deterministic policies, or --history")
    P = find_task(task)
    what = "average reward" if criterion == "average" else "value"
    table = Table(title=f"The best {what} on {P.name}")
    table.add_column("policies of")
    for column in (what, "no more than", "gap"):
        table.add_column(column, justify="right")
    table.add_column("how")
    told: list[str] = []
    with until_ctrl_c(table.rows):
        for name, m in {name: attach(name, P) for name in memory or ["none"]}.items():
            E = augment(P, m)
            options: dict[str, Any] = {"criterion": criterion, "max_seconds": seconds}
            options |= {"deterministic": False} if stochastic else {"exact": exact}
            found: Any = best_memoryless(E, **options)
            gap = "none" if found.gap == 0 else f"{float(found.gap):.1e}"
            sure = "certified: " if found.certified else ""
            table.add_row(name, brief(found.value), brief(found.bound), gap, sure + found.how)
            told += [f"{name}: {line}" for line in _rows(E, found.policy)]
            if stochastic and getattr(found, "algebraic", None) is not None:
                told.append(f"{name}: {found.algebraic}")
        if history:
            best = best_history(P, exact or None, criterion=criterion, max_seconds=seconds)
            gap = "none" if best.gap == 0 else f"{float(best.gap):.1e}"
            table.add_row("the history", brief(best.lower), brief(best.upper), gap, best.how)
    console = plain_console()
    console.print(table)
    for line in told:
        console.print(line)


def _rows(E: POMDP, pi: Any) -> list[str]:
    """The rows of a policy that it sees, if they are few."""
    from workbench.core.chain import dynamics
    from workbench.core.fields import FLOATS

    chain = dynamics(E, FLOATS).follow(pi.prob.floats)
    D = chain.D
    seen = sorted({int(o) for o in D.entry_o[(chain.visited & ~E.terminal.mask)[D.entry_s]]})
    if len(seen) > _MOST_ROWS_TOLD:
        return []
    found = []
    for o in seen:
        row = pi.prob.floats[o]
        acts = [
            E.A.text(E.A[a]) + ("" if row[a] > 1 - 1e-12 else f" {row[a]:.6g}")
            for a in range(len(E.A))
            if row[a] > 1e-12
        ]
        found.append(f"{E.O.text(E.O[o])} → {', '.join(acts)}")
    return found
