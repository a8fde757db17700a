"""Drawings of grid tasks for the terminal: those that the tasks themselves are made from or
described with."""

from __future__ import annotations

import ast
import inspect
import itertools
import textwrap
from types import ModuleType

_PLANS = {
    "gravity": ("grids", "FIGURE"),
    "hallway_cookie": ("hallway", "COOKIE"),
    "hallway_keys": ("hallway", "KEYS"),
}
"""The tasks that are made from a drawing: its module in `pomdps` and its name there."""


def drawing_of(task: str) -> str:
    """The drawing of a task with its key, or "" if it is no grid.

    >>> print(drawing_of("cheese_maze"))
    0  1  2  3  4
    5     6     7
    8    10     9
    """
    import importlib

    import pomdps

    if task in _PLANS:
        place, name = _PLANS[task]
        module = importlib.import_module(f"pomdps.{place}")
        return getattr(module, name).strip("\n") + "\n" + _key(module, name)
    return _from_docstring(getattr(pomdps, task, None))


def _key(module: ModuleType, name: str) -> str:
    """The text that stands below the definition of a constant."""
    body = ast.parse(inspect.getsource(module)).body
    for node, after in itertools.pairwise(body):
        named = (
            isinstance(node, ast.Assign)
            and isinstance(node.targets[0], ast.Name)
            and node.targets[0].id == name
        )
        if named and isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
            return str(after.value.value)
    return ""


def _from_docstring(function: object) -> str:
    """The indented paragraph of a docstring, which is where the mazes are drawn."""
    for paragraph in (inspect.getdoc(function) or "").split("\n\n"):
        if paragraph.startswith("    "):
            return textwrap.dedent(paragraph)
    return ""
