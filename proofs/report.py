"""The ledger as people read it. Section by section in 80 columns, one claim in full, JSON, a page
of HTML, and `proofs/README.md`."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from proofs.inline_math import inline_math
from proofs.ledger import LEDGER, SECTIONS, VERDICTS, Claim, LedgerEntry, section_of
from proofs.ledger.places import NOTEBOOKS, REQUIRED
from workbench.checker.ledger_file import requirements_of
from workbench.core.errors import WorkbenchError
from workbench.output import write_whole
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


AGAINST = ("misprint", "refuted")
"""Verdicts on sentences that do not hold as printed."""


BESIDE = {"S51.fig-shared"}
"""Rows that set two statements of the paper beside one another."""


def of_the_paper(verdicts: Mapping[str, str]) -> Counter[str]:
    """How many statements of the paper have each verdict.

    What stands in the place of one, which has a star, is no statement of the paper.
    """
    return Counter(
        verdict
        for id, verdict in verdicts.items()
        if id[:2] not in ("T.", "P.") and id[-1] != "*" and id not in BESIDE
    )


def opening(claims: Mapping[str, Claim]) -> str:
    """What people want to know first: how many statements of the paper hold."""
    counts = of_the_paper({id: one.documented for id, one in claims.items()})
    wrong, printed = counts["refuted"], counts["misprint"]
    hold = counts.total() - wrong - printed - counts["open"]
    parts = [f"{hold} hold", f"{printed} are misprints", f"{wrong} do not hold as printed"]
    if counts["open"]:
        parts.append(f"{counts['open']} are open")
    return f"The paper: {counts.total()} statements; {', '.join(parts)}."


def against(entry: LedgerEntry, console: Console) -> None:
    """A sentence that does not hold as printed: its words, what is wrong, what holds instead."""
    title = Text(f"{entry.verdict} ", COLOURS[entry.verdict])
    console.print(title.append(f"{entry.id}, {entry.place}", "bold"))
    lines = [f'The paper: "{entry.quote}"' if entry.quote else entry.statement]
    lines.append(f"Wrong: {entry.evidence.partition('; corrected by')[0]}.")
    found = entry.counterexample
    if isinstance(found, dict):
        found = found.get("shown")
    if found is not None and not isinstance(found, list):
        found = str(found)
        lines.append("Smallest counterexample:" + ("\n" if "\n" in found else " ") + found)
    if entry.corrected_by:
        lines.append(
            f"Holds instead ({entry.corrected_by}): {LEDGER[entry.corrected_by].statement}"
        )
    for line in lines:
        console.print(Padding(Text(line), (0, 0, 0, 2)))
    console.print()


def in_a_line(entry: LedgerEntry, console: Console) -> None:
    """The verdict on a claim, its id, and the evidence in short."""
    line = Table(box=None, show_header=False, padding=(0, 1, 0, 0), pad_edge=False)
    line.add_column(width=max(map(len, VERDICTS)), no_wrap=True)
    line.add_column(width=min(27, max(12, len(entry.id))), no_wrap=True)
    line.add_column(ratio=1)
    verdict = Text(entry.verdict, COLOURS[entry.verdict])
    if not entry.ok:
        verdict = Text("NOT AS SAID", "bold red")
    line.add_row(verdict, entry.id, Text(f"{said(entry)} ({duration(entry.seconds)})"))
    console.print(line)


def said(entry: LedgerEntry) -> str:
    """The evidence in short, with a remark where one program alone has decided."""
    return "; ".join(x for x in (entry.evidence, entry.opinions) if x)


def summary(entries: list[LedgerEntry]) -> str:
    """One line: how many of each verdict, and whether all is as documented."""
    if not entries:
        return "no claim was judged"
    counts = Counter(entry.verdict for entry in entries)
    parts = [f"{counts[verdict]} {verdict}" for verdict in VERDICTS if counts[verdict]]
    wrong = [entry for entry in entries if not entry.ok]
    if not wrong:
        ending = (
            "as documented; "
            f"{sum(len(e.twins) for e in entries)} deliberately false variants, all rejected"
        )
    else:
        ending = f"{len(wrong)} NOT as documented: {', '.join(e.id for e in wrong)}"
    return f"{', '.join(parts)}; {ending}"


def in_full(entry: LedgerEntry, console: Console) -> None:
    """The whole argument of one claim."""
    console.rule(f"{entry.id} · {entry.place}", style="dim")
    if entry.quote:
        console.print(f'The paper: "{entry.quote}"\n')
    console.print(entry.statement)
    console.print(f"\n{entry.verdict}", style=COLOURS[entry.verdict], end=": ")
    console.print(entry.evidence)
    if entry.verdict != entry.documented:
        console.print(f"documented: {entry.documented}", style="bold red")
    if entry.argument:
        console.print("\n" + entry.argument)
    shown = isinstance(entry.counterexample, str) and entry.counterexample in entry.argument
    listed = isinstance(entry.counterexample, dict | list)
    if entry.counterexample is not None and not listed and not shown:
        console.print(f"\nCounterexample: {entry.counterexample}")
    if entry.corrected_by:
        console.print(f"\nWhat holds instead: {entry.corrected_by}")
    for line in step_lines(entry):
        console.print(line)
    for line in formal_lines(entry):
        console.print(line)
    for what, verdict in entry.twins:
        console.print(f"False variant ({what}): {verdict}")
    if entry.certificates:
        kinds = Counter(str(certificate["kind"]) for certificate in entry.certificates)
        listed_kinds = ", ".join(f"{n} {kind}" for kind, n in kinds.items())
        remark = f" ({entry.opinions})" if entry.opinions else ""
        console.print(f"Certificates: {listed_kinds}{remark}")
    console.print()


def formal_lines(entry: LedgerEntry) -> list[str]:
    """The theorems of `proofs/coq` that say what the claim says, and what they rest on."""
    if (formal := entry.formal) is None:
        return []
    shown = [f"  {line}" for text in formal.statements for line in text.splitlines()]
    return [
        f"Formal (proofs/coq/{formal.file}, from the axioms of Coq's reals; `workbench verify "
        f"--coq`): {formal.reads}",
        *shown,
    ]


def step_lines(entry: LedgerEntry) -> list[str]:
    """The numbered steps of a proof, each with who carries it, and how many are needed."""
    lines = [
        f"  {step.number}. [{step.by}] {step.text}"
        + ("" if step.needed else " (not shown to be needed)")
        for step in entry.steps
    ]
    return [f"Steps ({entry.shown_steps}):", *lines] if lines else []


def write_json(entries: list[LedgerEntry], path: Path) -> None:
    """Everything, for other programs and for `workbench verify --recheck`."""
    text = json.dumps([entry.as_json() for entry in entries], indent=1, default=str)
    write_whole(path, text + "\n")


_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem;
  color: #222 }
table { border-collapse: collapse; width: 100% }
td, th { text-align: left; vertical-align: top; padding: .3rem .6rem;
pre { background: #f6f6f6; padding: .8rem; overflow-x: auto; font-size: 13px }
.proved { color: #1a7f37 } .checked { color: #0b7285 } .supported { color: #1c4fbf }
.refuted { color: #a0228c }
.open { color: #946200 } .argued { color: #4d7f1a } .misprint { color: #a0528c }
"""


