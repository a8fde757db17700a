"""A task, a memory and a policy in which every number is a symbol.

What holds for them holds whatever the numbers are: an identity between rational functions of the
symbols is an identity for all tasks of that shape. `generic_task` goes on for as long as its
symbols say, `two_steps` is over after two actions.

>>> generic_task().p("s", "a")
{('s', rsa): psas, ('t', rsa): psat, ('end', Fraction(0, 1)): -psas - psat + 1}
>>> generic_memory().Gamma(0, "v", "x", "a", 0, "y")
{0: G0vxa0y0, 1: 1 - G0vxa0y0}
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

import sympy

from workbench import POMDP, Memory, Policy, augment
from workbench.core.space import Label

GAMMA = sympy.Symbol("gamma")


def symbol(*parts: Any) -> sympy.Symbol:
    """A symbol named after labels, tuples taken apart.

    >>> symbol("pi", (0, "x"), ("a", "w"))
    pi0xaw
    """
    return sympy.Symbol("".join(map(str, _flat(parts))))


def _flat(label: Any) -> Iterable[Any]:
    return (x for part in label for x in _flat(part)) if isinstance(label, tuple) else (label,)


def split(outcomes: list[Label], *name: Any) -> dict[Label, Any]:
    """A distribution over some outcomes: a symbol for each, and what is left for the last one."""
    free = [symbol(*name, outcome) for outcome in outcomes[:-1]]
    return dict(zip(outcomes, [*free, 1 - sum(free)], strict=True))


def generic_task() -> POMDP:
    """States s and t, observations x and y, one action, an end. Rewards, p, omega, mu and gamma are
    symbols."""
    S = ["s", "t"]
    omega = {s: split(["x", "y"], "w", s) for s in S} | {"end": {"x": 1}}

    def p(s: str, a: str) -> dict[tuple[str, Any], Any]:
        going = {(t, symbol("r", s, a)): symbol("p", s, a, t) for t in S}
        return {**going, ("end", 0): 1 - sum(going.values())}

    return POMDP.from_functions(
        name="generic task",
        A=("a",),
        p=p,
        omega=omega.__getitem__,
        mu=split(S, "mu"),
        gamma=GAMMA,
        terminal={"end"},
    )


def two_steps() -> POMDP:
    """Two actions: in s, then in t or u. Each of these states may be seen as x or as y; the numbers
    are symbols."""

    def p(s: str, a: str) -> dict[tuple[str, Any], Any]:
        if s == "s":
            return {(t, symbol("r", s, a)): x for t, x in split(["t", "u"], "p", a).items()}
        return {("end", symbol("r", s, a)): 1}

    return POMDP.from_functions(
        name="two generic steps",
        A=("a", "b"),
        p=p,
        omega=lambda s: {"x": 1} if s == "end" else split(["x", "y"], "w", s),
        mu={"s": 1},
        gamma=GAMMA,
        terminal={"end"},
    )


def generic_memory() -> Memory:
    """Two memory states, two writes. Gamma, which reads all its arguments, and eta are symbols."""

    def Gamma(*arguments: Label) -> dict[Label, Any]:
        return split([0, 1], "G", arguments)

    return Memory("generic memory", [0, 1], ["v", "w"], Gamma, split([0, 1], "eta"))


@cache
def generic_product() -> POMDP:
    """The compiled product of the two, which takes a second."""
    return augment(generic_task(), generic_memory())


def generic_policy(P: POMDP) -> Policy:
    """A probability for every pair (o, a), all symbols."""
    return Policy.from_mapping(P, {o: split(list(P.A), "pi", o) for o in P.O})
