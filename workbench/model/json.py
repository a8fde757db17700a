"""Small exact POMDPs and policies as JSON: tables of labels and fractions.

The form is the one that the certificates of `proofs` carry, so that a find can become a claim
without being rewritten. Tuples of labels become {"tuple": [...]}; numbers are fractions in text.

>>> decode(encode(("s", (None, 1), "01")))
('s', (None, 1), '01')
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from workbench.errors import WrongType
from workbench.model.policy import Policy
from workbench.model.pomdp import POMDP
from workbench.model.space import Label


def encode(label: Label) -> Any:
    """A label as JSON."""
    if isinstance(label, tuple):
        return {"tuple": [encode(part) for part in label]}
    if label is None or isinstance(label, str | int):
        return label
    raise WrongType(
        f"label {label!r} has no JSON form: use strings, whole numbers and tuples of them"
    )


def decode(value: Any) -> Label:
    """The label that `encode` wrote."""
    return tuple(decode(part) for part in value["tuple"]) if isinstance(value, dict) else value


def model_json(P: POMDP) -> dict[str, Any]:
    """A small exact POMDP as JSON."""
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
    omega = {decode(s): {decode(o): Fraction(x) for o, x in row} for s, row in data["omega"]}
    p = {
        (decode(s), decode(a)): {(decode(t), Fraction(r)): Fraction(x) for t, r, x in row}
        for s, a, row in data["p"]
    }
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


def policy_from_json(P: POMDP, rows: list[Any]) -> Policy:
    """The policy that `policy_json` wrote, for its POMDP."""
    return Policy.from_mapping(
        P, {decode(o): {decode(a): Fraction(x) for a, x in row} for o, row in rows}
    )
