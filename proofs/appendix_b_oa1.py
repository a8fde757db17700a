"""Appendix B: the oracle loop on the variation of the recall task with OA1. All iterates of all
runs with small steps.

Rows are named by what the buffer holds: empty, 0, 1. Let x be the product of 1 - eps over the steps
taken. As long as greedy never takes action 1 on the empty buffer, never <0,keep> or <1,keep> where
<0,push> or <1,push> do the same, and always <1,push> on row 1, the policy is

    empty   x/4 everywhere, c more on <0,keep>, the rest on <0,push>
    0       x/4 everywhere, y more on <0,push>, u more on <1,push>, the rest on <1,keep>
    1       x/4 everywhere, the rest on <1,push>

with c, y, u >= 0, c <= 1-x, y+u <= 1-x. The uniform policy is x = 1. The evaluator, with symbols
for x, c, y and u, gives the q-values of all these policies, and the solver shows that the loop
never leaves the family. Phase 1 is y = 0, u = 1-x: row 0 has gone to <1,push> so far. Phase 2
begins when it first takes <0,push>; from then on y > 0.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from typing import Any

import sympy
from sympy import Rational

from pomdps import recall_variant
from pomdps.recalls import VARIANT_REWARDS
from proofs.ledger.inequalities import (
    identical,
    impossible,
    lowest_terms,
    relation_text,
    solve_conditions,
)
from workbench import POMDP, Policy, augment, evaluate
from workbench.core.evaluate import Evaluation

x, c, y, u, eps, e = sympy.symbols("x c y u eps e")
EMPTY, ROW0, ROW1 = ((None,), "o"), ((("o", 0),), "o"), ((("o", 1),), "o")
KEEP0, PUSH0, KEEP1, PUSH1 = (0, "keep"), (0, "push"), (1, "keep"), (1, "push")

FAMILY = [x > 0, x <= 1, c >= 0, c <= 1 - x, y >= 0, u >= 0, y + u <= 1 - x]
STEP = [eps >= 0, eps <= e]


def variant(penalty: Any = -100) -> POMDP:
    """The variation of the recall task, with another reward in the place of -100."""
    return recall_variant(
        rewards={done: penalty for done, r in VARIANT_REWARDS.items() if r == -100}
    )


@cache
def family() -> tuple[POMDP, Evaluation]:
    """The product with OA1, and the evaluation of the whole family."""
    E = augment(variant(), "OA1")
    q = x / 4
    rows = {
        EMPTY: {KEEP0: q + c, PUSH0: q + 1 - x - c, KEEP1: q, PUSH1: q},
        ROW0: {KEEP0: q, PUSH0: q + y, KEEP1: q + 1 - x - y - u, PUSH1: q + u},
        ROW1: {KEEP0: q, PUSH0: q, KEEP1: q, PUSH1: q + 1 - x},
    }
    return E, evaluate(E, Policy.from_mapping(E, rows))


def gap(row: Any, a: Any, b: Any) -> Any:
    """q(row, a) - q(row, b), a rational function of x, c, y, u."""
    found = family()[1]
    return found.q[row, a] - found.q[row, b]


@dataclass
class StatementChain:
    """Statements put to the solver one after the other. The first that fails is kept."""

    failure: str | None = None
    lines: list[str] = field(default_factory=list)
    certificates: list[dict[str, Any]] = field(default_factory=list)

    def never(self, what: str, *conditions: Any, squares: tuple[Any, ...] = ()) -> None:
        """No numbers satisfy all conditions, which proves `what`."""
        if self.failure:
            return
        decided = impossible(conditions, squares)
        if not decided.holds:
            shown = ", ".join(
                f"{name} = {value}" for name, value in (decided.witness or {}).items()
            )
            self.failure = f"{what}: fails at {shown}"
            return
        self.certificates += decided.certificates
        if what:
            self.lines.append(what)

    def sign(self, what: str, f: Any, given: list[Any], bad: str) -> None:
        """A rational function is never `bad` ("> 0", "<= 0", ...) under the given conditions."""
        num, den = lowest_terms(f)
        if den.free_symbols and _can_hold([*given, den <= 0]):
            num, den = -num, -den
        if den.free_symbols:
            self.never("", *given, den <= 0)
        relation = {"> 0": num > 0, "<= 0": num <= 0, ">= 0": num >= 0, "< 0": num < 0}[bad]
        self.never(what, *given, relation)


def _can_hold(conditions: list[Any]) -> bool:
    """Whether the solver finds numbers that satisfy all conditions."""
    return solve_conditions([relation_text(c) for c in conditions]) is not None


@cache
def stays_in_the_family(largest: Fraction) -> StatementChain:
    """With all steps <= largest: row 1 always prefers <1,push>, and the loop stays in the
    family."""
    chain = StatementChain()
    at_start = {x: 1, c: 0, y: 0, u: 0}
    if any(sympy.sympify(p).subs(at_start) != Rational(1, 4) for p in family()[1].pi.prob.values):
        chain.failure = "x = 1 is not the uniform policy"
    for row, a, b in ((ROW0, PUSH0, KEEP0), (ROW1, PUSH1, KEEP1), (ROW1, PUSH0, KEEP0)):
        if not identical(gap(row, a, b), 0):
            chain.failure = f"{a} and {b} differ on {row}"
    for other in (PUSH1, KEEP1):
        chain.sign(
            f"empty: <0,push> beats <1,{other[1]}>", gap(EMPTY, PUSH0, other), FAMILY, "<= 0"
        )
    chain.sign(
        "0: <1,keep> beats <1,push> once y > 0", gap(ROW0, KEEP1, PUSH1), [*FAMILY, y > 0], "<= 0"
    )
    _phase_1(chain, largest)
    second_step = u * (1 - c - 3 * x / 4)
    told = 2 * (88 * x + x**2 - 8 * second_step) / (8 * second_step + 6 * x - x**2)
    if not identical(gap(ROW1, PUSH1, PUSH0), told):
        chain.failure = "another formula for row 1"
    phase_2 = [*FAMILY, u <= 11 * x]
    chain.sign(
        "1: <1,push> beats <0,push> while u <= 11 x (phase 2)",
        gap(ROW1, PUSH1, PUSH0),
        phase_2,
        "<= 0",
    )
    return chain


def _phase_1(chain: StatementChain, largest: Fraction) -> None:
    """Bound c while y = 0 and u = 1-x. So row 0 turns to <0,push> before x gets small."""
    here = [x > 0, x <= 1, c >= 0, c <= 1 - x]
    small = [*STEP, e <= Rational(largest)]
    at = {y: 0, u: 1 - x}
    bound, at_least = Rational(1, 4) + 3 * e / 4 - 5 * x / 8, Rational(2, 7) * (1 - 3 * e)
    if not identical(gap(ROW0, KEEP1, PUSH1).subs(at), 0):
        chain.failure = "<1,keep> and <1,push> differ on row 0 in phase 1"
    keep, push = gap(EMPTY, KEEP0, PUSH0).subs(at), gap(ROW0, PUSH1, PUSH0).subs(at)
    chain.sign(
        "phase 1, empty: <0,keep> only if 8c + 5x < 2", keep, [*here, 8 * c + 5 * x >= 2], "> 0"
    )
    chain.sign("phase 1, 0: <1,push> only if 2c + 3x > 1", push, [*here, 2 * c + 3 * x <= 1], "> 0")
    moved = bound.subs(x, (1 - eps) * x)
    chain.never(
        "phase 1: c = 0 or c <= 1/4 + 3e/4 - 5x/8, steps <= e",
        *here,
        *small,
        8 * c + 5 * x < 2,
        (1 - eps) * c + eps > moved,
    )
    chain.never("", *here, *small, c <= bound, (1 - eps) * c > moved)
    chain.never(
        "phase 1: <1,push> on 0 only if x > 2(1-3e)/7",
        *here,
        *small,
        c <= bound,
        2 * c + 3 * x > 1,
        x <= at_least,
    )
    chain.never("", *small, 3 * x > 1, x <= at_least)
    chain.never(
        "so x >= 1/12, hence u = 1-x <= 11 x, all through phase 1",
        *small,
        (1 - e) * at_least < Rational(1, 12),
    )
    prefer = gap(ROW1, PUSH1, PUSH0).subs(at)
    chain.sign("phase 1, 1: <1,push> beats <0,push>", prefer, [*here, x >= Rational(1, 12)], "<= 0")


@cache
def ends_at_the_stochastic_point(largest: Fraction, limit: Fraction) -> StatementChain:
    """Follow phase 2 to its end, with steps <= largest. There c -> 0, y -> 3/8 up to the step, and
    the return tends to `limit` or less."""
    chain = StatementChain()
    value = family()[1].value.subs({x: 0, u: 0})
    if not identical(value, (1 - c) * (1 - y) * (1 + 2 * c + 4 * y)):
        chain.failure = f"the return at x = u = 0 is {value}"
    if not identical(value.subs(c, 0), Rational(limit) - 4 * (y - Rational(3, 8)) ** 2):
        chain.failure = (
            f"the return at x = u = c = 0 is {value.subs(c, 0)}, not {limit} - 4(y - 3/8)^2"
        )
    inside = [c >= 0, c <= 1, y >= 0, y <= 1]
    chain.never(
        f"x = u = 0: the return (1-c)(1-y)(1+2c+4y) is at most {limit}",
        *inside,
        value > Rational(limit),
        squares=(8 * y - 3,),
    )
    phase_2 = [*FAMILY, u <= 11 * x, y > 0]
    load = 2 * c + 2 * u + 5 * x + 8 * y
    chain.sign(
        "0: <0,push> only if 2c + 2u + 5x + 8y <= 3",
        gap(ROW0, PUSH0, KEEP1),
        [*phase_2, load > 3],
        ">= 0",
    )
    chain.sign(
        "0: <1,keep> only if 2c + 2u + 5x + 8y > 3",
        gap(ROW0, KEEP1, PUSH0),
        [*phase_2, load <= 3],
        "> 0",
    )
    low = [*phase_2, x <= Rational(1, 10), y <= Rational(1, 2)]
    keep = gap(EMPTY, KEEP0, PUSH0)
    chain.sign(
        "empty: <0,keep> only if 4c + 4y < 1 + 42x (x <= 1/10, y <= 1/2)",
        keep,
        [*low, 4 * (c + y) >= 1 + 42 * x],
        "> 0",
    )
    small = [*STEP, e <= Rational(largest), x > 0, x <= 1, c >= 0, y >= 0]
    chain.never("y <= 1/2 always", *small, 8 * y <= 3, (1 - eps) * y + eps > Rational(1, 2))
    bound = Rational(1, 4) + 3 * e / 4 + Rational(21, 2) * x
    moved = bound.subs(x, (1 - eps) * x)
    chain.never(
        "c <= 1/4 + 3e/4 + 21x/2 always", *small, 4 * c < 1 + 42 * x, (1 - eps) * c + eps > moved
    )
    chain.never("", *small, c <= bound, (1 - eps) * c > moved)
    tiny = Rational(1, 20000)
    floor = (1 - e) * (Rational(5, 16) - 3 * e / 16 - 6 * tiny)
    falls = [*small, x <= tiny, u >= 0, u <= 11 * x, c <= bound, load > 3]
    chain.never(
        "y falls only from above, to (1-e)(5-3e)/16 - ... at least", *falls, (1 - eps) * y < floor
    )
    chain.never(
        "which is above 1/4 + 21x/2: <0,keep> is over",
        *small,
        floor <= Rational(1, 4) + Rational(21, 2) * tiny,
    )
    return chain
