"""`workbench improve`: where the oracle loop of Section 5.2 goes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from workbench.cli.count_option import whole

if TYPE_CHECKING:
    from rich.table import Table

    from workbench.core.improve import Improvement

_MOST_ROWS_TOLD = 6
"""Limits that reach more observations than this are not written out."""


def improve_command(
    task: Annotated[
        str, typer.Argument(help="A task, such as recall4, or a file ending in .POMDP.")
    ],
    memory: Annotated[
        list[str] | None,
        typer.Option(
            "-m", "--memory", help="A memory, such as OA1; may be repeated.", show_default="none"
        ),
    ] = None,
    step: Annotated[
        float, typer.Option(help="The step towards the greedy policy, in (0, 1].")
    ] = 0.02,
    decrease: Annotated[
        bool, typer.Option("--decrease", help="Let the steps fall as step/(1 + step n)^(2/3).")
    ] = False,
    ties: Annotated[
        str, typer.Option(help="Which write greedy prefers among equals: last or first.")
    ] = "last",
    weights: Annotated[
        str | None,
        typer.Option(
            help="How P(s|o) counts visits: visits, discounted or stationary.",
            show_default="visits, where every episode ends",
        ),
    ] = None,
    budget: Annotated[
        int, typer.Option(parser=whole, help="The most iterates for each memory.")
    ] = 20_000,
    criterion: Annotated[
        str, typer.Option(help="What a policy is worth: return or average (reward per step).")
    ] = "return",
) -> None:
    """Improve the uniform policy by small exact steps.

    Every step moves towards the policy that is greedy on the exact q-values (the oracle loop of
    Section 5.2).

    Example: workbench improve recall4 -m B1 -m B5 -m OA1
    """
    from workbench.cli.task_name import find_task
    from workbench.console import plain_console
    from workbench.core.augment import augment
    from workbench.core.improve import improve as run_loop
    from workbench.core.improve import shrinking_steps, weights_for
    from workbench.core.policy import uniform
    from workbench.memories import attach
    from workbench.progress import until_ctrl_c

    P = find_task(task)
    attached = {name: attach(name, P) for name in memory or ["none"]}
    steps = shrinking_steps(step) if decrease else step
    runs: dict[str, Improvement] = {}
    with until_ctrl_c(runs):
        for name, m in attached.items():
            E = augment(P, m)
            average = criterion == "average"
            chosen = weights or ("stationary" if average else weights_for(E, uniform(E)))
            runs[name] = run_loop(
                E, uniform(E), steps, ties=ties, weights=chosen, budget=budget, criterion=criterion
            )
    size = f"{step:g}, decreasing" if decrease else f"{step:g}"
    console = plain_console()
    used = " or ".join(dict.fromkeys(run.weights for run in runs.values()))
    console.print(_table(P.name, runs, f"Step {size}, ties {ties}, P(s|o) by {used}."))
    for name, run in runs.items():
        for line in _remarks(run):
            console.print(f"{name}: {line}")


def _table(task: str, runs: dict[str, Improvement], caption: str) -> Table:
    from rich.table import Table

    from workbench.text import brief

    table = Table(title=f"Oracle loop on {task} from the uniform policy", caption=caption)
    table.add_column("memory")
    for column in ("start", "value", "iterates"):
        table.add_column(column, justify="right")
    table.add_column("ended")
    for name, run in runs.items():
        value = brief(run.mean if run.limit_value is None else run.limit_value)
        how = f"limit cycle of {run.period:,}" if run.period else run.ended
        if run.ended != "fixed":
            value += f" ± {run.amplitude / 2:.1g}"
        table.add_row(name, brief(run.values[0]), value, f"{run.iterates:,}", how)
    return table


def _remarks(run: Improvement) -> list[str]:
    """The limit, if it is small enough to be told, and what the run itself notes."""
    from workbench.core.evaluate import evaluate

    found = []
    if run.limit is not None:
        there = evaluate(run.P, run.limit, weights=run.weights, criterion=run.criterion)
        reached = there.reached.raw.nonzero()[0].tolist()
        if len(reached) <= _MOST_ROWS_TOLD:
            actions = run.limit.actions
            found.append(
                "; ".join(
                    f"{run.P.O.text(run.P.O[o])} → {run.P.A.text(run.P.A[int(actions[o])])}"
                    for o in reached
                )
            )
    return [*found, run.note] if run.note else found
