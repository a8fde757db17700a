"""Statements about a task that a search looks for, each judged twice: quickly in floats, then
exactly in rationals.

A statement gives a task a *score* in floats, positive where it seems to hold; the score leads a
search uphill. What seems to hold is then decided by `exactly`, which computes in rationals and
returns a `Verdict`: yes, no or undecided, with the numbers that it found and a certificate where
there is one. A search reports nothing that was not confirmed.

Each statement says which symmetries leave its answer alone for certain (`symmetries`). A statement
of one's own is a Python function of the task, or of the task with a memory and a policy:

>>> from workbench.lab.sequences import SequenceTasks
>>> from workbench.lab.search import search
>>> def needs_two_actions(P, E, pi):  # the task, the task with the memory, the uniform policy of it
...     from workbench import best_memoryless
...
...     return best_memoryless(E, exact=True).value > best_memoryless(P, exact=True).value
>>> search(
...     needs_two_actions,
...     over=SequenceTasks(length=2, actions=2, lowest=0, highest=1),
...     memory="B1",
...     keep=1,
... )[0].rewards
[[0, 0], [1, 0]]
"""

from __future__ import annotations

import inspect
import reprlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.core.augment import augment
from workbench.core.errors import TooLarge, UnknownLabel, WorkbenchError, WrongType
from workbench.core.oracle_loop import UNANSWERED
from workbench.core.policy import uniform
from workbench.core.pomdp import POMDP
from workbench.lab.spaces import Codes, TaskSpace
from workbench.memories import attach, parse_memory
from workbench.text import did_you_mean, shorten

UNJUDGED = (*UNANSWERED, TooLarge)
"""What a statement may raise on a task: the search counts it as undecided and goes on."""

RELABELLINGS = ("states", "observations", "actions")

NO = -np.inf
"""The score of a task on which there is nothing to climb."""

CLEARLY = 1e-9
"""What a score has to be at least, as a share of the largest reward. Scores only say which tasks
are worth the exact look that decides; a find never rests on them."""


def largest_reward(P: POMDP) -> float:
    """The largest absolute reward, above 0, so that scores can be shares of it."""
    return max(1e-300, *(abs(float(r)) for r in P.R))


def listed(names: Sequence[str]) -> str:
    """Names in a sentence: B1, or B1 and B2, or B1, B2 and B3."""
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


@dataclass(frozen=True)
class Verdict:
    """An exact answer.

    Attributes
    ----------
    holds : yes, no, or None if it could not be decided.
    facts : what was computed, by name, as text: numbers are fractions.
    certificates : JSON objects that `gallery.recheck` verifies.
    """

    holds: bool | None
    facts: Mapping[str, str] = field(default_factory=dict)
    certificates: tuple[dict[str, Any], ...] = ()


class Statement(ABC):
    """A statement about a task. Subclasses are frozen dataclasses whose fields are its
    parameters."""

    name: str
    """As the command line calls it."""

    about: str
    """One line for a list of statements."""

    @abstractmethod
    def sentence(self) -> str:
        """The statement in words, with its parameters."""

    @abstractmethod
    def score(self, P: POMDP) -> float:
        """The score of a task in floats: positive where the statement seems to hold, and larger by
        margin. NaN if it cannot be judged."""

    @abstractmethod
    def exactly(self, P: POMDP) -> Verdict:
        """In rationals: whether it holds."""

    def symmetries(self, space: TaskSpace) -> tuple[str, ...]:
        """The symmetries of a space that leave the answer alone, whatever the task."""
        return (*RELABELLINGS, "scale")

    def read_memories(self, *keys: str) -> None:
        """Make parameters that hold one memory's name, or several, tuples of names that are known.
        The first is not empty."""
        for key in keys:
            given = getattr(self, key)
            names = (given,) if isinstance(given, str) else tuple(given)
            object.__setattr__(self, key, names)
            for each in names:
                parse_memory(each)
        if not getattr(self, keys[0]):
            raise WorkbenchError(f"{self.name} needs a memory to be about")

    def scores(self, space: TaskSpace, codes: Codes) -> NDArray[np.float64]:
        """The scores of several tasks of a space."""
        return np.array([self._or_nan(space.task(tuple(code))) for code in codes.tolist()])

    def _or_nan(self, P: POMDP) -> float:
        try:
            return self.score(P)
        except UNJUDGED:
            return np.nan

    def is_batched(self, space: TaskSpace) -> bool:
        """Whether `scores` judges thousands of tasks at once."""
        return False

    def settings(self) -> dict[str, Any]:
        """Name and parameters as JSON values."""
        values: dict[str, Any] = asdict(self)  # type: ignore[call-overload]
        return {"name": self.name, **{key: _json(value) for key, value in values.items()}}

    def __str__(self) -> str:
        return self.sentence()