def write_html(entries: list[LedgerEntry], path: Path) -> None:
    """A page without anything outside it."""
    rows = "".join(
        f'<tr><td><a href="#{escape_html(e.id)}">{escape_html(e.id)}</a></td>'
        f"<td>{escape_html(e.place)}</td>"
        f"<td>{inline_math(e.statement)}</td>"
        f'<td class="{e.verdict}">{e.verdict}</td><td>{inline_math(said(e))}</td></tr>'
        for e in entries
    )
    sections = "".join(_section(e) for e in entries)
    write_whole(
        path,
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>The claims '
        f"ledger</title><style>{_STYLE}</style>"
        f"<h1>The claims ledger</h1><p>{escape_html(summary(entries))}.</p>"
        f"<table><tr><th>id</th><th>place</th><th>statement</th><th>verdict</th>"
        f"<th>evidence</th></tr>{rows}</table>{sections}</html>\n",
    )


def _section(e: LedgerEntry) -> str:
    twins = "".join(
        f"<li>{inline_math(what)}: {escape_html(verdict)}</li>" for what, verdict in e.twins
    )
    corrected = (
        "<p>What holds instead: <a "
        f'href="#{escape_html(e.corrected_by)}">{escape_html(e.corrected_by)}</a></p>'
        if e.corrected_by
        else ""
    )
    argument = _argument(e.argument)
    steps = "".join(f"<li>{inline_math(line)}</li>" for line in step_lines(e)[1:])
    if steps:
        argument += f"<p>Steps ({e.shown_steps}):</p><ul>{steps}</ul>"
    if formal := formal_lines(e):
        text = escape_html("\n".join(formal[1:]))
        argument += f"<p>{escape_html(formal[0])}</p><pre>{text}</pre>"
    return (
        f'<h2 id="{escape_html(e.id)}">{escape_html(e.id)} '
        f"<small>{escape_html(e.place)}</small></h2>"
        f"{_quoted(e)}"
        f'<p>{inline_math(e.statement)}</p><p><b class="{e.verdict}">{e.verdict}</b>: '
        f"{inline_math(said(e))}</p>"
        f"{argument}{corrected}<p>Deliberately false variants:</p><ul>{twins}</ul>"
    )


def _quoted(e: LedgerEntry) -> str:
    """The paper's own sentence, if the claim is about one."""
    return f"<blockquote>{inline_math(e.quote)}</blockquote>" if e.quote else ""


