"""B(k) on two steps and two actions, r = [[a, b], [c, d]]: where the loop is stuck.

Let K = 2^k. **Theorem.** If

    (1)  d > a        (2)  2a >= b + d        (3)  (K-1)(b-c) > (K+1)(d-a)

then for every step eps with eps/(1-eps) (a-b) < min(F1, D/(2K)), F1 = ((K-1)(b-c) -
(K+1)(d-a))/(2K) and D = b+d-a-c, the loop from uniform with the paper's rule for ties goes to `0
and write 0` and is worth a, less than d. The same holds with the names of the two actions
exchanged.

The loop: at first all writes tie, and it goes to (0, last). From then on memory 0, which plays 0 at
the second step, is the better place to be in after 0, and it goes to (0, 0): the first and the
second visit of memory 0 are one row, and there 1 is worth (d + b)/2, 0 is worth a. The iterates are

    pi(i,w) = x/(2K) + x t [0, last] + (1 - x - x t) [0, 0],   t = eps/(1-eps),   x = (1-eps)^n
    second action at m != 0:  x/2 + (1-x) [1]

and every difference of q-values is a sum of terms that (1) to (3) make positive.

**Corollaries.** (K-1)/(K+1) grows with K: where B(k) is stuck, B(k+1) is. For K = 2 and whole
numbers b - c >= 4, a >= b + 1, d >= a + 1: the least largest reward is 6, [[5,4],[0,6]], and it is
stuck with every B(k). With 1/3 < (d-a)/(b-c) < 3/5 B1 succeeds and B2 does not: [[3,2],[0,4]]. On
all these tables the loop without memory reaches the optimum, for every step (`T.hurts`).

For one bit there is a second region, with no third place to go: c > b > a, and with u = b-a, v =
c-d, s = c-a also v > s and s (3u+v) < u (u+3v). There the loop ends at a stochastic point worth
b + (c-b)^2/(4(c-d)). `T.bits-region` checks that there are no others.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import sympy

from proofs.appendix_c_every_k import segment_mismatch
from proofs.appendix_c_setting import lumped_memory
from proofs.ledger import Evidence, Proof, checked, claim, machine, proved
from proofs.ledger.bellman import first_broken
from proofs.ledger.inequalities import identical
from proofs.ledger.prose import table_text, text
from proofs.ledger.theory import Interpretation, Theory, trouble_in, trouble_with
from proofs.ledger.walks import loop_leaves
from proofs.own.tables import loop_limits, table_task, tables_up_to
from workbench import POMDP, Policy, augment, evaluate, improve, uniform
from workbench.certificates.values import (
    family_certificate,
    identity_certificate,
    value_certificate,
)
from workbench.core.improve import iterates

a, b, c, d, x, t, K = sympy.symbols("a b c d x t K")

D = b + d - a - c
F1 = ((K - 1) * (b - c) - (K + 1) * (d - a)) / (2 * K)
"""How much 0 leads at memory 0 under the uniform policy, times 1 + p_0."""

F0 = 2 * a - b - d
"""The same in the limit."""


def iterate(E: POMDP, size: Any, x: Any = x, t: Any = t) -> Policy:
    """The iterates of the loop, with symbols x and t.

    It is for the product with B(k), K = size, or with the three classes of all B(k).
    """
    names = [o[0] for o in E.O]
    zero, last = names[0], names[-1]
    members = {"others": size - 2}
    rows: dict[Any, dict[Any, Any]] = {
        o: {(i, w): members.get(w, 1) * x / (2 * size) for i, w in E.A} for o in E.O
    }
    first = rows[E.O[0]]
    first[0, last] += x * t
    first[0, zero] += 1 - x - x * t
    for o in E.O[1:]:
        rows[o][1, last] += 1 - x
    return Policy.from_mapping(E, rows)


@cache
def off_the_way(table: tuple[tuple[int, int], ...], step: Fraction) -> str | None:
    """Say where five iterates of the code's loop, B1 and B2, are not the policies of `iterate`."""
    for size in (2, 4):
        E = augment(table_task(table), f"B{size.bit_length() - 1}")

        def due(n: int, E: POMDP = E, size: int = size) -> Policy:
            return iterate(E, size, (1 - step) ** n, step / (1 - step)) if n else uniform(E)

        if trouble := loop_leaves(E, step, due, 5):
            return trouble
    return None


