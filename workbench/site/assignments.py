"""The exercises of the notebooks as assignments for nbgrader.

A notebook's cell `answer = ...` with its `check("4.1", answer)` becomes two cells: one for the
answer, which a student changes, and one that grades it, which is locked and worth a point. The
judges of the folder `exercises` travel with the notebooks, so grading needs the workbench and
nothing else.
"""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

from workbench.core.errors import WorkbenchError
from workbench.output import check_folder, write_whole
from workbench.site.hosted_notebook import without_install_cell

_CHECK = re.compile(r'check\("(\d+\.\d+)", answer\)')

SCHEMA = 3
"""The version of nbgrader's metadata."""


def assignment(notebook: dict[str, Any]) -> dict[str, Any]:
    """A notebook with its exercises marked for nbgrader.

    >>> cell = {
    ...     "cell_type": "code",
    ...     "id": "c",
    ...     "metadata": {},
    ...     "execution_count": 1,
    ...     "outputs": [],
    ...     "source": 'answer = ...  # a pair\\ncheck("4.1", answer)',
    ... }
    >>> [c["source"] for c in assignment({"cells": [cell], "metadata": {}})["cells"]]
    ['answer = ...  # a pair', 'assert check("4.1", answer).right, check("4.1", answer)']
    """
    cells: list[dict[str, Any]] = []
    for cell in without_install_cell(notebook)["cells"]:
        source = "".join(cell["source"])
        found = _CHECK.search(source) if cell["cell_type"] == "code" else None
        if found is None:
            cells.append(cell)
            continue
        number = found[1]
        name = "exercise-" + number.replace(".", "-")
        asked = source[: found.start()].rstrip()
        told = f'assert check("{number}", answer).right, check("{number}", answer)'
        cells.append(_marked(cell, asked, name, solution=True))
        cells.append(_marked(cell, told, f"{name}-graded", solution=False))
    return {**notebook, "cells": cells}


def _marked(cell: dict[str, Any], source: str, name: str, solution: bool) -> dict[str, Any]:
    about: dict[str, Any] = {
        "grade": not solution,
        "grade_id": name,
        "locked": not solution,
        "schema_version": SCHEMA,
        "solution": solution,
        "task": False,
    }
    if not solution:
        about["points"] = 1
    return {
        **cell,
        "id": name,
        "source": source,
        "outputs": [],
        "execution_count": None,
        "metadata": {"nbgrader": about},
    }


def write_assignments(root: Path, folder: Path) -> int:
    """Write every notebook with exercises as nbgrader's `source/NAME/NAME.ipynb`. Returns how many
    there are."""
    check_folder(folder)
    if any(folder.iterdir()):
        raise WorkbenchError(f"{folder} is not empty: name a new folder")
    count = 0
    for path in sorted((root / "notebooks").glob("*.ipynb")):
        text = path.read_text(encoding="utf-8")
        if not _CHECK.search(text.replace('\\"', '"')):
            continue
        target = folder / "source" / path.stem
        target.mkdir(parents=True)
        made = json.dumps(assignment(json.loads(text)), indent=1, ensure_ascii=False)
        write_whole(target / path.name, made + "\n")
        shutil.copytree(
            root / "notebooks" / "exercises",
            target / "exercises",
            ignore=shutil.ignore_patterns("__pycache__"),
        )
        count += 1
    return count
