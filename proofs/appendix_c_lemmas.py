"""Lemmas C.1, C.2 and C.4: the 4-action recall task with one bit of memory.

C.1 is an identity between what the evaluator returns for a policy made of symbols and the paper's
closed form, for every table of rewards. C.2 looks at one policy. C.4 starts at the uniform policy;
its inductive step C.3 is in `appendix_c_step`, but the whole run of the loop can also be seen at
once, as C.4 is proved here: every iterate is x pi_u + (1-x) pi_l.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any

import sympy

from pomdps.recalls import RECALL4_REWARDS
from proofs.appendix_c_every_k import eps, loop_mismatch, segment_mismatch
from proofs.appendix_c_setting import (
    A,
    Rewards,
    any_policy,
    changed_rewards,
    closed_form,
    local_optimum,
    mixed_rows,
    policy_rows,
    recall4_task,
    symbolic_rewards,
)
from proofs.ledger import Evidence, Proof, claim, machine, proved
from proofs.ledger.greedy_region import actions_taken, stays_greedy
from proofs.ledger.inequalities import Interval, identical
from proofs.ledger.prose import table_text, text
from workbench import POMDP, Policy, augment, evaluate, uniform
from workbench.certificates.values import identity_certificate, q_certificate, value_certificate
from workbench.checker.recheck import recheck
from workbench.core.evaluate import Evaluation

W = ("0", "1")
PRINTED = {
    0: ("-0.916", "-1.25"),
    1: ("0.2916", "0.5"),
    2: ("-1.4583", "-2.375"),
    3: ("-0.47916", "0.5625"),
}
"""The table of Lemma C.4: for each action the columns m=0 and m=1, the same for both writes."""


# ---------------------------------------------------------------------- Lemma C.1


@cache
def any_evaluation() -> tuple[list[list[sympy.Symbol]], POMDP, Evaluation]:
    """Symbols for the rewards, the task that has them, and any policy of it with B1, evaluated."""
    r = symbolic_rewards()
    P = recall4_task(r)
    E = augment(P, "B1")
    return r, P, evaluate(E, any_policy(E))


@claim(
    "C1",
    place="Lemma C.1",
    statement="Let pi be any policy of the 4-action recall task with B1, b_i = p^0_i0 / (1 + "
    "sum_j p^0_j0) and t_i = p^0_i1 / sum_j p^0_j1. Then Q^0_aw = sum_i r_ia b_i + (1 - sum_i "
    "b_i) sum_i p^w_i r_ai. And Q^1_aw = sum_i t_i r_ia where sum_j p^0_j1 > 0: else memory 1 is "
    "never seen.",
    verdict="proved",
    steps=(
        machine("memory 0", "the closed form of Q^0 is the evaluator's, for 8 entries"),
        machine("memory 1", "the closed form of Q^1 is the evaluator's, for 8 entries"),
    ),
)
def closed_form_of_q(
    proof: Proof, start_visits: int = 1, transposed: bool = False, by_column: bool = True
) -> Evidence:
    """All policies and all tables of rewards at once: 14 symbols for pi, 16 for r.

    `start_visits` is the 1 of the lemma's denominator; `transposed` exchanges r_ai and r_ia in
    Q^0 and `by_column` keeps them in Q^1.
    """
    r, P, found = any_evaluation()
    pi = found.pi
    flipped = [list(column) for column in zip(*r, strict=True)]
    certificates = []
    for m, a, w in product(W, A, W):
        if f"memory {m}" in proof.failed:
            continue
        paper_r = flipped if (transposed if m == "0" else not by_column) else r
        q, formula = found.q[(m, "o"), (a, w)], closed_form(paper_r, pi, m, a, w, start_visits)
        trouble = None if identical(q, formula) else f"Q^{m}_{a}{w} is {q}, not {formula}"
        proof.step(f"memory {m}", trouble)
        certificates.append(identity_certificate(f"Q^{m}_{a}{w}", q, formula))
    if proof.failed:
        return proved("")
    certificates.append(q_certificate(P, "B1", found))
    argument = text(
        "evaluate(recall4 x B1, pi), with pi made of symbols p^m_aw and with symbols r_ij for the "
        "rewards, returns",
        "  Q^0_aw = (sum_i r_ia p^0_i0 + sum_i p^w_i r_ai) / (1 + sum_j p^0_j0)",
        "  Q^1_aw =  sum_i r_ia p^0_i1 / sum_j p^0_j1",
        "for all 16 entries: the difference to the lemma's formula is 0 as a rational function of "
        "30 symbols. So it holds for every policy and every table of rewards, wherever both sides "
        "are defined: Q^1 has no value when sum_j p^0_j1 = 0, that is when memory state 1 is never "
        "seen.",
        "P(s|o) counts undiscounted visits (the lemma's 'half the encountered states'); gamma is "
        "1.",
        f"A second way: {recheck(certificates[-1])}.",
    )
    return proved(
        "an identity in 30 symbols holds for all policies at once", argument, certificates
    )


closed_form_of_q.twin(
    "without the visit to the start: b_i = p^0_i0 / sum_j p^0_j0", guards="memory 0", start_visits=0
)
closed_form_of_q.twin("r_ai and r_ia exchanged in Q^0", guards="memory 0", transposed=True)
closed_form_of_q.twin("r_ia and r_ai exchanged in Q^1", guards="memory 1", by_column=False)


# ---------------------------------------------------------------------- Lemma C.2


@claim(
    "C2",
    place="Lemma C.2",
    statement="pi_l (memory 0: <1,1>, memory 1: <3,1>) is greedy on its own q-values. Ties "
    "between writes go to the higher.",
    verdict="proved",
    steps=(machine("greedy", "pi_l is greedy on its q-values, strictly but for writes that tie"),),
)
def local_optimum_is_greedy(
    proof: Proof, rewards: Rewards = RECALL4_REWARDS, ties: str = "last"
) -> Evidence:
    """The q-values of one policy, exactly."""
    P = recall4_task(rewards)
    E = augment(P, "B1")
    pi_l = local_optimum(E)
    found = evaluate(E, pi_l, exact=True)
    lines = [
        [f"({a},{w})", found.q[("0", "o"), (a, w)], found.q[("1", "o"), (a, w)]]
        for a, w in product(A, W)
    ]
    shown = table_text(["(a,w)", "m=0", "m=1"], lines)
    region = stays_greedy(E, found, actions_taken(E, pi_l), {}, ties, about=(P, "B1"))
    proof.step("greedy", region.failure)
    certificate = q_certificate(P, "B1", found)
    argument = text(
        f"The q-values of pi_l, whose return is {found.value}:",
        shown,
        "In memory 0, <1,1> is strictly best (3/4 against 1/2). In memory 1 both <3,0> and <3,1> "
        "have 3/4, every other action less; the higher write wins. So greedy is pi_l itself.",
        f"A second way: {recheck(certificate)}.",
    )
    return proved(
        "pi_l is greedy on its q-values; only writes tie, in memory state 1",
        argument,
        [certificate, *region.certificates],
    )


local_optimum_is_greedy.twin("ties to the lower write", guards="greedy", ties="first")
local_optimum_is_greedy.twin(
    "reward of 1 then 3 lowered to 1/2, so that <0,1> ties with <1,1>",
    guards="greedy",
    rewards=changed_rewards(1, 3, Fraction(1, 2)),
)


# ---------------------------------------------------------------------- Lemma C.4


@claim(
    "C4",
    place="Lemma C.4",
    statement="From the uniform policy, with B1 and any step eps in (0, 1], the loop goes to "
    "pi_l, which is suboptimal. The q-values of the uniform policy are those of the table. At eps "
    "= 0, which the lemma allows, the loop does not move.",
    verdict="proved",
    steps=(
        machine("table", "the q-values of the uniform policy are those printed, cut off"),
        machine("segment", "a step eps takes x pi_u + (1-x) pi_l to x (1-eps) in the place of x"),
        machine(
            "givens",
            "the code's loop runs along these policies: four iterates with steps 1/3 and 1, in "
            "rationals",
        ),
        machine("greedy", "greedy is pi_l for all 0 < x <= 1"),
        machine("end", "pi_l is greedy on its own q-values, for a step of 1"),
        machine("better", "another policy of B1 is worth more than pi_l"),
    ),
)
def loop_from_uniform(
    proof: Proof,
    rewards: Rewards = RECALL4_REWARDS,
    printed: dict[int, tuple[str, str]] = PRINTED,
    kept: Any = 1 - eps,
    other: tuple[int, int] = (0, 2),
    end_ties: str = "last",
    left: Any = 1 - eps,
) -> Evidence:
    """Compare the table, then show that every iterate is x pi_u + (1-x) pi_l.

    `kept`: what a step leaves of x. `left`: what a step of the code's loop is said to leave.
    `other`: the actions of the better policy. `end_ties`: the rule for ties once the loop has
    arrived.
    """
    P = recall4_task(rewards)
    E = augment(P, "B1")
    pi_l, x = local_optimum(E), sympy.Symbol("x")
    start = evaluate(E, uniform(E), exact=True)
    for m, a, w in product(W, A, W):
        q = start.q[(m, "o"), (a, w)]
        shown = printed[a][int(m)]
        if rewards is RECALL4_REWARDS:
            proof.step("table", None if _is_printed(q, shown) else f"Q^{m}_{a}{w} = {q}: {shown}")
    if rewards is not RECALL4_REWARDS:
        proof.step("table")  # the table is about the paper's rewards
    proof.step("segment", segment_mismatch(kept))
    proof.step("givens", loop_mismatch(("B1",), left))
    along = evaluate(E, mixed_rows(E, policy_rows(uniform(E)), pi_l, x))
    goal, about = actions_taken(E, pi_l), (P, "B1")
    region = stays_greedy(E, along, goal, {x: Interval.Lopen(0, 1)}, about=about)
    proof.step("greedy", region.failure)
    at_end = evaluate(E, pi_l, exact=True)
    arrived = stays_greedy(E, at_end, goal, {}, end_ties, about=about)
    proof.step("end", arrived.failure)
    end = at_end.value
    i, j = other
    best = Policy.deterministic(E, {("0", "o"): (i, "1"), ("1", "o"): (j, "1")})
    best_value = evaluate(E, best, exact=True).value
    proof.step("better", None if end < best_value else f"{end} against {best_value}")
    if proof.failed:
        return proved("")
    lines = [
        [f"({a},{w})", *(start.q[(m, "o"), (a, w)] for m in W), *PRINTED[a]]
        for a, w in product(A, W)
    ]
    second = q_certificate(P, "B1", along)
    argument = text(
        "The q-values of the uniform policy, and as printed (cut off after some digits):",
        table_text(["(a,w)", "m=0", "m=1", "paper m=0", "m=1"], lines),
        "If greedy was pi_l at every step so far, the policy is pi_n = x pi_u + (1-x) pi_l with "
        "x = (1-eps_1)...(1-eps_n). The evaluator's q-values of pi_n are functions of x, and",
        *("  " + line for line in region.lines),
        "for all 0 < x <= 1, from their coefficients; the remaining differences are ties between "
        "writes, which go to the higher. So greedy is pi_l for ever. The return of pi_n is "
        f"{along.value}, which tends to {end} as x -> 0, and {end} < {best_value}, the return of "
        "<0,1> then <2,1>.",
        "Steps: for a constant eps in (0,1), x = (1-eps)^n -> 0; for eps = 1 the policy is pi_l "
        "after one step and stays there (C2). At eps = 0, which the paper's range includes, the "
        f"loop does not move: it stays at the uniform policy, worth {start.value}; suboptimal as "
        "well, but not pi_l.",
        f"A second way: {recheck(second)}.",
    )
    certificates = [
        *region.certificates,
        *arrived.certificates,
        q_certificate(P, "B1", start),
        second,
        value_certificate(P, "B1", pi_l, end),
        value_certificate(P, "B1", best, best_value),
    ]
    return proved(
        "for every step size in (0, 1]; the table is recomputed in fractions",
        argument,
        certificates,
    )


def _is_printed(q: Fraction, shown: str) -> bool:
    """Whether the paper's decimals are q, cut off after their last digit."""
    digits = len(shown.partition(".")[2])
    return Fraction(int(q * 10**digits), 10**digits) == Fraction(shown)


loop_from_uniform.twin(
    "0.291 in the place of 0.2916 and -0.48 of -0.47916",
    guards="table",
    printed=PRINTED | {3: ("-0.48", "0.5625")},
)
loop_from_uniform.twin("a step that keeps 1 - eps^2 of x", guards="segment", kept=1 - eps**2)
loop_from_uniform.twin("a loop of half steps", guards="givens", left=1 - eps / 2)
loop_from_uniform.twin(
    "reward of 0 then 1 raised from 1/2 to 3/4",
    guards="greedy",
    rewards=changed_rewards(0, 1, Fraction(3, 4)),
)
loop_from_uniform.twin("ties to the lower write after a step of 1", guards="end", end_ties="first")
loop_from_uniform.twin("1, then 3 as the better policy", guards="better", other=(1, 3))
