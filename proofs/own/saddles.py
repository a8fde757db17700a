"""Saddles: on [[0,1],[1,0]] the loop from uniform stays where no memory is used, for every step.

The task: two steps, reward 1 if the second action differs from the first. With one bit, with K1 and
with O1 an optimal policy is easily written down, worth 1. Let every row play 1 with the same
probability p, and let the lower write have what is left of its start, x/4 for each action. Then at
every row

    q(1, w) - q(0, w')  =  g (1 - 2p),     g > 0,      for all writes w, w'

so every row moves the same way, writes tie, the rows stay alike, and p is the loop without memory:

    p' = (1-eps) p  if p >= 1/2,     p' = (1-eps) p + eps  if p < 1/2

which never leaves [1/2 - eps/2, 1/2 + eps/2]. The value 2p(1-p) is at most 1/2 for ever. With p =
1/2 it is a saddle: along `0 then 1` it rises.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

import sympy
from sympy import Interval

from proofs.ledger import Evidence, Proof, claim, machine, proved, refuted
from proofs.ledger.inequalities import Box, identical, prove_positive
from proofs.ledger.prose import text
from proofs.ledger.walks import loop_leaves
from proofs.own.tables import table_task
from workbench import POMDP, Policy, augment, evaluate
from workbench.certificates.values import identity_certificate

p, x, eps, s = sympy.symbols("p x eps s")
HALF = sympy.Rational(1, 2)
LISTED = ("none", "K1", "B1", "O1")
OTHER = ((0, 1), (1, 0))
UNIT: Box = {x: Interval(0, 1)}


def line_policy(E: POMDP, p: Any = p, x: Any = x) -> Policy:
    """The policy that plays 1 with probability p at every row.

    The lower of two writes has x/4 for each action.
    """
    writes = list(dict.fromkeys(w for _, w in E.A))
    rows = {}
    for o in E.O:
        row: dict[Any, Any] = {}
        for i, share in ((0, 1 - p), (1, p)):
            if len(writes) == 2:
                row[i, writes[0]] = x / 4
                row[i, writes[1]] = share - x / 4
            else:
                row[i, writes[0]] = share
        rows[o] = row
    return Policy.from_mapping(E, rows)


def on_the_line(eps: Fraction, fair: str = "0") -> Callable[[POMDP, int], Policy]:
    """The iterates that the argument speaks of: what is played less gains, `fair` at 1/2."""

    def due(E: POMDP, n: int) -> Policy:
        p = Fraction(1, 2)
        for _ in range(n):
            gains = p < Fraction(1, 2) if fair == "0" else p <= Fraction(1, 2)
            p = (1 - eps) * p + eps * gains
        return line_policy(E, p, (1 - eps) ** n)

    return due


@claim(
    "T.saddle",
    place="Own, two steps",
    statement="On [[0,1],[1,0]] with no memory, K1, B1 or O1 the loop from uniform stays near "
    "1/2, with any step eps in (0, 1]. It plays 1 with a probability within eps/2 of 1/2 on every "
    "row for ever and is worth at most 1/2. K1, B1 and O1 can encode the optimum 1.",
    verdict="proved",
    steps=(
        machine(
            "rows",
            "On rows that are alike q(1,w) - q(0,w') = g (1-2p) with g > 0, for all "
            "writes, at every row.",
        ),
        machine("value", "They are worth 2p(1-p) = 1/2 - 2(p-1/2)^2."),
        machine(
            "givens",
            "The code's loop runs along such rows: five iterates with steps 1/3 and 1, all four "
            "memories, in rationals.",
        ),
        machine("stays", "p stays within eps/2 of 1/2."),
        machine("optimum", "0 then 1 is a policy of K1, B1 and O1, worth 1."),
    ),
)
def stays_at_the_saddle(
    proof: Proof,
    memories: tuple[str, ...] = LISTED,
    worth: Any = HALF - 2 * (p - HALF) ** 2,
    band: Any = HALF,
    best: tuple[str, ...] = ("K1", "B1", "O1"),
    fair: str = "0",
) -> Evidence:
    """Follow the loop with symbols p, x and eps, for four memories.

    `fair`: the action that is taken where both are worth the same.
    """
    P = table_task(OTHER)
    certificates: list[dict[str, Any]] = []
    for memory in memories:
        E = augment(P, memory)
        found = evaluate(E, line_policy(E))
        proof.step("rows", _moves_alike(E, found.q, certificates))
        same = identical(found.value, worth)
        proof.step("value", None if same else f"{memory} is worth {sympy.factor(found.value)}")
    for memory, step in product(LISTED, (Fraction(1, 3), Fraction(1))):
        E = augment(P, memory)
        due = on_the_line(step, fair)
        proof.step("givens", loop_leaves(E, step, partial(due, E), 5))
    s01: Box = {s: Interval(0, 1), eps: Interval.Lopen(0, 1)}
    high = HALF + s * band * eps  # p at or above 1/2, by at most eps/2
    low = HALF - s * band * eps
    for gap in (
        (1 - eps) * high - (HALF - band * eps),
        HALF + band * eps - (1 - eps) * high,
        (1 - eps) * low + eps - (HALF - band * eps),
        HALF + band * eps - ((1 - eps) * low + eps),
    ):
        decided = prove_positive(sympy.expand(gap), s01, strict=False)
        certificates += decided.certificates
        proof.step("stays", None if decided.holds else f"{gap} is negative at {decided.witness}")
    for memory in best:
        value = evaluate((E := augment(P, memory)), zero_then_one(E), exact=True).value
        proof.step("optimum", None if value == 1 else f"{memory}: {value}")
    argument = text(
        "Rows that are alike stay alike: greedy takes the action that is played less, everywhere, "
        "and ties between writes go to the higher one, so the lower one keeps x/4 for each action. "
        "For p in [1/2, 1/2 + eps/2] the next p is (1-eps) p in [1/2 - eps/2, 1/2]; for p in [1/2 "
        "- eps/2, 1/2) it is (1-eps) p + eps in [1/2, 1/2 + eps/2]. From p = 1/2 the loop never "
        "leaves the band, whatever eps. Memory is never used, although K1, B1 and O1 have a policy "
        "worth 1, and the uniform policy is a saddle. OA1 (T.oa1) and B2 leave it.",
    )
    return proved(
        "the loop never leaves the neighbourhood of the saddle, whatever eps",
        argument,
        certificates,
    )


def _moves_alike(E: POMDP, q: Any, certificates: list[dict[str, Any]]) -> str | None:
    """Whether every row's differences are a positive multiple of 1 - 2p."""
    writes = list(dict.fromkeys(w for _, w in E.A))
    for o in E.O:
        if q[o, E.A[0]] is None:
            continue
        for w in writes:
            for w_other in writes:
                gap = sympy.sympify(q[o, (1, w)] - q[o, (0, w_other)])
                g = sympy.cancel(gap / (1 - 2 * p))
                if p in g.free_symbols or not prove_positive(g, UNIT).holds:
                    return f"{E.name}, {o}: {sympy.factor(gap)}"
                certificates.append(
                    identity_certificate(f"{E.name}, {o}", str(gap), str(g * (1 - 2 * p)))
                )
    return None


