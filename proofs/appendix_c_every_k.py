"""Lemma C.5, Theorem C.6 and Proposition C.1: binary memory of any size, and rewards of any scale.

While greedy stays pi_l, the iterates from the uniform policy are pi = x pi_u + (1-x) pi_l. Such a
policy treats all memory states other than 0 and the last one alike, as something to write and as
something to read, so the episodes of B(k) are those of a memory with three classes
(`appendix_c_setting.lumped_memory`), where the class of the others is written with the probability
of its 2^k - 2 members together. With symbols x and K = 2^k in the policy the evaluator returns the
q-values of all iterates of all B(k) at once, and "greedy is pi_l" is a finite list of polynomial
inequalities over 0 < x <= 1, K >= 2.
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
    changed_rewards,
    local_optimum,
    lumped_memory,
    lumped_uniform,
    mixed_rows,
    policy_rows,
    recall4_task,
    words,
)
from proofs.appendix_c_task import separating_update
from proofs.ledger import Evidence, Proof, claim, machine, proved
from proofs.ledger.greedy_region import Region, actions_taken, stays_greedy
from proofs.ledger.inequalities import Interval, identical
from proofs.ledger.prose import text
from proofs.ledger.walks import loop_leaves
from workbench import Policy, augment, evaluate, uniform
from workbench.certificates.values import q_certificate, value_certificate
from workbench.checker.recheck import recheck
from workbench.core.evaluate import Evaluation

x, K, scale, eps = sympy.symbols("x K a eps")
EVERY_K = {x: Interval.Lopen(0, 1), K: Interval(2, sympy.oo), scale: Interval.open(0, sympy.oo)}


def all_iterates(rewards: Rewards, scale: Any = 1) -> tuple[Any, Evaluation, dict[Any, Any]]:
    """The lumped product and the evaluation of x pi_u + (1-x) pi_l in it, for all x and K. The
    actions of pi_l come with them."""
    E = augment(recall4_task(rewards, scale), lumped_memory())
    pi_l = local_optimum(E)
    return E, evaluate(E, mixed_rows(E, lumped_uniform(E, K), pi_l, x)), actions_taken(E, pi_l)


@cache
def every_k(rewards: Rewards, ties: str = "last", scale: Any = 1) -> Region:
    """Whether pi_l is greedy on the q-values of all iterates of all B(k), and on its own where it
    visits."""
    E, found, goal = all_iterates(rewards, scale)
    about = recall4_task(rewards, scale), "B(k)"
    region = stays_greedy(E, found, goal, EVERY_K, ties, about=about)
    if region.holds:
        seen = [("0", "o"), ("last", "o")]
        end = stays_greedy(
            E, evaluate(E, local_optimum(E), exact=True), goal, EVERY_K, ties, seen, about
        )
        region.certificates = [*region.certificates, *end.certificates]
        region.failure = end.failure
    return region


def segment_mismatch(kept: Any = 1 - eps) -> str | None:
    """Whether a step from x pi_u + (1-x) pi_l towards pi_l leads elsewhere than to x' = kept x."""
    u, g = sympy.symbols("u g")  # any entry of pi_u and of pi_l
    moved = (1 - eps) * (x * u + (1 - x) * g) + eps * g
    told = kept * x * u + (1 - kept * x) * g
    return None if identical(moved, told) else f"{sympy.expand(moved - told)} is not 0"


@cache
def loop_mismatch(memories: tuple[str, ...], left: Any = 1 - eps) -> str | None:
    """Say where four iterates of the code's loop, steps 1/3 and 1, are not x pi_u + (1-x) pi_l.

    x is `left` to the power of the iterate's number.
    """
    for memory, step in product(memories, (Fraction(1, 3), Fraction(1))):
        E = augment(recall4_task(), memory)
        kept = Fraction(str(sympy.sympify(left).subs(eps, sympy.Rational(str(step)))))

        def due(n: int, E: Any = E, kept: Fraction = kept) -> Policy:
            return mixed_rows(E, policy_rows(uniform(E)), local_optimum(E), kept**n)

        if trouble := loop_leaves(E, step, due, 4):
            return trouble
    return None


