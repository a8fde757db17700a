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

from workbench.core.errors import WorkbenchError

Judge = Callable[[Any], "bool | str"]

NEEDED = {
    "0.1": "a pair (o, a)",
    "0.2": "a function of m, w, o, a, r, o_next that returns {m_next: probability}",
    "1.1": "a dictionary {1: ..., 2: ..., 3: ...} of probabilities",
    "1.2": "a POMDP",
    "2.1": "a dictionary {(m, 'o'): (a, w), ...}",
    "2.2": "a function of k that returns a number",
    "3.1": "a number between 0 and 1",
    "3.2": "a pair (memory, {o: a, ...})",
    "4.1": "a pair of two fractions, such as (Fraction(1, 2), Fraction(1, 3))",
    "4.2": "three things: the first action, the second action and the new reward",
    "5.1": "a fraction, such as Fraction(1, 2)",
    "5.2": "a mapping {row: {action: probability}}",
    "6.1": "a mapping {(the cell before, the cell): action}",
    "6.2": "a number of steps",
    "7.1": "a function f(m, o, a), or a mapping {(m, o, a): w}",
    "7.2": "a POMDP",
    "8.1": "a table [[r, r], [r, r]] of whole numbers",
    "8.2": "a Memory, or the name of one such as 'O1'",
    "9.1": "an expression in gamma",
    "9.2": "a Memory(name, M=..., W=..., eta=..., Gamma=...)",
    "10.1": "the text of a sweep, as in the cell above",
    "10.2": "a set of letters, such as {'a', 'b'}",
    "11.1": "two rows of two whole numbers",
    "11.2": "a pair: a list of three actions, and the reward",
    "12.1": "two rows of two whole numbers",
    "12.2": "a number between 0 and 1",
    "13.1": "two rows of two whole numbers",
    "13.2": "two rows of two whole numbers",
    "14.1": "a mapping {row: (action, write)}",
    "14.2": "a pair: the row and the action",
    "15.1": "a mapping {(m, o): (action, write)}, as the trap is",
    "15.2": "three things: the observation, the action and the advantage",
    "16.1": "a number between 0 and 1",
    "16.2": "a whole number of steps",
}
"""What an answer to each exercise looks like."""


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
    except WorkbenchError as error:  # already in words that name what is wrong
        return Verdict(exercise, False, f"{error}. The answer is {NEEDED[exercise]}.")
    except Exception:  # Python's words about an answer of the wrong shape help nobody
        return Verdict(exercise, False, f"This has the wrong shape: {NEEDED[exercise]} is needed.")
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
