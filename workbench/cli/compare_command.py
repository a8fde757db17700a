"""`workbench compare`: memories side by side on one task."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from workbench.cli.task_name import TaskName, find_task
from workbench.text import between, brief


def compare_command(
    task: TaskName,
    memory: Annotated[
        list[str] | None,
        typer.Option(
            "--memory", "-m", help="A memory such as B1, O1, OA2 or none; may be repeated."
        ),
    ] = None,
    step: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="The step size of the oracle loop.")
    ] = 0.02,
    seconds: Annotated[
        float | None,
        typer.Option(min=0.01, help="The time limit for each memory, and for the best value."),
    ] = None,
) -> None:
    """Compare memories on a task: optima, oracle loop, shortcuts.

    Example: workbench compare recall4 -m B1 -m B2 -m OA1
    """
    from workbench.console import print_sheet
    from workbench.core.weights import WEIGHTS
    from workbench.progress import until_ctrl_c
    from workbench.sufficiency.comparison import Comparison, ceiling
    from workbench.sufficiency.comparison import compare as compared
    from workbench.tables.sheet import Column, Sheet

    P = find_task(task)
    best = ceiling(P, seconds)
    found: list[Comparison] = []
    with until_ctrl_c(found):
        names = memory or ["none", "K1", "B1", "O1", "OA1"]
        for row in compared(P, names, step=step, max_seconds=seconds):
            found.append(row)  # one by one: Ctrl-C keeps those that are done
    used = dict.fromkeys(row.oracle.weights for row in found if row.oracle is not None)
    counts = " or ".join(WEIGHTS[name].words for name in used or ("visits",))
    loop = f"where it ends from uniform, step size {step}, P(s|o) by {counts}"
    columns = (
        Column("memory"),
        Column("states", "of the task with this memory"),
        Column("obs.", "observations there"),
        Column("acts", "actions there"),
        Column("best det.", "value of the best deterministic policy (to: no more than)", True),
        Column("oracle loop", f"{loop} (~: goes on moving)", True),
        Column(
            "shortcuts",
            "non-Markovian shortcuts of the optimal policies, strict + weak (?: perhaps more)",
            True,
        ),
        Column("expressive", "whether the memory can tell all beliefs apart", True),
    )
    rows = tuple(
        (
            row.memory,
            len(row.P.S),
            len(row.P.O),
            len(row.P.A),
            _best(row.best),
            _oracle(row.oracle),
            _shortcuts(row.shortcuts),
            {True: "yes", False: "no", None: "?"}[row.expressive],
        )
        for row in found
    )
    notes = ("?: not decided within the limits, or no such policy ends.",)
    print_sheet(Sheet(f"Memories on {P.name}", columns, rows, _conclusion(best, found), notes))


def _conclusion(best: Any, found: list[Any]) -> str:
    """Conclude which memories are enough, and which of these the oracle loop makes use of."""
    margin = 1e-9 * max(1.0, abs(float(best.upper)))  # values of memories are floats
    value = between(best.lower, best.upper, margin)
    said = f"The best policy of the whole history is worth {value}."
    known = [row for row in found if row.best is not None]
    enough = [row.memory for row in known if row.best.value >= best.upper - margin]
    if not enough:
        return f"{said} No memory compared is known to reach that."
    settles = [
        row.memory
        for row in known
        if row.memory in enough
        and row.oracle is not None
        and row.oracle.ended == "fixed"
        and abs(float(_end(row.oracle)) - float(row.best.value)) <= margin
    ]
    if settles:
        loop = f"settles there with {' and '.join(settles)}"
    else:
        loop = "does not settle there" + (" with any of them" if len(enough) > 1 else "")
    return f"{said} {' and '.join(enough)} can reach that; the oracle loop {loop}."


def _best(best: Any) -> str:
    if best is None:
        return "?"
    return brief(best.value) if best.certified else between(best.value, best.bound)


def _oracle(run: Any) -> str:
    if run is None:
        return "?"
    value = brief(_end(run))
    return value if run.ended == "fixed" else f"~{value}"


def _end(run: Any) -> Any:
    """The end of a run as `improve` prints it: the limit, or the mean over the cycle."""
    return run.mean if run.limit_value is None else run.limit_value


def _shortcuts(count: Any) -> str:
    from workbench.optima.shortcut_count import span

    if count is None:
        return "?"
    return f"{span(count.strict)} + {span(count.weak)}" + ("" if count.complete else "?")
