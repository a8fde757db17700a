"""`workbench shortcuts`: where one-step TD leads away from optimal policies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from workbench.cli.count_option import whole

if TYPE_CHECKING:
    from rich.table import Table

    from workbench.core.policy import Policy
    from workbench.core.pomdp import POMDP
    from workbench.optima.shortcut_count import ShortcutCount


def shortcuts_command(
    task: Annotated[
        str, typer.Argument(help="A task, such as recall, or a file ending in .POMDP.")
    ],
    memory: Annotated[
        list[str] | None,
        typer.Option(
            "-m", "--memory", help="A memory, such as OA1; may be repeated.", show_default="none"
        ),
    ] = None,
    weights: Annotated[
        str, typer.Option(help="How P(s|o) counts visits: visits, discounted or stationary.")
    ] = "visits",
    most: Annotated[
        int, typer.Option(parser=whole, help="Look at no more optimal policies than this.")
    ] = 10_000,
) -> None:
    """List the non-Markovian shortcuts of the optimal policies.

    A shortcut is an action that one-step TD overrates. The second table counts them over all
    optimal policies.

    Example: workbench shortcuts recall -m OA1 -m B2
    """
    from workbench.cli.task_name import find_task
    from workbench.console import plain_console
    from workbench.core.augment import augment
    from workbench.memories import attach
    from workbench.optima.shortcut_count import count_shortcuts
    from workbench.progress import until_ctrl_c

    P = find_task(task)
    attached = {name: attach(name, P) for name in memory or ["none"]}
    console = plain_console()
    counts: dict[str, ShortcutCount] = {}
    with until_ctrl_c(counts):
        for name, m in attached.items():
            E = augment(P, m)
            counts[name] = count_shortcuts(
                E, exact=E.is_exact and not E.symbols, weights=weights, most=most
            )
            console.print(
                _of_one(counts[name]) if counts[name].shortcuts else f"{E.name}: no shortcuts"
            )
            console.print(f"of the policy {describe_shortcut(E, counts[name].pi)}\n")
    console.print(_over_all(counts))


def describe_shortcut(E: POMDP, pi: Policy) -> str:
    """A deterministic policy by what it does on the observations that it reaches."""
    from workbench.core.evaluate import evaluate

    reached = evaluate(E, pi).reached
    rows = [
        f"{E.O.text(o)} → {E.A.text(E.A[int(pi.actions[i])])}"
        for i, o in enumerate(E.O)
        if reached[o]
    ]
    return "; ".join(rows[:12]) + (f"; and {len(rows) - 12} more" if len(rows) > 12 else "")


def _of_one(count: ShortcutCount) -> Table:
    from rich.table import Table

    from workbench.text import shown

    table = Table(title=f"{count.P.name}: shortcuts of one optimal policy", title_justify="left")
    for column in ("o", "a"):
        table.add_column(column)
    for column in ("q_TD(o,a)", "v_TD(o)", "q(o,a)", "v(o)"):
        table.add_column(column, justify="right")
    table.add_column("")
    for x in count.shortcuts:
        table.add_row(
            count.P.O.text(x.o),
            count.P.A.text(x.a),
            *map(shown, (x.td, x.v_td, x.q, x.v)),
            x.kind,
        )
    return table


def _over_all(counts: dict[str, ShortcutCount]) -> Table:
    from rich.table import Table

    from workbench.optima.shortcut_count import span
    from workbench.text import shown

    one = next(iter(counts.values()))
    caption = (
        "Over all optimal deterministic memoryless policies; P(s|o) by "
        f"{one.weights}. Strict: greedy on one-step TD leaves"
    )
    caption += (
        " the policy although no true value is higher; weak: it may, by a tie. "
        "Policies that differ only where it makes no"
    )
    caption += " difference count once."
    if not all(count.complete for count in counts.values()):
        caption += " ≥: not all were looked at, the ranges may be wider."
    table = Table(title="Shortcuts", title_justify="left", caption=caption, caption_justify="left")
    table.add_column("memory")
    for column in ("optimal policies", "value", "strict", "weak"):
        table.add_column(column, justify="right")
    for name, count in counts.items():
        many = f"{'' if count.complete else '≥ '}{count.policies:,}"
        table.add_row(name, many, shown(count.value), span(count.strict), span(count.weak))
    return table