def _json(value: Any) -> Any:
    if isinstance(value, Fraction):
        return str(value)
    if isinstance(value, tuple | list):
        return [_json(x) for x in value]
    return value


# ---------------------------------------------------------------------- a statement of one's own


@dataclass(frozen=True)
class Predicate(Statement):
    """A Python function as a statement. It gets what its parameters are called.

        P   the task      memory   the memory, attached      E   the task with the memory
        pi  the uniform policy of E, or what `policy(E)` returns

    It may return a truth value, a number (positive where the statement holds, so that a search can
    climb) or a `Verdict`.
    """

    holds: Callable[..., Any]
    memory: str = "none"
    policy: Callable[[POMDP], Any] = uniform
    name = "predicate"
    about = "a Python function of one's own"

    def __post_init__(self) -> None:
        asked = list(inspect.signature(self.holds).parameters)
        if unknown := [x for x in asked if x not in ("P", "memory", "E", "pi")]:
            if len(asked) == 1:
                object.__setattr__(self, "_asked", None)
                return
            raise WrongType(f"a predicate may ask for P, memory, E and pi, not for {unknown[0]}")
        object.__setattr__(self, "_asked", asked)

    def sentence(self) -> str:
        text = inspect.getdoc(self.holds) or str(getattr(self.holds, "__name__", "a predicate"))
        return text.split("\n")[0]

    def symmetries(self, space: TaskSpace) -> tuple[str, ...]:
        """None: what a function looks at is not known."""
        return ()

    def settings(self) -> dict[str, Any]:
        name = getattr(self.holds, "__qualname__", "predicate")
        try:
            source = inspect.getsource(self.holds)
        except (OSError, TypeError):
            source = ""
        return {"name": self.name, "function": name, "source": source, "memory": self.memory}

    def _ask(self, P: POMDP) -> Any:
        asked: list[str] | None = self._asked  # type: ignore[attr-defined]
        if asked is None:
            return self.holds(P)
        given: dict[str, Any] = {"P": P}
        if set(asked) & {"memory", "E", "pi"}:
            given["memory"] = attach(self.memory, P)
        if set(asked) & {"E", "pi"}:
            given["E"] = augment(P, given["memory"])
        if "pi" in asked:
            given["pi"] = self.policy(given["E"])
        return self.holds(**{name: given[name] for name in asked})

    def score(self, P: POMDP) -> float:
        found = self._ask(P)
        if isinstance(found, Verdict):
            return np.nan if found.holds is None else (1.0 if found.holds else NO)
        if isinstance(found, bool | np.bool_):
            return 1.0 if found else NO
        return float(found)

    def exactly(self, P: POMDP) -> Verdict:
        """What the function says of the task in fractions: as exact as the function itself."""
        found = self._ask(P)
        if isinstance(found, Verdict):
            return found
        return Verdict(bool(found > 0) if not isinstance(found, bool | np.bool_) else bool(found))


# ---------------------------------------------------------------------- statements by name


def statements() -> dict[str, type[Statement]]:
    """The statements that have a name."""
    from workbench.lab import (
        equilibrium_statements,
        loop_statements,
        memory_statements,
        value_statements,
    )

    found: list[type[Statement]] = [
        loop_statements.OracleStuck,
        loop_statements.LargerDoesWorse,
        loop_statements.OracleChatters,
        memory_statements.EncodesOptimum,
        value_statements.TDGreedyLeaves,
        value_statements.GreedyLowers,
        value_statements.ZeroDiscrepancy,
        value_statements.ExpressiveNotByBound,
        value_statements.BoundNotExpressive,
        equilibrium_statements.NoFixedPoint,
        equilibrium_statements.OnlyWorstFixedPoint,
        equilibrium_statements.SeveralFixedPoints,
        memory_statements.MoreLocalOptima,
    ]
    return {one.name: one for one in found}


