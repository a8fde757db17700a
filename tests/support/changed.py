"""Changes of JSON values in one place, for forging certificates."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any


def changes(value: Any) -> Iterator[tuple[str, Any]]:
    """Everything that can be changed in one place of a JSON value, as (what, changed value)."""
    if isinstance(value, dict):
        for key in value:
            yield f"without {key}", {k: x for k, x in value.items() if k != key}
            for what, inner in changes(value[key]):
                yield f"{key}: {what}", {**value, key: inner}
    elif isinstance(value, list):
        for i, one in enumerate(value):
            yield f"without number {i}", value[:i] + value[i + 1 :]
            yield f"twice number {i}", [*value[:i], one, *value[i:]]
            for what, inner in changes(one):
                yield f"{i}: {what}", [*value[:i], inner, *value[i + 1 :]]
    elif isinstance(value, bool):
        yield "the contrary", not value
    elif isinstance(value, int):
        yield from (("one more", value + 1), ("its negative", -value - 1))
    elif isinstance(value, str):
        try:
            number = Fraction(value)
        except ValueError:
            yield from (("another name", value + "x"), ("no name", ""), ("a number", 7))
            if "+" in value:
                yield "another sign", value.replace("+", "-", 1)
        else:
            yield from (
                ("one more", str(number + 1)),
                ("its negative", str(-number)),
                ("a little more", str(number + Fraction(1, 1000))),
                ("two", "2"),
            )
    else:
        yield "something", "something"
