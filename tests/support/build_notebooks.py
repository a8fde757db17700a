"""Run the notebooks in place and keep what is the same each time: `python
tests/support/build_notebooks.py [notebook ...]`.

Each notebook runs from its first cell to its last in a fresh kernel, in the folder `notebooks`.
Times and versions of the machine are taken out of the metadata, progress bars out of the outputs.
Nothing is written if a cell fails, or if an output holds a warning or a path of this machine
(`complaints`), so that what is in the folder is always whole. The cell that installs on Colab is
put in front of the others; its address is that of `Repository` under `[project.urls]`, if there is
one. `--cells` does that alone, and runs nothing.
"""

from __future__ import annotations

import re
import sys
import time
import tomllib
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

from workbench.site.hosted_notebook import INSTALL_ID, with_install_cell, without_install_cell

FOLDER = Path(__file__).parents[2] / "notebooks"

KERNEL = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}

_PATH = re.compile(r"(/home/|/root/|/tmp/|/work/|/usr/|/var/|/private/|site-packages|[A-Z]:\\\\)")
_WARNING = re.compile(r"Warning\b|Traceback")

_HARD_TO_READ = re.compile(r"\w\*\*\w|\(∅,|\(\(o, |\d{9,}/\d{9,}")
"""Powers as Python writes them, labels as tuples of tuples, fractions of a line's length."""

_NOT_SET = re.compile(r"<su[bp]>|[α-ωΓΔΘΛΠΣΦΨΩ′]")
"""Mathematics in a text that is not between dollar signs."""

MOST_LINES = 12

WIDGET = "application/vnd.jupyter.widget-view+json"


def build(path: Path) -> None:
    """Run a notebook and write it back, cleaned."""
    notebook = nbformat.from_dict(without_install_cell(nbformat.read(path, as_version=4)))
    began = time.monotonic()
    NotebookClient(
        notebook,
        timeout=300,
        kernel_name="python3",
        coalesce_streams=True,
        resources={"metadata": {"path": str(FOLDER)}},
    ).execute()
    cleaned(notebook)
    if found := complaints(notebook):
        raise SystemExit(f"{path.name} is left as it was:\n" + "\n".join(found))
    write(notebook, path)
    print(f"{path.name}: {time.monotonic() - began:.0f} seconds")


def write(notebook: Any, path: Path) -> None:
    """Write a notebook, with the cell that installs."""
    notebook = nbformat.from_dict(with_install_cell(notebook, repository()))
    nbformat.validate(notebook)
    part = path.with_name(path.name + ".part")
    nbformat.write(notebook, part)
    part.replace(path)


def repository() -> str:
    """The address of the repository, as pyproject.toml has it; empty if it has none."""
    project = tomllib.loads((FOLDER.parent / "pyproject.toml").read_text(encoding="utf-8"))
    found: str = project["project"].get("urls", {}).get("Repository", "")
    return found


def cleaned(notebook: Any) -> None:
    """Take out what differs from run to run."""
    notebook.metadata = {"kernelspec": KERNEL, "language_info": {"name": "python"}}
    for i, cell in enumerate(notebook.cells):
        cell.id = f"cell-{i:02d}"
        cell.metadata = {}
        if cell.cell_type == "code":
            cell.outputs = [output for output in cell.outputs if not _is_progress(output)]
            for output in cell.outputs:
                # A widget without its kernel shows nothing; what it shows is stored beside it.
                if "text/html" in output.get("data", {}):
                    output["data"].pop(WIDGET, None)


def _is_progress(output: Any) -> bool:
    """What a progress bar leaves behind: a widget, or lines without text."""
    if output.output_type == "display_data":
        is_bare = WIDGET in output.data and "text/html" not in output.data
        return is_bare or output.data.get("text/plain") == ""
    return output.output_type == "stream" and not output.text.strip()


def complaints(notebook: Any) -> list[str]:
    """What keeps a notebook from being committed: cells that are long or were not run, warnings,
    paths, what is hard to read."""
    found = (
        ["it keeps widgets, for which a page asks the network"]
        if "widgets" in notebook.metadata
        else []
    )
    for i, cell in enumerate(notebook.cells):
        if cell.cell_type != "code":
            words = re.sub(r"\$[^$]+\$|`[^`]*`", "", cell.source)
            if match := _NOT_SET.search(words):
                found.append(f"cell {i} writes {match[0]!r} outside $...$")
            continue
        lines = cell.source.splitlines()
        if len(lines) > MOST_LINES:
            found.append(f"cell {i} has {len(lines)} lines, more than {MOST_LINES}")
        if cell.execution_count is None and cell.get("id") != INSTALL_ID:
            found.append(f"cell {i} was not run")
        for output in cell.outputs:
            if output.output_type == "error" or output.get("name") == "stderr":
                found.append(
                    f"cell {i} shows an error or a warning: "
                    f"{output.get('text', output.get('ename'))}"
                )
            data = dict(output.get("data", {}))
            if "text/latex" in data:  # is what is shown
                del data["text/plain"]
            text = "".join([output.get("text", ""), *map(str, data.values())])
            found += [
                f"cell {i} shows {match[0]!r}"
                for match in (p.search(text) for p in (_PATH, _WARNING, _HARD_TO_READ))
                if match
            ]
    return found


if __name__ == "__main__":
    names = [name for name in sys.argv[1:] if name != "--cells"]
    for path in [Path(name) for name in names] or sorted(FOLDER.glob("*.ipynb")):
        if "--cells" in sys.argv:
            write(nbformat.read(path, as_version=4), path)
        else:
            build(path)