def _argument(text: str) -> str:
    """Sentences with their formulas set. Tables and lists, which begin with blanks, as they are."""
    blocks = []
    for is_table, lines in groupby(text.splitlines(), key=lambda line: line.startswith(" ")):
        told = "\n".join(lines)
        blocks.append(
            f"<pre>{escape_html(told)}</pre>" if is_table else f"<p>{inline_math(told)}</p>"
        )
    return "".join(blocks)


HEAD = """# The claims of the paper

Generated by `workbench verify --readme`; a test fails when it is stale. `workbench verify ID -v`
shows the whole argument of a claim, its numbered steps and the deliberately false variants of it
that the same code must reject. A row about the paper begins with the paper's own sentence; our
reading of it follows. Of the sentences on what networks learn (Section 6, Appendix D) those on
RedBlueDoors, MemoryS7 and the hallway are here. Those on Atari need runs of
`workbench reproduce` ([deep.md](../docs/deep.md)).
Verdicts:

- **proved** for all parameters, the quantifier carried by the machine;
- **argued** by a written proof, some of whose steps are human, instances checked;
- **checked** on every case of a stated finite list;
- **supported** by statistics;
- **misprint**: wrong as printed, clear what is meant; **refuted** by a counterexample (in both
  cases the statement that holds carries a star);
- **open**.

*formal*: Coq proves the same statement from the definition of the loop
([coq/README.md](coq/README.md)); `workbench verify ID -v` shows both.
*n steps, all needed*: for each step there is a false statement that this step alone catches.
Certificates are verified by `python -m workbench.checker`, which imports nothing else of the
package; [required.json](ledger/required.json) names what each claim has to certify.
"""


def readme_row(entry: LedgerEntry) -> str:
    """The row of a claim in `proofs/README.md`, without timings: it changes only when a claim
    does."""
    evidence = said(entry) + (f"; corrected by {entry.corrected_by}" if entry.corrected_by else "")
    kinds = Counter(str(certificate["kind"]) for certificate in entry.certificates)
    shown = ", ".join(f"{n} {kind}" for kind, n in sorted(kinds.items())) or "none"
    module = entry.module.removeprefix("proofs.").replace(".", "/")
    notebook = NOTEBOOKS[entry.section]
    links = f"[proof]({module}.py), [notebook](../notebooks/{notebook}.ipynb)"
    formal = entry.formal
    cells = (
        entry.id,
        entry.place,
        (f"“{entry.quote}” " if entry.quote else "") + entry.statement,
        f"**{entry.verdict}**" + (f", [formal](coq/{formal.file})" if formal else ""),
        evidence,
        entry.shown_steps,
        shown,
        links,
    )
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


def recorded(entry: LedgerEntry) -> dict[str, Any]:
    """What is kept of a claim in `proofs/ledger/required.json`: what it has to certify, and its row
    of the README."""
    required: dict[str, Any] = requirements_of([entry.as_json()])[entry.id]
    needed = sum(step.by == "machine" for step in entry.steps)
    return {**required, "twins": len(entry.twins), "steps": needed, "row": readme_row(entry)}


def read_record() -> dict[str, Any]:
    """What is kept of every claim."""
    found: dict[str, Any] = json.loads(REQUIRED.read_text()) if REQUIRED.exists() else {}
    return found


def recorded_summary(record: dict[str, Any]) -> str:
    """How many of each verdict, twins and steps there are."""
    counts = Counter(one["verdict"] for one in record.values())
    parts = [f"{counts[verdict]} {verdict}" for verdict in VERDICTS if counts[verdict]]
    twins, steps = (sum(one[key] for one in record.values()) for key in ("twins", "steps"))
    return (
        f"{len(record)} claims: {', '.join(parts)}; {twins} deliberately false variants, all "
        f"rejected; {steps} machine steps, all needed"
    )


def readme(record: dict[str, Any]) -> str:
    """The text of `proofs/README.md`, by section."""
    lines = [HEAD]
    for key, title in SECTIONS:
        rows = [one["row"] for id, one in record.items() if section_of(id) == key]
        if rows:
            lines += [f"## {title}", ""]
            lines += ["| id | place | statement | verdict | evidence | steps | certificates | |"]
            lines += ["|---|---|---|---|---|---|---|---|", *rows, ""]
    return "\n".join([*lines, recorded_summary(record) + ".", ""])


def write_generated(entries: list[LedgerEntry], folder: Path, known: Iterable[str]) -> None:
    """Write the record of claims and `proofs/README.md` anew. Claims that were not judged this time
    stay as they are recorded.

    Parameters
    ----------
    known : the ids of all claims that there are, in order.
    """
    if wrong := [entry for entry in entries if not entry.ok]:
        raise WorkbenchError(f"{wrong[0].id} is not as documented: {wrong[0].complaint}")
    record = read_record() | {entry.id: recorded(entry) for entry in entries}
    record = {id: record[id] for id in known if id in record}
    REQUIRED.write_text(json.dumps(record, indent=1) + "\n")
    (folder / "README.md").write_text(readme(record))
