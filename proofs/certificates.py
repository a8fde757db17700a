"""Certificates: evidence as plain JSON, and their re-checking without the code that found them.

A certificate is a JSON object with a `kind`. Models travel inside it as tables of labels and
fractions (`workbench.model.json`), so that a file written today can be verified by somebody who has
nothing but the file and the checker of its kind.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from workbench.model.json import decode, encode, model_from_json, model_json, policy_json
from workbench.model.space import Label

__all__ = [
    "CHECKERS",
    "Spoiled",
    "decode",
    "encode",
    "load_checkers",
    "model_from_json",
    "model_json",
    "policy_from_json",
    "policy_json",
    "recheck",
    "rechecks",
]

CHECKERS: dict[str, Callable[[dict[str, Any]], str]] = {}


def rechecks(
    kind: str,
) -> Callable[[Callable[[dict[str, Any]], str]], Callable[[dict[str, Any]], str]]:
    """Register the checker of a kind: it returns a sentence on what it verified, or raises
    `Spoiled`."""

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


def policy_from_json(rows: list[Any]) -> dict[Label, dict[Label, Fraction]]:
    """The rows that `policy_json` wrote."""
    return {decode(o): {decode(a): Fraction(x) for a, x in row} for o, row in rows}
