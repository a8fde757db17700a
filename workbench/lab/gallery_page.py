"""The gallery as one page of HTML that needs nothing else: tables, pictures as inline SVG,
provenance, certificates by name."""

from __future__ import annotations

import json
from pathlib import Path

from workbench.lab.gallery import GalleryEntry
from workbench.lab.print import described_html
from workbench.output import write_whole
from workbench.text import counted, escape_html

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
