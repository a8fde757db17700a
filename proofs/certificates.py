"""Certificates: evidence as plain JSON, and their re-checking without the code that found them.

A certificate is a JSON object with a `kind`. `models` travel inside it as tables of labels and fractions, so that a file
written today can be verified by somebody who has nothing but the file and the checker of its kind.

>>> decode(encode(("s", (None, 1), "01")))
('s', (None, 1), '01')
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from workbench import POMDP, Policy
from workbench.space import Label

CHECKERS: dict[str, Callable[[dict[str, Any]], str]] = {}


def rechecks(kind: str) -> Callable[[Callable[[dict[str, Any]], str]], Callable[[dict[str, Any]], str]]:
    """Register the checker of a kind: it returns a sentence on what it verified, or raises `Spoiled`."""

    def register(checker: Callable[[dict[str, Any]], str]) -> Callable[[dict[str, Any]], str]:
        CHECKERS[kind] = checker
        return checker

    return register


def load_checkers() -> None:
    """Import every module `proofs.recheck_*`, which register their checkers."""
    import proofs

    for module in pkgutil.iter_modules(proofs.__path__):
        if module.name.startswith("recheck_"):
            importlib.import_module(f"proofs.{module.name}")


class Spoiled(Exception):
    """A certificate that does not show what it says."""


def recheck(certificate: dict[str, Any]) -> str:
    """Verify one certificate; the sentence says what was verified."""
    kind = certificate.get("kind")
    if kind not in CHECKERS:
        raise Spoiled(f"unknown kind of certificate {kind!r}; known: {', '.join(sorted(CHECKERS))}")
    return CHECKERS[kind](certificate)


# ---------------------------------------------------------------------- labels, models and policies as JSON


def encode(label: Label) -> Any:
    """A label as JSON: tuples become {"tuple": [...]}."""
    if isinstance(label, tuple):
        return {"tuple": [encode(part) for part in label]}
    if label is None or isinstance(label, str | int):
        return label
    raise TypeError(f"label {label!r} has no JSON form")


def decode(value: Any) -> Label:
    """The label that `encode` wrote."""
    return tuple(decode(part) for part in value["tuple"]) if isinstance(value, dict) else value


def model_json(P: POMDP) -> dict[str, Any]:
    """A small exact POMDP as JSON."""
    alive = [s for s in P.S if s not in P.terminal]
    return {
        "name": P.name,
        "actions": [encode(a) for a in P.A],
        "mu": [[encode(s), str(x)] for s, x in P.mu.items()],
        "gamma": str(P.gamma),
        "terminal": [encode(s) for s in P.terminal],
        "omega": [[encode(s), [[encode(o), str(x)] for o, x in P.omega(s).items()]] for s in P.S],
        "p": [
            [encode(s), encode(a), [[encode(t), str(r), str(x)] for (t, r), x in P.p(s, a).items()]]
            for s in alive
            for a in P.A
        ],
    }


def model_from_json(data: dict[str, Any]) -> POMDP:
    """The POMDP that `model_json` wrote."""
    omega = {decode(s): {decode(o): Fraction(x) for o, x in row} for s, row in data["omega"]}
    p = {(decode(s), decode(a)): {(decode(t), Fraction(r)): Fraction(x) for t, r, x in row} for s, a, row in data["p"]}
    return POMDP.from_functions(
        name=data["name"],
        A=[decode(a) for a in data["actions"]],
        p=lambda s, a: p[s, a],
        omega=omega.__getitem__,
        mu={decode(s): Fraction(x) for s, x in data["mu"]},
        gamma=Fraction(data["gamma"]),
        terminal=[decode(s) for s in data["terminal"]],
    )


def policy_json(pi: Policy) -> list[Any]:
    """A policy as JSON: for each observation its actions and their probabilities."""
    return [[encode(o), [[encode(a), str(x)] for a, x in pi.row(o).items()]] for o in pi.O]


def policy_from_json(rows: list[Any]) -> dict[Label, dict[Label, Fraction]]:
    """The rows that `policy_json` wrote."""
    return {decode(o): {decode(a): Fraction(x) for a, x in row} for o, row in rows}
