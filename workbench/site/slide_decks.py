"""Slides of the two lessons, written in Markdown and shown by reveal.js.

`docs/slides/NAME.md` holds a deck: its slides stand between lines of three dashes, the first one is
the title. Pictures lie beside it; `docs/slides/pictures.py` draws them. reveal.js comes with the
package sphinx-revealjs and is copied beside the decks, so that they need no network.
"""

from __future__ import annotations

import importlib.util
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from workbench.extras import need


@dataclass(frozen=True)
class Deck:
    """The slides of a lesson: the name of its file, and its title."""

    name: str
    title: str


DECKS = (
    Deck("do-i-need-memory", "Do I need memory?"),
    Deck("why-does-learning-get-stuck", "Why does learning get stuck?"),
)


def deck_slides(text: str) -> list[str]:
    """Split a deck into its slides.

    >>> deck_slides("# Title\\n\\n---\\n\\n## One\\n")
    ['# Title', '## One']
    """
    return [slide.strip() for slide in re.split(r"(?m)^---$", text)]


def write_slides(root: Path, folder: Path) -> None:
    """Write the decks, their pictures and reveal.js into a folder."""
    MarkdownIt = need("markdown_it", "site").MarkdownIt
    need("sphinx_revealjs", "site")
    folder.mkdir(parents=True, exist_ok=True)
    spec = importlib.util.find_spec("sphinx_revealjs")
    assert spec is not None
    assert spec.origin is not None
    bundled = Path(spec.origin).parent / "_static" / "revealjs" / "dist"
    for name in ("reveal.js", "reveal.css", "reset.css"):
        shutil.copyfile(bundled / name, folder / name)
    source = root / "docs" / "slides"
    for picture in source.glob("*.svg"):
        shutil.copyfile(picture, folder / picture.name)
    markdown = MarkdownIt("commonmark").enable("table")
    for deck in DECKS:
        slides = deck_slides((source / f"{deck.name}.md").read_text(encoding="utf-8"))
        body = "\n".join(f"<section>{markdown.render(_kept(slide))}</section>" for slide in slides)
        page = _PAGE.replace("TITLE", deck.title).replace("SLIDES", body)
        (folder / f"{deck.name}.html").write_text(page, encoding="utf-8")


def _kept(slide: str) -> str:
    """A slide in whose formulas Markdown finds nothing to set."""
    return re.sub(r"\$[^$\n]+\$", lambda formula: re.sub(r"([\\_*])", r"\\\1", formula[0]), slide)


_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>TITLE</title>
<link rel="stylesheet" href="reset.css">
<link rel="stylesheet" href="reveal.css">
<style>
body { background: #fff; }
.reveal { font: 33px/1.35 system-ui, sans-serif; color: #1d1f21; }
.reveal .slides section { text-align: left; height: 100%; }
.reveal .slides section:first-child { padding-top: 170px; }
.reveal h1 { font-size: 2.4em; font-weight: 700; margin: 0 0 0.4em; }
.reveal h2 { font-size: 1.55em; font-weight: 700; margin: 0 0 0.5em; }
.reveal p, .reveal ul, .reveal ol, .reveal table { margin: 0 0 0.6em; }
.reveal ul, .reveal ol { padding-left: 1.2em; }
.reveal li { margin-bottom: 0.3em; }
.reveal img { display: block; width: 100%; height: 440px; object-fit: contain; margin: 0 auto; }
.reveal table { border-collapse: collapse; }
.reveal th, .reveal td { padding: 0.25em 0.8em; border-bottom: 2px solid #cfd4da; }
.reveal th { font-weight: 700; text-align: left; }
.reveal math { font-size: 1.15em; }
.reveal em { font-style: italic; }
.reveal strong { font-weight: 700; }
@media print { .reveal .slides section { page-break-after: always; } }
</style>
</head>
<body>
<div class="reveal"><div class="slides">
SLIDES
</div></div>
<script src="reveal.js"></script>
<script>
Reveal.initialize({
  controls: true, progress: true, hash: true, slideNumber: true, center: false,
  width: 1180, height: 700
});
</script>
</body>
</html>
"""
