"""Functions that a user wrote, and the labels that a walk meets when it asks them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.core.errors import ModelError, TooLarge, UnknownLabel, WorkbenchError, WrongType
from workbench.core.numbers import Number, number
from workbench.core.space import Label, Space
from workbench.text import shorten, show


class Asked:
    """A function that a user wrote: p, omega, Gamma, .... Errors name its arguments.

    >>> Asked(lambda s, a: {}[s], "p(. | s={}, a={})")(2, "up")
    Traceback (most recent call last):
    ...
    workbench.core.errors.ModelError: p(. | s=2, a=up) raised KeyError: 2
    """

    def __init__(
        self, function: Any, form: str, keys: str = "label", members: str = "members", of: str = ""
    ):
        self.function, self.form, self.of = function, form, of
        self.keys, self.members = keys, members

    def at(self, *labels: Label) -> str:
        """The name of one of its values."""
        return self.form.format(*map(show, labels)) + self.of

    def __call__(self, *labels: Label) -> Any:
        try:
            return self.function(*labels)
        except WorkbenchError:
            raise  # it names what is wrong already
        except Exception as error:
            raise ModelError(
                f"{self.at(*labels)} raised {type(error).__name__}: {error}"
            ) from error

    def outcomes(self, *labels: Label) -> list[tuple[Any, Number]]:
        """A distribution that it returns, without what has probability zero."""
        found = self(*labels)
        if not isinstance(found, Mapping):
            raise WrongType(
                f"{self.at(*labels)} must be a distribution {{{self.keys}: probability}}, not "
                f"{found!r}"
            )
        likely = [(x, prob) for x, prob in found.items() if self.number(prob, *labels) != 0]
        if not likely:
            raise ModelError(f"{self.at(*labels)} has no {self.members}")
        return likely

    def number(self, x: Number, *labels: Label) -> Number:
        """A number as it is given, or an error that says where something else was."""
        if type(x) in (int, float, Fraction):
            return x
        try:
            return number(x)
        except WrongType as error:
            raise WrongType(f"{self.at(*labels)}: {error}") from None

    def choice(self, A: Space, *labels: Label) -> NDArray[np.bool_]:
        """The mask of the members of A in a set that it returns."""
        found = self(*labels)
        if isinstance(found, str) or not isinstance(found, Iterable):
            raise WrongType(f"{self.at(*labels)} must be a set of labels, not {found!r}")
        mask = np.zeros(len(A), dtype=bool)
        for a in found:
            if a not in A:
                raise UnknownLabel(f"{self.at(*labels)}: {A._unknown(a)}")
            mask[A.index(a)] = True
        if not mask.any():
            raise ModelError(f"{self.at(*labels)} is empty: something has to be allowed")
        return mask


def require_function(name: str, f: Any, returns: str) -> None:
    """Refuse what cannot be asked."""
    if not callable(f):
        raise WrongType(f"{name} must be a function that returns {returns}, not {f!r}")


_START = Asked(None, "the start")


class Met:
    """Labels in the order they are met, or a declared set that admits no others."""

    def __init__(
        self,
        declared: Iterable[Label] | None,
        limit: float = math.inf,
        refusal: tuple[str, str] = ("", ""),
    ):
        self.limit, self.refusal = limit, refusal
        self.declared = None if declared is None else Space(declared)
        self.labels: list[Label] = list(self.declared or ())
        self.places = {label: i for i, label in enumerate(self.labels)}

    def __contains__(self, label: Label) -> bool:
        return self.declared is None or label in self.declared

    def __getitem__(self, place: int) -> Label:
        return self.labels[place]

    def index(self, label: Label, asked: Asked = _START, *labels: Label) -> int:
        """The place of a label in a value of a function."""
        try:
            place = self.places.setdefault(label, len(self.labels))
        except TypeError:
            raise WrongType(f"{asked.at(*labels)}: label {label!r} is not hashable") from None
        if place == len(self.labels):
            if self.declared is not None:
                raise UnknownLabel(f"{asked.at(*labels)}: {self.declared._unknown(label)}")
            if len(self.labels) >= self.limit:
                raise TooLarge(_short(label).join(self.refusal))
            self.labels.append(label)
        return place

    def space(self) -> Space:
        return self.declared or Space(self.labels)


def _short(label: Label) -> str:
    try:
        return shorten(show(label))
    except ValueError:  # Python does not write numbers of thousands of digits
        return f"of very long numbers ({type(label).__name__})"
