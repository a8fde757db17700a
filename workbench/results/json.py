"""Small exact POMDPs and policies as JSON: tables of labels and fractions.

The form is the one that the certificates of `proofs` carry, so that a find can become a claim
without being rewritten. Tuples of labels become {"tuple": [...]}; numbers are fractions in text.

>>> decode(encode(("s", (None, 1), "01")))
('s', (None, 1), '01')
"""

from __future__ import annotations

import json
import re
import reprlib
from fractions import Fraction
from typing import Any

from workbench.core.errors import WorkbenchError, WrongType
from workbench.core.policy import Policy
from workbench.core.pomdp import POMDP
from workbench.core.space import Label
from workbench.text import shorten

_DEEPEST = 24
"""Levels of tuples in a label; deeper ones are damage."""

_MOST_DIGITS = 400
"""Of a numerator or a denominator in a file."""

_RATIONAL = re.compile(rf"-?[0-9]{{1,{_MOST_DIGITS}}}(/[0-9]{{1,{_MOST_DIGITS}}})?")


class Unreadable(WorkbenchError):
    """A text that is not the JSON of a model, a policy or a label."""


def parse_json(data: bytes | str) -> Any:
    """The value of a JSON text. Any fault raises `Unreadable`, soon.

    >>> parse_json("[" * 100_000)
    Traceback (most recent call last):
    ...
    workbench.results.json.Unreadable: not JSON: nested too deeply
    """
    try:
        return json.loads(data, parse_constant=_refuse_constant)
    except RecursionError:
        raise Unreadable("not JSON: nested too deeply") from None
    except ValueError as error:
        raise Unreadable(f"not JSON: {error}") from None


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is no number")


def read_rational(value: Any) -> Fraction:
    """The fraction that a text such as "-11/12" stands for.

    >>> read_rational("-11/12")
    Fraction(-11, 12)
    """
    if not isinstance(value, str) or not _RATIONAL.fullmatch(value):
        raise Unreadable(
            f"no fraction of at most {_MOST_DIGITS} digits: {shorten(reprlib.repr(value))}"
        )
    top, _, bottom = value.partition("/")
    if bottom and not int(bottom):
        raise Unreadable(f"no fraction: {value}")
    return Fraction(int(top), int(bottom or 1))


def encode(label: Label) -> Any:
    """A label as JSON."""
    if isinstance(label, tuple):
        return {"tuple": [encode(part) for part in label]}
    if label is None or isinstance(label, str | int):
        return label
    raise WrongType(
        f"label {label!r} has no JSON form: use strings, whole numbers and tuples of them"
    )


def decode(value: Any, deep: int = 0) -> Label:
    """The label that `encode` wrote. Anything else raises `Unreadable`."""
    if value is None or isinstance(value, str | int):
        return value
    parts = value["tuple"] if isinstance(value, dict) and list(value) == ["tuple"] else None
    if isinstance(parts, list) and deep < _DEEPEST:
        return tuple(decode(part, deep + 1) for part in parts)
    raise Unreadable(f"no label: {shorten(reprlib.repr(value))}")


def model_json(P: POMDP) -> dict[str, Any]:
    """A small exact POMDP as JSON, in which every action has a row everywhere."""
    P.require_all_actions("a certificate")
    P.require_exact()
    return {
        "name": P.name,
        "actions": [encode(a) for a in P.A],
        "mu": [[encode(s), str(x)] for s, x in P.mu.items()],
        "gamma": str(P.gamma),
        "terminal": [encode(s) for s in P.terminal],
        "omega": [[encode(s), [[encode(o), str(x)] for o, x in P.omega(s).items()]] for s in P.S],
        "p": [
            [encode(s), encode(a), [[encode(t), str(r), str(x)] for (t, r), x in P.p(s, a).items()]]
            for s in P.S
            if s not in P.terminal
            for a in P.A
        ],
    }


def model_from_json(data: dict[str, Any]) -> POMDP:
    """The POMDP that `model_json` wrote.

    >>> from workbench.improvement.batch import sequence_task
    >>> model_from_json(model_json(sequence_task([[0, 1], [1, 0]])))
    POMDP sequence task: 4 states (1 terminal), 1 observation, 2 actions, 6 outcomes, gamma 1
    """
    try:
        return _model(data)
    except WorkbenchError:
        raise
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise Unreadable(f"no model: {type(error).__name__}: {error}") from None


def _model(data: dict[str, Any]) -> POMDP:
    omega = {decode(s): {decode(o): read_rational(x) for o, x in row} for s, row in data["omega"]}
    p = {
        (decode(s), decode(a)): {(decode(t), read_rational(r)): read_rational(x) for t, r, x in row}
        for s, a, row in data["p"]
    }
    if not isinstance(data["name"], str):
        raise Unreadable(f"no name: {shorten(reprlib.repr(data['name']))}")
    return POMDP.from_functions(
        name=data["name"],
        S=[*omega],  # states that nothing leads to are states, too
        A=[decode(a) for a in data["actions"]],
        p=lambda s, a: p[s, a],
        omega=omega.__getitem__,
        mu={decode(s): read_rational(x) for s, x in data["mu"]},
        gamma=read_rational(data["gamma"]),
        terminal=[decode(s) for s in data["terminal"]],
    )


def policy_json(pi: Policy) -> list[Any]:
    """A policy as JSON: for each observation its actions and their probabilities."""
    return [[encode(o), [[encode(a), str(x)] for a, x in pi.row(o).items()]] for o in pi.O]


def policy_from_json(P: POMDP, rows: list[Any]) -> Policy:
    """The policy that `policy_json` wrote, for its POMDP."""
    return Policy.from_mapping(
        P, {decode(o): {decode(a): read_rational(x) for a, x in row} for o, row in rows}
    )
