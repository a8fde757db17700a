"""The letters of Appendix A.1, read off the code: a task, a memory, and the POMDP they compile to.

A proof about "every task and memory" starts from formulas for p, omega, Gamma, eta and for the
compiled mu', p', omega'. Here each letter is what `augment` and the task's own functions say, so
that `Interpretation.breaks` can tell whether the formulas describe the code.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import cache
from typing import Any

from proofs.ledger.theory import Interpretation
from workbench import POMDP, Memory, Policy

ZERO = Fraction(0)


def letters_of_product(
    P: POMDP, memory: Memory, E: POMDP, more: Mapping[str, Any]
) -> Interpretation:
    """The letters of a task, a memory and their product, and some more.

    The product holds what can be reached. Elsewhere p1 and om1 are what Appendix A.1 says.
    """
    known = {state for state in E.S if state not in E.terminal}
    ended = {s for s in P.S if s in P.terminal}

    def p(s: Any, a: Any, s1: Any, r: Any) -> Fraction:
        return ZERO if s in ended else Fraction(P.p(s, a).get((s1, r), 0))

    def om(s: Any, o: Any) -> Fraction:
        return Fraction(P.omega(s).get(o, 0))

    def Gamma(m: Any, w: Any, o: Any, a: Any, r: Any, o1: Any, m1: Any) -> Fraction:
        return Fraction(memory.Gamma(m, w, o, a, r, o1).get(m1, 0))

    def p1(s: Any, m: Any, o: Any, a: Any, w: Any, s1: Any, m1: Any, o1: Any, r: Any) -> Fraction:
        if (s, m, o) in known:
            return Fraction(E.p((s, m, o), (a, w)).get(((s1, m1, o1), r), 0))
        return p(s, a, s1, r) * Gamma(m, w, o, a, r, o1, m1) * om(s1, o1)

    def om1(s: Any, m: Any, o: Any, m2: Any, o2: Any) -> Fraction:
        if (s, m, o) in known:
            return Fraction(E.omega((s, m, o)).get((m2, o2), 0))
        return Fraction((m, o) == (m2, o2))

    start = dict(E.mu.items())
    functions = {
        "mu": lambda s: Fraction(P.mu[s]),
        "eta": lambda m: Fraction(memory.eta.get(m, 0)),
        "om": om,
        "p": p,
        "Gamma": Gamma,
        "reward": Fraction,
        "gamma": Fraction(E.gamma),
        "mu1": lambda s, m, o: Fraction(start.get((s, m, o), 0)),
        "p1": p1,
        "om1": om1,
    }
    sets = {
        "s": list(P.S), "o": list(P.O), "a": list(P.A), "r": list(P.R),
        "m": list(memory.M), "w": list(memory.W),
    }  # fmt: skip
    letters = {**functions, **more}
    kept = {name: cache(one) if callable(one) else one for name, one in letters.items()}
    return Interpretation(sets, kept)


def worth_of_steps(E: POMDP, pi: Policy, n: int) -> dict[Any, Fraction]:
    """The return of n steps from each state of a POMDP, by running it."""
    worth = dict.fromkeys(E.S, ZERO)
    for _ in range(n):
        worth = {
            s: sum(
                (
                    pi[o, a] * y * x * (r + E.gamma * worth[t])
                    for o, y in E.omega(s).items()
                    for a in E.A
                    for (t, r), x in E.p(s, a).items()
                ),
                ZERO,
            )
            if s not in E.terminal
            else ZERO
            for s in E.S
        }
    return worth