@cache
def lumping_mismatch(members: Any = K - 2, most: int = 4) -> str | None:
    """Where the three classes of memory states differ from B(k). None if nowhere.

    For every K: a class is written with the probability of one of its members times their number,
    `members` for the others, and the numbers sum to K. For B(1), ..., B(most), evaluated as they
    are with a symbol for x: the q-values are the lumped ones.
    """
    lumped, found, goal = all_iterates(RECALL4_REWARDS)
    number = {"0": 1, "others": members, "last": 1}
    if not identical(sum(number.values()), K):
        return f"the classes have {sum(number.values())} members, not K"
    for o, (a, w) in product(lumped.O, lumped.A):
        member = x / (4 * K) + (1 - x) * int(goal[o] == (a, w))
        if not identical(found.pi[o, (a, w)], number[w] * member):
            return f"the class {w} is written with {found.pi[o, (a, w)]}"
    for k in range(1, most + 1):
        E = augment(recall4_task(), f"B{k}")
        here = evaluate(E, mixed_rows(E, policy_rows(uniform(E)), local_optimum(E), x))
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
    statement="For every k >= 1 and every step eps in (0, 1] the loop from the uniform policy "
    "with B(k) goes to pi_l, which is suboptimal. At eps = 0, which the lemma allows, it does not "
    "move.",
    verdict="proved",
    steps=(
        machine("segment", "a step eps takes x pi_u + (1-x) pi_l to x (1-eps) in the place of x"),
        machine(
            "givens",
            "the code's loop runs along these policies: B1, B2 and B3, four iterates with steps "
            "1/3 and 1, in rationals",
        ),
        machine("classes", "for every K = 2^k three classes of memory states make B(k)'s episodes"),
        machine("greedy", "greedy is pi_l for all 0 < x <= 1 and K >= 2, and at x = 0 where seen"),
        machine("limit", "the return tends to 3/4, that of pi_l, as x -> 0"),
        machine("better", "another policy of B(k) is worth more"),
    ),
)
def every_binary_memory(
    proof: Proof,
    rewards: Rewards = RECALL4_REWARDS,
    kept: Any = 1 - eps,
    members: Any = K - 2,
    limit: Fraction = Fraction(3, 4),
    left: Any = 1 - eps,
) -> Evidence:
    """Follow all iterates of all loops, for all k and all steps.

    `left`: what a step of the code's loop is said to leave of x.
    """
    proof.step("segment", segment_mismatch(kept))
    proof.step("givens", loop_mismatch(("B1", "B2", "B3"), left))
    proof.step("classes", lumping_mismatch(members))
    region = every_k(rewards)
    proof.step("greedy", region.failure)
    _, found, _ = all_iterates(rewards)
    value = sympy.expand(found.value)
    P = recall4_task(rewards)
    E2 = augment(P, "B2")
    end = _limit(P, 2)
    ends = value.subs(x, 0) == end == limit
    proof.step("limit", None if ends else f"x = 0: {value.subs(x, 0)}; pi_l: {end}; not {limit}")
    best = _zero_then_two(E2, 2)
    better = evaluate(E2, best, exact=True).value
    proof.step("better", None if better > end else f"0, then 2 is worth {better}, pi_l {end}")
    second = q_certificate(
        P, "B2", evaluate(E2, mixed_rows(E2, policy_rows(uniform(E2)), local_optimum(E2), x))
    )
    argument = text(
        "pi_l: <1,last> in memory 0, <3,last> in every other one. If greedy was pi_l so far, the "
        "iterate is pi = x pi_u + (1-x) pi_l, x = (1-eps_1)...(1-eps_n), for any steps. It treats "
        "all memory states but 0 and the last alike, so its episodes are those of a memory with "
        "three: 0, others (K-2 of them, K = 2^k) and last. There the evaluator returns the "
        "q-values as functions of x and K. A line `m: a w - b v` is q of action a and write w in "
        "memory m, less q of b and v there, up to ties that go to the higher write:",
        *("  " + line for line in region.lines),
        "Each of them is positive for all 0 < x < 1 and all real K >= 2, from its coefficients; "
        "at x = 1 it is positive, or 0 where the higher write wins. "
        "So greedy is pi_l at every iterate, for every k. The classes are not taken on trust: a "
        "class is written as often as its members together, and for k = 1, 2, 3, 4 the evaluator "
        "run on B(k) itself, with a symbol for x, returns the same functions.",
        f"The return is {value}, which tends to {end} as x -> 0: any constant step in (0,1], or "
        "any steps whose product of 1 - eps tends to 0. '0, then 2' is worth "
        f"{better}. With a step of 1 the second iterate is pi_l; the other memory states are then "
        "unvisited and keep their rows. With a step of 0 the loop stays at the uniform policy.",
        f"A second way, for k = 2 and every x: {recheck(second)}.",
    )
    certificates = [
        *region.certificates,
        second,
        value_certificate(P, "B2", local_optimum(E2), end),
        value_certificate(P, "B2", best, better),
    ]
    return proved(
        "a formula in K = 2^k covers every iterate; B(k) itself was run for k up to 4",
        argument,
        certificates,
    )