GAPS = {
    "0: stay against another write": (1 - x) * (a - b),
    "0: 0 against 1, another write": x * (F1 - t * (a - b)) + (1 - x) * F0,
    "0: 0 against 1 and stay": x * (F1 - t * (a - b)) + (1 - x) * F0 + (1 - x) * (d - c),
    "m: 1 against 0": x * D / (2 * K),
    "last: 1 against 0": x * (D / (2 * K) - t * (a - b)),
}
"""Differences of q-values times the visits of their row: sums of products that (1), (2), (3), the
bound on the step and 0 < x <= 1 make positive (the second one by (2) with a weak sign)."""


@cache
def found_gaps(size: int | None) -> dict[str, Any]:
    """The same differences from the evaluator, for B(k) with 2^k = size, or for all K at once."""
    memory = lumped_memory() if size is None else f"B{size.bit_length() - 1}"
    E = augment(table_task([[a, b], [c, d]]), memory)
    pi = iterate(E, K if size is None else size)
    q = evaluate(E, pi).q
    names = [o[0] for o in E.O]
    zero, last = names[0], names[-1]
    rows = {m: sum(pi[(zero, "o"), (i, m)] for i in (0, 1)) for m in names}
    seen = 1 + rows[zero]
    found = {
        "0: stay against another write": seen
        * (q[(zero, "o"), (0, zero)] - q[(zero, "o"), (0, last)]),
        "0: 0 against 1, another write": seen
        * (q[(zero, "o"), (0, zero)] - q[(zero, "o"), (1, last)]),
        "0: 0 against 1 and stay": seen * (q[(zero, "o"), (0, zero)] - q[(zero, "o"), (1, zero)]),
        "last: 1 against 0": rows[last] * (q[(last, "o"), (1, last)] - q[(last, "o"), (0, last)]),
    }
    if len(names) > 2:
        m, number = names[1], K - 2 if size is None else 1
        lead = q[(m, "o"), (1, last)] - q[(m, "o"), (0, last)]
        found["m: 1 against 0"] = rows[m] * lead / number
    return found


# ---------------------------------------------------------------------- all k, tables and steps

y, X, eps, alpha, beta, delta = sympy.symbols("y X eps alpha beta delta")
"""y = 1/K; X = (1-eps)^(n-1); alpha, beta, delta: what is free, in (0, oo), [0, oo) and (0, oo)."""

FREE = {"alpha": "(0, oo)", "beta": "[0, oo)", "delta": "(0, oo)", "y": "(0, 1/2]"}
ALONG = {**FREE, "X": "(0, 1]", "eps": "(0, 1)"}


@dataclass(frozen=True)
class TableFamily:
    """Tables and steps that are polynomials in free numbers, and which free numbers they are.

    Attributes
    ----------
    d_a, a_b, b_c : d - a, a - b and b - c, which with any c make a table.
    free : alpha, beta, delta from a, b, c, d, y and eps: not negative where the theorem's
        conditions hold.
    """

    d_a: Any
    a_b: Any
    b_c: Any
    free: tuple[Any, Any, Any]

    @property
    def table(self) -> list[list[Any]]:
        """The rewards, c a symbol."""
        above = [c + self.b_c, c + self.b_c + self.a_b, c + self.b_c + self.a_b + self.d_a]
        second, first, last = map(sympy.expand, above)
        return [[first, second], [c, last]]

    def certificates(self, what: str) -> list[dict[str, Any]]:
        """That the free numbers give the differences of rewards back, as identities."""
        values = dict(zip((alpha, beta, delta), self.free, strict=True))
        made = {"d - a": self.d_a, "a - b": self.a_b, "b - c": self.b_c}
        return [
            identity_certificate(
                f"{what}, {due}", str(formula.subs(values, simultaneous=True)), due
            )
            for due, formula in made.items()
        ]


