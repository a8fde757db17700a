"""`workbench show`: a task, a memory, and what the two make together."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workbench.cli.output_options import picture_file
from workbench.cli.task_name import TaskName

if TYPE_CHECKING:
    from rich.console import Console

    from workbench.core.pomdp import POMDP
    from workbench.memories import Memory
    from workbench.tables.sheet import Sheet

_MOST_ROWS = 40
"""A table of p and omega with more rows than this is not written out."""

_MOST_OUTCOMES = 20_000_000
"""A product that may have more outcomes than this is not built."""


def show_command(
    task: TaskName,
    memory: Annotated[
        str | None,
        typer.Option(
            "-m", "--memory", help="A memory, such as OA1.", show_default="the task alone"
        ),
    ] = None,
    diagram: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            callback=picture_file,
            help="Save a picture as well: png, svg or pdf, by the ending of the name.",
        ),
    ] = None,
) -> None:
    """Show a task, a memory and the POMDP they make together.

    The picture shows a policy on its grid, or its transitions between memory states with their
    shortcuts.

    Example: workbench show recall -m OA1 --diagram recall.png
    """
    from rich.text import Text

    from pomdps import TASKS
    from workbench.cli.task_name import find_task, whole_name
    from workbench.console import plain_console, print_sheet
    from workbench.memories import attach
    from workbench.results.summary import facts

    console = plain_console()
    task = whole_name(task)
    P = find_task(task)
    attached = attach(memory, P) if memory else None
    console.print(Text(P.name, "bold"))
    console.print(_facts(facts(P), console.width))
    if task in TASKS:
        record = TASKS[task]
        console.print(Text(f"\n{record.title}. {record.text} [{record.source}]"))
        if record.drawing is not None:
            console.print(Text(f"\n{record.drawing}"))
    if (table := _outcomes(P)) is not None:
        print()
        print_sheet(table)
    if attached is not None:
        console.print()
        _show_memory(P, attached, console)
    if diagram is not None:
        from workbench.cli.diagram_file import save_diagram

        words = save_diagram(task, P, attached, diagram)
        console.print(f"\nPicture: {diagram}; {words}", soft_wrap=True)


def _facts(rows: list[tuple[str, str]], width: int) -> str:
    """Names and texts side by side. A long text is wrapped in its column."""
    import textwrap

    wide = max(len(name) for name, _ in rows) + 3
    return "\n".join(
        line.rstrip()
        for name, text in rows
        for line in textwrap.wrap(
            text,
            width,
            initial_indent=f" {name}".ljust(wide),
            subsequent_indent=" " * wide,
            break_on_hyphens=False,
        )
    )


def _outcomes(P: POMDP) -> Sheet | None:
    """p and omega, row by row, if that is not too long. Actions that do the same stand together."""
    from workbench.tables.sheet import Column, Sheet
    from workbench.text import shown

    if len(P.S) > _MOST_ROWS:
        return None
    rows: list[tuple[str, ...]] = []
    for s in P.S:
        seen = P.omega(s)
        o = ", ".join(
            P.O.text(o) + ("" if len(seen) == 1 else f": {shown(x)}") for o, x in seen.items()
        )
        if s in P.terminal:
            rows.append((P.S.text(s), o, "", "terminal", "", ""))
            continue
        alike: dict[tuple[Any, ...], list[str]] = {}
        for a in P.A:
            alike.setdefault(tuple(P.p(s, a).items()), []).append(P.A.text(a))
        first = (P.S.text(s), o)
        for outcomes, actions in alike.items():
            a = "any" if len(actions) == len(P.A) > 1 else ", ".join(actions)
            for (s_next, r), x in outcomes:
                rows.append((*first, a, P.S.text(s_next), shown(r), shown(x)))
                first, a = ("", ""), ""
    if len(rows) > _MOST_ROWS:
        return None
    columns = (
        Column("s", "state"),
        Column("o", "what the agent sees there"),
        Column("a", "action"),
        Column("s'", "next state"),
        Column("r", "reward", True),
        Column("p", "probability of s' and r", True),
    )
    return Sheet("p(s', r | s, a) and omega(o | s)", columns, tuple(rows))


def _show_memory(P: POMDP, memory: Memory, console: Console) -> None:
    from rich.text import Text

    from workbench.core.augment import augment
    from workbench.memories import describe_family
    from workbench.results.summary import facts, some
    from workbench.text import counted, shown

    family = describe_family(memory)
    source = f" (Definition {family.definition})" if family.definition else ""
    console.print(Text(f"Memory {memory.name}", "bold") + Text(source, ""))
    m, o, a = next(iter(memory.eta)), P.O[0], P.A[0]
    rows = [
        ("M", f"{counted(len(memory.M), 'memory state')}, {family.M}: {some(memory.M)}"),
        ("W", f"{counted(len(memory.W), 'write')}: {some(memory.W)}"),
        ("eta", ", ".join(f"{memory.M.text(m)}: {shown(x)}" for m, x in memory.eta.items())),
        ("Gamma", family.Gamma),
        ("", f"from m = {memory.M.text(m)} on o = {P.O.text(o)} with a = {P.A.text(a)}:"),
        *(
            ("", f"  {memory.W.text(w)} leads to {', '.join(map(memory.M.text, after))}")
            for w in memory.W[:4]
            if (after := memory.Gamma(m, w, o, a, 0, o))
        ),
    ]
    console.print(_facts(rows, console.width))
    console.print(Text(f"\n{P.name}×{memory.name}", "bold"))
    most = len(P.p.s_next) * len(memory.M) * len(memory.W)
    if most > _MOST_OUTCOMES:
        console.print(f"  up to {most:,} outcomes: too many to build here")
        return
    E = augment(P, memory)
    every = len(P.S) * len(memory.M) * len(P.O)
    rows = [(name, line) for name, line in facts(E) if name in "SOAp"]
    rows[0] = ("S", rows[0][1].replace(":", f", of the {every:,} of S x M x O:", 1))
    console.print(_facts(rows, console.width))
