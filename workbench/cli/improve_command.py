"""`workbench improve`: where the oracle loop of Section 5.2 goes."""

from __future__ import annotations

from typing import Annotated

import typer

from workbench.cli.count_option import whole
from workbench.cli.task_name import MemoryNames, TaskName, find_task


def improve_command(
    task: TaskName,
    memory: MemoryNames = None,
    step: Annotated[
        float, typer.Option(help="The step size towards the greedy policy, in (0, 1].")
    ] = 0.02,
    decrease: Annotated[
        bool, typer.Option("--decrease", help="Let the step size fall as step/(1 + step n)^(2/3).")
    ] = False,
    ties: Annotated[
        str, typer.Option(help="Which write greedy prefers among equals: last or first.")
    ] = "last",
    weights: Annotated[
        str | None,
        typer.Option(
            help="How P(s|o) counts visits: visits, discounted, stationary or first-visit.",
            show_default="visits, where every episode ends",
        ),
    ] = None,
    budget: Annotated[
        int, typer.Option(parser=whole, help="The most iterates for each memory.")
    ] = 20_000,
    seconds: Annotated[
        float | None, typer.Option(min=0.01, help="The time limit for each memory.")
    ] = None,
    criterion: Annotated[
        str, typer.Option(help="What a policy is worth: return or average (reward per step).")
    ] = "return",
) -> None:
    """Improve the uniform policy by small exact updates.

    Every update moves towards the policy that is greedy on the exact q-values (the oracle loop of
    Section 5.2).

    Example: workbench improve recall4 -m B1 -m B5 -m OA1
    """
    from workbench.console import print_sheet
    from workbench.core.augment import augment
    from workbench.core.improve import improve as run_loop
    from workbench.core.steps import shrinking_steps
    from workbench.memories import attach
    from workbench.optima.yardstick import best_cell
    from workbench.progress import until_ctrl_c
    from workbench.tables.sheet import Column, Sheet

    P = find_task(task)
    attached = {name: attach(name, P) for name in memory or ["none"]}
    steps = shrinking_steps(step) if decrease else step
    rows: dict[str, Sheet] = {}
    with until_ctrl_c(rows):
        for name, m in attached.items():
            E = augment(P, m)
            best = best_cell(E, criterion)
            run = run_loop(
                E, None, steps, ties=ties, weights=weights, budget=budget, criterion=criterion,
                max_seconds=seconds,
            )  # fmt: skip
            rows[name] = run.sheet(best)
    title = f"Oracle loop on {P.name} from the uniform policy"
    print_sheet(Sheet.join(title, Column("memory"), rows))