def lead_of_bits(plus: int = 1) -> Any:
    """F1 with K + plus for K + 1, y = 1/K."""
    return ((1 - y) * (b - c) - (1 + plus * y) * (d - a)) / 2


def families(first: int, zero: int, rest: int, slack: Any) -> dict[str, TableFamily]:
    """The tables of the first step, those at memory 0 afterwards, and those at the others.

    `first` and `zero`: K + 1 for 1; `rest`: D/(2K) for 2; `slack`: what (2) says is not negative.
    """
    t_ab = eps / (1 - eps) * (a - b)
    shrunk = (1 - eps) * (1 - y)
    low = (1 - eps) * y
    small = (1 - y) * alpha + beta
    return {
        "first": TableFamily(
            (1 - y) * alpha,
            (1 - y) * alpha + beta,
            delta + (1 + first * y) * alpha,
            ((d - a) / (1 - y), slack, 2 * lead_of_bits(first) / (1 - y)),
        ),
        "zero": TableFamily(
            shrunk * alpha,
            shrunk * (alpha + beta),
            2 * eps * (alpha + beta) + delta + (1 + zero * y) * (1 - eps) * alpha,
            ((d - a) / shrunk, slack / shrunk, 2 * (lead_of_bits(zero) - t_ab) / (1 - y)),
        ),
        "rest": TableFamily(
            low * (1 - y) * alpha,
            low * small,
            rest * eps * small + delta - low * (1 - y) * alpha,
            ((d - a) / (low * (1 - y)), slack / low, D - rest * t_ab / y),
        ),
    }


SHARE = {"0": y, "others": 1 - 2 * y, "last": y}


def first_choice(E: POMDP) -> dict[Any, Any]:
    """What is greedy on the uniform policy: 0 at memory 0 and 1 elsewhere, the last write."""
    return {(m, o): (0 if m == "0" else 1, "last") for m, o in E.O}


def later_choice(E: POMDP) -> dict[Any, Any]:
    """What is greedy then: at memory 0 to do 0 and stay, elsewhere as before."""
    return {(m, o): (0, "0") if m == "0" else (1, "last") for m, o in E.O}


def along(E: POMDP) -> Policy:
    """X pi_1 + (1-X) tau, pi_1 the iterate after the first step and tau the later choice."""
    rows: dict[Any, dict[Any, Any]] = {}
    for o in E.O:
        rows[o] = {(i, w): X * (1 - eps) * SHARE[w] / 2 for i, w in E.A}
        rows[o][first_choice(E)[o]] += X * eps
        rows[o][later_choice(E)[o]] += 1 - X
    return Policy.from_mapping(
        E, {o: {a: sympy.expand(x) for a, x in row.items()} for o, row in rows.items()}
    )


@cache
def greedy_everywhere(step: str, one: TableFamily) -> dict[str, Any]:
    """The certificate that the choice of a step is greedy, for all K, tables and steps."""
    P = table_task(one.table)
    E = augment(P, lumped_memory())
    if step == "first":
        shares = {(i, w): SHARE[w] / 2 for i, w in E.A}
        pi = Policy.from_mapping(E, dict.fromkeys(E.O, shares))
        return family_certificate(P, "B(k)", pi, first_choice(E), FREE)
    goal = {o: x for o, x in later_choice(E).items() if (o[0] == "0") == (step == "zero")}
    return family_certificate(P, "B(k)", along(E), goal, ALONG)


