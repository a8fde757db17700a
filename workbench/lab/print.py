"""Finds as text and HTML, and the gallery as a page that needs nothing else.

A sequence task has its table in the style of Figure 7 and a picture, any other task its rows.

Figure 7 lists the sequences of actions with their rewards in two columns, a rule after each first
action:

>>> from workbench.improvement.batch import sequence_task
>>> print(figure7(sequence_task([[0, 1], [2, 0]])))
(a1, a2)  R || (a1, a2)  R
--------------------------
(0, 0)    0 || (1, 0)    2
(0, 1)    1 || (1, 1)    0
--------------------------
"""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.core.pomdp import POMDP
from workbench.lab.sequences import table_of
from workbench.output import write_whole
from workbench.tables.sheet import Column, Sheet
from workbench.text import counted, decimal, escape_html, show, shown

if TYPE_CHECKING:
    from workbench.lab.find import Find
    from workbench.lab.gallery import GalleryEntry

TextBlock = list[tuple[str, str]]


def _blocks(P: POMDP) -> tuple[str, list[TextBlock], list[TextBlock]] | None:
    """The head of a column, and the blocks of both columns. There is a block for each first
    action."""
    table = table_of(P)
    if table is None:
        return None
    n = len(table)
    blocks = [
        [
            (show((P.A[a], *(P.A[b] for b in rest))), decimal(table[(a, *rest)]))
            for rest in product(range(n), repeat=table.ndim - 1)
        ]
        for a in range(n)
    ]
    half = (n + 1) // 2
    return f"({', '.join(f'a{i + 1}' for i in range(table.ndim))})", blocks[:half], blocks[half:]


def figure7(P: POMDP) -> str:
    """The rewards of a sequence task in the style of Figure 7. Any other task has the rows of p."""
    found = _blocks(P)
    if found is None:
        return model_sheet(P).text()
    head, left, right = found
    every = [line for block in (*left, *right) for line in block]
    wide = max(len(head), *(len(name) for name, _ in every))
    far = max(1, *(len(r) for _, r in every))

    def cell(line: tuple[str, str] | None) -> str:
        return " " * (wide + far + 2) if line is None else f"{line[0]:<{wide}}  {line[1]:>{far}}"

    rule = "-" * (2 * (wide + far + 2) + 4)
    lines = [f"{cell((head, 'R'))} || {cell((head, 'R'))}".rstrip(), rule]
    for i, block in enumerate(left):
        other: list[Any] = right[i] if i < len(right) else [None] * len(block)
        lines += [f"{cell(a)} || {cell(b)}".rstrip() for a, b in zip(block, other, strict=True)]
        lines.append(rule)
    return "\n".join(lines)


def model_sheet(P: POMDP) -> Sheet:
    """A row for each outcome of a task, with where it starts and its discount."""
    names = ["state", "shows", "action", "next", "reward", "probability"]
    rows = list[tuple[str, ...]]()
    for s in P.S:
        if s in P.terminal:
            continue
        seen = ", ".join(
            P.O.text(o) if x == 1 else f"{P.O.text(o)} ({shown(x)})" for o, x in P.omega(s).items()
        )
        for a in P.A:
            for (t, r), x in P.p(s, a).items():
                rows.append((P.S.text(s), seen, P.A.text(a), P.S.text(t), shown(r), shown(x)))
    if all(row[-1] == "1" for row in rows):
        names, rows = names[:-1], [row[:-1] for row in rows]
    starts = ", ".join(f"{P.S.text(s)}: {shown(x)}" for s, x in P.mu.items())
    note = f"starts in {starts}; gamma {shown(P.gamma)}"
    return Sheet("", tuple(map(Column, names)), tuple(rows), notes=(note,))


# ---------------------------------------------------------------------- finds


def describe_find(find: Find) -> str:
    """A find as text."""
    facts = "\n".join(f"{key}: {value}" for key, value in find.verdict.facts.items())
    return "\n".join(
        part for part in (find.statement.sentence(), figure7(find.task), facts) if part
    )


def figure7_html(P: POMDP) -> str:
    """The table as HTML, self-contained."""
    found = _blocks(P)
    if found is None:
        return model_sheet(P).html()
    head_text, left, right = found
    top = f"<th>{escape_html(head_text)}</th><th>R</th>" * 2
    body = ""
    for i, block in enumerate(left):
        other: list[Any] = right[i] if i < len(right) else [("", "")] * len(block)
        rows_html = (
            f"<tr><td>{escape_html(a[0])}</td><td class='r'>{escape_html(a[1])}</td>"
            f"<td class='s'>{escape_html(b[0])}</td><td class='r'>{escape_html(b[1])}</td></tr>"
            for a, b in zip(block, other, strict=True)
        )
        body += f"<tbody>{''.join(rows_html)}</tbody>"
    return f"<table class='figure7'><thead><tr>{top}</tr></thead>{body}</table>"


def described_html(find: Find) -> str:
    """A find as HTML, with its diagram."""
    facts = "".join(
        f"<li>{escape_html(f'{key}: {value}')}</li>" for key, value in find.verdict.facts.items()
    )
    sentence = escape_html(find.statement.sentence())
    return f"<p>{sentence}</p>{figure7_html(find.task)}<ul>{facts}</ul>{diagram(find.task)}"


# ---------------------------------------------------------------------- pictures

MOST_LEAVES = 64

_INK, _SOFT, _GOOD = "#1f2937", "#9ca3af", "#0072B2"
_FONT = "font-family='sans-serif' font-size='11'"


