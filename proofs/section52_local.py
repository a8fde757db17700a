"""Section 5.2: what a step towards the greedy policy does to the return, in the smallest tasks.

The paper: moving pi(o) towards argmax_a q_pi(o,a) works locally, "because updating pi by a small
amount will also only have a small effect on P_pi(s|o)"; a large step need not work. Along pi + eps
(greedy - pi) the return changes at the rate

    G = sum_o d(o) ( max_a q_pi(o,a) - v_pi(o) )      with q_pi(o,a) weighted by the *discounted*
                                                      occupancy d

(`section52_gradient`). So two things can go wrong with "a small step never decreases the return":
G may be 0, and then what is small of second order decides; and q_pi(o,a) may be weighted by visits,
which differ from d when gamma < 1.
"""

from __future__ import annotations

from fractions import Fraction

import sympy

from proofs.ledger import Evidence, Proof, claim, machine, open_, proved, refuted
from proofs.ledger.prose import table_text, text
from proofs.section52_tiny import Tiny, returns_along_a_step, tiny_tasks
from workbench import Policy, evaluate
from workbench.certificates.values import step_certificate
from workbench.checker.recheck import recheck

eps = sympy.Symbol("eps")
CHANCES = tuple(Fraction(i, j) for i, j in ((1, 2), (0, 1), (1, 1), (1, 3), (2, 3), (2, 5), (3, 5)))
GAMMAS = (Fraction(1), Fraction(1, 2))


# ---------------------------------------------------------------------- S52.local


@claim(
    "S52.local",
    place="Sec. 5.2",
    statement=(
        "Updating pi by a small enough step towards a policy that is greedy on "
        "q_pi(o,a) does not decrease the return."
    ),
    verdict="refuted",
    corrected_by="S52.local*",
    steps=(
        machine("ties", "with equal q-values, some small step lowers the return"),
        machine("weights", "with visits and gamma < 1, some small step lowers it to first order"),
    ),
)
def small_steps(
    proof: Proof, weights: str = "visits", ties: bool = True, visible: bool = False
) -> Evidence:
    """Search the smallest tasks for policies from which every small step towards greedy decreases
    the return.

    Parameters
    ----------
    weights : those of P_pi(s|o).
    ties : whether policies count whose actions have equal q-values somewhere.
    visible : whether the agent sees the state.
    """
    kinds = [(gamma, tied) for gamma in GAMMAS for tied in ((True, False) if ties else (False,))]
    hits = [
        hit
        for gamma, tied in kinds
        if (hit := _first_decrease(weights, gamma, tied, visible)) is not None
    ]
    tied = [one for one, p in hits if returns_along_a_step(one, p, weights == "discounted")[3]]
    none = f"no decrease in {sum(1 for _ in tiny_tasks(1, GAMMAS))} tasks, {weights}"
    proof.step("ties", None if tied else none)
    proof.step("weights", None if len(hits) > len(tied) else none)
    if proof.failed:
        return open_("no decrease in the smallest tasks", none)
    parts, certificates = [], []
    for one, p in hits:
        before, first, second, tie = returns_along_a_step(one, p, weights == "discounted")
        parts += [
            f"gamma = {one.gamma}, pi(r) = {p}: the q-values of l and r "
            f"{'are equal' if tie else 'differ'}, and a step eps towards greedy gives the return "
            f"{before} + ({first}) eps + ({second}) eps^2, less than {before} for every small eps "
            "> 0, in",
            table_text(["state", "action", "reward", "next"], one.table()),
        ]
        pi = Policy.from_mapping(one.model, {"o": {"l": 1 - p, "r": p}})
        after = f"{before} + ({first})*eps + ({second})*eps**2"
        certificates.append(
            step_certificate(one.model, pi, eps, before, after, weights == "discounted")
        )
    argument = text(
        "Two states that look alike, rewards 0 and 1. No task is smaller: with one state, or with "
        "states that can be told "
        "apart, q_pi(o,a) = q_pi(s,a) and policy improvement works for every step.",
        *parts,
        "Missing hypotheses: (1) greedy must gain something to first order. A policy may have "
        "equal q-values wherever it goes, like the best stochastic policy of the first task, p "
        "(1-p) with p = 1/2; its greedy policy is then chosen by the rule for ties alone, and "
        "whichever it is leads away. (2) With gamma < 1, q_pi(o,a) must weigh states by discounted "
        "visits. With visits as they are counted in episodes, which every-visit Monte Carlo "
        "estimates, greedy may point downhill.",
        f"A second way: {recheck(certificates[0])}.",
    )
    return refuted(
        "a step can lower the return where actions tie, or with plain visits if gamma < 1",
        argument,
        counterexample="\n".join(parts[:2]),
        certificates=certificates,
    )


def _first_decrease(
    weights: str, gamma: Fraction, tied: bool, visible: bool
) -> tuple[Tiny, Fraction] | None:
    """The first task and policy from which small steps decrease the return. With equal q-values, or
    to first order."""
    for one in tiny_tasks(1, (gamma,), visible):
        for p in CHANCES:
            _, first, second, tie = returns_along_a_step(one, p, weights == "discounted")
            if tie == tied and (first < 0 or (tied and first == 0 and second < 0)):
                return one, p
    return None


small_steps.twin("no ties", guards="ties", ties=False)
small_steps.twin("discounted weights", guards="weights", weights="discounted")
small_steps.twin("states that the agent sees", visible=True)


# ---------------------------------------------------------------------- S52.not-global


@claim(
    "S52.not-global",
    place="Sec. 5.2",
    statement=(
        "A full step towards the greedy policy can decrease the return, although "
        "a small one increases it."
    ),
    verdict="proved",
    steps=(machine("found", "a task and a policy: more for small steps, less for a full one"),),
)
def full_step(proof: Proof, visible: bool = False) -> Evidence:
    """The smallest task and policy that show it."""
    for one in tiny_tasks(1, (Fraction(1),), visible):
        for p in CHANCES:
            before, first, second, tie = returns_along_a_step(one, p, False)
            if not tie and first > 0 > first + second:
                proof.step("found")
                return _decreased(one, p, before, first, second)
    proof.step("found", "no decrease in the smallest tasks")
    return open_("no decrease in the smallest tasks")


def _decreased(
    one: Tiny, p: Fraction, before: Fraction, first: Fraction, second: Fraction
) -> Evidence:
    P = one.model
    pi = Policy.from_mapping(P, {"o": {"l": 1 - p, "r": p}})
    q = evaluate(P, pi, exact=True).q
    end = before + first + second
    certificates = [
        step_certificate(P, pi, 1, before, end),
        step_certificate(P, pi, eps, before, f"{before} + ({first})*eps + ({second})*eps**2"),
    ]
    argument = text(
        "Two states that look alike (with fewer, or with states that can be told apart, every "
        "step works), gamma = 1:",
        table_text(["state", "action", "reward", "next"], one.table()),
        f"At pi(r) = {p} the q-values are q(o,l) = {q['o', 'l']} and q(o,r) = {q['o', 'r']}. A "
        f"step eps towards greedy gives the return {before} + ({first}) eps + ({second}) eps^2: "
        f"more than {before} for a small eps, and {end} for eps = 1. The reason is the paper's: "
        "P_pi(s|o) changes along with pi.",
        f"A second way: {recheck(certificates[0])}.",
    )
    return proved(
        "a full step lowers the return of a task of two states that look alike",
        argument,
        certificates,
    )


full_step.twin("states that the agent sees", guards="found", visible=True)