@claim(
    "T.bits",
    place="Own, two steps",
    statement="B(k), K = 2^k, can be stuck on two steps with rewards [[a,b],[c,d]]. Let d > a, 2a "
    ">= b + d and (K-1)(b-c) > (K+1)(d-a). Then the loop from uniform ends at a < d, for every "
    "step eps with eps/(1-eps) (a-b) < min(F1, D/(2K)). Here F1 = ((K-1)(b-c) - (K+1)(d-a))/(2K) "
    "and D = b + d - a - c.",
    verdict="proved",
    steps=(
        machine(
            "cover",
            "Every such table and step is one of three families, polynomials in numbers that "
            "these conditions say are not negative.",
        ),
        machine(
            "first",
            "At the uniform policy greedy is (0, last) at memory 0 and (1, last) elsewhere, for "
            "all tables of the first family and all K.",
        ),
        machine("segment", "A step eps towards tau takes X pi_1 + (1-X) tau to X (1-eps)."),
        machine(
            "givens",
            "The code's loop runs along that way: five iterates on [[5,4],[0,6]] with steps of "
            "1/10, B1 and B2, in rationals.",
        ),
        machine(
            "zero",
            "At memory 0 greedy is (0, 0) on the whole way from there, for all tables and steps "
            "of the second family and all K.",
        ),
        machine("rest", "Elsewhere greedy is (1, last) on that way: the third family, all K."),
        machine(
            "gaps",
            "A second way: with B1, B2 and three classes for all K the evaluator's differences "
            "are the five sums.",
        ),
        machine("limit", "At X = 0 the policy is worth a."),
    ),
)
def bits_are_stuck(
    proof: Proof,
    first: int = 1,
    zero: int = 1,
    rest: int = 2,
    slack: Any = F0,
    kept: Any = 1 - eps,
    gaps: Any = None,
    worth: Any = a,
    run: tuple[tuple[int, int], ...] = ((5, 4), (0, 6)),
) -> Evidence:
    """Follow the loop with a symbol for every number.

    K is y = 1/K in the certificates, which the checker derives from the task. `run`: the table that
    the code's loop is followed on.
    """
    made = families(first, zero, rest, slack)
    certificates: list[dict[str, Any]] = []
    for name, one in made.items():
        back = one.certificates(name)
        proof.step("cover", trouble_with(back))
        certificates += back
    for name, one in made.items():
        found = greedy_everywhere(name, one)
        proof.step(name, trouble_in(found))
        certificates.append(found)
    proof.step("segment", segment_mismatch(kept))
    proof.step("givens", off_the_way(run, Fraction(1, 10)))
    said = GAPS if gaps is None else {**GAPS, **gaps}
    for size in (2, 4, None):
        for name, gap in found_gaps(size).items():
            due = said[name].subs(K, size) if size else said[name]
            same = identical(gap, due)
            proof.step("gaps", None if same else f"K = {size}, {name}: {sympy.factor(gap)}")
    P = table_task([[a, b], [c, d]])
    E = augment(P, "B1")
    value = sympy.sympify(evaluate(E, iterate(E, 2)).value).subs(x, 0)
    proof.step("limit", None if identical(value, worth) else f"it is worth {value}")
    stays = {o: (0, "0") if o[0] == "0" else (1, "1") for o in E.O}
    certificates.append(value_certificate(P, "B1", Policy.deterministic(E, stays), value))
    argument = text(
        "With t = eps/(1-eps) the step's condition is t (a-b) < min(F1, D/(2K)); F0 = 2a - b - d. "
        "The first step goes to (0, last) and (1, last): 0 leads by F1 > 0 at memory 0, 1 by "
        "D/(2K) > 0 elsewhere, writes tie. From there greedy is tau, (0, 0) and (1, last), on the "
        "whole way X pi_1 + (1-X) tau, 0 < X <= 1, so that all iterates lie on it and X -> 0. "
        "Differences of q-values times visits, x = X (1-eps):",
        *(f"  {name}:\n      {shown}" for name, shown in READABLE.items()),
        "What the conditions say is not negative is taken for free numbers: d - a, F0 and F1 - t "
        "(a-b), or D - 2K t (a-b), each over positive factors. In these the table and the "
        "iterates are polynomials, and so are the differences; the checker derives them from the "
        "task, with y = 1/K and all memory states but 0 and the last in one class, and finds them "
        "positive on the whole box.",
        "Without memory K = 1 and (3) says d < a: no memory, not stuck (T.hurts). (K-1)/(K+1) "
        "grows: stuck with B(k), stuck with B(k+1). Least whole numbers for one bit: "
        "[[5,4],[0,6]]; for two [[3,2],[0,4]].",
    )
    return proved(
        "the loop is followed for every k, table and step size of the statement",
        argument,
        certificates,
    )


