"""Slides of the two lessons, made from the notebooks: nbconvert writes them for reveal.js, which
comes with the package sphinx-revealjs and is copied beside them.

A heading begins a slide, on which the first cell that shows something stands with its code; further
ones have slides below it. A cell that shows nothing (imports, assertions) is left out, and so are
exercises, which belong to the sheet.
"""

from __future__ import annotations

import importlib.util
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workbench.extras import need


@dataclass(frozen=True)
class Deck:
    """The slides of a lesson: its name, title and the numbers of its notebooks."""

    name: str
    title: str
    notebooks: tuple[str, ...]


DECKS = (
    Deck("do-i-need-memory", "Do I need memory?", ("01", "02", "07")),
    Deck("why-does-learning-get-stuck", "Why does learning get stuck?", ("03", "04", "05")),
)


def deck_cells(notebooks: list[dict[str, Any]], title: str) -> list[dict[str, Any]]:
    """The cells of some notebooks with the part that each plays on the slides."""
    cells: list[dict[str, Any]] = [_cell("slide", cell_type="markdown", source=f"# {title}")]
    roomy = False  # whether the slide holds nothing but words so far
    for notebook in notebooks:
        for cell in notebook["cells"]:
            source = "".join(cell["source"])
            if re.match(r"#+ (Exercises|With sliders)", source):
                break
            if cell["cell_type"] == "markdown":
                parts = re.split(r"(?m)^(?=#+ )", source)
                kept = [part for part in parts if part.strip()]
                stop = next((i for i, p in enumerate(kept) if p.startswith("## Exercises")), None)
                for part in kept[:stop]:
                    kind = "slide" if part.startswith("#") else "-"
                    roomy = roomy or kind == "slide"
                    cells.append(_cell(kind, cell_type="markdown", source=part))
                if stop is not None:
                    break
            elif cell.get("outputs"):
                kind, roomy = "-" if roomy else "subslide", False
                cells.append(
                    _cell(
                        kind,
                        cell_type="code",
                        source=source,
                        outputs=cell["outputs"],
                        execution_count=cell.get("execution_count"),
                    )
                )
    return cells


def _cell(kind: str, **fields: Any) -> dict[str, Any]:
    return {**fields, "metadata": {"slideshow": {"slide_type": kind}}}


def write_slides(root: Path, folder: Path) -> None:
    """Write the decks and reveal.js into a folder."""
    nbformat, exporters = need("nbformat", "site"), need("nbconvert.exporters", "site")
    need("sphinx_revealjs", "site")
    folder.mkdir(parents=True, exist_ok=True)
    spec = importlib.util.find_spec("sphinx_revealjs")
    assert spec is not None
    assert spec.origin is not None
    bundled = Path(spec.origin).parent / "_static" / "revealjs" / "dist"
    for name in ("reveal.js", "reveal.css", "reset.css"):
        shutil.copyfile(bundled / name, folder / name)
    exporter = exporters.SlidesExporter(
        reveal_url_prefix="REVEAL", require_js_url="", jquery_url="", mathjax_url=""
    )
    exporter.exclude_input_prompt = exporter.exclude_output_prompt = True
    exporter.exclude_anchor_links = True
    for deck in DECKS:
        found = [
            nbformat.read(next((root / "notebooks").glob(f"{n}-*.ipynb")), as_version=4)
            for n in deck.notebooks
        ]
        cells = deck_cells(found, deck.title)
        for i, cell in enumerate(cells):
            cell["id"] = f"slide-{i:03d}"
        notebook = nbformat.from_dict(
            {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
        )
        body, _ = exporter.from_notebook_node(notebook)
        text = standing_alone(body, deck.title)
        (folder / f"{deck.name}.html").write_text(text, encoding="utf-8")


def standing_alone(page: str, title: str) -> str:
    """A deck that loads nothing but the files beside it."""
    page = page[: page.rindex("<script>\nrequire(")]
    page = re.sub(r"<link[^>]*REVEAL/dist/theme[^>]*>", f"<style>{_LOOKS}</style>", page)
    page = page.replace("REVEAL/dist/", "")
    page = re.sub(r"<script type=\"module\">.*?</script>", "", page, flags=re.DOTALL)
    page = re.sub(r"<title>.*?</title>", f"<title>{title}</title>", page, count=1, flags=re.DOTALL)
    page = re.sub(r"<script[^>]*src=\"\"[^>]*>\s*</script>|<link[^>]*href=\"\"[^>]*>", "", page)
    page = page.replace("No description has been provided for this image", _ALT)
    return page + _START


_ALT = "figure; the words and the code of the slide say what it shows"

_LOOKS = """
body { background: #fff; } .reveal { font: 26px/1.35 system-ui, sans-serif; color: #1d1f21; }
.reveal .slides section { text-align: left; height: 100%; overflow-y: auto; }
.reveal h1 { font-size: 2em; margin: 4em 0 0.4em; }
.reveal h2 { font-size: 1.5em; margin: 0.2em 0; }
.reveal pre, .reveal code { font-size: 0.78em; } .reveal table { font-size: 0.8em; }
.reveal img { max-height: 420px; max-width: 100%; }
"""

_START = """<script src="reveal.js"></script>
<script>
Reveal.initialize({
  controls: true, progress: true, hash: true, slideNumber: true, width: 1180, height: 720
});
// What does not fit on a slide is shown smaller.
const fit = ({currentSlide: slide}) => {
  for (let size = 95; size >= 50 && slide.scrollHeight > slide.clientHeight; size -= 5) {
    for (const part of slide.children) part.style.zoom = `${size}%`;
  }
};
Reveal.on("ready", fit);
Reveal.on("slidechanged", fit);
</script>
</body>
</html>
"""
