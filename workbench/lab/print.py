"""Finds as text and HTML. A sequence task has its table in the style of Figure 7, any other
task its rows.

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

from itertools import product
from typing import TYPE_CHECKING, Any

from workbench.core.pomdp import POMDP
from workbench.lab.sequences import table_of
from workbench.tables.sheet import Column, Sheet
from workbench.text import decimal, escape_html, show, shown

if TYPE_CHECKING:
    from workbench.lab.find import Find

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
    from workbench.lab.svg import diagram

    facts = "".join(
        f"<li>{escape_html(f'{key}: {value}')}</li>" for key, value in find.verdict.facts.items()
    )
    sentence = escape_html(find.statement.sentence())
    return f"<p>{sentence}</p>{figure7_html(find.task)}<ul>{facts}</ul>{diagram(find.task)}"