READABLE = {
    "0: stay against another write": "(1-x)(a-b)",
    "0: 0 against 1, another write": "x (F1 - t (a-b)) + (1-x) F0",
    "0: 0 against 1 and stay": "x (F1 - t (a-b)) + (1-x) (F0 + d - c)",
    "m: 1 against 0": "x D/(2K)",
    "last: 1 against 0": "x (D/(2K) - t (a-b))",
}

bits_are_stuck.twin("2a - b for 2a - b - d", guards="cover", slack=2 * a - b)
bits_are_stuck.twin("K for K+1 at the start", guards="first", first=0)
bits_are_stuck.twin("K for K+1 afterwards", guards="zero", zero=0)
bits_are_stuck.twin("D/K for D/(2K)", guards="rest", rest=1)
bits_are_stuck.twin("a step that keeps 1 - eps^2 of X", guards="segment", kept=1 - eps**2)
bits_are_stuck.twin("a table on which B1 is not stuck", guards="givens", run=((3, 2), (0, 4)))
bits_are_stuck.twin(
    "3a in F0",
    guards="gaps",
    gaps={"0: 0 against 1, another write": x * (F1 - t * (a - b)) + (1 - x) * (3 * a - b - d)},
)
bits_are_stuck.twin("worth d", guards="limit", worth=d)


# ---------------------------------------------------------------------- no others


def predicted(table: Any, size: int) -> tuple[float, bool]:
    """Where the loop with small steps ends by the two regions, and whether a boundary is
    touched."""
    largest, edge = float(np.max(table)), False
    value = largest
    (e, f), (g, h) = np.asarray(table).tolist()
    for p, q, r, s in ((e, f, g, h), (h, g, f, e)):
        lead = (size - 1) * (q - r) - (size + 1) * (s - p)
        if s > p and 2 * p >= q + s and lead > 0:
            value = float(p)
        edge |= lead == 0 or (s > p and 2 * p == q + s) or q + s == p + r
        u, v, w = q - p, r - s, r - p
        bend = u * (u + 3 * v) - w * (3 * u + v)
        if size == 2 and w > u > 0 and v > w and bend > 0:
            value = q + (r - q) ** 2 / (4 * (r - s))
        edge |= bend == 0 or u == 0 or w == u or v == w
    return value, edge


TABLES = {2: 936, 4: 944, 8: 958}
"""How many tables touch no boundary, by K."""


@cache
def found_limits(largest: int, size: int) -> Any:
    """Where the loop with step 1/100 is after 1,200 iterates, on every table."""
    return loop_limits(tables_up_to(largest), size, 1 / 100, 1200)


