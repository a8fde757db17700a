"""`workbench gallery`: the finds that are kept, with their certificates."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from workbench.cli.output_options import output_file

if TYPE_CHECKING:
    from rich.console import Console

    from workbench.lab.gallery import Gallery, GalleryEntry


def gallery_command(
    action: Annotated[str, typer.Argument(help="list, show, check, save or remove.")] = "list",
    names: Annotated[
        list[str] | None, typer.Argument(help="Entries, by name or a part of it.")
    ] = None,
    folder: Annotated[
        str | None,
        typer.Option(
            help="The gallery's folder.",
            show_default="$WORKBENCH_GALLERY, or gallery in this directory",
        ),
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option(
            callback=output_file, help="Write all of it as one page, with tables and pictures."
        ),
    ] = None,
) -> None:
    """List, show and check what `workbench search` has found.

    The finds are kept in the folder `gallery` of this directory.

    `check` verifies all certificates and judges every statement again, in rationals. `save NAME`
    writes NAME.POMDP.

    Example: workbench gallery --html gallery.html
    """
    from workbench.console import plain_console
    from workbench.core.errors import WorkbenchError
    from workbench.lab.gallery import Gallery
    from workbench.text import did_you_mean

    console, kept = plain_console(), Gallery(folder)
    if html is not None:
        from workbench.lab.print import write_gallery_page

        entries = kept.entries()
        write_gallery_page(entries, html)
        console.print(f"{html}: {len(entries)} entries of {kept.folder}")
        return
    actions = {"list": _list, "show": _show, "check": _check, "save": _save, "remove": _remove}
    if action not in actions:
        meant = did_you_mean(action, actions)
        raise WorkbenchError(f"gallery does not {action}{meant}: one of {', '.join(actions)}")
    if action in ("show", "save", "remove") and not names:
        raise WorkbenchError(f"gallery {action} needs a name; `workbench gallery` lists them")
    actions[action](console, kept, names or [])


def _list(console: Console, kept: Gallery, names: list[str]) -> None:
    from workbench.console import print_sheet
    from workbench.tables.sheet import Column, Sheet
    from workbench.text import counted

    found = kept.names()
    if not found:
        console.print(
            f"{kept.folder} holds no finds yet; `workbench search --list` says what to search for"
        )
        return
    by_statement: dict[str, list[tuple[object, ...]]] = {}
    for name in found:
        entry = kept.get(name)
        by_statement.setdefault(entry.find.statement.sentence(), []).append((name, *entry.size))
    columns = tuple(map(Column, ("name", "states", "actions", "observations")))
    for sentence, rows in by_statement.items():
        print_sheet(Sheet(sentence, columns, tuple(rows)))
        console.print()
    console.print(
        f"{kept.folder} holds {counted(len(found), 'find')}. `workbench gallery show NAME` prints "
        "one, `workbench gallery check` verifies them all."
    )


def _show(console: Console, kept: Gallery, names: list[str]) -> None:
    from workbench.lab.print import describe_find

    for name in names:
        entry = kept.get(name)
        console.print(entry.name, style="bold")
        console.print(describe_find(entry.find))
        for line in _provenance(entry):
            console.print(line)


def _provenance(entry: GalleryEntry) -> list[str]:
    from workbench.text import counted

    whence = entry.find.provenance
    space = whence.get("space", {})
    lines = []
    if space:
        settings = ", ".join(f"{key} {value}" for key, value in space.items() if key != "name")
        lines.append(f"space searched: {space['name']}, {settings}")
    if "method" in whence:
        lines.append(
            f"found by {whence['method']} search, seed {whence['seed']}, "
            f"version {whence['version']}"
        )
    if "shrunk_in" in whence:
        lines.append(f"made smaller in {counted(int(whence['shrunk_in']), 'step')}")
    kinds = [str(c["kind"]) for c in entry.find.verdict.certificates]
    return [
        *lines,
        f"certificates: {', '.join(kinds) or 'none; `gallery check` judges the statement again'}",
    ]


def _check(console: Console, kept: Gallery, names: list[str]) -> None:
    from workbench.core.errors import WorkbenchError
    from workbench.lab.gallery import check_entry

    wrong = 0
    every = names or kept.names()
    for name in every:
        try:
            entry = kept.get(name)
            lines = check_entry(entry)
            console.print(f"{entry.name}: right")
            for line in lines:
                console.print(f"  {line}")
        except WorkbenchError as error:
            wrong += 1
            console.print(f"{name}: WRONG: {error}")
    console.print(f"{len(every) - wrong} of {len(every)} right")
    if wrong:
        raise typer.Exit(1)


def _save(console: Console, kept: Gallery, names: list[str]) -> None:
    from workbench.interop.pomdp_file import save_pomdp

    for name in names:
        entry = kept.get(name)
        path = Path(f"{entry.name}.POMDP")
        save_pomdp(entry.find.task, path)
        console.print(str(path))


def _remove(console: Console, kept: Gallery, names: list[str]) -> None:
    for name in names:
        entry = kept.get(name)
        kept.remove(entry.name)
        console.print(f"{entry.name} removed")
