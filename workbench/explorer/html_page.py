"""The explorer's page: models, styles and scripts put together into one HTML file that needs
nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from workbench.explorer.export import (
    MEMORIES,
    MOST_CODES,
    MOST_STATES,
    ExplorerEntry,
    export_entry,
)
from workbench.figures import memory_style
from workbench.output import write_whole

SCRIPTS = (
    "fractions.js",
    "solver.js",
    "model.js",
    "evaluator.js",
    "exact.js",
    "policies.js",
    "loop.js",
    "learners.js",
    "reader.js",
    "inquiries.js",
    "belief_values.js",
    "portrait.js",
    "links.js",
    "worker.js",
    "views.js",
    "background.js",
    "explorer.js",
    "portrait_card.js",
    "belief_card.js",
    "exercises.js",
    "laboratory.js",
)
"""In this order; those before `views.js` work without a document, and in a worker."""

CALCULATING = SCRIPTS[: SCRIPTS.index("views.js")]

MOST_POLICIES = 20_000
"""The page looks for the best deterministic policy where there are at most so many to try."""


def part(name: str) -> str:
    """The text of a file of this package."""
    return files("workbench.explorer").joinpath(name).read_text(encoding="utf-8")


def styles() -> dict[str, dict[str, str]]:
    """The colour and the dashes of each memory, as in every figure."""
    found = {}
    for name in MEMORIES:
        style = memory_style(name)
        dashes = (
            ""
            if isinstance(style["linestyle"], str)
            else " ".join(f"{2 * x:g}" for x in style["linestyle"][1])
        )
        found[name] = {"color": style["color"], "dash": dashes}
    return found


def explorer_page(entries: Iterable[ExplorerEntry], rewards: Sequence[Sequence[Any]]) -> str:
    """The page as text.

    Parameters
    ----------
    entries : the tasks.
    rewards : the table r[a1][a2] that the reward editor starts with.
    """
    data = {
        "tasks": [export_entry(entry) for entry in entries],
        "styles": styles(),
        "rewards": [[str(x) for x in row] for row in rewards],
        "most_policies": MOST_POLICIES,
        "memories": MEMORIES,
        "most_states": MOST_STATES,
        "most_codes": MOST_CODES,
    }
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    filled = part("page.html")
    for place, content in (
        ("/*explorer.css*/", part("explorer.css")),
        ("/*data*/", text),
        ("/*calculating*/", "\n".join(part(name) for name in CALCULATING)),
        ("/*scripts*/", "\n".join(part(name) for name in SCRIPTS[len(CALCULATING) :])),
    ):
        filled = filled.replace(place, content, 1)
    return filled


def write_explorer_page(
    entries: Iterable[ExplorerEntry], rewards: Sequence[Sequence[Any]], path: Path
) -> int:
    """Write the page to a file, and return its size in bytes."""
    content = explorer_page(entries, rewards).encode()
    write_whole(path, content)
    return len(content)