def zero_then_one(E: POMDP) -> Policy:
    """Do 0 with the highest write, then 1."""
    w = E.A[-1][1]
    return Policy.deterministic(E, {o: (0 if o == E.O[0] else 1, w) for o in E.O})


stays_at_the_saddle.twin("OA1 as well", guards="rows", memories=("none", "OA1"))
stays_at_the_saddle.twin("worth p", guards="value", worth=p)
stays_at_the_saddle.twin("ties between actions to 1", guards="givens", fair="1")
stays_at_the_saddle.twin("within eps/3", guards="stays", band=sympy.Rational(1, 3))
stays_at_the_saddle.twin("0 then 1 without memory", guards="optimum", best=("none",))


@claim(
    "S52.converge",
    place="Sec. 5.2",
    statement="A policy learning method that takes small update steps converges to locally "
    "optimal memoryless policies. (Read as: the loop from uniform, as the step tends to 0.)",
    verdict="refuted",
    corrected_by="S52.local*",
    steps=(
        machine(
            "stays",
            "On [[0,1],[1,0]] with B1 all iterates are within eps/2 of p = 1/2 on "
            "both rows, so that their limit, as eps tends to 0, is p = 1/2, worth 1/2.",
        ),
        machine("rises", "From there towards `0 and write 1, then 1` the value is 1/2 + s^2/2."),
    ),
)
def converges_to_local_optima(
    proof: Proof, memory: str = "B1", rise: Any = HALF + s**2 / 2
) -> Evidence:
    """A saddle is a limit of the loop, and no local optimum."""
    P = table_task(OTHER)
    E = augment(P, memory)
    proof.step("stays", _moves_alike(E, evaluate(E, line_policy(E)).q, []))
    u = {o: {a: sympy.Rational(1, len(E.A)) for a in E.A} for o in E.O}
    goal = zero_then_one(E)
    rows = {
        o: {a: (1 - s) * chance + s * goal[o, a] for a, chance in row.items()}
        for o, row in u.items()
    }
    value = sympy.sympify(evaluate(E, Policy.from_mapping(E, rows)).value)
    proof.step("rises", None if identical(value, rise) else f"it is {sympy.expand(value)}")
    argument = text(
        "T.saddle: from uniform the loop with B1 stays within eps/2 of the saddle for every step. "
        f"From the uniform policy towards `0 and write 1, then 1` the value is "
        f"{sympy.expand(value)}: more than 1/2 for every s > 0, so the limit is no local optimum. "
        "The gradient is zero there; first-order methods may converge to a point where no first "
        "derivative is positive, and that is what S52.local* says a step respects. In practice "
        "noise leaves a saddle; the exact loop does not.",
    )
    return refuted(
        "on [[0,1],[1,0]] the loop stays near a saddle",
        argument,
        counterexample="[[0,1],[1,0]] with B1, K1 or O1",
        certificates=[identity_certificate("the rise", str(value), str(rise))],
    )


converges_to_local_optima.twin("with OA1", guards="stays", memory="OA1")
converges_to_local_optima.twin("it rises with s", guards="rises", rise=HALF + s / 2)
