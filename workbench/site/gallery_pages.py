"""The gallery of counterexamples as a page. Each task has its table, its picture, what holds for
it, and the file that proves it."""

from __future__ import annotations

import json
from pathlib import Path

from workbench.lab.exhibits import THEOREMS
from workbench.lab.gallery import GalleryEntry
from workbench.lab.print import diagram, figure7_html
from workbench.lab.sequences import table_of
from workbench.site.claim_pages import slug
from workbench.site.material import Material, plain_markdown
from workbench.text import escape_html


def write_gallery_pages(material: Material, source: Path) -> None:
    """Write the source of the gallery."""
    folder = source / "gallery"
    folder.mkdir(parents=True)
    known = {claim["id"] for claim in material.claims}
    parts = [_HEAD, *(_entry(entry, known) for entry in material.gallery)]
    (folder / "index.md").write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def write_finds(material: Material, folder: Path) -> None:
    """Write the files to download: task, statement, numbers and certificates of each find."""
    folder.mkdir(parents=True, exist_ok=True)
    for entry in material.gallery:
        text = json.dumps(entry.record, indent=1, ensure_ascii=False)
        (folder / f"{entry.name}.json").write_text(text + "\n", encoding="utf-8")


_HEAD = """# Counterexamples

Small tasks on which something goes wrong that need not, found by `workbench search`, shrunk, and
judged in fractions while this page was made. Nothing is seen in them; the sequence of actions is
paid at the end."""


def _entry(entry: GalleryEntry, claims: set[str]) -> str:
    find = entry.find
    theorem = THEOREMS.get(entry.name)
    link = (
        f"<a href='../ledger/{slug(theorem)}.html'>The theorem behind it</a> · "
        if theorem in claims and theorem is not None
        else ""
    )
    facts = "".join(
        f"<dt>{escape_html(key)}</dt><dd>{escape_html(value)}</dd>"
        for key, value in find.verdict.facts.items()
    )
    html = (
        f"<p class='statement'>{escape_html(find.statement.sentence())}</p>"
        f"<div class='side'><div>{figure7_html(find.task)}</div>"
        f"<div>{diagram(find.task)}</div></div>"
        f"<dl class='facts'>{facts}</dl><p>{link}{_play(entry)}"
        f"<a href='../_static/finds/{escape_html(entry.name)}.json' download>Task and certificates"
        f"</a>: <code>python -m workbench.checker {escape_html(entry.name)}.json</code></p>"
    )
    title = plain_markdown(entry.name.replace("-", " "))
    return f"## {title[0].upper()}{title[1:]}\n\n" + html.replace("\n", " ")


def _play(entry: GalleryEntry) -> str:
    """A link to the explorer with this table, where it has two steps."""
    table = table_of(entry.find.task)
    if table is None or table.ndim != 2:
        return ""
    rows = ";".join(",".join(str(x) for x in row) for row in table)
    return f"<a href='../explorer.html#task=recall4&amp;m=B1&amp;r={rows}'>Play with it</a> · "
