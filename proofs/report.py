"""The ledger as people read it: section by section in 80 columns, one claim in full, JSON, a page of HTML, and
`proofs/README.md`."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from proofs.ledger import VERDICTS, Entry
from proofs.ledger.places import SECTIONS, section_of
from workbench.model.json import parse_json
from workbench.text import duration, escape_html

COLOURS = {
    "proved": "green",
    "argued": "bright_green",
    "checked": "cyan",
    "supported": "blue",
    "misprint": "bright_magenta",
    "refuted": "magenta",
    "open": "yellow",
}


def ledger(entries: list[Entry], console: Console) -> None:
    """Section by section: the verdict on each claim, its statement, and the evidence in brackets."""
    titles, section = dict(SECTIONS), ""
    for entry in entries:
        if (now := section_of(entry.id)) != section:
            section = now
            console.print(Text(f"\n{titles[section]}", "bold"))
        line = Table(box=None, show_header=False, padding=(0, 1, 0, 0), pad_edge=False)
        line.add_column(width=max(map(len, VERDICTS)), no_wrap=True)
        line.add_column(ratio=1)
        verdict = Text(entry.verdict, COLOURS[entry.verdict])
        if not entry.ok:
            verdict.append(" !!", "bold red")
        words = Text(entry.statement)
        see = f"; what holds instead: {entry.corrected_by}" if entry.corrected_by else ""
        words.append(
            f" [{entry.id}, {entry.place}: {entry.evidence}{see}; {duration(entry.seconds)}]", "dim"
        )
        line.add_row(verdict, words)
        console.print(line)


def summary(entries: list[Entry]) -> str:
    """One line: how many of each verdict, and whether all is as documented."""
    counts = Counter(entry.verdict for entry in entries)
    parts = [f"{counts[verdict]} {verdict}" for verdict in VERDICTS if counts[verdict]]
    wrong = [entry for entry in entries if not entry.ok]
    if not wrong:
        ending = (
            f"all {len(entries)} as documented, all "
            f"{sum(len(e.twins) for e in entries)} spoiled twins caught"
        )
    else:
        ending = f"{len(wrong)} NOT as documented: {', '.join(e.id for e in wrong)}"
    return f"{', '.join(parts)}; {ending}"


def in_full(entry: Entry, console: Console) -> None:
    """The whole argument of one claim."""
    console.rule(f"{entry.id} · {entry.place}", style="dim")
    console.print(entry.statement, markup=False, highlight=False)
    console.print(f"\n[{COLOURS[entry.verdict]}]{entry.verdict}[/]: ", end="")
    console.print(entry.evidence, markup=False, highlight=False)
    if entry.verdict != entry.documented:
        console.print(f"[bold red]documented: {entry.documented}[/]")
    if entry.argument:
        console.print("\n" + entry.argument, markup=False, highlight=False)
    if entry.counterexample is not None and not isinstance(entry.counterexample, dict | list):
        console.print(f"\nCounterexample: {entry.counterexample}", markup=False, highlight=False)
    if entry.corrected_by:
        console.print(f"\nWhat holds instead: {entry.corrected_by}", markup=False, highlight=False)
    for line in step_lines(entry):
        console.print(line, markup=False, highlight=False)
    for what, verdict in entry.twins:
        console.print(f"Spoiled twin ({what}): {verdict}", markup=False, highlight=False)
    if entry.certificates:
        kinds = Counter(str(certificate["kind"]) for certificate in entry.certificates)
        console.print(
            "Certificates: " + ", ".join(f"{n} {kind}" for kind, n in kinds.items()),
            highlight=False,
        )
    console.print()


def step_lines(entry: Entry) -> list[str]:
    """The numbered steps of a proof, each with who carries it, and how many are needed."""
    lines = [
        f"  {step.number}. [{step.by}] {step.text}"
        + ("" if step.needed else " (not shown to be needed)")
        for step in entry.steps
    ]
    return [f"Steps ({entry.shown_steps}):", *lines] if lines else []


def write_json(entries: list[Entry], path: Path) -> None:
    """Everything, for other programs and for `workbench verify --recheck`."""
    path.write_text(
        json.dumps([entry.as_json() for entry in entries], indent=1, default=str) + "\n"
    )


def read_json(path: Path) -> list[dict[str, Any]]:
    """What `write_json` wrote."""
    found = parse_json(path.read_bytes())
    if not isinstance(found, list) or not all(
        isinstance(x, dict) and "id" in x and "certificates" in x for x in found
    ):
        raise ValueError(f"{path} is not a ledger written by workbench verify --json")
    return found


_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #222 }
table { border-collapse: collapse; width: 100% } td, th { text-align: left; vertical-align: top; padding: .3rem .6rem;
border-bottom: 1px solid #ddd } pre { background: #f6f6f6; padding: .8rem; overflow-x: auto; font-size: 13px }
.proved { color: #1a7f37 } .checked { color: #0b7285 } .supported { color: #1c4fbf } .refuted { color: #a0228c }
.open { color: #946200 } .argued { color: #4d7f1a } .misprint { color: #a0528c }
"""


