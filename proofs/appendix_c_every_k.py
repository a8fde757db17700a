"""Lemma C.5, Theorem C.6 and Proposition C.1: binary memory of any size, and rewards of any scale.

While greedy stays pi_l, the iterates from the uniform policy are pi = x pi_u + (1-x) pi_l. Such a
policy treats all memory states other than 0 and the last one alike, as something to write and as
something to read, so the episodes of B(k) are those of a memory with three classes
(`appendix_c_setting.lumped_memory`), where the class of the others is written with the probability of
its 2^k - 2 members together. With symbols x and K = 2^k in the policy the evaluator returns the
q-values of all iterates of all B(k) at once, and "greedy is pi_l" is a finite list of polynomial
inequalities over 0 < x <= 1, K >= 2.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from typing import Any

import sympy

from pomdps.recalls import RECALL4_REWARDS
from proofs.appendix_c_setting import (
    A,
    Rewards,
    changed_rewards,
    local_optimum,
    lumped_memory,
    lumped_uniform,
    mixed,
    rows_of,
    task,
    words,
)
from proofs.appendix_c_task import separating_update
from proofs.ledger import Evidence, claim, proved, refuted
from proofs.ledger.greedy_region import Region, choices, stays_greedy
from proofs.ledger.inequalities import Interval, identical
from proofs.ledger.prose import text
from workbench import Policy, augment, evaluate, uniform
from workbench.certificates.values import q_certificate, value_certificate
from workbench.checker.recheck import recheck
from workbench.evaluation.evaluate import Evaluation

x, K, scale = sympy.symbols("x K a")
EVERY_K = {x: Interval.Lopen(0, 1), K: Interval(2, sympy.oo), scale: Interval.open(0, sympy.oo)}


def all_iterates(rewards: Rewards, scale: Any = 1) -> tuple[Any, Evaluation, dict[Any, Any]]:
    """The lumped product, the evaluation of x pi_u + (1-x) pi_l in it for all x and K, and the
    actions of pi_l."""
    E = augment(task(rewards, scale), lumped_memory())
    pi_l = local_optimum(E)
    return E, evaluate(E, mixed(E, lumped_uniform(E, K), pi_l, x)), choices(E, pi_l)


@cache
def every_k(rewards: Rewards, ties: str = "last", scale: Any = 1) -> Region:
    """Whether pi_l is greedy on the q-values of all iterates of all B(k), and on its own where it
    visits."""
    E, found, goal = all_iterates(rewards, scale)
    region = stays_greedy(E, found, goal, EVERY_K, ties)
    if region.holds:
        pi_l = local_optimum(E)
        end = stays_greedy(
            E, evaluate(E, pi_l, exact=True), goal, EVERY_K, ties, rows=[("0", "o"), ("last", "o")]
        )
        region.certificates += end.certificates
        region.failure = end.failure
    return region


@cache
def lumping_mismatch(most: int = 4) -> str | None:
    """Where B(1), ..., B(most), evaluated as they are with a symbol for x, differ from the lumped
    q-values; None if nowhere."""
    _, found, _ = all_iterates(RECALL4_REWARDS)
    for k in range(1, most + 1):
        E = augment(task(), f"B{k}")
        here = evaluate(E, mixed(E, rows_of(uniform(E)), local_optimum(E), x))
        classes = {
            w: "0" if i == 0 else "last" if i == 2**k - 1 else "others"
            for i, w in enumerate(words(k))
        }
        formulas = {
            (m, a, w): sympy.sympify(found.q[(m, "o"), (a, w)]).subs(K, 2**k)
            for m in set(classes.values())
            for a in A
            for w in set(classes.values())
        }
        seen: set[tuple[Any, ...]] = set()
        for m, c in classes.items():
            for a in A:
                for w, d in classes.items():
                    q = here.q[(m, "o"), (a, w)]
                    if (c, a, d, str(q)) in seen:
                        continue
                    seen.add((c, a, d, str(q)))
                    if not identical(q, formulas[c, a, d]):
                        return f"B{k}: q(({m}, o), ({a}, {w})) = {q}, lumped {formulas[c, a, d]}"
    return None


# ---------------------------------------------------------------------- Lemma C.5


@claim(
    "C5",
    place="Lemma C.5",
    statement="For every k >= 1 the loop from the uniform policy with B(k) goes to pi_l, which is "
    "suboptimal.",
    verdict="proved",
)
def every_binary_memory(rewards: Rewards = RECALL4_REWARDS, ties: str = "last") -> Evidence:
    """All k, all steps, all iterates."""
    region = every_k(rewards, ties)
    if not region.holds:
        return refuted(
            "greedy leaves pi_l", text(region.failure or ""), counterexample=region.failure
        )
    if (mismatch := lumping_mismatch()) is not None:
        return refuted("the classes of memory states fail", mismatch, counterexample=mismatch)
    _, found, _ = all_iterates(rewards)
    value = sympy.expand(found.value)
    P = task(rewards)
    E2 = augment(P, "B2")
    second = q_certificate(
        P, "B2", evaluate(E2, mixed(E2, rows_of(uniform(E2)), local_optimum(E2), x))
    )
    end = _limit(P, 2)
    argument = text(
        "pi_l: <1,last> in memory 0, <3,last> in every other one. If greedy was pi_l so far, the "
        "iterate is "
        "pi = x pi_u + (1-x) pi_l, x = (1-eps_1)...(1-eps_n), for any steps. It treats all memory "
        "states but 0 and the last "
        "alike, so its episodes are those of a memory with three: 0, others (K-2 of them, K = "
        "2^k) and last. There the "
        "evaluator returns the q-values as functions of x and K. Up to ties that go to the higher "
        "write:",
        *("  " + line for line in region.lines),
        "z3 finds each of them for all 0 < x <= 1 and all real K >= 2, so greedy is pi_l at every "
        "iterate, for every k. The "
        "classes are not taken on trust: for k = 1, 2, 3, 4 the evaluator run on B(k) itself, "
        "with a symbol for x, returns "
        "the same functions.",
        f"The return is {value}, which tends to {end} as x -> 0: any constant step in (0,1], or "
        "any steps whose "
        "product of 1 - eps tends to 0. The optimum is 1 (C.optimal). With a step of 1 the second "
        "iterate is pi_l; the "
        "other memory states are then unvisited and keep their rows. With a step of 0 the loop "
        "stays at the uniform policy.",
        f"A second way, for k = 2 and every x: {recheck(second)}.",
    )
    certificates = [
        *region.certificates,
        second,
        value_certificate(P, "B2", local_optimum(E2), end),
    ]
    return proved("all k, x by z3; k<=4 also directly", argument, certificates)


def _limit(P: Any, k: int) -> Fraction:
    E = augment(P, f"B{k}")
    value: Fraction = evaluate(E, local_optimum(E), exact=True).value
    return value


every_binary_memory.twin("ties to the lower write", ties="first")
every_binary_memory.twin("reward of 0 then 1 raised to 7", rewards=changed_rewards(0, 1, 7))


# ---------------------------------------------------------------------- Theorem C.6


@claim(
    "C6",
    place="Theorem C.6",
    statement="There is a POMDP with a sufficiently expressive memory on which the loop from the "
    "uniform policy does not go to "
    "an optimal memoryless policy: the 4-action recall task with B(k), for every k >= 3.",
    verdict="proved",
)
def expressive_memory_is_not_enough(k: int = 3, rewards: Rewards = RECALL4_REWARDS) -> Evidence:
    """A separating f for B(k), the loop's limit, and a better memoryless policy."""
    P = task(rewards)
    f, why_not = separating_update(P, k)
    if f is None:
        return refuted(f"B{k} is not sufficiently expressive", why_not, counterexample=why_not)
    region = every_k(rewards)
    if not region.holds:
        return refuted(
            "greedy leaves pi_l", text(region.failure or ""), counterexample=region.failure
        )
    E = augment(P, f"B{k}")
    first, second, *_ = words(k)
    best = Policy.deterministic(
        E, {("0" * k, "o"): (0, second), (second, "o"): (2, first)}, otherwise=(3, first)
    )
    end, best_value = _limit(P, k), evaluate(E, best, exact=True).value
    if not end < best_value:
        return refuted(
            "the limit is optimal", f"{end} against {best_value}", counterexample=str(end)
        )
    argument = text(
        f"B{k} is sufficiently expressive (Definition A.2): write number a+1 after action a, so "
        "that the five beliefs with "
        "observation o (nothing done; 0, 1, 2 or 3 done) have a memory state each. The same f "
        "serves every B(k) with k >= 3; "
        "B2, which the paper uses here, has only four memory states (see C.b2-expressive).",
        f"By C5 the loop goes to pi_l, worth {end}, for every step in (0,1]; at step 0 it stays "
        "at the uniform policy. The "
        f"memoryless policy 'in {'0' * k} <0,{second}>, in {second} <2,{first}>' is worth "
        f"{best_value}.",
    )
    certificates = [
        f,
        value_certificate(P, f"B{k}", local_optimum(E), end),
        value_certificate(P, f"B{k}", best, best_value),
    ]
    return proved(
        f"B{k} separates beliefs, loop to {end} < {best_value}",
        argument,
        [*certificates, *region.certificates],
    )


