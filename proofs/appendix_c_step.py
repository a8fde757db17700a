"""Lemma C.3, the inductive step: a step towards pi_l leaves pi_l greedy.

First the proof's formulas for the q-values after the step, as identities between what the evaluator
returns for policies made of symbols; then the inequalities, for all q-values at once, put to the
solver.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any

import sympy

from pomdps.recalls import RECALL4_REWARDS
from proofs.appendix_c_setting import (
    A,
    Rewards,
    any_policy,
    changed_rewards,
    local_optimum,
    mixed_rows,
    policy_rows,
    recall4_task,
    symbolic_rewards,
)
from proofs.ledger import Evidence, Proof, claim, machine, proved
from proofs.ledger.inequalities import DecidedInequality, identical, impossible
from proofs.ledger.prose import text
from workbench import augment, evaluate
from workbench.certificates.values import identity_certificate
from workbench.core.evaluate import Evaluation

W = ("0", "1")


@claim(
    "C3",
    place="Lemma C.3",
    statement="Let pi be any policy of recall4 x B1 such that greedy on q_pi is pi_l. Then greedy "
    "on the q-values of (1-eps) pi + eps pi_l is again pi_l, for every eps in [0,1].",
    verdict="proved",
    steps=(
        machine("formula 0", "Q~^0 is a mixture of Q^0 and r, for all policies and rewards"),
        machine("formula 1", "Q~^1 is a mixture of Q^1 and r_1a, for all policies and rewards"),
        machine("memory 0", "if <1,1> is greedy on Q^0 it is on Q~^0"),
        machine("memory 1", "if <3,1> is greedy on Q^1 it is on Q~^1"),
        machine("unseen 1", "if memory 1 was not seen and is then, <3,1> is greedy there"),
    ),
)
def inductive_step(
    proof: Proof,
    rewards: Rewards = RECALL4_REWARDS,
    largest: int = 1,
    largest_1: int = 1,
    second: tuple[int, int] = (1, 3),
    first: int = 1,
    unseen: Rewards | None = None,
) -> Evidence:
    """All policies, all steps.

    Parameters
    ----------
    largest, largest_1 : the largest step, for memory states 0 and 1.
    second, first : the actions of pi_l that the formulas read: after writing 0 and 1, and before.
    unseen : the rewards where memory 1 was not seen before.
    """
    mismatch, identities = step_identities(second, first)
    for m in W:
        proof.step(f"formula {m}", mismatch.get(m))
    groups = {
        "memory 0": _memory_state_0(rewards, largest),
        "memory 1": _memory_state_1(rewards, largest_1),
        "unseen 1": _unseen_1(unseen or rewards),
    }
    certificates: list[dict[str, Any]] = list(identities)
    for key, group in groups.items():
        for decided in group:
            witness = (decided.witness or {}).items()
            shown = "at " + ", ".join(f"{name} = {x}" for name, x in witness)
            proof.step(key, None if decided.holds else shown)
            certificates += decided.certificates
    return proved(
        "an identity in 31 symbols; products of its conditions give the inequalities",
        ARGUMENT,
        certificates,
    )


ARGUMENT = text(
    "Let p~ = (1-eps) p + eps pi_l. The evaluator, with symbols for pi, eps and the rewards, gives",
    "  Q~^0_aw = alpha [ (1-eps) Q^0_aw + eps c (r_a1 if w=0, r_a3 if w=1) ],",
    "     S = sum_j p^0_j0,  c = 1 - sum_i b_i = 1/(1+S),  alpha = (1+S)/(1+(1-eps)S)",
    "  Q~^1_aw = [ (1-eps) T Q^1_aw + eps r_1a ] / [ (1-eps) T + eps ],  T = 1 - S",
    "as identities, for any policy, any rewards and any eps. (In one line of the paper p~ stands "
    "where p is meant; the result is the same.) So greedy on Q~ depends on Q, eps and S alone.",
    "Negation put to z3: numbers Q^m_aw, eps in [0,1], S in [0,1] such that greedy on Q picks "
    "<1,1> in memory 0 (<3,1> in memory 1) and greedy on Q~ another action; ties go to the higher "
    "write, then to the lower action. One question for each other action, and each of them is "
    "excluded by a combination of products of the others.",
    "Row 1 unvisited: if T = 0, Q^1 has no values and greedy leaves the row as it is, so 'greedy "
    "is pi_l' says that the row is <3,1> already. For eps > 0 then Q~^1_aw = r_1a, largest for a = "
    "3; for eps = 0 nothing changes. This too is certified.",
    "For eps > 0 the best environment action is strictly best on both rows, so no rule for ties "
    "between environment actions matters.",
)


@cache
def step_identities(
    second: tuple[int, int] = (1, 3), first: int = 1
) -> tuple[dict[str, str], tuple[dict[str, Any], ...]]:
    """The two formulas of the proof against the evaluator: the first mismatch by memory state, and
    the identities.

    Parameters
    ----------
    second : what pi_l does in memory 0 and in memory 1.
    first : what it does at the start.
    """
    r, before, after, eps = any_step()
    pi = before.pi
    S = sum(pi[("0", "o"), (j, "0")] for j in A)
    T = sum(pi[("0", "o"), (j, "1")] for j in A)
    found, wrong = [], dict[str, str]()
    for a, w in product(A, W):
        q0, q1 = before.q[("0", "o"), (a, w)], before.q[("1", "o"), (a, w)]
        told0 = ((1 - eps) * (1 + S) * q0 + eps * r[a][second[int(w)]]) / (1 + (1 - eps) * S)
        told1 = ((1 - eps) * T * q1 + eps * r[first][a]) / ((1 - eps) * T + eps)
        for m, told in (("0", told0), ("1", told1)):
            if m in wrong:
                continue
            q = after.q[(m, "o"), (a, w)]
            if not identical(q, told):
                wrong[m] = f"Q~^{m}_{a}{w} = {q}, not {told}"
            found.append(identity_certificate(f"Q~^{m}_{a}{w}", q, told))
    return wrong, tuple(found)


@cache
def any_step() -> tuple[Any, Evaluation, Evaluation, sympy.Symbol]:
    """Symbols for rewards, any policy evaluated, and the same after a step eps towards pi_l."""
    r, eps = symbolic_rewards(), sympy.Symbol("eps")
    E = augment(recall4_task(r), "B1")
    pi = any_policy(E)
    after = evaluate(E, mixed_rows(E, policy_rows(pi), local_optimum(E), 1 - eps))
    return r, evaluate(E, pi), after, eps


def _memory_state_0(rewards: Rewards, largest: int) -> list[DecidedInequality]:
    """From Q with <1,1> greedy to Q~ with another action greedy. Q~ times 1 + (1-eps) S, which is
    positive."""
    eps, S = sympy.symbols("eps S")
    Q = {(a, w): sympy.Symbol(f"Q{a}{w}") for a, w in product(A, W)}
    moved = {
        (a, w): (1 - eps) * (1 + S) * Q[a, w]
        + eps * sympy.sympify(rewards[a][1 if w == "0" else 3])
        for a, w in Q
    }
    return _another_is_greedy((1, "1"), Q, moved, [eps >= 0, eps <= largest, S >= 0, S <= 1])


def _memory_state_1(rewards: Rewards, largest: int) -> list[DecidedInequality]:
    """The q-values do not depend on the write. Q~ times (1-eps) T + eps, which is positive."""
    eps, T = sympy.symbols("eps T")
    Q = {(a, w): sympy.Symbol(f"Q{a}") for a, w in product(A, W)}
    moved = {(a, w): (1 - eps) * T * Q[a, w] + eps * sympy.sympify(rewards[1][a]) for a, w in Q}
    return _another_is_greedy((3, "1"), Q, moved, [eps >= 0, eps <= largest, T > 0, T <= 1])


def _unseen_1(rewards: Rewards) -> list[DecidedInequality]:
    """Q~^1_aw = r_1a if memory 1 was not seen before a step eps > 0."""
    eps = sympy.Symbol("eps")
    moved = {(a, w): eps * sympy.sympify(rewards[1][a]) for a, w in product(A, W)}
    return _another_is_greedy((3, "1"), {}, moved, [eps > 0, eps <= 1])


def _another_is_greedy(
    best: Any, Q: dict[Any, Any], moved: dict[Any, Any], given: list[Any]
) -> list[DecidedInequality]:
    """For each other action: can greedy on `moved` prefer it, although `best` is greedy on Q?"""
    order = [(a, w) for w in ("1", "0") for a in A]  # the higher write first, then the lower action
    rank = {action: i for i, action in enumerate(order)}

    def beats(x: dict[Any, Any], winner: Any, loser: Any) -> Any:
        return x[winner] >= x[loser] if rank[winner] < rank[loser] else x[winner] > x[loser]

    return [
        impossible(
            [
                *given,
                *([beats(Q, best, other)] if Q and Q[other] != Q[best] else []),
                beats(moved, other, best),
            ]
        )
        for other in order
        # what is equal for all numbers goes to the action that ties go to
        if moved[other] != moved[best] or rank[other] < rank[best]
    ]


inductive_step.twin("0 in the place of 1 after writing 0", guards="formula 0", second=(0, 3))
inductive_step.twin("2 in the place of 1 at the start", guards="formula 1", first=2)
inductive_step.twin("steps beyond the greedy policy, memory 0", guards="memory 0", largest=2)
inductive_step.twin("steps beyond the greedy policy, memory 1", guards="memory 1", largest_1=2)
inductive_step.twin(
    "reward of 1 then 3 lowered to 1/2 where memory 1 was not seen",
    guards="unseen 1",
    unseen=changed_rewards(1, 3, Fraction(1, 2)),
)
inductive_step.twin(
    "reward of 1 then 3 lowered to 1/4", rewards=changed_rewards(1, 3, Fraction(1, 4))
)
