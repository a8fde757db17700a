"""The sheet for instructors: every exercise with a right answer, and the replies to answers that
are nearly right."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workbench.text import escape_html


@dataclass(frozen=True)
class Solutions:
    """Right and wrong answers to the exercises of a notebook, by the number of the exercise."""

    right: Mapping[int, list[Any]]
    wrong: Mapping[int, list[Any]]


def exercise_texts(notebook: dict[str, Any]) -> dict[str, str]:
    """What each exercise of a notebook asks, by its number such as "4.1"."""
    found: dict[str, str] = {}
    for cell in notebook["cells"]:
        if cell["cell_type"] != "markdown":
            continue
        parts = re.split(r"(?m)^\*\*(\d+\.\d+)\*\* ", "".join(cell["source"]))
        for number, text in zip(parts[1::2], parts[2::2], strict=True):
            found[number] = re.split(r"(?m)^#", text)[0].strip()
    return found


def instructor_sheet(
    root: Path,
    solutions: Mapping[str, Solutions],
    judge: Callable[[str, Any], tuple[bool | None, str]],
) -> str:
    """The sheet as Markdown.

    Parameters
    ----------
    solutions : by the number of the notebook, such as "04".
    judge : says whether an answer to an exercise is right, and why not.
    """
    parts = [_HEAD]
    for path in sorted((root / "notebooks").glob("*.ipynb")):
        known = solutions.get(path.name[:2])
        if known is None:
            continue
        notebook = json.loads(path.read_text(encoding="utf-8"))
        title = re.search(r"(?m)^# (.+)$", "".join(notebook["cells"][0]["source"]))
        name = title[1] if title else path.stem
        parts.append(f"## {int(path.name[:2])}. {name}")
        for number, text in exercise_texts(notebook).items():
            parts.append(_exercise(number, text, known, judge))
    return "\n\n".join(parts) + "\n"


def _exercise(
    number: str, text: str, known: Solutions, judge: Callable[[str, Any], tuple[bool | None, str]]
) -> str:
    nth = int(number.split(".")[1])
    right = known.right[nth][0]
    said = []
    for answer in known.wrong[nth][:4]:
        _, reason = judge(number, answer)
        said.append(f"<li><code>{_answer(answer)}</code>: {escape_html(reason)}</li>")
    mistakes = f"<p>Near misses, and what the exercise says:</p><ul>{''.join(said)}</ul>"
    folded = (
        f'<details class="exercise"><summary>Solution of {number}</summary>'
        f"<p><code>{_answer(right)}</code></p>{mistakes}</details>"
    )
    return f"**{number}** {text}\n\n{folded}"


def _answer(answer: Any) -> str:
    text = re.sub(r"\s+", " ", repr(answer))
    return escape_html(text if len(text) < 400 else text[:400] + " …")


_HEAD = """# For instructors

A solution of every exercise, and common wrong answers with the reply that students see. In a
notebook `check("4.1", answer)` judges any
answer. `workbench exercises -o course` writes the notebooks as assignments for nbgrader, and
`workbench exercises --solutions FILE` writes this sheet."""