def _limit(P: Any, k: int) -> Fraction:
    E = augment(P, f"B{k}")
    value: Fraction = evaluate(E, local_optimum(E), exact=True).value
    return value


def _zero_then_two(E: Any, k: int) -> Policy:
    """In 0 do 0 and write 1, in 1 do 2. Elsewhere 3."""
    first, second, *_ = words(k)
    return Policy.deterministic(
        E, {(first, "o"): (0, second), (second, "o"): (2, first)}, otherwise=(3, first)
    )


every_binary_memory.twin("a step that keeps 1 - eps^2 of x", guards="segment", kept=1 - eps**2)
every_binary_memory.twin("a loop of half steps", guards="givens", left=1 - eps / 2)
every_binary_memory.twin("K - 1 others", guards="classes", members=K - 1)
every_binary_memory.twin(
    "reward of 0 then 1 raised from 1/2 to 3/4",
    guards="greedy",
    rewards=changed_rewards(0, 1, Fraction(3, 4)),
)
every_binary_memory.twin("a limit of 1/2", guards="limit", limit=Fraction(1, 2))
every_binary_memory.twin(
    "reward of 0 then 2 lowered to 3/4",
    guards="better",
    rewards=changed_rewards(0, 2, Fraction(3, 4)),
)


# ---------------------------------------------------------------------- Theorem C.6


