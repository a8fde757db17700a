"""Appendix B and Figure 5: the oracle loop on the variation of the recall task. It is followed with
OA1 and with larger memories.

OA1 is the subject of `appendix_b_oa1`. With OA2 greedy is the same policy at every iterate; with
B(k) it is one policy at the first step and another one ever after, so the iterates are two
segments, and with the memory states in three classes (0, the last one, the others) the q-values of
all iterates of all these B(k) are functions of three numbers.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import islice
from typing import Any

import sympy
from sympy import Rational

from proofs.appendix_b_oa1 import (
    EMPTY,
    PUSH0,
    PUSH1,
    ROW0,
    ROW1,
    StatementChain,
    ends_at_the_stochastic_point,
    family,
    stays_in_the_family,
    variant,
)
from proofs.appendix_c_setting import lumped_memory, lumped_uniform, mixed_rows, policy_rows
from proofs.ledger import Evidence, Proof, claim, machine, proved
from proofs.ledger.greedy_region import Region, stays_greedy
from proofs.ledger.inequalities import Interval
from proofs.ledger.prose import table_text, text
from workbench import POMDP, Policy, augment, best_history, evaluate, uniform
from workbench.certificates.loop import certify
from workbench.certificates.values import q_certificate, value_certificate
from workbench.checker.recheck import recheck
from workbench.core.improve import iterates

SMALL, SMALLER = Fraction(1, 5), Fraction(1, 8)
"""Steps up to SMALL keep OA1 from the optimum; steps up to SMALLER take it to the stochastic
point."""


# ---------------------------------------------------------------------- B.why


@claim(
    "B.why",
    place="App. B",
    statement="With OA1 the penalty of -100 is seen through (o,1). At every iterate of the loop "
    "from uniform, with steps up to 1/5, q((o,1), <0,push>) < q((o,1), <1,push>), although "
    "<0,push> is optimal there. Without the penalty it is not so.",
    verdict="proved",
    steps=(
        machine("runs", "41 iterates with steps 1/50, 1/10 and 1/5 prefer <1,push>, in rationals"),
        machine("chain", "all iterates of all runs with steps <= 1/5 do: 20 exclusions"),
        machine("penalty", "after 1, <0,push> is worth exactly the penalty"),
        machine("milder", "with a penalty of -10 the loop prefers <0,push> and ends at 3"),
    ),
)
def why_oa1_fails(
    proof: Proof,
    penalty: int = -100,
    steps: tuple[Fraction, ...] = (Fraction(1, 50), Fraction(1, 10), SMALL),
    largest: Fraction = SMALL,
    told: int = -100,
    mild: int = -10,
) -> Evidence:
    """Some runs in rationals. Then all iterates of all runs. Then a run with a smaller penalty.

    Parameters
    ----------
    penalty, steps : of the runs in rationals.
    largest : the largest step of all runs.
    told : what <0,push> is said to be worth after 1; mild : the smaller penalty.
    """
    lines = []
    for step in steps:
        for n, (low, high) in enumerate(_preferences(penalty, step, 41)):
            shown = f"step {step}, iterate {n}: <0,push> {low}, <1,push> {high}"
            fine = low is None or low < high
            proof.step("runs", None if fine else shown)
            if n % 20 == 0 and low is not None:
                lines.append([step, n, f"{float(low):.4f}", f"{float(high):.4f}"])
    chain = stays_in_the_family(largest)
    proof.step("chain", chain.failure, refutes=False)
    E, found = family()
    after_1 = evaluate(E, uniform(E), exact=True).q_state[(((1,), (("o", 1),), "o"), PUSH0)]
    proof.step("penalty", None if after_1 == told else f"it is worth {after_1}")
    milder = end_of_loop(mild, "OA1")
    proof.step("milder", None if milder == "3" else milder)
    certificate = q_certificate(variant(), "OA1", found)
    argument = text(
        "After <1,push> as a first action, <0,push> in (o,1) is worth exactly -100 whatever "
        "follows. In numbers, along the loop:",
        table_text(["step", "iterate", "q((o,1),<0,push>)", "q((o,1),<1,push>)"], lines),
        "All iterates of all runs whose steps are at most 1/5 each. Let x be the product of 1 - "
        "eps over the steps taken. The policy is, on the empty buffer, x/4 everywhere, c more on "
        "<0,keep>, the rest on <0,push>; on (o,0) x/4 everywhere, y more on <0,push>, u more on "
        "<1,push>, the rest on <1,keep>; on (o,1) x/4 everywhere, the rest on <1,push>. The "
        "evaluator gives all q-values as functions of x, c, y, u, and, for all such numbers and "
        "all steps <= e <= 1/5:",
        *("  " + line for line in chain.lines),
        "Phase 1 is y = 0, u = 1-x, where (o,0) has gone to <1,push> so far. When it first takes "
        "<0,push>, y > 0 for ever, and <1,push> is not taken on (o,0) any more: u and x shrink "
        "alike, so u <= 11 x stays. The two lines on row 1 then say that <1,push> is preferred in "
        "(o,1) at every iterate: with t = u (1 - c - 3x/4), on (o,1)",
        "  q(<1,push>) - q(<0,push>) = 2 (88x + x^2 - 8t) / (6x - x^2 + 8t),",
        "the first-step visits, worth -100 against -10, outweighing the second-step visits, worth "
        "3 against 1.",
        "It is the penalty: with -10 in its place the same loop (step 1/50) prefers <0,push> and "
        f"goes to the optimum {milder}. With full steps (1) the preference turns at "
        "the second iterate, and the loop finds the optimum.",
        f"A second way: {recheck(certificate)}.",
    )
    return proved(
        "a certificate covers every iterate and every step size up to 1/5",
        argument,
        [*chain.certificates, certificate],
    )


def _preferences(penalty: int, step: Fraction, count: int) -> list[tuple[Any, Any]]:
    """q of <0,push> and <1,push> in (o,1) along the loop, exactly. None where (o,1) is not
    visited."""
    E = augment(variant(penalty), "OA1")
    found = []
    for iterate in islice(iterates(E, uniform(E), step, exact=True), count):
        q = evaluate(E, iterate.pi, exact=True).q
        found.append((q[ROW1, PUSH0], q[ROW1, PUSH1]))
    return found


why_oa1_fails.twin("a penalty of -10", guards="runs", penalty=-10)
why_oa1_fails.twin("full steps", guards="runs", steps=(Fraction(1),))
why_oa1_fails.twin("steps up to 1/3 in the chain", guards="chain", largest=Fraction(1, 3))
why_oa1_fails.twin("a worth of -99", guards="penalty", told=-99)
why_oa1_fails.twin("a penalty of -100 as the milder one", guards="milder", mild=-100)


# ---------------------------------------------------------------------- larger memories


@cache
def binary_reaches_optimum(penalty: int = -100) -> Region:
    """B(1) to B(5), a first step up to 1/2: greedy is g0 at the uniform policy and g1 ever
    after."""
    y, e, K = sympy.symbols("y e K")
    E = augment(variant(penalty), lumped_memory())
    rows = [(m, "o") for m in ("0", "others", "last")]
    g0 = dict(zip(rows, [(0, "last"), (1, "last"), (1, "last")], strict=True))
    g1 = dict(zip(rows, [(0, "last"), (1, "0"), (1, "0")], strict=True))
    start, first, then = (
        lumped_uniform(E, K),
        Policy.deterministic(E, g0),
        Policy.deterministic(E, g1),
    )
    some = {K: Interval(2, 32), e: Interval.Lopen(0, Rational(1, 2)), y: Interval.Lopen(0, 1)}
    about = variant(penalty), "B(k)"
    region = stays_greedy(E, evaluate(E, Policy.from_mapping(E, start)), g0, some, about=about)
    after_first = policy_rows(mixed_rows(E, start, first, 1 - e))
    parts = [
        lambda: stays_greedy(
            E, evaluate(E, mixed_rows(E, after_first, then, y)), g1, some, about=about
        ),
        # after a later step of 1 the others are not visited any more
        lambda: stays_greedy(
            E, evaluate(E, then, exact=True), g1, some, rows=[rows[0], rows[2]], about=about
        ),
    ]
    for part in parts:
        if region.holds:
            region = _joined(region, part())
    return region


@cache
def oa2_reaches_optimum(penalty: int = -100) -> tuple[Region, Policy]:
    """OA2, every step in (0,1]: greedy is the same policy at every iterate."""
    x = sympy.Symbol("x")
    E = augment(variant(penalty), "OA2")
    best = {(None, None): 0, (None, 0): 1, (None, 1): 1, (0, 0): 1, (0, 1): 0, (1, 0): 0, (1, 1): 0}
    goal = {
        (tuple(None if a is None else ("o", a) for a in held), "o"): (best[held], "push")
        for held in best
    }
    pi = Policy.deterministic(E, goal)
    along = evaluate(E, mixed_rows(E, policy_rows(uniform(E)), pi, x))
    about = variant(penalty), "OA2"
    region = stays_greedy(E, along, goal, {x: Interval.Lopen(0, 1)}, about=about)
    if region.holds:
        end = evaluate(E, pi, exact=True)
        seen = [o for o in goal if end.reached[o]]
        region = _joined(region, stays_greedy(E, end, goal, {}, rows=seen, about=about))
    return region, pi


def _joined(one: Region, other: Region) -> Region:
    return Region(
        other.failure,
        [*one.lines, *other.lines],
        [*one.polynomials, *other.polynomials],
        [*one.certificates, *other.certificates],
    )


# ---------------------------------------------------------------------- S52.fig-variant


@cache
def end_of_loop(penalty: int, memory: str) -> str:
    """Where the loop from uniform with step 1/50 ends, by a certificate in rationals."""
    found = certify(variant(penalty), memory, Fraction(1, 50))
    return str(found.get("value", f"{found['claim']} in {found.get('iterates')} iterates"))


@claim(
    "S52.fig-variant",
    place="Sec. 5.2, Fig. 5",
    statement="On the variation of the recall task the loop from uniform, with small steps, ends "
    "with OA1 at a suboptimal (stochastic) point worth 25/16. OA1 and B1 can encode the optimum "
    "3. With OA2, B1, B2 and B5 the loop reaches it.",
    verdict="proved",
    steps=(
        machine(
            "runs",
            "the loop with a step of 1/50, in rationals: at 3 with OA2, B1, B2 and B5, below it "
            "in the first 120 iterates with OA1",
        ),
        machine("family", "OA1, steps <= 1/5: the loop stays in its family (B.why)"),
        machine("point", "OA1, steps <= 1/8: it ends at the stochastic point, worth the limit"),
        machine("bits", "B1 to B5: greedy is one policy, then another, ever after"),
        machine("OA2", "OA2: greedy is one optimal policy at every iterate"),
        machine("encode", "policies of OA1, OA2, B1 and B2 are worth 3, the best history value"),
    ),
)
def figure_5(
    proof: Proof,
    penalty: int = -100,
    largest: Fraction = SMALL,
    limit: Fraction = Fraction(25, 16),
    bits_penalty: int = -100,
    oa2_penalty: int = -100,
    best: int = 3,
) -> Evidence:
    """Follow OA1 for steps up to 1/8. OA2 is followed for every step, B1 to B5 for first steps up
    to 1/2.

    Parameters
    ----------
    penalty : of the runs.
    largest, limit : the largest step of OA1's family, and the value of its point.
    bits_penalty, oa2_penalty : the penalties of the proofs for B(k) and OA2.
    best : what the policies that encode the optimum are worth.
    """
    ends = {name: end_of_loop(penalty, name) for name in ("OA1", "OA2", "B1", "B2", "B5")}
    table = table_text(["memory", "the loop ends"], [[name, end] for name, end in ends.items()])
    right = ends.pop("OA1") == "below in 120 iterates" and set(ends.values()) == {"3"}
    proof.step("runs", None if right else table)
    chains = [stays_in_the_family(largest), ends_at_the_stochastic_point(SMALLER, limit)]
    regions = [binary_reaches_optimum(bits_penalty), oa2_reaches_optimum(oa2_penalty)[0]]
    parts: list[StatementChain | Region] = [*chains, *regions]
    for key, part in zip(("family", "point", "bits", "OA2"), parts, strict=True):
        proof.step(key, part.failure)
    P = variant()
    policies = _optimal_policies(P)
    values = {name: evaluate(pi_E, pi, exact=True).value for name, (pi_E, pi) in policies.items()}
    point = _stochastic_point(P)
    worth = evaluate(augment(P, "OA1"), point, exact=True).value
    proof.step("point", None if worth == limit else f"the point is worth {worth}")
    told = set(values.values()) == {best} and best_history(P).value == best
    proof.step("encode", None if told else f"{values}")
    certificates = [
        value_certificate(P, name, pi, values[name]) for name, (_, pi) in policies.items()
    ]
    certificates += [
        value_certificate(P, "OA1", point, worth),
        q_certificate(P, "OA1", family()[1]),
    ]
    certificates += [c for part in parts for c in part.certificates]
    argument = text(
        "The loop with a step of 1/50, in rationals:",
        table,
        "Encoding: with OA1 <0,push>, then <1,push> on (o,0), then <0,push> on (o,1); with B1 "
        "<0,1> in 0 and <1,0> in 1. Both are worth 3, the best history-based value.",
        "OA1, steps up to 1/8 whose sum is infinite. By B.why (o,1) goes to <1,push>, and the "
        "iterates are given by x, c, y, u with x -> 0 and u <= 11 x -> 0. In phase 2:",
        *("  " + line for line in chains[1].lines),
        "So no limit is worth more than 25/16 (for steps up to 1/5 as well). Moreover, a c above "
        "its bound falls, since <0,keep> needs 4c + 4y < 1 + 42x; y rises to more than 1/4 and "
        "stays there; then <0,keep> is over and c -> 0. From then on y rises while 8y <= 3 - o(1) "
        "and falls otherwise. With a constant step eps it ends up between 3/8 - 3 eps/8 and 3/8 + "
        "5 eps/8, and the return 25/16 - 4 (y - 3/8)^2 between 25/16 (1 - eps^2) and 25/16: the "
        "loop chatters. With steps that tend to 0 it has a limit, <0,push> on the empty buffer and "
        "on (o,0) <0,push> with 3/8, <1,keep> with 5/8, worth 25/16 exactly.",
        "OA2, every step in (0,1]: greedy is one and the same optimal policy pi at all x pi_u + "
        "(1-x) pi, 0 < x <= 1.",
        "B(k), k = 1, ..., 5, steps in (0,1] of which the first is at most 1/2: greedy is <0,last> "
        "in 0 and <1,last> elsewhere at the uniform policy, and <0,last> in 0, <1,0> elsewhere "
        "ever after, for all first steps e, all later products y of 1 - eps and all 2 <= K = 2^k "
        "<= 32. The limit does 0, 1, 0, worth 3. (For much larger K greedy takes another way.)",
    )
    return proved(
        "small steps end at 25/16 with OA1, and at 3 with OA2, B1, B2 and B5",
        argument,
        certificates,
    )


def _optimal_policies(P: POMDP) -> dict[str, tuple[POMDP, Policy]]:
    OA1, B1 = augment(P, "OA1"), augment(P, "B1")
    OA2, B2 = augment(P, "OA2"), augment(P, "B2")
    return {
        "OA1": (OA1, Policy.deterministic(OA1, {EMPTY: PUSH0, ROW0: PUSH1, ROW1: PUSH0})),
        "OA2": (OA2, oa2_reaches_optimum()[1]),
        "B1": (B1, Policy.deterministic(B1, {("0", "o"): (0, "1"), ("1", "o"): (1, "0")})),
        "B2": (B2, Policy.deterministic(B2, {("00", "o"): (0, "11")}, otherwise=(1, "00"))),
    }


def _stochastic_point(P: POMDP) -> Policy:
    """Where OA1 ends."""
    E = augment(P, "OA1")
    return Policy.from_mapping(
        E,
        {
            EMPTY: {PUSH0: 1},
            ROW0: {PUSH0: Fraction(3, 8), (1, "keep"): Fraction(5, 8)},
            ROW1: {PUSH1: 1},
        },
    )


figure_5.twin("a penalty of -10 in the runs", guards="runs", penalty=-10)
figure_5.twin("OA1 ends at 3/2", guards="point", limit=Fraction(3, 2))
figure_5.twin("steps up to 1/3", guards="family", largest=Fraction(1, 3))
figure_5.twin("B(k) without a penalty", guards="bits", bits_penalty=10)
figure_5.twin("OA2 without a penalty", guards="OA2", oa2_penalty=10)
figure_5.twin("an optimum of 2", guards="encode", best=2)
