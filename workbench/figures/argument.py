"""What a figure is asked to draw: results, and a word on which call makes one where something else
was given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workbench.core.errors import WrongType
from workbench.text import shorten


def require_result(figure: str, found: Any, attributes: tuple[str, ...], call: str) -> None:
    """Refuse what has not the attributes of a result; the message names the call that makes one.

    >>> require_result("q_table", 3, ("q",), "evaluate(P, pi)")
    Traceback (most recent call last):
    ...
    workbench.core.errors.WrongType: q_table draws what evaluate(P, pi) returns, not 3
    """
    if not all(hasattr(found, name) for name in attributes):
        raise WrongType(f"{figure} draws what {call} returns, not {shorten(repr(found), 100)}")


def require_results(figure: str, found: Any, attributes: tuple[str, ...], call: str) -> None:
    """The same for {name: result}."""
    if not isinstance(found, Mapping):
        raise WrongType(f"{figure} draws {{memory: {call}, ...}}, not {shorten(repr(found), 100)}")
    for one in found.values():
        require_result(figure, one, attributes, call)
