"""`workbench search`: hunt for tasks on which a statement holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from workbench.cli.count_option import whole

if TYPE_CHECKING:
    from rich.console import Console

    from workbench.lab.find import SearchResult
    from workbench.lab.spaces import TaskSpace

SPACES = ("sequences", "deterministic", "sparse", "automata")


def search_command(
    statement: Annotated[
        str, typer.Argument(help="What to look for; --list shows all statements.")
    ] = "",
    memory: Annotated[
        list[str] | None,
        typer.Option("-m", "--memory", help="Short for --set memory=...; may be repeated."),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="A parameter of the statement, such as but_not=OA1 or step=1/100; may be "
            "repeated. --list shows them.",
        ),
    ] = None,
    space: Annotated[str, typer.Option(help=f"Where to look: {', '.join(SPACES)}.")] = "sequences",
    length: Annotated[int, typer.Option(help="Time steps of a sequence task, 2 or 3.")] = 2,
    actions: Annotated[int, typer.Option(help="How many actions.")] = 3,
    states: Annotated[int, typer.Option(help="The most states of other tasks.")] = 3,
    observations: Annotated[int, typer.Option(help="The most observations of other tasks.")] = 2,
    lowest: Annotated[str, typer.Option(help="The lowest reward.")] = "-1",
    highest: Annotated[str, typer.Option(help="The highest reward.")] = "1",
    by: Annotated[
        str, typer.Option(help="Rewards in steps of this, such as 1/2 (sequence tasks).")
    ] = "1",
    starts: Annotated[
        int, typer.Option(help="Other tasks: the largest number of start states.")
    ] = 1,
    start_parts: Annotated[
        int | None,
        typer.Option("--start-parts", help="sparse, automata: mu in multiples of 1/start-parts."),
    ] = None,
    endless: Annotated[
        bool, typer.Option("--endless", help="Other tasks: episodes that never end.")
    ] = False,
    forward: Annotated[
        bool, typer.Option("--forward", help="Other tasks: only to later states, so episodes end.")
    ] = False,
    noise: Annotated[int, typer.Option(help="automata: observations in multiples of 1/noise.")] = 2,
    gamma: Annotated[
        str | None,
        typer.Option(help="The discount.", show_default="1, or 9/10 if episodes need not end"),
    ] = None,
    method: Annotated[str, typer.Option(help="auto, exhaustive, random or climb.")] = "auto",
    seed: Annotated[int, typer.Option(help="The seed of random and climb.")] = 0,
    tries: Annotated[
        int | None, typer.Option(parser=whole, help="The most tasks to judge.")
    ] = None,
    seconds: Annotated[float | None, typer.Option(help="Stop after so long.")] = None,
    keep: Annotated[
        int, typer.Option(parser=whole, help="Stop after this many finds. 0 means no limit.")
    ] = 5,
    exact: Annotated[
        bool, typer.Option("--exact", help="Judge every task in rationals, not only the finds.")
    ] = False,
    shrink: Annotated[bool, typer.Option(help="Shrink the finds to locally minimal ones.")] = True,
    executor: Annotated[
        str | None,
        typer.Option(help="threads, local or dask; here if not given."),
    ] = None,
    workers: Annotated[int | None, typer.Option(help="Workers of the executor.")] = None,
    scheduler: Annotated[str | None, typer.Option(help="Address of a Dask scheduler.")] = None,
    folder: Annotated[
        str | None,
        typer.Option(
            help="The gallery's folder.",
            show_default="$WORKBENCH_GALLERY, or gallery in this directory",
        ),
    ] = None,
    save: Annotated[bool, typer.Option(help="Put the finds into the gallery.")] = True,
    listing: Annotated[
        bool, typer.Option("--list", help="Show the statements and the spaces, and do nothing.")
    ] = False,
) -> None:
    """Search for small tasks on which a statement holds.

    Each find is confirmed in exact arithmetic.

    Example: workbench search oracle-stuck -m B1 --set but_not=OA1 --length 2 --actions 3
    """
    from workbench.console import plain_console
    from workbench.core.errors import WorkbenchError
    from workbench.lab.gallery import Gallery
    from workbench.lab.search import search as run
    from workbench.lab.statements import as_statement
    from workbench.output import check_folder

    console = plain_console()
    if listing or not statement:
        _list(console)
        return
    one = as_statement(statement, **_parameters(statement, memory or [], settings or []))
    over = _space(
        space,
        gamma=gamma,
        length=length,
        actions=actions,
        states=states,
        observations=observations,
        lowest=_fraction(lowest),
        highest=_fraction(highest),
        step=_fraction(by),
        starts=starts,
        start_parts=starts if start_parts is None else start_parts,
        ends=not endless,
        forward=forward,
        noise=noise,
    )
    if keep < 0:
        raise WorkbenchError(f"keep is 0 or a number of finds, not {keep}")
    if save:
        check_folder(Gallery(folder).folder, make=False)
    found = run(
        one,
        over,
        method=method,
        seed=seed,
        tries=tries,
        seconds=seconds,
        workers=workers,
        executor=executor,
        scheduler=scheduler,
        keep=keep or None,
        exact=exact,
    )
    _report(console, found, shrink, save, folder)


def _parameters(statement: str, memory: list[str], settings: list[str]) -> dict[str, Any]:
    """Read -m and --set as arguments of the statement."""
    from workbench.core.errors import WorkbenchError
    from workbench.lab.statements import parse_parameters

    pairs: list[tuple[str, str]] = [("memory", name) for name in memory]
    for text in settings:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise WorkbenchError(f"--set takes NAME=VALUE, such as but_not=OA1, not {text!r}")
        pairs.append((name.strip(), value.strip()))
    return parse_parameters(statement, pairs)


def _space(name: str, gamma: str | None, **options: Any) -> TaskSpace:
    """The space of that name with those of the options that it has."""
    from dataclasses import fields

    from workbench.core.errors import UnknownLabel
    from workbench.lab.sequences import SequenceTasks
    from workbench.lab.small_models import Automata, DeterministicPOMDPs, SparsePOMDPs
    from workbench.text import did_you_mean

    kinds: dict[str, Any] = dict(
        zip(SPACES, (SequenceTasks, DeterministicPOMDPs, SparsePOMDPs, Automata), strict=True)
    )
    if name not in kinds:
        raise UnknownLabel(
            f"unknown space {name!r}{did_you_mean(name, SPACES)}: one of {', '.join(SPACES)}"
        )
    surely_ends = name == "sequences" or options["forward"]
    options["gamma"] = _fraction(gamma or ("1" if surely_ends else "9/10"))
    if name != "sequences":
        options |= {side: int(options[side]) for side in ("lowest", "highest")}
    if name != "automata":
        del options["noise"]  # the other spaces have none, and say so
    has = {field.name for field in fields(kinds[name])}
    found: TaskSpace = kinds[name](**{key: x for key, x in options.items() if key in has})
    return found


def _fraction(text: str) -> Any:
    from fractions import Fraction

    from workbench.core.errors import WorkbenchError

    try:
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise WorkbenchError(f"{text!r} is not a number: write 2, 1/2 or 0.5") from None


def _report(
    console: Console, found: SearchResult, shrink: bool, save: bool, folder: str | None
) -> None:
    from workbench.lab.gallery import Gallery
    from workbench.lab.print import figure7

    console.print(f"{found.statement}\n{found.many} among {found.space}:\n{found.coverage()}.")
    if found.interrupted:
        console.print("Interrupted: this is what there is so far.")
    small_ones = {
        figure7(small.task): small for small in (f.shrunk() if shrink else f for f in found)
    }
    if shrink and len(found):
        console.print(
            f"Made as small as possible, with rewards moved and scaled to whole numbers from 0 on, "
            f"they are {len(small_ones)} different task{'s' * (len(small_ones) != 1)}:"
        )
    for i, (table, small) in enumerate(small_ones.items(), 1):
        where = f" in {Gallery(folder).folder}" if save else ""
        name = small.save(folder) if save else f"find {i}"
        console.print(f"\n{name}{where}", style="bold")
        console.print(table)
        for key, value in small.verdict.facts.items():
            console.print(f"{key}: {value}")


def _list(console: Console) -> None:
    from workbench.console import print_sheet
    from workbench.lab.statements import parameters_of, statements
    from workbench.tables.sheet import Column, Sheet

    rows = []
    for name, one in statements().items():
        has = ", ".join(f"{key} ({what})" for key, what in parameters_of(one).items())
        rows.append((name, f"{one.about}\n--set {has}" if has else one.about))
    columns = Column("name"), Column("a task on which ... ; its parameters")
    print_sheet(Sheet("Statements", columns, tuple(rows)))
    console.print()
    about = {
        "sequences": (
            "2 or 3 time steps with one observation; the reward depends on the actions taken"
        ),
        "deterministic": ("every (s, a) has one successor, and every state one observation"),
        "sparse": "successors drawn from one or two states, with equal chance",
        "automata": "one successor for every (s, a), random observations",
    }
    columns = Column("name"), Column("tasks")
    print_sheet(Sheet("Spaces (--space)", columns, tuple((name, about[name]) for name in SPACES)))
