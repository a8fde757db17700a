"""The checks behind the exercises of the notebooks: `check("4.1", answer)` says right or wrong, and
why.

The exercises of notebook NN are the functions `exercise_1` and `exercise_2` of
`exercises.notebook_NN`. Each takes an answer and returns True, or a sentence that says what is
wrong with it without giving the solution away. An answer that is still `...` is not judged.
"""

from __future__ import annotations

import html
import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Judge = Callable[[Any], "bool | str"]


@dataclass(frozen=True)
class Verdict:
    """What is said about an answer; `right` is None if there is none yet."""

    exercise: str
    right: bool | None
    reason: str = ""

    def __repr__(self) -> str:
        said = {True: "right.", False: "wrong.", None: "put your answer in place of the dots."}[
            self.right
        ]
        return " ".join(filter(None, [f"Exercise {self.exercise}: {said}", self.reason]))

    def _repr_html_(self) -> str:
        sign = {True: "✓", False: "✗", None: "…"}[self.right]
        return f"<p><b>{sign}</b> {html.escape(repr(self))}</p>"


def check(exercise: str, answer: Any) -> Verdict:
    """Judge the answer to an exercise, `"4.1"` for the first one of notebook 04.

    >>> check("1.1", ...)
    Exercise 1.1: put your answer in place of the dots.
    """
    judge = judge_of(exercise)
    if answer is ...:
        return Verdict(exercise, None)
    try:
        found = judge(answer)
    except Exception as error:  # whatever an answer of the wrong kind leads to is an answer to it
        return Verdict(exercise, False, f"It cannot be judged: {type(error).__name__}: {error}")
    return Verdict(exercise, found is True, found if isinstance(found, str) else "")


def judge_of(exercise: str) -> Judge:
    """The function that judges an exercise."""
    notebook, _, number = exercise.partition(".")
    try:
        module = importlib.import_module(f"exercises.notebook_{int(notebook):02d}")
        judge: Judge = getattr(module, f"exercise_{int(number)}")
    except (ValueError, ModuleNotFoundError, AttributeError):
        raise ValueError(
            f"there is no exercise {exercise!r}: say '4.1' for the first one of notebook 04"
        ) from None
    return judge
