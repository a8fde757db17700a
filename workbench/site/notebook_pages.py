"""Notebooks as pages: their stored outputs, an explorer with the page's task, the file to
download."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

SETTINGS = {
    "00": "task=recall&m=OA1",
    "01": "task=t_maze&m=none",
    "02": "task=gravity&m=B1",
    "03": "task=recall&m=OA1&step=0.1",
    "04": "task=recall4&m=B1&step=0.02",
    "05": "task=recall_variant&m=OA1&step=0.02",
    "06": "task=gravity&m=O1",
    "07": "task=t_maze&m=O1",
    "08": "task=recall4&m=B1&r=5,4;0,6",
    "09": "task=load_unload&m=B1",
    "11": "task=recall4&m=B2&r=3,2;0,4",
    "12": "task=recall&m=OA1&step=0.1",
    "13": "task=recall4&m=B2&r=3,2;0,4",
    "91": "task=tiger&m=K2",
}
"""What the explorer shows beside each notebook, by its number."""


def embedded_explorer(setting: str) -> str:
    """The explorer in a frame that loads when it is unfolded."""
    address = f"../explorer.html#{setting}&embed=1"
    return (
        '<details class="try"><summary>Try it: this task in the explorer</summary>'
        f'<iframe title="explorer" loading="lazy" src="{address}"></iframe>'
        f'<p><a href="../explorer.html#{setting}">Open it in full</a></p></details>'
    )


def notebook_source(text: str, name: str) -> str:
    """The notebook that Sphinx reads: as it is, with the explorer and the download after its first
    words."""
    notebook: dict[str, Any] = json.loads(text)
    words = f"{{download}}`This notebook <../originals/{name}>`, with its outputs as stored."
    setting = SETTINGS.get(name[:2])
    if setting is not None:
        words += f"\n\n{embedded_explorer(setting)}"
    cell = {"cell_type": "markdown", "id": "site", "metadata": {}, "source": words}
    notebook["cells"].insert(1, cell)
    return json.dumps(notebook, ensure_ascii=False)


def write_notebook_pages(root: Path, source: Path) -> list[str]:
    """Write the sources of all notebooks; the names of the pages, in order."""
    pages = []
    (source / "notebooks").mkdir(parents=True)
    (source / "originals").mkdir()
    for path in sorted((root / "notebooks").glob("*.ipynb")):
        text = path.read_text(encoding="utf-8")
        (source / "originals" / path.name).write_text(text, encoding="utf-8")
        page = notebook_source(text, path.name)
        (source / "notebooks" / path.name).write_text(page, encoding="utf-8")
        pages.append(path.stem)
    return pages
