"""Lemmas C.1, C.2 and C.4: the 4-action recall task with one bit of memory.

C.1 is an identity between what the evaluator returns for a policy made of symbols and the paper's
closed form, for every table of rewards. C.2 looks at one policy. C.4 starts at the uniform policy;
its inductive step C.3 is in `appendix_c_step`, but the whole run of the loop can also be seen at once,
as C.4 is proved here: every iterate is x pi_u + (1-x) pi_l.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import sympy

from pomdps.recalls import RECALL4_REWARDS
from proofs.appendix_c_setting import (
    A,
    Rewards,
    any_policy,
    changed_rewards,
    closed_form,
    local_optimum,
    mixed,
    rows_of,
    symbolic_rewards,
    task,
)
from proofs.ledger import Evidence, claim, proved, refuted
from proofs.ledger.greedy_region import choices, stays_greedy
from proofs.ledger.inequalities import Interval, identical
from proofs.ledger.prose import table_text, text
from workbench import Policy, augment, evaluate, uniform
from workbench.certificates.values import identity_certificate, q_certificate, value_certificate
from workbench.checker.recheck import recheck

W = ("0", "1")
PRINTED = {
    0: ("-0.916", "-1.25"),
    1: ("0.2916", "0.5"),
    2: ("-1.4583", "-2.375"),
    3: ("-0.47916", "0.5625"),
}
"""The table of Lemma C.4: for each action the columns m=0 and m=1, the same for both writes."""


# ---------------------------------------------------------------------- Lemma C.1


@claim(
    "C1",
    place="Lemma C.1",
    statement="For any policy of the 4-action recall task with B1, with b_i = p^0_i0 / (1 + sum_j "
    "p^0_j0) and "
    "t_i = p^0_i1 / sum_j p^0_j1: Q^0_aw = sum_i r_ia b_i + (1 - sum_i b_i) sum_i p^w_i r_ai and "
    "Q^1_aw = sum_i t_i r_ia.",
    verdict="proved",
)
def closed_form_of_q(start_visits: int = 1, transposed: bool = False) -> Evidence:
    """All policies and all tables of rewards at once: 14 symbols for pi, 16 for r."""
    r = symbolic_rewards()
    P = task(r)
    E = augment(P, "B1")
    pi = any_policy(E)
    found = evaluate(E, pi)
    paper_r = [list(column) for column in zip(*r, strict=True)] if transposed else r
    certificates = []
    for m, a, w in product(W, A, W):
        q, formula = found.q[(m, "o"), (a, w)], closed_form(paper_r, pi, m, a, w, start_visits)
        if not identical(q, formula):
            counterexample = f"Q^{m}_{a}{w} is {q}, the formula says {formula}"
            return refuted(
                f"fails for Q^{m}_{a}{w}", text(counterexample), counterexample=counterexample
            )
        certificates.append(identity_certificate(f"Q^{m}_{a}{w}", q, formula))
    certificates.append(q_certificate(P, "B1", found))
    argument = text(
        "evaluate(recall4 x B1, pi), with pi made of symbols p^m_aw and with symbols r_ij for the "
        "rewards, returns",
        "  Q^0_aw = (sum_i r_ia p^0_i0 + sum_i p^w_i r_ai) / (1 + sum_j p^0_j0)",
        "  Q^1_aw =  sum_i r_ia p^0_i1 / sum_j p^0_j1",
        "for all 16 entries: the difference to the lemma's formula is 0 as a rational function of "
        "30 symbols. So it "
        "holds for every policy and every table of rewards, wherever both sides are defined: Q^1 "
        "has no value when "
        "sum_j p^0_j1 = 0, that is when memory state 1 is never seen.",
        "P(s|o) counts undiscounted visits (the lemma's 'half the encountered states'); gamma is "
        "1.",
        f"A second way: {recheck(certificates[-1])}.",
    )
    return proved("identity in 30 symbols", argument, certificates)


closed_form_of_q.twin("without the visit to the start: b_i = p^0_i0 / sum_j p^0_j0", start_visits=0)
closed_form_of_q.twin("r_ai and r_ia exchanged", transposed=True)


# ---------------------------------------------------------------------- Lemma C.2


@claim(
    "C2",
    place="Lemma C.2",
    statement="pi_l (memory 0: <1,1>; memory 1: <3,1>) is greedy on its own q-values; ties "
    "between writes go to the higher.",
    verdict="proved",
)
def local_optimum_is_greedy(rewards: Rewards = RECALL4_REWARDS, ties: str = "last") -> Evidence:
    """The q-values of one policy, exactly."""
    P = task(rewards)
    E = augment(P, "B1")
    pi_l = local_optimum(E)
    found = evaluate(E, pi_l, exact=True)
    lines = [
        [f"({a},{w})", found.q[("0", "o"), (a, w)], found.q[("1", "o"), (a, w)]]
        for a, w in product(A, W)
    ]
    shown = table_text(["(a,w)", "m=0", "m=1"], lines)
    region = stays_greedy(E, found, choices(E, pi_l), {}, ties)
    if not region.holds:
        return refuted(
            "greedy on q of pi_l is another policy", shown, counterexample=region.failure
        )
    certificate = q_certificate(P, "B1", found)
    argument = text(
        f"The q-values of pi_l, whose return is {found.value}:",
        shown,
        "In memory 0, <1,1> is strictly best (3/4 against 1/2). In memory 1 both <3,0> and <3,1> "
        "have 3/4, every other "
        "action less; the higher write wins. So greedy is pi_l itself.",
        f"A second way: {recheck(certificate)}.",
    )
    return proved("strict in memory 0, writes tie in 1", argument, [certificate])


local_optimum_is_greedy.twin("ties to the lower write", ties="first")
local_optimum_is_greedy.twin(
    "reward of 1 then 3 lowered to 1/2, so that <0,1> ties with <1,1>",
    rewards=changed_rewards(1, 3, Fraction(1, 2)),
)


# ---------------------------------------------------------------------- Lemma C.4


@claim(
    "C4",
    place="Lemma C.4",
    statement="From the uniform policy, with B1 and any step, the loop goes to pi_l, which is "
    "suboptimal; the q-values of the "
    "uniform policy are those of the table.",
    verdict="proved",
)
def loop_from_uniform(rewards: Rewards = RECALL4_REWARDS, ties: str = "last") -> Evidence:
    """The table; then every iterate is x pi_u + (1-x) pi_l, for every step."""
    P = task(rewards)
    E = augment(P, "B1")
    pi_l, x = local_optimum(E), sympy.Symbol("x")
    start = evaluate(E, uniform(E), exact=True)
    wrong = [
        (m, a, w)
        for m, a, w in product(W, A, W)
        if not _is_printed(start.q[(m, "o"), (a, w)], PRINTED[a][int(m)])
    ]
    if wrong:
        m, a, w = wrong[0]
        shown = f"Q^{m}_{a}{w} = {start.q[(m, 'o'), (a, w)]}, not {PRINTED[a][int(m)]}"
        return refuted("another table of q-values", shown, counterexample=shown)
    along = evaluate(E, mixed(E, rows_of(uniform(E)), pi_l, x))
    region = stays_greedy(E, along, choices(E, pi_l), {x: Interval.Lopen(0, 1)}, ties)
    if not region.holds:
        return refuted("greedy leaves pi_l", region.failure or "", counterexample=region.failure)
    end = evaluate(E, pi_l, exact=True).value
    best = Policy.deterministic(E, {("0", "o"): (0, "1"), ("1", "o"): (2, "1")})
    best_value = evaluate(E, best, exact=True).value
    if not end < best_value:
        return refuted(
            "the limit is optimal", f"{end} against {best_value}", counterexample=str(end)
        )
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
        "for all 0 < x <= 1 (z3); the remaining differences are ties between writes, which go to "
        "the higher. So greedy "
        f"is pi_l for ever. The return of pi_n is {along.value}, which tends to {end} as x -> 0, "
        "and "
        f"{end} < {best_value}, the return of <0,1> then <2,1>.",
        "Steps: for a constant eps in (0,1), x = (1-eps)^n -> 0; for eps = 1 the policy is pi_l "
        "after one step and stays "
        "there (C2). At eps = 0, which the paper's range includes, the loop does not move: it "
        "stays at the uniform "
        f"policy, worth {start.value}; suboptimal as well, but not pi_l.",
        f"A second way: {recheck(second)}.",
    )
    certificates = [
        *region.certificates,
        q_certificate(P, "B1", start),
        second,
        value_certificate(P, "B1", pi_l, end),
        value_certificate(P, "B1", best, best_value),
    ]
    return proved("for all steps in (0,1], table exact", argument, certificates)


def _is_printed(q: Fraction, shown: str) -> bool:
    """Whether the paper's decimals are q, cut off after their last digit."""
    digits = len(shown.partition(".")[2])
    return Fraction(int(q * 10**digits), 10**digits) == Fraction(shown)


loop_from_uniform.twin("ties to the lower write", ties="first")
loop_from_uniform.twin("reward of 3 then 0 raised to 1", rewards=changed_rewards(3, 0, 1))
