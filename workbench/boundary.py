"""Arguments of the public functions, checked against their signatures where a user calls them.

A function of the window `workbench` refuses an argument of another type than its signature says, by
its name and the argument's; functions inside the package call each other without this.

>>> from workbench import uniform
>>> uniform("recall")
Traceback (most recent call last):
...
workbench.core.errors.WrongType: uniform needs a POMDP as P, not 'recall'
"""

from __future__ import annotations

import collections.abc
import dataclasses
import functools
import inspect
import os
import reprlib
import sys
from collections.abc import Callable
from fractions import Fraction
from typing import Any, get_origin

import numpy as np

from workbench.core.errors import WrongType
from workbench.core.policy import Policy
from workbench.core.pomdp import POMDP

_LARGEST = 2**63
"""Counts from here on fit into no array, no loop and no seed."""

Test = Callable[[Any], bool]


def guard(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with a check of its arguments before each call."""
    signature = inspect.signature(function)
    tests = {
        name: (_test(str(one.annotation), function.__globals__), str(one.annotation), one.default)
        for name, one in signature.parameters.items()
        if one.annotation is not one.empty and one.kind is not one.VAR_KEYWORD
    }

    @functools.wraps(function)
    def call(*arguments: Any, **options: Any) -> Any:
        try:
            given = signature.bind(*arguments, **options).arguments
        except TypeError as error:  # Python's own words, which name the function
            raise TypeError(f"{function.__name__}() {error}") from None
        for name, (test, said, default) in tests.items():
            if name in given and given[name] is not default and not test(given[name]):
                raise WrongType(
                    f"{function.__name__} needs {_words(said)} as {name}, not "
                    f"{reprlib.repr(given[name])}"
                )
        return function(*arguments, **options)

    call.__module__ = "workbench"  # pickled as what it is reached by
    return call


def check_fields(record: Any) -> None:
    """Refuse a dataclass with a field of another type than it says."""
    names = vars(sys.modules[type(record).__module__])
    for field in dataclasses.fields(record):
        value = getattr(record, field.name)
        if not _test(str(field.type), names)(value):
            raise WrongType(
                f"{type(record).__name__} needs {_words(str(field.type))} as {field.name}, not "
                f"{reprlib.repr(value)}"
            )


def _test(annotation: str, names: dict[str, Any]) -> Test:
    """A test that a value has the annotated type. It passes where the annotation names no class."""
    tests = [_one(part, names) for part in _split(annotation, "|")]
    return lambda value: any(test(value) for test in tests)


def _one(part: str, names: dict[str, Any]) -> Test:
    kind, _, inner = part.partition("[")
    parts = [_test(one, names) for one in _split(inner.removesuffix("]"), ",") if one != "..."]
    if kind in _SIMPLE:
        return _SIMPLE[kind]
    if kind == "tuple" and "..." not in inner:
        return lambda value: (
            isinstance(value, tuple | list)
            and len(value) == len(parts)
            and all(test(x) for test, x in zip(parts, value, strict=True))
        )
    if kind in ("tuple", "Iterable", "Sequence", "Collection"):
        found = collections.abc.Iterable if kind == "tuple" else getattr(collections.abc, kind)
        return lambda value: (
            isinstance(value, found)
            # what can be looked at once only is left to the function
            and (not isinstance(value, collections.abc.Collection) or all(map(parts[0], value)))
        )
    if kind == "Mapping":
        return lambda value: (
            isinstance(value, collections.abc.Mapping) and all(map(parts[1], value.values()))
        )
    if kind in ("Path", "PathLike"):
        return lambda value: isinstance(value, os.PathLike)
    known = names.get(kind, _CORE.get(kind))  # some modules import them for the type checker only
    if kind == "Callable" or get_origin(known) is collections.abc.Callable:
        return callable
    if known is Any or not isinstance(known, type) or getattr(known, "_is_protocol", False):
        return lambda value: True
    return lambda value: isinstance(value, known)


def _split(text: str, mark: str) -> list[str]:
    """The parts between marks that stand outside of brackets.

    >>> _split("int | tuple[int | None, ...] | None", "|")
    ['int', 'tuple[int | None, ...]', 'None']
    """
    found, depth = [""], 0
    for letter in text:
        depth += (letter in "[(") - (letter in "])")
        if letter == mark and not depth:
            found.append("")
        else:
            found[-1] += letter
    return [part.strip() for part in found if part.strip()]


def _is_whole(value: Any) -> bool:
    return (
        isinstance(value, int | np.integer)
        and not isinstance(value, bool)
        and -_LARGEST <= int(value) < _LARGEST
    )


def _is_real(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float | np.number | Fraction):
        return False
    try:
        return float(value) == float(value)
    except (OverflowError, TypeError):  # TypeError: a complex number
        return False


def _is_number(value: Any) -> bool:
    """A number of any kind that models are made of, symbols included."""
    return not isinstance(value, complex | str | bytes | collections.abc.Iterable) and (
        _is_real(value) or (hasattr(value, "__mul__") and not isinstance(value, bool | int | float))
    )


_CORE = {"POMDP": POMDP, "Policy": Policy}

_SIMPLE: dict[str, Test] = {
    "None": lambda value: value is None,
    "bool": lambda value: isinstance(value, bool | np.bool_),
    "int": _is_whole,
    "float": _is_real,
    "Number": _is_number,
    "str": lambda value: isinstance(value, str),
}

_WORDS = {
    "bool": "True or False",
    "int": "a whole number",
    "float": "a number",
    "Number": "a number",
    "str": "a text",
    "None": "None",
    "PathLike[str]": "a path",
    "Path": "a path",
}


def _words(annotation: str) -> str:
    """What is asked for, in words.

    >>> _words("str | Weighting"), _words("int | None"), _words("POMDP")
    ('a text or a Weighting', 'a whole number or None', 'a POMDP')
    """
    return " or ".join(
        _WORDS.get(part, f"a{'n' if part[0] in 'AEIO' else ''} {part}")
        for part in _split(annotation, "|")
    )
