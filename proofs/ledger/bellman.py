"""What a memoryless policy is worth, as formulas for tasks of any size, and the tasks they are read
in.

    v(s)   = sum_o,a om(s,o) pi(o,a) q(s,a)          q(s,a) = R(s,a) + gamma sum_s' p(s,a,s') v(s')
    d(s)   = mu(s) + gamma sum d(s') om(s',o) pi(o,a) p(s',a,s)

States are those in which an episode goes on, so the rows of p sum to at most one. A second policy
and what belongs to it end in 1. `J` and `J1` are what the two are worth.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from fractions import Fraction
from functools import cache
from typing import Any

from proofs.ledger.theory import Interpretation, Theory
from workbench import POMDP, Policy, evaluate
from workbench.core.space import Label

VALUES = {
    "v": "v(s) == sum[o,a](om(s,o)*pi(o,a)*q(s,a))",
    "q": "q(s,a) == R(s,a) + gamma*sum[s1](p(s,a,s1)*v(s1))",
    "J": "J == sum[s](mu(s)*v(s))",
}
"""Bellman's equations and the return."""

CHANCES = {
    "om": "sum[o](om(s,o)) == 1",
    "pi": "sum[a](pi(o,a)) == 1",
    "om+": "om(s,o) >= 0",
    "pi+": "pi(o,a) >= 0",
    "p+": "p(s,a,s1) >= 0",
    "leak": "1 - sum[s1](p(s,a,s1)) >= 0",
    "gamma+": "gamma >= 0",
    "gamma-": "1 - gamma >= 0",
}
"""Chances are not negative and sum to one, or, of going on, to at most one."""

DIFFERENCE = Theory(
    {
        **VALUES,
        "v1": "v1(s) == sum[o,a](om(s,o)*pi1(o,a)*q1(s,a))",
        "q1": "q1(s,a) == R(s,a) + gamma*sum[s1](p(s,a,s1)*v1(s1))",
        "J1": "J1 == sum[s](mu(s)*v1(s))",
        "mu": "mu(s) == d1(s) - gamma*sum[s1,o,a](d1(s1)*om(s1,o)*pi1(o,a)*p(s1,a,s))",
    }
)
"""Two policies; the start from the discounted visits of the second one."""

BY_VISITS = (
    ("unfold", "J"),
    ("unfold", "J1"),
    ("unfold", "mu"),
    ("add", "v1", "-d1(s)"),
    ("add", "q1", "-d1(s)*om(s,o)*pi1(o,a)"),
    ("add", "v", "d1(s)"),
    ("add", "q", "d1(s)*om(s,o)*pi1(o,a)"),
)
"""J1 - J = sum_s d1(s) sum_o,a om(s,o) (pi1 - pi)(o,a) q(s,a)."""


@cache
def small_task(seed: int, gamma: Fraction) -> POMDP:
    """A task with chance everywhere: three states and an end, two observations, two actions."""
    dice = random.Random(seed)
    S = ("s", "t", "u")

    def spread(labels: Any) -> dict[Any, Fraction]:
        weights = [dice.randint(1, 4) for _ in labels]
        return {x: Fraction(w, sum(weights)) for x, w in zip(labels, weights, strict=True)}

    omega = {s: spread("xy") for s in S} | {"end": {"x": Fraction(1)}}
    moves = {
        (s, a): {(t, dice.randint(-2, 3)): x for t, x in spread((*S, "end")).items()}
        for s in S
        for a in "ab"
    }
    return POMDP.from_functions(
        name=f"small, seed {seed}",
        A=("a", "b"),
        p=lambda s, a: moves[s, a],
        omega=omega.__getitem__,
        mu=spread(S),
        gamma=gamma,
        terminal={"end"},
    )


def mixed_policy(P: POMDP, seed: int) -> Policy:
    """A policy that gives every action a chance."""
    dice = random.Random(seed)
    rows = {}
    for o in P.O:
        weights = [dice.randint(1, 4) for _ in P.A]
        rows[o] = {a: Fraction(w, sum(weights)) for a, w in zip(P.A, weights, strict=True)}
    return Policy.from_mapping(P, rows)


def interpret(
    P: POMDP, pi: Policy, new: Policy, weights: str = "discounted", **more: Any
) -> Interpretation:
    """The formulas' letters read as what the evaluator finds for two policies of a task."""
    going = [s for s in P.S if s not in P.terminal]
    old, then = (evaluate(P, each, exact=True, weights=weights) for each in (pi, new))

    def moves(s: Label, a: Label, s_next: Label) -> Fraction:
        return sum((x for (t, _), x in P.p(s, a).items() if t == s_next), start=Fraction(0))

    functions: Mapping[str, Any] = {
        "om": lambda s, o: Fraction(P.omega(s).get(o, 0)),
        "p": moves,
        "R": lambda s, a: sum((x * r for (_, r), x in P.p(s, a).items()), start=Fraction(0)),
        "mu": lambda s: Fraction(P.mu[s]),
        "gamma": Fraction(P.gamma),
        "pi": lambda o, a: pi[o, a],
        "pi1": lambda o, a: new[o, a],
        "v": lambda s: old.v[s],
        "v1": lambda s: then.v[s],
        "q": lambda s, a: old.q_state[s, a],
        "q1": lambda s, a: then.q_state[s, a],
        "d": lambda s: old.visits[s],
        "d1": lambda s: then.visits[s],
        "J": old.value,
        "J1": then.value,
    }
    return Interpretation({"s": going, "o": list(P.O), "a": list(P.A)}, {**functions, **more})


def first_broken(theory: Theory, model: Interpretation) -> str | None:
    """The first formula of a theory that does not hold in a model. None if all do."""
    return next(filter(None, (model.breaks(one) for one in theory.given.values())), None)
