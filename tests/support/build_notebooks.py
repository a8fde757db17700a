"""Run the notebooks in place and keep what is the same each time: `python
tests/support/build_notebooks.py [notebook ...]`.

Each notebook runs from its first cell to its last in a fresh kernel, in the folder `notebooks`.
Times and versions of the machine are taken out of the metadata, progress bars out of the outputs.
Nothing is written if a cell fails, or if an output holds a warning or a path of this machine
(`complaints`), so that what is in the folder is always whole.
"""

from __future__ import annotations

import re
import sys
import time
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

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
    notebook = nbformat.read(path, as_version=4)
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
    nbformat.validate(notebook)
    part = path.with_name(path.name + ".part")
    nbformat.write(notebook, part)
    part.replace(path)
    print(f"{path.name}: {time.monotonic() - began:.0f} seconds")


def cleaned(notebook: Any) -> None:
    """Take out what differs from run to run."""
    notebook.metadata = {"kernelspec": KERNEL, "language_info": {"name": "python"}}
    for i, cell in enumerate(notebook.cells):
        cell.id = f"cell-{i:02d}"
        cell.metadata = {}
        if cell.cell_type == "code":
            cell.outputs = [output for output in cell.outputs if not _is_progress(output)]
            for output in cell.outputs:
                # A widget without its kernel shows nothing; what it shows is stored as HTML beside it.
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
    found = []
    for i, cell in enumerate(notebook.cells):
        if cell.cell_type != "code":
            words = re.sub(r"\$[^$]+\$|`[^`]*`", "", cell.source)
            if match := _NOT_SET.search(words):
                found.append(f"cell {i} writes {match[0]!r} outside $...$")
            continue
        lines = cell.source.splitlines()
        if len(lines) > MOST_LINES:
            found.append(f"cell {i} has {len(lines)} lines, more than {MOST_LINES}")
        if cell.execution_count is None:
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
    for path in [Path(name) for name in sys.argv[1:]] or sorted(FOLDER.glob("*.ipynb")):
        build(path)
