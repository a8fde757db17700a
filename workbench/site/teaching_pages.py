"""The sheet for instructors: every exercise with a right answer, and the replies to answers that
are nearly right."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workbench.progress import Waiting
from workbench.text import escape_html


@dataclass(frozen=True)
class Solutions:
    """Right and wrong answers to the exercises of a notebook, by the number of the exercise.

    `source` is the code that makes them.
    """

    right: Mapping[int, list[Any]]
    wrong: Mapping[int, list[Any]]
    source: str = ""


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
    with Waiting("judging answers") as waiting:
        for path in sorted((root / "notebooks").glob("*.ipynb")):
            known = solutions.get(path.name[:2])
            if known is None:
                continue
            notebook = json.loads(path.read_text(encoding="utf-8"))
            title = re.search(r"(?m)^# (.+)$", "".join(notebook["cells"][0]["source"]))
            name = title[1] if title else path.stem
            parts.append(f"## {int(path.name[:2])}. {name}")
            for number, text in exercise_texts(notebook).items():
                waiting.tell(f"exercise {number}")
                parts.append(_exercise(number, text, known, judge))
    return "\n\n".join(parts) + "\n"


def _exercise(
    number: str, text: str, known: Solutions, judge: Callable[[str, Any], tuple[bool | None, str]]
) -> str:
    nth = int(number.split(".")[1])
    right = _answer(known.right[nth][0], known.source, ("RIGHT", nth, 0))
    said = []
    for i, answer in enumerate(known.wrong[nth][:4]):
        _, reason = judge(number, answer)
        shown = _answer(answer, known.source, ("WRONG", nth, i))
        said.append(f"<li>{shown}: {escape_html(reason)}</li>")
    mistakes = f"<p>Near misses, and what the exercise says:</p><ul>{''.join(said)}</ul>"
    folded = (
        f'<details class="exercise"><summary>Solution of {number}</summary>'
        f"<div>{right}</div>{mistakes}</details>"
    )
    return f"**{number}** {text}\n\n{folded}"


def _answer(answer: Any, source: str, place: tuple[str, int, int]) -> str:
    """An answer as HTML. Of a function, a task or a memory the code is shown: its repr tells
    nothing."""
    text = re.sub(r"\s+", " ", repr(answer))
    lines = answer.strip() if isinstance(answer, str) and "\n" in answer else ""
    if source and re.search(r" at 0x|^(POMDP|Memory) ", text):
        lines = answer_code(source, *place)
    if lines:
        lines = re.sub(r"\n\s*\n", "\n", lines)  # an empty line ends HTML in Markdown
        return f"<pre>{escape_html(lines)}</pre>"
    return f"<code>{escape_html(text if len(text) < 400 else text[:400] + ' …')}</code>"


def answer_code(source: str, table: str, nth: int, i: int) -> str:
    """The code of an answer in a module of solutions, with the definitions that it uses.

    >>> answer_code("def f(x):\\n    return x\\n\\nRIGHT = {1: [f, 2]}", "RIGHT", 1, 0)
    'def f(x):\\n    return x'
    """
    defined: dict[str, ast.stmt] = {}
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef):
            defined[node.name] = node
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            defined[node.targets[0].id] = node
    answers: Any = defined[table]
    at = [key.value for key in answers.value.keys].index(nth)
    answer = answers.value.values[at].elts[i]
    used, open_ = dict[str, None](), [answer]
    while open_:
        for name in ast.walk(open_.pop()):
            if isinstance(name, ast.Name) and name.id in defined and name.id not in used:
                used[name.id] = None
                open_.append(defined[name.id])
    parts: list[ast.AST] = [node for name, node in defined.items() if name in used]
    parts += [] if isinstance(answer, ast.Name) else [answer]
    return "\n".join(ast.get_source_segment(source, part) or "" for part in parts)


_HEAD = """# For instructors

A solution of every exercise, and common wrong answers with the reply that students see. In a
notebook `check("4.1", answer)` judges any
answer. `workbench exercises -o course` writes the notebooks as assignments for nbgrader, and
`workbench exercises --solutions FILE` writes this sheet."""