@claim(
    "T.bits-region",
    place="Own, two steps",
    statement="Take all tables of two actions with rewards 0 to 7, one of them 0, that touch no "
    "boundary of a region (936, 944 and 958 of 1,695 for B1, B2, B3). The loop with step 1/100 "
    "ends below the best reward exactly in the region of T.bits and, for one bit only, in a "
    "second one.",
    verdict="checked",
    steps=(
        machine("ends", "Every table ends where the regions say, for K = 2, 4, 8."),
        machine("second", "For one bit the second region is not empty; for two bits it is."),
    ),
)
def region_is_exact(proof: Proof, shrink: int = 0, second: int = 2, largest: int = 7) -> Evidence:
    """The loop from the formulas, on all tables at once. `shrink`: a stricter (2)."""
    tables = tables_up_to(largest)
    lines = []
    for size in (2, 4, 8):
        due = [predicted(table, size) for table in tables]
        inside = np.array([not edge for _, edge in due])
        value = np.array([value for value, _ in due])
        if shrink:
            tight = [_is_tight(table, shrink) for table in tables]
            value = np.where(tight, tables.max(axis=(1, 2)), value)
        if int(inside.sum()) != TABLES[size]:
            proof.step("ends", f"K = {size}: {int(inside.sum())} tables")
        off = inside & (np.abs(found_limits(largest, size) - value) > 0.06)
        first = tables[off][0].tolist() if off.any() else None
        proof.step("ends", f"K = {size}: {first}" if first else None)
        stuck = inside & (value < tables.max(axis=(1, 2)))
        whole = stuck & (value == np.rint(value))
        lines.append([size, int(inside.sum()), int(stuck.sum()), int((stuck & ~whole).sum())])
        if size == second:
            proof.step("second", None if (stuck & ~whole).any() else f"empty for K = {size}")
        elif size == 6 - second:
            proof.step("second", f"not empty for K = {size}" if (stuck & ~whole).any() else None)
    argument = text(
        "The loop with step 1/100, 1,200 iterates, from its formulas (`proofs.own.tables.limits`), "
        "against what the regions say, within 0.06:",
        table_text(["K", "tables", "stuck", "of them stochastic"], lines),
        "Tables on a boundary of a region (a tie somewhere along the way) are left out: what "
        "happens there is a matter of the rule for ties.",
    )
    return checked(
        "936, 944 and 958 of 1,695 tables lie off the boundaries, and all agree", argument
    )


def _is_tight(table: Any, shrink: int) -> bool:
    (e, f), (g, h) = table.tolist()
    return any(s > p and q + s <= 2 * p < q + s + shrink + 1
               for p, q, r, s in ((e, f, g, h), (h, g, f, e)))  # fmt: skip


region_is_exact.twin("2a > b + d + 1", guards="ends", shrink=1)
region_is_exact.twin("the second region for two bits", guards="second", second=4)


# ---------------------------------------------------------------------- memory hurts

p = sympy.Symbol("p")
HALF = sympy.Rational(1, 2)

GROWING = Theory(
    {
        "p0": "p(0) == 1/2",
        "p+": "p(n+1) == p(n) + eps*(1 - p(n))",
        "x0": "x(0) == 1/2",
        "x+": "x(n+1) == (1 - eps)*x(n)",
    }
)
"""The chance p(n) of action 1 after n steps towards it, and x(n) = (1-eps)^n / 2."""


@cache
def growth_broken(rewards: tuple[tuple[int, int], ...]) -> str | None:
    """Say where the code's loop does not follow `GROWING` on a table. An end other than that of
    T.hurts is told as well. None if it does as it says."""
    P = table_task(rewards)
    for eps in (Fraction(1, 3), Fraction(1)):
        stream = iterates(P, uniform(P), step=eps, exact=True)
        chance = [next(stream).pi["o", 1] for _ in range(5)]
        read = {"p": chance.__getitem__, "x": lambda n, eps=eps: (1 - eps) ** n / 2, "eps": eps}
        if trouble := first_broken(GROWING, Interpretation({}, read, times=4)):
            return f"step {eps}: {trouble}"
    for memory, due in (("none", rewards[1][1]), ("B1", rewards[0][0])):
        E = augment(P, memory)
        run = improve(E, uniform(E), step=Fraction(1, 20), exact=True)
        if not run.decided or run.limit_value != due:
            return f"{memory} ends at {run.limit_value}, not at {due}"
    return None


