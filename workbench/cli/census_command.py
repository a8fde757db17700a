"""`workbench census`: what every task is worth, as a table, a page and a Parquet file."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from workbench.cli.needs_memory_command import ENV_ID
from workbench.text import counted

if TYPE_CHECKING:
    from workbench.core.pomdp import POMDP
    from workbench.sufficiency.census import CensusRow
    from workbench.tables.sheet import Sheet

_MEANINGS = {
    "task": "",
    "informed": "value of the best policy that sees the state",
    "history": "value of the best policy that remembers everything",
    "determ.": "value of the best deterministic policy without memory",
    "stochastic": "value of the best policy without memory",
    "one bit": "value of the best deterministic policy with one bit of memory (B1)",
    "memory?": "whether a policy that remembers beats all policies without memory",
}
"""The columns of the table and what they mean."""

_ABOUT_ENVIRONMENTS = (
    "The workbench explores each environment into an exact POMDP, with gamma 0.99 and without its "
    "time limit. In MiniGrid a success pays 1. Settings follow a question mark: ranks=2 is a deck "
    "of two ranks, seed=0 the layout of seed 0 alone."
)

_ABOUT_MEMORIES = (
    "Under K, B, O and OA: the smallest k with which a policy earns as much as the best policy of "
    "the whole history. 0: no memory is needed; <= 2: k = 2 is enough, and k = 1 is not decided; "
    "> 3: no k up to 3 is enough; ? (> 1): k = 1 is not enough, and the rest is not decided."
)

_HELPS = {True: "yes", False: "no", None: "?"}


def census_command(
    task: Annotated[
        list[str] | None,
        typer.Argument(
            help="Tasks, files ending in .POMDP, or environments.", show_default="all tasks"
        ),
    ] = None,
    folder: Annotated[
        Path, typer.Option("-o", "--out", help="Where the rows, the page and the tables are kept.")
    ] = Path("census"),
    files: Annotated[
        list[Path] | None,
        typer.Option(
            "--files",
            exists=True,
            file_okay=False,
            help="A folder whose .POMDP files are counted as well; may be repeated.",
        ),
    ] = None,
    name: Annotated[str, typer.Option("--name", help="What the files are called.")] = "census",
    environments: Annotated[
        list[str] | None,
        typer.Option(
            "--environments",
            help="Every Gymnasium id that begins so, MiniGrid- or popgym-; may be repeated.",
        ),
    ] = None,
    max_states: Annotated[
        int, typer.Option("--max-states", min=1, help="Larger environments are only listed.")
    ] = 20_000,
    up_to: Annotated[
        int,
        typer.Option("--up-to", min=0, help="The largest memory of each family to try; 0: none."),
    ] = 0,
    seconds: Annotated[float, typer.Option(min=0.01, help="The time limit of each search.")] = 10.0,
) -> None:
    """Tabulate for many tasks how much memory is worth.

    For each task: the value of the best informed, history-based, memoryless and one-bit policy.

    Rows are kept as they are found, so that the command can be stopped and run again. Values with a
    second number are bounds: a policy reaches the first, and none exceeds the second.

    Example: workbench census t_maze tiger --seconds 2 --out census

    With --up-to the smallest memory of each family that is worth what the history is.

    Example: workbench census --files published --seconds 2

    Example: workbench census --environments MiniGrid-Memory --up-to 3
    """
    from workbench.console import plain_console, print_sheet
    from workbench.core.errors import TooLarge
    from workbench.extras import need
    from workbench.interop.gym.draws import CannotEnumerate
    from workbench.output import check_folder, write_whole
    from workbench.progress import until_ctrl_c
    from workbench.sufficiency.census import take_census, to_frame

    console = plain_console()
    need("pandas", "frames")
    check_folder(folder)
    rows: list[CensusRow] = []
    with until_ctrl_c(rows):
        tasks = _tasks(task, files, environments, max_states, 4 * seconds)
        journal, refusals = folder / f"{name}.jsonl", (TooLarge, CannotEnumerate)
        for row, known in take_census(tasks, journal, seconds, up_to, refusals):
            rows.append(row)
            how = f"{row.seconds:.1f} s" if row.states else "not counted"
            console.print(f"{row.task}: {'known' if known else how}")
    print_sheet(_sheet(rows))
    table = to_frame(rows)
    write_whole(folder / f"{name}.csv", table.to_csv(index=False))
    parquet = importlib.util.find_spec("pyarrow") is not None
    if parquet:
        write_whole(folder / f"{name}.parquet", table.to_parquet())
    write_whole(folder / f"{name}.md", page(rows, seconds))
    endings = ["md", "csv", *(["parquet"] if parquet else []), "jsonl"]
    written = ", ".join(f"{name}.{ending}" for ending in endings)
    console.print(f"\nWritten to {folder}: {written}", soft_wrap=True)


def _tasks(
    names: list[str] | None,
    folders: list[Path] | None,
    beginnings: list[str] | None,
    max_states: int,
    max_seconds: float,
) -> list[tuple[str, Callable[[], POMDP]]]:
    from pomdps import TASKS
    from workbench.cli.needs_memory_command import find_task_or_environment
    from workbench.interop.gym.named import environment_ids

    if names is None:
        gym = importlib.util.find_spec("minigrid") is not None
        names = [name for name, record in TASKS.items() if not record.extra or gym]
        names = [] if beginnings else names
    limits = max_states, max_seconds
    found: list[tuple[str, Callable[[], POMDP]]] = [
        (name, partial(find_task_or_environment, name, *limits)) for name in names
    ]
    for beginning in beginnings or []:
        listed = [name for name in environment_ids(beginning) if name not in names]
        found += [(name, partial(_listed, name, *limits)) for name in listed]
    for folder in folders or []:
        published = sorted(p for p in folder.iterdir() if p.suffix.lower() == ".pomdp")
        found += [(p.name, partial(find_task_or_environment, str(p))) for p in published]
    return found


def _listed(name: str, max_states: int, max_seconds: float) -> POMDP:
    """An environment of a list, or why it cannot be had and what would fit."""
    from workbench.core.errors import TooLarge, WorkbenchError
    from workbench.interop.gym.draws import CannotEnumerate
    from workbench.interop.gym.named import explore_id, what_fits

    try:
        return explore_id(name, max_states=max_states, max_seconds=max_seconds)
    except WorkbenchError as error:
        kind = TooLarge if isinstance(error, TooLarge) else CannotEnumerate
        reason = re.split(r"\. |; the last one is|: the runs cannot", str(error))[0]
        fits = what_fits(name, max_states, max_seconds)
        raise kind(f"{reason}; {fits}" if fits else reason) from None


def _cells(row: CensusRow) -> list[str]:
    from workbench.sufficiency.census import CLOSE, COLUMNS
    from workbench.sufficiency.needs_memory import verdict
    from workbench.text import UNDEFINED, between, brief

    found = [row.task]
    for column in COLUMNS:
        value, bound = row.value[column], row.bound[column]
        if value is None or bound is None:
            found.append(UNDEFINED)
        else:
            same = brief(value) == brief(bound)  # to the digits that are shown
            found.append(brief(value) if same else between(value, bound, CLOSE * row.size))
    return [*found, verdict(row.needs_memory)]


def _sheet(rows: list[CensusRow]) -> Sheet:
    from workbench.tables.sheet import Column, Sheet

    columns = tuple(Column(name, said, name != "task") for name, said in _MEANINGS.items())
    # Two bounds stand below each other: five pairs of them side by side exceed 80 characters.
    cells = tuple(
        tuple(x.replace(" to ", "\nto ") for x in (*_cells(row)[:-1], _HELPS[row.needs_memory]))
        for row in rows
    )
    helps = sum(row.needs_memory is True for row in rows)
    unknown = sum(row.needs_memory is None for row in rows)
    said = f"Memory helps on {helps} of {counted(len(rows), 'task')}"
    said += f"; {unknown} not decided within the time limit." if unknown else "."
    bounds = any("\n" in x for row in cells for x in row)
    notes = ["x to y: some policy reaches x, and none exceeds y."] if bounds else []
    notes += ["?: not decided."] if unknown else []
    notes += [f"{row.task}: {_note(row)}" for row in rows if row.note]
    return Sheet("What memory is worth", columns, cells, said, tuple(notes))


_NEVER = re.compile(
    r"(\w+): gamma is 1 and no [^;]* ends with probability one[^;]*; give a gamma below 1[^;]*;? ?"
)
"""What a search says where it finds no policy that ends."""


def _note(row: CensusRow) -> str:
    """Make the remark on a row, once where several columns have no value."""
    columns = [column.replace("_", " ") for column in _NEVER.findall(row.note)]
    if not columns:
        return row.note
    said = f"no value ({', '.join(columns)}): with gamma 1 each such policy may go on for ever"
    return "; ".join(part for part in (said, _NEVER.sub("", row.note)) if part)


def page(rows: list[CensusRow], seconds: float) -> str:
    """The census as a page in Markdown."""
    from workbench.sufficiency.needs_memory import FAMILIES

    memories = FAMILIES if any(row.memories for row in rows) else ()
    titles = [*_MEANINGS, *memories]
    about = (
        "The best value of each task, by what the agent sees and remembers. The time limit of a "
        f"search was {seconds:g} s. Where there are two numbers, some policy reaches the first and "
        "none exceeds the second."
    )
    inside = [row for row in rows if row.states]
    environments = any(ENV_ID.fullmatch(row.source) for row in rows)
    lines = [
        f"# A census of {'environments' if environments else 'tasks'}",
        "",
        about,
        *(["", _ABOUT_ENVIRONMENTS] if environments else []),
        *(["", _ABOUT_MEMORIES] if memories else []),
        "",
        f"| {' | '.join(titles).replace('determ.', 'deterministic')} |",
        "|---|" + "---:|" * (len(_MEANINGS) - 2) + "---|" * (1 + len(memories)),
    ]
    for row in inside:
        cells = [*_cells(row), *(row.memories.get(kind, "-") for kind in memories)]
        lines.append(f"| {' | '.join(cells)} |")
    notes = [f"- {row.task}: {_note(row)}" for row in inside if row.note]
    others = [f"- {row.task}: {row.note}" for row in rows if not row.states]
    if others:
        others = ["", "## Not counted", "", *others]
    return "\n".join([*lines, *([""] if notes else []), *notes, *others]) + "\n"