def write_html(entries: list[Entry], path: Path) -> None:
    """A page without anything outside it."""
    rows = "".join(
        f'<tr><td><a href="#{escape_html(e.id)}">{escape_html(e.id)}</a></td><td>{escape_html(e.place)}</td>'
        f'<td class="{e.verdict}">{e.verdict}</td><td>{escape_html(e.evidence)}</td></tr>'
        for e in entries
    )
    sections = "".join(_section(e) for e in entries)
    path.write_text(
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>The claims '
        f"ledger</title><style>{_STYLE}</style>"
        f"<h1>The claims ledger</h1><p>{escape_html(summary(entries))}.</p>"
        f"<table><tr><th>id</th><th>place</th><th>verdict</th><th>evidence</th></tr>{rows}</table>{sections}</html>\n"
    )


def _section(e: Entry) -> str:
    twins = "".join(
        f"<li>{escape_html(what)}: {escape_html(verdict)}</li>" for what, verdict in e.twins
    )
    corrected = (
        "<p>What holds instead: <a "
        f'href="#{escape_html(e.corrected_by)}">{escape_html(e.corrected_by)}</a></p>'
        if e.corrected_by
        else ""
    )
    argument = f"<pre>{escape_html(e.argument)}</pre>" if e.argument else ""
    steps = "".join(f"<li>{escape_html(line)}</li>" for line in step_lines(e)[1:])
    if steps:
        argument += f"<p>Steps ({e.shown_steps}):</p><ul>{steps}</ul>"
    return (
        f'<h2 id="{escape_html(e.id)}">{escape_html(e.id)} '
        f"<small>{escape_html(e.place)}</small></h2>"
        f'<p>{escape_html(e.statement)}</p><p><b class="{e.verdict}">{e.verdict}</b>: '
        f"{escape_html(e.evidence)}</p>"
        f"{argument}{corrected}<p>Spoiled twins:</p><ul>{twins}</ul>"
    )


def readme(entries: list[Entry]) -> str:
    """The text of `proofs/README.md`, without timings, so that it changes only when a verdict or a
    statement does."""
    lines = [
        "# The claims of the paper",
        "",
        "Generated by `workbench verify --readme`; a test fails when it is stale. `workbench "
        "verify ID -v` shows the whole",
        "argument of a claim. Verdicts: **proved** for all parameters, **checked** on every case "
        "of a stated finite list,",
        "**supported** by statistics, **refuted** by a counterexample (the corrected statement "
        "carries a star).",
        "",
        "| id | place | statement | verdict | evidence |",
        "|---|---|---|---|---|",
    ]
    for e in entries:
        evidence = e.evidence + (f"; corrected by {e.corrected_by}" if e.corrected_by else "")
        cells = (e.id, e.place, e.statement, f"**{e.verdict}**", evidence)
        lines.append(
            "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"
        )
    return "\n".join([*lines, "", summary(entries) + ".", ""])