def as_statement(what: Any, **parameters: Any) -> Statement:
    """The statement that a name, a function or a statement stands for.

    >>> print(as_statement("oracle-stuck", memory="B1", but_not=["OA1"]))
    From the uniform policy the oracle loop with B1 ends below the best memoryless value, and with
    OA1 it does not.
    """
    if isinstance(what, Statement):
        if parameters:
            raise WorkbenchError(
                f"{what.name} is a statement already: it takes no {next(iter(parameters))}"
            )
        return what
    if isinstance(what, str):
        known = statements()
        if what not in known:
            raise UnknownLabel(
                f"unknown statement {what!r}{did_you_mean(what, known)}: one of "
                f"{', '.join(known)}, or a Python function"
            )
        make: Any = known[what]
        _check_parameters(known[what], parameters)
    elif callable(what):
        make = lambda **rest: Predicate(what, **rest)  # noqa: E731
    else:
        raise WrongType(
            f"a statement is a name, a function of a POMDP or a Statement, not {what!r}"
        )
    try:
        found: Statement = make(
            **{key: tuple(x) if isinstance(x, list) else x for key, x in parameters.items()}
        )
    except WorkbenchError:
        raise
    except TypeError as error:
        raise WorkbenchError(f"{what}: {error}") from None
    return found


_KINDS: dict[str, tuple[tuple[type, ...], str]] = {
    "str": ((str,), "a word"),
    "bool": ((bool,), "yes or no"),
    "int": ((int,), "a whole number"),
    "Fraction": ((Fraction, int, float), "a number"),
    "str | tuple[str, ...]": ((str, tuple, list), "a word or several"),
    "tuple[str, ...]": ((tuple, list), "words"),
}
"""What a parameter can be, by the annotation of its field."""


def parameters_of(kind: type[Statement]) -> dict[str, str]:
    """The parameters of a statement, each with what it can be, in words."""
    return {
        field.name: _KINDS[str(field.type)][1]
        for field in fields(kind)  # type: ignore[arg-type]
    }


def parse_parameters(statement: str, pairs: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """Parameters of a statement from text. One that is named again becomes a tuple.

    >>> parse_parameters(
    ...     "oracle-stuck",
    ...     [("memory", "B1"), ("memory", "B2"), ("step", "1/10"), ("any_order", "yes")],
    ... )
    {'memory': ('B1', 'B2'), 'step': Fraction(1, 10), 'any_order': True}
    """
    known = statements()
    kinds = (
        {field.name: str(field.type) for field in fields(known[statement])}  # type: ignore[arg-type]
        if statement in known
        else {}
    )
    found: dict[str, Any] = {}
    for name, text in pairs:
        value = _parse(name, text, kinds.get(name, "str"))
        if name in found:
            before = found[name] if isinstance(found[name], tuple) else (found[name],)
            value = (*before, value)
        found[name] = value
    return found


def _parse(name: str, text: str, kind: str) -> Any:
    try:
        if kind == "bool":
            return {"yes": True, "true": True, "no": False, "false": False}[text.lower()]
        if kind == "int":
            return int(text)
        if kind == "Fraction":
            return Fraction(text)
    except (KeyError, ValueError, ZeroDivisionError):
        raise WorkbenchError(f"{name} is {_KINDS[kind][1]}, not {text!r}") from None
    return text


def _check_parameters(kind: type[Statement], given: Mapping[str, Any]) -> None:
    known = {field.name: str(field.type) for field in fields(kind)}  # type: ignore[arg-type]
    for key, value in given.items():
        if key not in known:
            has = f"it has {', '.join(known)}" if known else "it has none"
            raise WorkbenchError(
                f"{kind.name} has no parameter {key!r}{did_you_mean(key, known)}; {has}"
            )
        types, words = _KINDS[known[key]]
        several = isinstance(value, tuple | list)
        fits = isinstance(value, types) and (isinstance(value, bool) == (types == (bool,)))
        if not fits or (several and not all(isinstance(x, str) for x in value)):
            raise WrongType(f"{key} of {kind.name} is {words}, not {shorten(reprlib.repr(value))}")
