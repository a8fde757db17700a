"""Figure 7 (Appendix C): where the loop ends on 4-action recall, 3/4 with B5 and 1 with OA1.

B5 is a case of Lemma C.5. With OA1 a memory state (o,i) tells which action came first, so its
q-values are r_ij whatever the policy is, and those rows go to the best second action from the
start. On the empty buffer the greedy action changes once: first 1, because second actions are still
bad, then 0. All iterates of all runs lie in one family of policies,

    (o,i):   x/8 on each action, and 1-x more on <best j after i, push>
    empty:   x/8 on each action, and of the other 1-x a share t on <0,push>, 1-t on <1,push>

with x the product of 1 - eps over the steps taken.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import sympy

from pomdps.recalls import RECALL4_REWARDS
from proofs.appendix_c_every_k import every_k
from proofs.appendix_c_setting import A, Rewards, changed_rewards, local_optimum, recall4_task
from proofs.ledger import Evidence, Proof, claim, machine, proved
from proofs.ledger.greedy_region import stays_greedy
from proofs.ledger.inequalities import Interval
from proofs.ledger.prose import text
from workbench import POMDP, Policy, augment, evaluate
from workbench.certificates.values import q_certificate, value_certificate
from workbench.checker.recheck import recheck

x, t = sympy.symbols("x t")
EMPTY = ((None,), "o")
CHANGE = Fraction(4, 33)


def _holds(i: int) -> Any:
    return ((("o", i),), "o")


def _family(E: POMDP, best: dict[int, int], x: Any, t: Any) -> Policy:
    """The iterates with OA1."""
    rows = {o: dict.fromkeys(E.A, x / 8) for o in E.O}
    for i, j in best.items():
        rows[_holds(i)][j, "push"] += 1 - x
    rows[EMPTY][0, "push"] += (1 - x) * t
    rows[EMPTY][1, "push"] += (1 - x) * (1 - t)
    return Policy.from_mapping(E, rows)


@claim(
    "C.fig",
    place="App. C, Fig. 7",
    statement=(
        "On the 4-action recall task the loop from uniform ends at 3/4 with B5 and at the "
        "optimum 1 with OA1."
    ),
    verdict="proved",
    steps=(
        machine("B5", "greedy is pi_l at every iterate of every B(k) (C5)"),
        machine("second", "on (o,i) greedy is the best second action, for all x and t"),
        machine("early", "on the empty buffer greedy is <1,push> for 4/33 < x <= 1"),
        machine("late", "on the empty buffer greedy is <0,push> for 0 < x <= 4/33"),
        machine("full", "after a full step greedy is <0,push> on the empty buffer"),
        machine("limits", "the limits are worth 3/4 and 1"),
    ),
)
def two_memories(
    proof: Proof,
    rewards: Rewards = RECALL4_REWARDS,
    b5_rewards: Rewards | None = None,
    change: Fraction = CHANGE,
    late: Fraction = CHANGE,
    full: int = 0,
    best_after: dict[int, int] | None = None,
    worth_of: tuple[Any, Any] = (Fraction(3, 4), 1),
) -> Evidence:
    """Follow B5 by Lemma C.5, and OA1 for every step in (0,1].

    Parameters
    ----------
    b5_rewards : the rewards with B5, where they are others.
    change, late : where <1,push> stops and <0,push> begins to be greedy on the empty buffer.
    full : what greedy does there after a full step.
    best_after : the second actions said to be greedy, where they are others.
    worth_of : the values of the two limits.
    """
    binary = every_k(b5_rewards or rewards)
    proof.step("B5", binary.failure)
    P = recall4_task(rewards)
    B5, E = augment(P, "B5"), augment(P, "OA1")
    best = {i: min(A, key=lambda j: (-rewards[i][j], j)) for i in A}
    found = evaluate(E, _family(E, best, x, t))
    anywhere = {x: Interval.Lopen(0, 1), t: Interval(0, 1)}
    second = {_holds(i): (j, "push") for i, j in (best | (best_after or {})).items()}
    cases = {
        "second": (second, anywhere),
        "early": ({EMPTY: (1, "push")}, anywhere | {x: Interval.Lopen(change, 1)}),
        "late": ({EMPTY: (0, "push")}, anywhere | {x: Interval.Lopen(0, late)}),
    }
    lines, certificates = [], list(binary.certificates)
    for key, (goal, box) in cases.items():
        region = stays_greedy(E, found, goal, box, about=(P, "OA1"))
        proof.step(key, region.failure)
        lines.append(region.lines)
        certificates += region.certificates
    full_step = evaluate(E, _family(E, best, Fraction(0), Fraction(0)), exact=True)
    region = stays_greedy(E, full_step, {EMPTY: (full, "push")}, {}, about=(P, "OA1"))
    proof.step("full", region.failure)
    certificates += region.certificates
    limits = {"B5": (B5, local_optimum(B5)), "OA1": (E, _family(E, best, Fraction(0), Fraction(1)))}
    worth = {name: evaluate(model, pi, exact=True).value for name, (model, pi) in limits.items()}
    proof.step("limits", None if tuple(worth.values()) == worth_of else str(worth))
    certificates.append(q_certificate(P, "OA1", found))
    certificates += [
        value_certificate(P, name, pi, worth[name]) for name, (_, pi) in limits.items()
    ]
    argument = text(
        "B5: C5 with k = 5. For every step in (0,1] the loop goes to pi_l, worth 3/4.",
        "OA1: let x be the product of 1 - eps over the steps taken. On a row (o,i) the q-values "
        "are r_ij whatever the policy is; greedy is the best second action (after 2 and 3 the tie "
        "of 1 and 3 goes to 1) with push. So these rows hold x/8 on each action and 1-x more on "
        "the best one. On the empty buffer suppose the other 1-x was given to <0,push> (share t) "
        "and <1,push>. The evaluator's q-values are functions of x and t, and for all t in [0,1]:",
        f"{change} < x <= 1: <1,push> is greedy, since its q-value exceeds the others by",
        *("  " + line for line in lines[1]),
        f"0 < x <= {change}: <0,push> is greedy, since",
        *("  " + line for line in lines[2]),
        "'keep' never is, since a push tells more, and equals go to the higher write. So every "
        f"iterate stays in the family, and once x <= {change} greedy is <0,push> for ever: t -> 1 "
        "as x -> 0. The limit is <0,push>, then <2,push>, worth 1. With a step of 1, x = 0 after "
        "the first step, <0,push> is greedy then, and the second step ends it. With a step of 0 "
        "nothing moves.",
        f"A second way, for all x and t: {recheck(certificates[-3])}.",
    )
    return proved(
        "B5 ends at 3/4 and OA1 at 1, for every step size in (0, 1]", argument, certificates
    )


two_memories.twin(
    "reward of 0 then 1 raised from 1/2 to 3/4",
    guards="B5",
    b5_rewards=changed_rewards(0, 1, Fraction(3, 4)),
)
two_memories.twin("3 best after 2, where 1 ties with it", guards="second", best_after={2: 3})
two_memories.twin("<1,push> down to x = 1/9", guards="early", change=Fraction(1, 9))
two_memories.twin("<0,push> from x = 1/8 on", guards="late", late=Fraction(1, 8))
two_memories.twin("<1,push> after a full step", guards="full", full=1)
two_memories.twin("OA1 ends at 3/4 as well", guards="limits", worth_of=(Fraction(3, 4),) * 2)
