"""Where a policy stays greedy: the oracle loop along a segment of policies, for all its points at
once.

While the greedy policy stays g, every iterate that follows a policy pi_0 lies on the segment

    pi = x pi_0 + (1-x) g,     x = product of (1 - eps_n) over the steps taken,

whatever the steps are. The evaluator gives q_pi as rational functions of x (and of whatever else
the policy has symbols for), and "g is greedy on q_pi" is one inequality for each row and each
action other than g's:

    q(o, g(o)) - q(o, a) > 0      or   >= 0, where ties are broken in favour of g(o)

The evaluator's differences are settled one by one (`inequalities`); and where the task and the
memory are named, one certificate holds the whole family of policies, from which
`workbench.checker` derives the q-values and their differences anew.

If all of them hold for 0 < x <= 1, the loop started at pi_0 goes to g for every sequence of steps
whose product of 1 - eps_n tends to 0; so for every constant step in (0, 1]. At x = 0, where some
rows may be unvisited, g keeps those rows and the visited ones are looked at exactly.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import sympy

from proofs.ledger.inequalities import Box, interval_text, prove_positive
from workbench import POMDP, Policy
from workbench.certificates.values import family_certificate
from workbench.checker.recheck import recheck
from workbench.core.evaluate import Evaluation
from workbench.core.fields import field_of
from workbench.core.space import Label
from workbench.core.ties import tie_order


@dataclass
class Region:
    """What was found for a family of policies.

    Attributes
    ----------
    failure : a sentence on the first inequality that does not hold, with numbers that break it;
        None if all hold.
    lines : what was proved: row, greedy action, another action, and by how much, for the
        differences that are not constant.
    polynomials : what was shown to be positive, with its box.
    certificates : one for the whole family, if the task and the memory are named; else one for each
        polynomial.
    """

    failure: str | None = None
    lines: list[str] = field(default_factory=list)
    polynomials: list[dict[str, Any]] = field(default_factory=list)
    certificates: list[dict[str, Any]] = field(default_factory=list)

    @property
    def holds(self) -> bool:
        return self.failure is None


def stays_greedy(
    E: POMDP,
    found: Evaluation,
    goal: Mapping[Label, Label],
    box: Box,
    ties: str = "last",
    rows: Iterable[Label] = (),
    about: tuple[POMDP, str] | None = None,
) -> Region:
    """Whether `goal[o]` is the greedy action on every row of it, for all values of the symbols in
    the box.

    Parameters
    ----------
    found : the evaluation of a policy with symbols.
    goal : the action that should be greedy, for the rows that matter.
    rows : the rows to look at; all those of `goal` unless given.
    about : the task and the memory whose product E is, "B(k)" for the lumped memory of all B(k).
    """
    rank = {E.A[int(j)]: i for i, j in enumerate(tie_order(E.A, ties))}
    strict_ones: set[str] = set()
    weak_ones: set[str] = set()
    region = Region()
    field = field_of(E, found.pi, exact=True)
    for o in rows or goal:
        best = goal[o]
        for a in E.A:
            if a == best:
                continue
            i, j, k = E.O.index(o), E.A.index(best), E.A.index(a)
            gap = sympy.sympify(field.back(found.q.raw[i, j] - found.q.raw[i, k]))
            strict = rank[a] < rank[best]
            if str(gap) in strict_ones or (not strict and (gap == 0 or str(gap) in weak_ones)):
                continue
            decided = prove_positive(gap, box)
            if decided.holds:
                strict_ones.add(str(gap))
            elif not strict:
                decided = prove_positive(gap, box, strict=False)
                weak_ones.add(str(gap))
            region.polynomials += decided.certificates
            shown = (
                f"{E.O.text(o)}: {E.A.text(best)} - {E.A.text(a)} = {sympy.factor(gap)}".replace(
                    "**", "^"
                )
            )
            if not decided.holds:
                where = ", ".join(f"{name} = {x}" for name, x in (decided.witness or {}).items())
                region.failure = f"{shown} {'fails at ' + where if where else 'fails'}"
                return region
            if gap.free_symbols:
                region.lines.append(shown)
    if about is None:
        region.certificates = region.polynomials
    else:
        chosen = {o: goal[o] for o in rows or goal}
        region.certificates = [certified_family(*about, found.pi, chosen, box, ties)]
    return region


def certified_family(
    P: POMDP, memory: str, pi: Policy, goal: Mapping[Label, Label], box: Box, ties: str
) -> dict[str, Any]:
    """The certificate of a family of policies, verified. With B(k) in y = 2^-k instead of K."""
    used = {v: interval_text(one) for v, one in box.items() if v in pi.prob.symbols | P.symbols}
    certificate = family_certificate(
        P, memory, pi, goal, {str(v): shown for v, shown in used.items()}, ties
    )
    if memory == "B(k)":
        y, z, K = sympy.symbols("y z K")
        # the checker calls 2^-k y; another symbol of that name gives way
        certificate["box"] = {
            {"y": "z", "K": "y"}.get(name, name): shown
            for name, shown in certificate["box"].items()
        } | {"y": _inverse(box[K])}
        for _, row in certificate["policy"]:
            for pair in row:
                pair[1] = str(sympy.expand(sympy.sympify(pair[1]).subs(y, z).subs(K, 1 / y)))
    recheck(certificate)
    return certificate


def _inverse(interval: Any) -> str:
    """The interval of 1/K for K from 2 to some end, or without end."""
    low = f"[{1 / interval.end}" if interval.end != sympy.oo else "(0"
    return f"{low}, {1 / interval.start}]"


def actions_taken(E: POMDP, pi: Policy) -> dict[Label, Label]:
    """The actions of a deterministic policy, on the observations at which one is taken."""
    return {o: E.A[int(pi.actions[i])] for i, o in enumerate(E.O) if E.decides[i]}