@claim(
    "C6",
    place="Theorem C.6",
    statement="There is a POMDP with a sufficiently expressive memory on which the loop from "
    "uniform does not go to an optimal memoryless policy. It is the 4-action recall task with "
    "B(k), for every k >= 3 and any step in (0, 1]. (By C.b2-expressive the paper's own witness, "
    "B2, is not sufficiently expressive.)",
    verdict="proved",
    steps=(
        machine("expressive", "an f keeps the five beliefs apart in B3, so in every larger B(k)"),
        machine("loop", "greedy is pi_l at every iterate of every B(k) (C5)"),
        machine("better", "a memoryless policy of B3 is worth more than pi_l"),
    ),
)
def expressive_memory_is_not_enough(
    proof: Proof, k: int = 3, rewards: Rewards = RECALL4_REWARDS
) -> Evidence:
    """A separating f for B(k), the loop's limit, and a better memoryless policy."""
    P = recall4_task(rewards)
    f, why_not = separating_update(P, k)
    proof.step("expressive", None if f is not None else why_not)
    region = every_k(rewards)
    proof.step("loop", region.failure)
    E = augment(P, f"B{k}")
    best = _zero_then_two(E, k)
    end, best_value = _limit(P, k), evaluate(E, best, exact=True).value
    proof.step("better", None if end < best_value else f"{end} against {best_value}")
    first, second, *_ = words(k)
    argument = text(
        f"B{k} is sufficiently expressive (Definition A.2): write number a+1 after action a, so "
        "that the five beliefs with observation o (nothing done; 0, 1, 2 or 3 done) have a memory "
        "state each. The same f serves every B(k) with k >= 3; B2, which the paper uses here, has "
        "only four memory states (see C.b2-expressive).",
        f"By C5 the loop goes to pi_l, worth {end}, for every step in (0,1]; at step 0 it stays at "
        f"the uniform policy. The memoryless policy 'in {first} <0,{second}>, in {second} "
        f"<2,{first}>' is worth {best_value}.",
    )
    certificates = [
        *([f] if f else []),
        value_certificate(P, f"B{k}", local_optimum(E), end),
        value_certificate(P, f"B{k}", best, best_value),
    ]
    return proved(
        f"B{k} tells all beliefs apart, and the loop ends at {end}, below {best_value}",
        argument,
        [*certificates, *region.certificates],
    )


expressive_memory_is_not_enough.twin("with B2", guards="expressive", k=2)
expressive_memory_is_not_enough.twin(
    "reward of 0 then 1 raised from 1/2 to 3/4",
    guards="loop",
    rewards=changed_rewards(0, 1, Fraction(3, 4)),
)
expressive_memory_is_not_enough.twin(
    "reward of 0 then 2 lowered to 3/4",
    guards="better",
    rewards=changed_rewards(0, 2, Fraction(3, 4)),
)


# ---------------------------------------------------------------------- Proposition C.1


@claim(
    "C7",
    place="Prop. C.1",
    statement="The loop can end arbitrarily far from the optimum. With all rewards multiplied by "
    "a > 0 it ends a/4 below it.",
    verdict="proved",
    steps=(
        machine("loop", "greedy is pi_l at every iterate of every B(k), for every scale a > 0"),
        machine("gap", "the best policy of B3 and pi_l are a/4 apart"),
    ),
)
def any_scale(proof: Proof, gap: Fraction = Fraction(1, 4), sign: int = 1) -> Evidence:
    """A symbol for the scale."""
    a = sign * scale
    region = every_k(RECALL4_REWARDS, scale=a)
    proof.step("loop", region.failure)
    P = recall4_task(RECALL4_REWARDS, a)
    E = augment(P, "B3")
    best = _zero_then_two(E, 3)
    end, best_value = evaluate(E, local_optimum(E)).value, evaluate(E, best).value
    same = identical(best_value - end, sign * gap * scale)
    proof.step("gap", None if same else f"{best_value} - {end} = {best_value - end}")
    argument = text(
        "With every reward multiplied by a symbol a the q-values of all iterates of all B(k) are a "
        "times what they were, and the inequalities of C5 become",
        *("  " + line for line in region.lines),
        "for all a > 0, 0 < x <= 1, K >= 2: greedy is pi_l as before. So with B3, which is "
        f"sufficiently expressive (C6), the loop ends at {end}, and a memoryless policy is worth "
        f"{best_value}: {gap * scale} more, beyond any bound.",
        "The paper asks for a >= 1; any a > 0 will do.",
    )
    certificates = [
        value_certificate(P, "B3", local_optimum(E), end),
        value_certificate(P, "B3", best, best_value),
        *region.certificates,
    ]
    return proved(
        "with rewards times a the loop ends a/4 below the best, for every a > 0",
        argument,
        certificates,
    )


any_scale.twin("a gap of a/3", guards="gap", gap=Fraction(1, 3))
any_scale.twin("negative scales", guards="loop", sign=-1)