@claim(
    "T.hurts",
    place="Own, two steps",
    statement="Memory hurts: wherever T.bits says that B(k) is stuck, the loop without memory "
    "reaches the optimum d, for every step. So it is on [[5,4],[0,6]]: 6 without memory, 5 with "
    "every B(k).",
    verdict="proved",
    steps=(
        machine("gap", "q(1) - q(0) = (1-p)(d-a) + (p-1/2)(2d-b-c) at pi(1) = p."),
        machine(
            "signs",
            "2d - b - c = 2(d-a) + 2(a-b) + (b-c), positive in the region; so p >= 1/2 grows to 1.",
        ),
        machine(
            "way", "While greedy is 1, 1 - p shrinks by the factor 1 - eps at each step, any n."
        ),
        machine(
            "givens",
            "So it is along the code's loop on [[5,4],[0,6]], steps 1/3 and 1; with steps of 1/20 "
            "it ends at 6 without memory and at 5 with B1, in rationals.",
        ),
        machine("value", "At p = 1 it is worth d."),
        machine("best", "d - b and d - c are positive there too: d is the optimum."),
    ),
)
def memory_hurts(
    proof: Proof,
    gap: Any = (1 - p) * (d - a) + (p - HALF) * (2 * d - b - c),
    parts: Any = 2 * (d - a) + 2 * (a - b) + (b - c),
    at_one: Any = d,
    lead: Any = (d - a) + (a - b),
    way: Theory = GROWING,
    rewards: tuple[tuple[int, int], ...] = ((5, 4), (0, 6)),
) -> Evidence:
    """One row. The loop is greedy on the gradient of p -> J(p)."""
    left = way.shows(
        "what is left", "1 - p(n) == x(n)",
        [("unfold", "p+"), ("unfold", "x+"), ("add", "hypothesis", "eps - 1")],
        base=[("unfold", "p0"), ("unfold", "x0")],
    )  # fmt: skip
    proof.step("way", trouble_in(left))
    proof.step("givens", growth_broken(rewards))
    P = table_task([[a, b], [c, d]])
    found = evaluate(P, Policy.from_mapping(P, {"o": {0: 1 - p, 1: p}}))
    apart = found.q["o", 1] - found.q["o", 0]
    proof.step("gap", None if identical(apart, gap) else f"it is {sympy.factor(apart)}")
    proof.step("signs", None if identical(2 * d - b - c, parts) else f"it is not {parts}")
    worth = sympy.sympify(found.value).subs(p, 1)
    proof.step("value", None if identical(worth, at_one) else f"it is worth {worth}")
    same = identical(d - b, lead) and identical(d - c, (d - a) + (a - b) + (b - c))
    proof.step("best", None if same else f"d - b is not {lead}")
    argument = text(
        "From uniform, p = 1/2, the gap is (d-a)/2 > 0, so p grows; for p >= 1/2 it is a sum of "
        "two terms that are not negative, so greedy is 1 again. 1 - p is (1-eps)^n / 2 after n "
        "steps: every step in (0, 1] leads to p = 1. With B(k) the loop goes the other way, "
        "because under the uniform policy the reward of 1 is spread over what memory 0 "
        "and the others play: (3) is (K-1)(b-c) > (K+1)(d-a), and for K = 1 it is false.",
        "On [[5,4],[0,6]], with steps of 1/20, it ends at 6 without memory and at 5 with B1.",
    )
    certificates = [identity_certificate("the gap", str(apart), str(gap)), left]
    return proved(
        "without memory the loop reaches d; with B(k) it ends at a < d", argument, certificates
    )


memory_hurts.twin("p for p - 1/2", guards="gap", gap=(1 - p) * (d - a) + p * (2 * d - b - c))
memory_hurts.twin("without b - c", guards="signs", parts=2 * (d - a) + 2 * (a - b))
memory_hurts.twin("worth a", guards="value", at_one=a)
memory_hurts.twin("d - b = d - a", guards="best", lead=d - a)
memory_hurts.twin(
    "steps that stop half way",
    guards="way",
    way=GROWING.replaced(**{"p+": "p(n+1) == p(n) + eps*(1/2 - p(n))"}),
)
memory_hurts.twin("a table on which B1 is not stuck", guards="givens", rewards=((0, 0), (0, 1)))
