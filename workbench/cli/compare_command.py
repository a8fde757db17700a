"""`workbench compare`: memories side by side on one task."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from workbench.text import brief


def compare_command(
    task: Annotated[
        str, typer.Argument(help="A task such as recall4, or a file ending in .POMDP.")
    ],
    memory: Annotated[
        list[str] | None,
        typer.Option(
            "--memory", "-m", help="A memory such as B1, O1, OA2 or none; may be repeated."
        ),
    ] = None,
    step: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="The step of the oracle loop.")
    ] = 0.02,
) -> None:
    """Compare memories on a task: optima, oracle loop, shortcuts.

    Example: workbench compare recall4 -m B1 -m B2 -m OA1
    """
    from rich import box
    from rich.table import Table

    from workbench.cli.task_name import find_task
    from workbench.console import plain_console
    from workbench.progress import until_ctrl_c
    from workbench.sufficiency.comparison import ceiling
    from workbench.sufficiency.comparison import compare as rows

    console = plain_console()
    P = find_task(task)
    shown = Table(box=box.SIMPLE_HEAD, padding=(0, 1), pad_edge=False)
    shown.add_column("memory")
    for heading in (
        "states",
        "obs.",
        "acts",
        "best det.",
        "oracle loop",
        "shortcuts",
        "expressive",
    ):
        shown.add_column(heading, justify="right")
    weights: list[str] = []
    best = ceiling(P)
    with until_ctrl_c(shown.rows):
        for row in rows(P, memory or ["none", "K1", "B1", "O1", "OA1"], step=step):
            weights += [row.oracle.weights] if row.oracle is not None else []
            shown.add_row(
                row.memory,
                f"{len(row.P.S):,}",
                f"{len(row.P.O):,}",
                str(len(row.P.A)),
                _best(row.best),
                _oracle(row.oracle),
                _shortcuts(row.shortcuts),
                {True: "yes", False: "no", None: "?"}[row.expressive],
            )
    console.print(P)
    console.print(best, soft_wrap=False)
    console.print(shown)
    console.print(
        "best det.: the best value of a deterministic memoryless policy with this memory (<= where "
        "only a bound is known; stochastic ones may be worth more). oracle loop: where it ends "
        f"from uniform with step {step}, P(s|o) by "
        f"{' or '.join(dict.fromkeys(weights)) or 'visits'} (~ if it goes on moving there). "
        "shortcuts: strict + weak, over the optimal policies. ?: not decided within the limits, or "
        "no such policy ends.",
    )


def _best(best: Any) -> str:
    if best is None:
        return "?"
    return brief(best.value) if best.certified else f"{brief(best.value)} <= {brief(best.bound)}"


def _oracle(run: Any) -> str:
    if run is None:
        return "?"
    # What `improve` prints for the same run: the limit, or the mean over the cycle.
    value = brief(run.mean if run.limit_value is None else run.limit_value)
    return value if run.ended == "fixed" else f"~{value}"


def _shortcuts(count: Any) -> str:
    from workbench.optima.shortcut_count import span

    if count is None:
        return "?"
    return f"{span(count.strict)} + {span(count.weak)}" + ("" if count.complete else "?")
