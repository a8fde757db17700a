"""A task as a record: how to make it, what it is, where it comes from, how to draw it, and what is
known about it.

To add a task, decorate the function that makes it, in any module of this folder:

    @task(title="Guess a coin", text="...", source="...", known={"best": Fraction(1, 2)})
    def coin(gamma: Number = 1) -> POMDP:
        ...

`pomdps.coin` is then that function and `pomdps.TASKS["coin"]` its record; `workbench list`, `show`
and every other command know it by its name.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ParamSpec

from pomdps.drawing import Drawing
from workbench.core.errors import ModelError
from workbench.core.pomdp import POMDP

Parameters = ParamSpec("Parameters")


@dataclass(frozen=True, eq=False)
class Task:
    """What there is to know about one task.

    Attributes
    ----------
    make : the function that makes its POMDP; it needs no argument.
    title : one line; text : states, actions and rewards in a few sentences.
    source : where it was described first.
    known : sizes and answers by name, numbers or functions of the task's parameters. `best` is the
        best history-based value.
    drawing : of tasks on a grid.
    extra : the optional extra of the package that it needs.
    """

    make: Callable[..., POMDP]
    title: str
    text: str
    source: str
    known: Mapping[str, Any] = field(default_factory=dict)
    drawing: Drawing | None = None
    extra: str = ""

    @property
    def name(self) -> str:
        """The name of the function, by which commands know the task."""
        return self.make.__name__

    def __repr__(self) -> str:
        return f"Task {self.name}: {self.title}"


TASKS: dict[str, Task] = {}
"""Every task by its name, in alphabetical order once `pomdps` is imported."""


def task(
    title: str,
    text: str,
    source: str,
    known: Mapping[str, Any] | None = None,
    drawing: Drawing | None = None,
    extra: str = "",
) -> Callable[[Callable[Parameters, POMDP]], Callable[Parameters, POMDP]]:
    """The decorator that enters a function into `TASKS`, with the attributes of `Task`."""

    def enter(make: Callable[Parameters, POMDP]) -> Callable[Parameters, POMDP]:
        record = Task(make, title, text, source, known or {}, drawing, extra)
        if record.name in TASKS:
            raise ModelError(f"two tasks are called {record.name}")
        for parameter in inspect.signature(make).parameters.values():
            if parameter.default is parameter.empty:
                raise ModelError(f"{record.name} needs a default for {parameter.name}")
        TASKS[record.name] = record
        return make

    return enter
