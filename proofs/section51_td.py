"""Section 5.1: one-step TD values lead a greedy learner away from an optimal policy.

In recall with OA1, pi the blue policy of Figure 3, and every gamma in (0, 1):

    q_pi(empty, 2 push)  = 0                         nothing is paid after a wrong first action
    q_TD(empty, 2 push)  = 0 + gamma v_TD((o,2)) = gamma
    v_TD(empty)          = gamma^2  =  q_TD(empty, 1 push)

so greedy on the TD values takes 2 push at the start, and the policy that does is worth 0. The
values are those of the fixed point of TD(0) on observations under pi (`workbench.core.td`),
where the pair (empty, 2 push) is never tried; they are also the limit, for epsilon to 0, of the
fixed points under (1 - epsilon) pi + epsilon uniform, where every pair is.
"""

from __future__ import annotations

from typing import Any

import sympy
from sympy import Interval

from pomdps import recall
from proofs.ledger import Evidence, Proof, claim, machine, proved
from proofs.ledger.generic import GAMMA
from proofs.ledger.inequalities import prove_positive
from proofs.ledger.prose import table_text, text
from proofs.section5_recall import blue
from workbench import POMDP, Policy, augment, evaluate, td_values, uniform
from workbench.certificates.values import q_certificate, td_certificate, value_certificate

EPSILON = sympy.Symbol("epsilon")
RED = (2, "push")
BLUE = (1, "push")
BETWEEN = Interval.open(0, 1)


def with_exploration(E: POMDP, pi: Policy, start: Any, at: Any = 0) -> tuple[dict[Any, Any], Any]:
    """q_TD(start, .) under (1 - epsilon) pi + epsilon uniform in the limit of epsilon to 0. And the
    lead of 2 push.

    The lead is q_TD(start, 2 push) - v_TD(start) with the paper's epsilon = 0.01 and gamma = 0.95.
    """
    explored = td_values(E, pi.toward(uniform(E), EPSILON))
    limits = {a: sympy.cancel(explored.q[start, a].subs(EPSILON, at)) for a in E.A}
    papers = {GAMMA: sympy.Rational(19, 20), EPSILON: sympy.Rational(1, 100)}
    return limits, (explored.q[start, RED] - explored.v[start]).subs(papers)


@claim(
    "S51.td",
    place="Sec. 5.1",
    statement="In recall with OA1 greedy on TD values leaves the blue policy for one worth 0, for "
    "every gamma in (0, 1). Under the blue policy the true value of 2 push at the start is 0. Its "
    "one-step TD value is gamma, above the gamma^2 of 1 push.",
    verdict="proved",
    steps=(
        machine("values", "q_pi = 0, q_TD = gamma, v_TD = gamma^2, value gamma^2"),
        machine("largest", "gamma exceeds every other TD value at the start, gamma in (0, 1)"),
        machine("fallen", "the policy that takes 2 push is worth 0"),
        machine("explored", "the values are the limits of those with exploration"),
    ),
)
def td_misleads(
    proof: Proof,
    where: Any = BETWEEN,
    memory: str = "OA1",
    n: int = 1,
    worth: int = 0,
    explore: Any = None,
    told: tuple[Any, ...] = (0, GAMMA, GAMMA**2, GAMMA**2),
) -> Evidence:
    """Judge the claim. `where`: the discounts. `n`: the steps of the TD target. `worth`: the value
    of the policy that is moved to. `explore`: where exploration goes to, 0 unless given. `told`:
    the four values."""
    P = recall(gamma=GAMMA)
    E = augment(P, memory)
    pi = blue(E)
    (start,) = E.omega(next(iter(E.mu)))
    true, td = evaluate(E, pi), td_values(E, pi, n=n)
    found = true.q[start, RED], td.q[start, RED], td.q[start, BLUE], true.value
    names = ("q_pi(2 push)", f"{n}-step TD of 2 push", f"{n}-step TD of 1 push", "value")
    shown = ", ".join(f"{name} = {x}" for name, x in zip(names, found, strict=True))
    proof.step("values", None if found == told else shown)
    certificates = [q_certificate(P, memory, true), td_certificate(P, memory, td)]
    others = {a: td.q[start, a] for a in E.A if a != RED and td.q[start, a] is not None}
    for a, x in others.items():
        decided = prove_positive(GAMMA - x, {GAMMA: where})
        shown = f"gamma = {decided.witness}: q_TD of 2 push is no more than {x}, {E.A.text(a)}"
        proof.step("largest", None if decided.holds else shown)
        certificates += decided.certificates
    fallen = Policy.from_mapping(E, {o: pi.row(o) for o in E.O} | {start: {RED: 1}})
    zero = evaluate(E, fallen).value
    proof.step("fallen", None if zero == worth else f"it is worth {zero}")
    certificates.append(value_certificate(P, memory, fallen, zero))
    limits, lead = with_exploration(E, pi, start, explore or 0)
    same = all(limits[a] == td.q[start, a] for a in E.A if td.q[start, a] is not None)
    proof.step("explored", None if same else f"with exploration {limits}")
    undefined = [E.A.text(a) for a in E.A if td.q[start, a] is None]
    argument = text(
        "From the evaluator and from the fixed point of TD(0), gamma a symbol, at the empty "
        "buffer:",
        table_text(
            ["action", "q_pi", "q_TD", "explored"],
            [
                [
                    E.A.text(a),
                    true.q[start, a],
                    "-" if td.q[start, a] is None else td.q[start, a],
                    limits[a],
                ]
                for a in E.A
            ],
        ),
        f"gamma > gamma^2 and gamma > gamma^3 on (0, 1). ({', '.join(undefined)} leads to a buffer "
        "that the blue policy never shows while an episode goes on, so TD has no value for it.) "
        "Greedy on q_TD takes 2 push at the start, and the policy that does is worth 0 for every "
        "gamma.",
        "The blue policy never tries 2 push. Under (1 - epsilon) blue + epsilon uniform all pairs "
        "are tried, and the fixed point tends, for epsilon to 0, to the last column. With the "
        "paper's epsilon = 0.01 and gamma = 0.95, 2 push is ahead of the value of the empty buffer "
        f"by {float(lead):.4f}.",
        "End points: for gamma = 1 both are 1, a tie; for gamma = 0 all are 0.",
    )
    return proved(
        "TD gives 2 push gamma, more than gamma^2 for 1 push; its true value is 0",
        argument,
        certificates,
    )


td_misleads.twin("the end points 0 and 1 as well", guards="largest", where=Interval(0, 1))
td_misleads.twin("a TD value of 1 for 2 push", guards="values", told=(0, 1, GAMMA**2, GAMMA**2))
td_misleads.twin("a worth of 1", guards="fallen", worth=1)
td_misleads.twin("exploration of a tenth", guards="explored", explore=sympy.Rational(1, 10))
td_misleads.twin("three-step TD", n=3)
td_misleads.twin("OA2", memory="OA2")