def diagram(P: POMDP) -> str:
    """A sequence task as an inline `<svg>`: its tree of sequences, with the rewards at the leaves.

    It is "" for other tasks, and for those too large for one.

    >>> from workbench.improvement.batch import sequence_task
    >>> diagram(sequence_task([[0, 1], [2, 0]]))[:50]
    "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0"
    """
    table = table_of(P)
    return "" if table is None or table.size > MOST_LEAVES else _tree(P, table)


def _svg(width: float, height: float, parts: list[str], title: str) -> str:
    return (
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width:.0f} {height:.0f}' "
        f"width='{width:.0f}' height='{height:.0f}' "
        f"role='img'><title>{escape_html(title)}</title>{''.join(parts)}</svg>"
    )


_HALO = "stroke='#fff' stroke-width='3' paint-order='stroke'"
"""White around letters, which keeps lines from crossing them."""


def _text(x: float, y: float, text: str, anchor: str = "middle", colour: str = _INK) -> str:
    return (
        f"<text x='{x:.1f}' y='{y:.1f}' text-anchor='{anchor}' fill='{colour}' {_HALO} "
        f"{_FONT}>{escape_html(text)}</text>"
    )


def _line(x1: float, y1: float, x2: float, y2: float, colour: str, width: float) -> str:
    return (
        f"<line x1='{x1:.1f}' y1='{y1:.1f}' x2='{x2:.1f}' y2='{y2:.1f}' "
        f"stroke='{colour}' stroke-width='{width}'/>"
    )


def _tree(P: POMDP, table: Any) -> str:
    """A tree with its root on the left. The branch of the largest reward is coloured."""
    n, length = len(table), table.ndim
    across, down = 90.0, 16.0
    width, height = across * length + 110, down * table.size + 20
    best = max(table.ravel())
    good = {
        tuple(done[:k])
        for done in product(range(n), repeat=length)
        if table[done] == best
        for k in range(length + 1)
    }

    def place(done: tuple[int, ...]) -> tuple[float, float]:
        block = n ** (length - len(done))
        first = sum(a * n ** (length - 1 - i) for i, a in enumerate(done))
        return 15 + across * len(done), 18 + down * (first + (block - 1) / 2)

    lines, texts = [], []
    for k in range(1, length + 1):
        for done in product(range(n), repeat=k):
            (x1, y1), (x2, y2) = place(done[:-1]), place(done)
            colour = _GOOD if done in good else _SOFT
            lines.append(_line(x1, y1, x2, y2, colour, 2 if done in good else 1))
            texts.append(_text(x2 - 22, y2 - 3, P.A.text(P.A[done[-1]]), colour=colour))
            if k == length:
                texts.append(_text(x2 + 8, y2 + 4, shown(table[done]), "start", _INK))
    dots = [
        f"<circle cx='{x:.1f}' cy='{y:.1f}' r='3.5' fill='{_INK}'/>"
        for k in range(length)
        for x, y in (place(done) for done in product(range(n), repeat=k))
    ]
    return _svg(
        width,
        height,
        [*lines, *dots, *texts],
        f"{P.name}: the sequences of actions and their rewards",
    )


# ---------------------------------------------------------------------- the page

_TITLE = "Gallery of counterexamples"

_STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto;
  padding: 0 1rem; color: #1f2937; }
article { border-top: 2px solid #1f2937; margin-top: 2rem; padding-top: .5rem; }
table { border-collapse: collapse; margin: .5rem 0; }
th, td { padding: .15rem .6rem; text-align: left; }
thead tr, tbody { border-bottom: 1px solid #1f2937; }
table.figure7 td.r, table.figure7 th { text-align: right; }
table.figure7 td.s, table.figure7 th:nth-child(3) { border-left: 3px double #1f2937; }
dl { display: grid; grid-template-columns: max-content auto; gap: .1rem .8rem; margin: .5rem 0; }
dt { color: #4b5563; } dd { margin: 0; overflow-wrap: anywhere; } code { font-size: .9em; }
svg { max-width: 100%; height: auto; }
details { margin: .5rem 0; }
pre { overflow-x: auto; background: #f3f4f6; padding: .5rem; font-size: .8rem; }
"""


def gallery_page(entries: list[GalleryEntry]) -> str:
    """The page."""
    contents = "".join(
        f"<li><a href='#{escape_html(e.name)}'>{escape_html(e.name)}</a>: "
        f"{escape_html(e.find.statement.sentence())}</li>"
        for e in entries
    )
    body = "".join(_article(entry) for entry in entries)
    many = f"{counted(len(entries), 'task')}, each verified in exact arithmetic."
    return (
        "<!DOCTYPE html><html lang='en'><head><meta "
        f"charset='utf-8'><title>{_TITLE}</title>"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        f"<style>{_STYLE}</style></head><body><h1>{_TITLE}</h1>"
        f"<p>{many}</p><ol>{contents}</ol>{body}</body></html>\n"
    )


def write_gallery_page(entries: list[GalleryEntry], path: str | Path) -> None:
    """The page as a file."""
    write_whole(Path(path), gallery_page(entries).encode())


def _article(entry: GalleryEntry) -> str:
    find = entry.find
    kinds = ", ".join(str(c.get("kind")) for c in find.verdict.certificates)
    origin = dict(find.provenance)
    if space := origin.pop("space", None):
        origin["space"] = ", ".join(f"{k} {v}" for k, v in space.items())
    origin["certificates"] = kinds or "none; judged again in rationals when checked"
    rows = "".join(
        f"<dt>{escape_html(str(k))}</dt><dd>{escape_html(str(v))}</dd>" for k, v in origin.items()
    )
    source = escape_html(json.dumps(entry.record["task"], indent=1))
    name = escape_html(entry.name)
    return (
        f"<article id='{name}'><h2>{name}</h2>{described_html(find)}<dl>{rows}</dl>"
        f"<details><summary>The task as data</summary><pre>{source}</pre></details></article>"
    )
