"""Notebooks as pages: their stored outputs, an explorer with the page's task, the file to
download."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from workbench.site.hosted_notebook import hosted_links, with_install_cell, without_install_cell

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
    "10": "task=gravity&m=B1",
    "11": "task=recall4&m=B2&r=3,2;0,4",
    "12": "task=recall&m=OA1&step=0.1",
    "13": "task=recall4&m=B2&r=3,2;0,4",
    "14": "task=invisible_door&m=O1",
    "15": "task=recall4&m=B1&r=5,4;0,6",
    "16": "task=recall&m=OA1&step=0.1",
    "17": "task=tiger&m=B1",
    "18": "task=t_maze&m=O1",
    "90": "task=recall4&m=B1",
    "91": "task=tiger&m=K2",
    "92": "task=sutton_grid&m=none",
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


def notebook_source(text: str, name: str, repository: str = "") -> str:
    """The notebook that Sphinx reads. After its first words come the explorer, the download and
    links to where it can be run. Cells that install the workbench elsewhere are left out."""
    notebook: dict[str, Any] = without_install_cell(json.loads(text))
    words = f"{{download}}`This notebook <../originals/{name}>`, with its outputs as stored."
    links = hosted_links(repository, f"notebooks/{name}")
    if links:
        words += f" Run it on {' or '.join(f'[{place}]({to})' for place, to in links.items())}."
    setting = SETTINGS.get(name[:2])
    if setting is not None:
        words += f"\n\n{embedded_explorer(setting)}"
    cell = {"cell_type": "markdown", "id": "site", "metadata": {}, "source": words}
    notebook["cells"].insert(1, cell)
    return json.dumps(notebook, ensure_ascii=False)


def write_notebook_pages(root: Path, source: Path, repository: str = "") -> list[str]:
    """Write the sources of all notebooks. Returns the names of the pages, in order.

    Parameters
    ----------
    repository : the address from which Binder and Colab take the notebooks, and which the cell that
        installs has in the notebooks to download; without one there are no such links.
    """
    pages = []
    (source / "notebooks").mkdir(parents=True)
    (source / "originals").mkdir()
    for path in sorted((root / "notebooks").glob("*.ipynb")):
        text = path.read_text(encoding="utf-8")
        (source / "originals" / path.name).write_text(
            _stored(text, repository) if repository else text, encoding="utf-8"
        )
        page = notebook_source(text, path.name, repository)
        (source / "notebooks" / path.name).write_text(page, encoding="utf-8")
        pages.append(path.stem)
    return pages


def _stored(text: str, repository: str) -> str:
    """A notebook as Jupyter stores it, which installs from an address."""
    made = with_install_cell(json.loads(text), repository)
    return json.dumps(made, indent=1, ensure_ascii=False) + "\n"