expressive_memory_is_not_enough.twin("with B2", k=2)
expressive_memory_is_not_enough.twin(
    "reward of 0 then 1 raised to 7", rewards=changed_rewards(0, 1, 7)
)


# ---------------------------------------------------------------------- Proposition C.1


@claim(
    "C7",
    place="Prop. C.1",
    statement="The loop can end arbitrarily far from the optimum: with all rewards multiplied by "
    "a > 0 it ends a/4 below it.",
    verdict="proved",
)
def any_scale(gap: Fraction = Fraction(1, 4), sign: int = 1) -> Evidence:
    """A symbol for the scale."""
    a = sign * scale
    region = every_k(RECALL4_REWARDS, scale=a)
    if not region.holds:
        return refuted(
            "greedy leaves pi_l", text(region.failure or ""), counterexample=region.failure
        )
    P = task(RECALL4_REWARDS, a)
    E = augment(P, "B3")
    first, second, *_ = words(3)
    best = Policy.deterministic(
        E, {(first, "o"): (0, second), (second, "o"): (2, first)}, otherwise=(3, first)
    )
    end, best_value = evaluate(E, local_optimum(E)).value, evaluate(E, best).value
    if not identical(best_value - end, gap * scale):
        found = f"{best_value} - {end} = {best_value - end}"
        return refuted("another gap", found, counterexample=found)
    argument = text(
        "With every reward multiplied by a symbol a the q-values of all iterates of all B(k) are "
        "a times what they were, and "
        "the inequalities of C5 become",
        *("  " + line for line in region.lines),
        "for all a > 0, 0 < x <= 1, K >= 2 (z3): greedy is pi_l as before. So with B3, which is "
        "sufficiently expressive (C6), "
        f"the loop ends at {end}, and a memoryless policy is worth {best_value}: {gap * scale} "
        "more, beyond any bound.",
        "The paper asks for a >= 1; any a > 0 will do.",
    )
    certificates = [
        value_certificate(P, "B3", local_optimum(E), end),
        value_certificate(P, "B3", best, best_value),
        *region.certificates,
    ]
    return proved("symbolic scale a > 0: gap a/4", argument, certificates)


any_scale.twin("a gap of a/3", gap=Fraction(1, 3))
any_scale.twin("negative scales", sign=-1)
