"""Pages that people wrote: the front page, how-tos, the glossary."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path

from workbench.explorer.html_page import part
from workbench.site.material import Material
from workbench.site.slide_decks import DECKS

LESSONS = (
    "00",
    "01",
    "02",
    "03",
    "04",
    "05",
    "06",
    "07",
    "08",
    "09",
    "11",
    "12",
    "13",
    "14",
    "16",
    "17",
)

EXPLANATIONS = ("core", "field", "findings", "benchmarks", "section-6-rules", "stability")
"""Pages that say why and how well; the others of `docs` say how, and are listed as how-tos."""

_TRAP_NEEDS = (
    "fractions.js",
    "solver.js",
    "model.js",
    "evaluator.js",
    "policies.js",
    "loop.js",
    "views.js",
)


def resource(name: str) -> str:
    """The text of a file of this package."""
    return files("workbench.site").joinpath(name).read_text(encoding="utf-8")


def write_text_pages(material: Material, source: Path, notebooks: list[str]) -> None:
    """Write the front page and copy the pages of `docs`."""
    docs, sheet = source / "docs", bool(material.solutions)
    docs.mkdir(parents=True)
    for path in sorted((material.root / "docs").glob("*.md")):
        text = without_dead_links(path.read_text(encoding="utf-8"), material.root / "docs")
        (docs / path.name).write_text(text, encoding="utf-8")
    pages = [path.stem for path in sorted((material.root / "docs").glob("*.md"))]
    lessons = [name for name in notebooks if name[:2] in LESSONS]
    others = [name for name in notebooks if name[:2] not in LESSONS]
    picture = material.root / "docs" / "idea.svg"
    if picture.exists():
        (docs / "idea.svg").write_bytes(picture.read_bytes())
    (source / "lessons.md").write_text(_LESSONS + _toctree(notebooks, "notebooks/", lessons))
    plans = [page for page in pages if page.startswith(("lesson-", "handout-"))]
    known = [page for page in pages if page not in ("glossary", "census") and page not in plans]
    lesson_list = "".join(
        f"\n- **{deck.title}** [Plan](docs/lesson-{deck.name}.md), "
        f'<a href="slides/{deck.name}.html">slides</a>, [handout](docs/handout-{deck.name}.md)'
        for deck in DECKS
        if f"lesson-{deck.name}" in plans
    )
    solved = ["instructors"] if sheet else []
    (source / "teaching.md").write_text(
        _TEACHING
        + f"{lesson_list}\n"
        + ("- [Solutions of all exercises](instructors.md)\n" if sheet else "")
        + _list([*(f"docs/{plan}" for plan in plans), *solved], hidden=True)
    )
    why = [f"docs/{page}" for page in known if page in EXPLANATIONS]
    how = [f"docs/{page}" for page in known if page not in EXPLANATIONS]
    (source / "howto.md").write_text(
        _HOWTO + _list([*how, *(f"notebooks/{name}" for name in others)])
    )
    (source / "explanation.md").write_text(_EXPLANATION + _list(why))
    front = resource("front.html").replace("\n\n", "\n")
    glossary = ["docs/glossary"] if "glossary" in pages else []
    census = ["docs/census"] if "census" in pages else []
    listed = ["lessons", "teaching", "ledger/index", "gallery/index", "figures/index"]
    (source / "index.md").write_text(
        resource("front.md").replace("TRAP", front)
        + _list(
            [*listed, *census, "howto", "reference/index", "explanation", *glossary], hidden=True
        )
    )


def front_scripts() -> str:
    """The scripts of the front page: the explorer's, as far as they need no controls, and the
    trap's."""
    return "\n".join([*(part(name) for name in _TRAP_NEEDS), resource("trap.js")])


def without_dead_links(text: str, folder: Path) -> str:
    """A page with links to what the site has not (folders, programs) turned into plain words."""

    def checked(match: re.Match[str]) -> str:
        words, target = match[1], match[2].split("#")[0]
        alive = target.startswith(("http:", "https:")) or (
            target.endswith((".md", ".ipynb", ".svg"))
            and (folder / target).is_file()
            and (folder / target).resolve().parent.name in ("docs", "notebooks")
        )
        return match[0] if alive or not target else words

    return re.sub(r"(?<!!)\[([^\]]+)\]\(([^)]+)\)", checked, text)


def _list(names: list[str], hidden: bool = False) -> str:
    option = ":hidden:\n" if hidden else ":maxdepth: 1\n"
    return "\n```{toctree}\n" + option + "\n" + "\n".join(names) + "\n```\n"


def _toctree(notebooks: list[str], folder: str, chosen: list[str]) -> str:
    return _list([f"{folder}{name}" for name in notebooks if name in chosen])


_LESSONS = """# Lessons

Each lesson asks one question, answers it on the smallest case, and confirms the answer a second
way. The first lines say how long it takes and what to read before. Exercises are at the end of a
page; in the
notebook they are checked at once.
"""

_TEACHING = """# Teaching

Two lessons of 90 minutes. Each has a plan with times and the mistakes to expect, slides for a
projector (arrow keys turn them, `f` fills the screen), and a one-page handout to print. The
explorer has exercises that it checks
itself, so a phone is enough for work in pairs. `workbench exercises` writes the notebooks'
exercises as assignments for nbgrader; `workbench exercises --solutions FILE` writes all
solutions.
"""

_HOWTO = """# How-tos

Which function answers your question, how to write or bring a model, run many cells, train networks
and build this site. At the end come recipes.
"""

_EXPLANATION = """# Explanation

What the code does and why, what the field and our own searches found, how fast it is, and what you
can rely on.
"""
