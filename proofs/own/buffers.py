"""Buffers: OA1 is never stuck on two steps, and K(T-1) is enough for every task of T steps.

**OA1 on two steps.** Let episodes have at most two steps: any observations, chance, rewards,
discount. After <a, push> at o the memory holds (o, a), and the row ((o, a), o') is visited at the
second step only, after that history: its q-values are those of the history, whatever the policy,
and greedy always takes the best action b*(h). So at the n-th iterate, x the product of 1 - eps,

    second step after a push:   x uniform + (1-x) b*(h)
    second step after a keep:   x uniform + (1-x) rho          rho a mixture of what was greedy at
                                                               (empty, o')

and the first is worth at least as much, for every history: v_push - v_keep = (1-x) sum_b rho(b)
g_b, g_b = r(h, b*) - r(h, b) >= 0. At (empty, o) push and keep have the same second-visit part, so
q(a, push) - q(a, keep) >= 0 for every a. If ties go to push, keep is never greedy: its share x/2
tends to 0, the first visits take over, q(a, push) tends to Q*(o, a), and the loop to the best
history-based value.

**K(T-1).** A deterministic policy knows its own actions from what it observed. Some optimal
history-based policy is deterministic; after t steps K(T-1) holds o_0, ..., o_{t-1}, all of them.
"""

from __future__ import annotations

import random
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any

import sympy

import pomdps
from proofs.ledger import Evidence, Proof, argued, claim, human, machine, proved
from proofs.ledger.cells import k, keeps_the_last, t
from proofs.ledger.generic import generic_policy
from proofs.ledger.inequalities import identical, impossible
from proofs.ledger.prose import text
from proofs.ledger.theory import Theory, trouble_in, trouble_with
from proofs.own.tables import table_task
from workbench import (
    POMDP,
    augment,
    best_history,
    can_encode_optimal,
    evaluate,
    improve,
    uniform,
)
from workbench.certificates.values import identity_certificate


def two_step_task(seed: int) -> POMDP:
    """A random task of at most two steps: two or three observations, two or three actions, chance
    in starts, observations, moves and early ends; a discount."""
    dice = random.Random(seed)
    A = tuple(range(dice.choice((2, 3))))
    O = "xyz"[: dice.choice((2, 3))]

    def spread(labels: Any) -> dict[Any, Fraction]:
        weights = [dice.randint(0, 3) for _ in labels]
        weights[dice.randrange(len(weights))] += 1
        return {x: Fraction(w, sum(weights)) for x, w in zip(labels, weights, strict=True) if w}

    first, second = ("s0", "s1"), ("t0", "t1", "t2")
    omega = {s: spread(O) for s in (*first, *second)} | {"end": {O[0]: Fraction(1)}}
    moves = {
        (s, a): {(t, dice.randint(-3, 3)): x for t, x in spread((*second, "end")).items()}
        for s in first
        for a in A
    } | {(t, a): {("end", dice.randint(-5, 5)): 1} for t in second for a in A}
    return POMDP.from_functions(
        name=f"two steps, seed {seed}",
        A=A,
        p=lambda s, a: moves[s, a],
        omega=omega.__getitem__,
        mu=spread(first),
        gamma=dice.choice((Fraction(1), Fraction(19, 20), Fraction(1, 2))),
        terminal={"end"},
    )


def gap_to_best(P: POMDP, memory: str, ties: str = "last") -> float:
    """The best history-based value less where the loop ends."""
    E = augment(P, memory)
    run = improve(E, uniform(E), step=0.05, ties=ties)
    return float(best_history(P).value) - run.value


@cache
def random_gap(seed: int, memory: str) -> float:
    """The same for a random task."""
    return gap_to_best(two_step_task(seed), memory)


R = [[sympy.Symbol(f"r{i}{j}") for j in (0, 1)] for i in (0, 1)]


@claim(
    "T.oa1",
    place="Own, two steps",
    statement="OA1 is never stuck on episodes of at most two steps: whatever observations, chance, "
    "rewards and discount, the loop from uniform with ties to push reaches the best history-based "
    "value. With ties to keep it may be stuck, and on three steps as well.",
    verdict="argued",
    steps=(
        machine(
            "history",
            "q at (o, a) is the reward of the history, whatever the policy: two "
            "steps alike, all rewards and the policy symbols.",
        ),
        machine(
            "writes",
            "q(a, push) - q(a, keep) at the empty buffer is (v_push - v_keep) over "
            "the row's visits, as an identity.",
        ),
        machine("better", "v_push - v_keep = (1-x) sum_b rho(b) g_b, three actions, symbols."),
        human(
            "limit",
            "So keep is never greedy, its share x/2 tends to 0, and first visits "
            "decide; with other observations each row ((o, a), o') is as here.",
        ),
        machine("loops", "The loop reaches the best value on 60 random tasks with chance."),
        machine("keep", "With ties to keep it is stuck on [[0,2],[0,1]] at 1."),
        machine("three", "On three steps it is stuck: the variant of recall ends below 3."),
    ),
)
def oa1_on_two_steps(
    proof: Proof,
    row: int = 0,
    shift: Any = 0,
    share: Any = 1,
    memory: str = "OA1",
    ties: str = "first",
    longer: str = "OA1",
) -> Evidence:
    """The identities for two actions and one observation; random tasks for the rest."""
    E = augment(table_task(R), "OA1")
    pi = generic_policy(E)
    q = evaluate(E, pi).q
    empty = ((None,), "o")
    certificates = []
    for i, j in product((0, 1), repeat=2):
        buffer = ((("o", i),), "o")
        due = R[i if row == 0 else 1 - i][j]
        got = [q[buffer, (j, w)] for w in ("keep", "push")]
        same = all(identical(x, due) for x in got)
        proof.step("history", None if same else f"q at {i}, {j} is {got[0]}")
    seen = 1 + sum(pi[empty, (i, "keep")] for i in (0, 1))
    for i in (0, 1):
        v_push = sum(_marginal(pi, ((("o", i),), "o"), j) * R[i][j] for j in (0, 1))
        v_keep = sum(_marginal(pi, empty, j) * R[i][j] for j in (0, 1))
        left = q[empty, (i, "push")] - q[empty, (i, "keep")]
        right = (v_push - v_keep) / seen + shift
        proof.step("writes", None if identical(left, right) else f"at {i}: not so")
        certificates.append(identity_certificate(f"push and keep, {i}", str(left), str(right)))
    x, rewards, rho = sympy.Symbol("x"), sympy.symbols("r0:3"), [*sympy.symbols("w0 w1")]
    rho.append(1 - sum(rho))
    mean = sum(rewards) / 3
    push = x * mean + (1 - x) * rewards[0]  # the first is the best
    keep = x * mean + (1 - x) * sum(w * r for w, r in zip(rho, rewards, strict=True))
    gains = sum(w * (rewards[0] - r) for w, r in zip(rho, rewards, strict=True))
    same = identical(push - keep, (1 - x) * share * gains)
    proof.step("better", None if same else "v_push - v_keep is something else")
    for seed in range(60):
        lost = random_gap(seed, memory)
        if lost > 1e-6:
            proof.step("loops", f"seed {seed}: {lost:.4f} below the best")
            break
    else:
        proof.step("loops")
    stuck = gap_to_best(table_task(((0, 2), (0, 1))), "OA1", ties)
    proof.step("keep", None if abs(stuck - 1) < 1e-6 else f"{stuck:.4f} is lost")
    E3 = augment(pomdps.recall_variant(), longer)
    run = improve(E3, uniform(E3), step=0.02)
    proof.step("three", None if run.value < 3 - 1e-3 else f"{longer} reaches {run.value:.4f}")
    argument = text(
        "After a push the row is the history, so its action is right from the start; after a keep "
        "the row is shared with the first step. Both began uniform and have moved by 1 - x, one of "
        "them always to the best: push is never worse, whatever the first action. Ties to push "
        "(the paper's rule, the higher write) then mean that keep is never greedy. The 60 tasks "
        "have two or three observations and actions, random starts, noisy observations, early "
        "ends and discounts 1, 19/20, 1/2.",
        "Sharp: with ties to keep the first step goes to keep, since all rows are uniform, and on "
        "[[0,2],[0,1]] the row that both steps share then plays 1 twice, worth 1, where the "
        "buffer's row would tell nothing new. On three steps the second push drops the first "
        "pair: S52.fig-variant.",
    )
    return argued("push is never worse; 60 random tasks", argument, certificates)


def _marginal(pi: Any, o: Any, j: int) -> Any:
    return pi[o, (j, "keep")] + pi[o, (j, "push")]


oa1_on_two_steps.twin("rows of the other action", guards="history", row=1)
oa1_on_two_steps.twin("push leads by one more", guards="writes", shift=1)
oa1_on_two_steps.twin("twice the gains", guards="better", share=2)
oa1_on_two_steps.twin("B1 in its place", guards="loops", memory="B1")
oa1_on_two_steps.twin("ties to push", guards="keep", ties="last")
oa1_on_two_steps.twin("OA2 on three steps", guards="three", longer="OA2")


# ---------------------------------------------------------------------- K(T-1)

BEST = Theory(
    {
        "V0": "V(0,s,h) == 0",
        "V+": "V(n+1,s,h) == sum[a](pi(n,h,a)*(R(s,a)"
        " + gamma*sum[s1,o,h1](p(s,a,s1)*om(s1,o)*on(h,a,o,h1)*V(n,s1,h1))))",
        "x": "on(h,a,o,h1)*x(h1,s1) == on(h,a,o,h1)*sum[s](x(h,s)*p(s,a,s1))*om(s1,o)",
        "r": "r(h,a) == sum[s](x(h,s)*R(s,a))",
        "W0": "W(0,h) == 0",
        "W+": "W(n+1,h) == sum[a](pi(n,h,a)*(r(h,a) + gamma*sum[o,h1](on(h,a,o,h1)*W(n,h1))))",
        "B0": "B(0,h) == 0",
        "F": "F(n,h,a) == r(h,a) + gamma*sum[o,h1](on(h,a,o,h1)*B(n,h1))",
        "most": "B(n+1,h) - F(n,h,a) >= 0",
        "pi": "sum[a](pi(n,h,a)) == 1",
        "pi+": "pi(n,h,a) >= 0",
        "gamma+": "gamma >= 0",
        "on+": "on(h,a,o,h1) >= 0",
    }
)
"""n more steps after the history h: V(n,s,h) what a policy pi of histories is worth in s, W the sum
of these with weights x(h,s), the chance of s and of the observations of h given its actions; B is
the same for the policy that takes what is best, F(n,h,a), after each h. on(h,a,o,h1) says whether
h1 is h, a, o."""


def best_is_deterministic(theory: Theory) -> list[dict[str, Any]]:
    """After no history a policy is worth more than B, what the best action is worth, for every
    n."""
    return [
        theory.shows(
            "by histories",
            "sum[s](x(h,s)*V(n,s,h)) == W(n,h)",
            [
                ("unfold", "V+"),
                ("unfold", "W+"),
                ("add", "hypothesis", "-gamma*pi(n,h,a)*on(h,a,o,h1)", {"h": "h1"}),
                ("add", "x", "gamma*pi(n,h,a)*V(n,s1,h1)"),
                ("unfold", "r"),
            ],
            base=[("unfold", "V0"), ("unfold", "W0")],
        ),
        theory.shows(
            "no policy is worth more",
            "B(n,h) - W(n,h) >= 0",
            [
                ("unfold", "W+"),
                ("add", "pi", "B(n+1,h)"),
                ("less", 1, (("pi+", {}), ("most", {}))),
                ("unfold", "F"),
                (
                    "less",
                    1,
                    (("gamma+", {}), ("pi+", {}), ("on+", {}), ("hypothesis", {"h": "h1"})),
                ),
            ],
            base=[("unfold", "B0"), ("unfold", "W0")],
        ),
    ]


BLIND = Theory(
    {
        "V0": "V(0,s,h) == 0",
        "V+": "V(n+1,s,h) == sum[a](g(h,a)*(R(s,a)"
        " + gamma*sum[s1,o,h1](p(s,a,s1)*om(s1,o)*on(h,a,o,h1)*V(n,s1,h1))))",
        "U0": "U(0,s,y) == 0",
        "U+": "U(n+1,s,y) == sum[a](G(y,a)*(R(s,a)"
        " + gamma*sum[s1,o,y1](p(s,a,s1)*om(s1,o)*next(y,o,y1)*U(n,s1,y1))))",
        "G": "G(y,a) == sum[h](c(y,h)*g(h,a))",
        "run": "sum[y1](next(y,o,y1)*c(y1,h1)) == sum[h,a](c(y,h)*g(h,a)*on(h,a,o,h1))",
        "one": "c(y,h)*g(h,a)*c(y,h2)*g(h2,a1) == c(y,h)*g(h,a)*eq(h,h2)*eq(a,a1)",
    }
)
"""A policy g of histories h, and G, which reads the observations y alone: it does what g does after
the history that y and its own actions make, c(y,h) = 1. "one" says that there is one such history,
and that g takes one action."""


def reads_observations(theory: Theory) -> dict[str, Any]:
    """G is worth after y what g is worth after the history that y makes, for every n."""
    later = "gamma*om(s1,o)*V(n,s1,h1)"
    return theory.shows(
        "observations alone",
        "U(n,s,y) == sum[h](c(y,h)*V(n,s,h))",
        [
            *(("unfold", name) for name in ("U+", "hypothesis", "V+", "G")),
            ("add", "run", f"-c(y,h2)*g(h2,a2)*p(s,a2,s1)*{later}"),
            ("add", "one", f"-p(s,a1,s1)*on(h,a,o,h1)*{later}"),
        ],
        base=[("unfold", "U0"), ("unfold", "V0")],
    )


CLOCKED = (("recall", "K2"), ("recall_variant", "K2"), ("recall4", "K1"))


@claim(
    "T.clock",
    place="Own, any steps",
    statement="K(T-1) encodes an optimal policy of every task of at most T steps: the case for OA "
    "is learning, not representation. K(T-2) does not suffice in general.",
    verdict="proved",
    steps=(
        machine("best", "Some history-based policy that is best is deterministic; any task, n."),
        machine("observations", "It is worth as much as one that reads observations alone."),
        machine("buffer", "After t <= T - 1 steps K(T-1) holds o_0, ..., o_{t-1}, for every T."),
        machine(
            "tasks",
            "K(T-1) encodes an optimum of recall, the variant, recall4 and 20 random "
            "tasks of two steps.",
        ),
        machine("sharp", "K1 encodes no optimum of recall, which has three steps."),
    ),
)
def clocks_encode(
    proof: Proof,
    kind: str = "K",
    tasks: Any = CLOCKED,
    small: str = "K1",
    best: Theory = BEST,
    blind: Theory = BLIND,
    claimed: int = 0,
) -> Evidence:
    """Sums of any size; the code of Gamma on a buffer of any length; `can_encode_optimal` on a
    list."""
    certificates = best_is_deterministic(best)
    proof.step("best", trouble_with(certificates))
    alike = reads_observations(blind)
    proof.step("observations", trouble_in(alike))
    certificates.append(alike)
    proof.step("buffer", keeps_the_last(kind, pomdps.recall(), claimed))
    whole = impossible([t <= k, t - k > 0])  # the first cell holds e_{t-k}: nothing is lost
    proof.step("buffer", None if whole.holds else str(whole.witness))
    certificates += whole.certificates
    listed = [(getattr(pomdps, name)(), memory) for name, memory in tasks]
    listed += [(two_step_task(seed), "K1") for seed in range(20)]
    for one, memory in listed:
        good = can_encode_optimal(one, memory)
        proof.step("tasks", None if good else f"{memory} encodes no optimum of {one.name}")
    few = can_encode_optimal(pomdps.recall(), small)
    proof.step("sharp", f"{small} encodes an optimum of recall" if few else None)
    argument = text(
        "In a task of at most T steps the buffer of K(T-1) is never full before the last decision, "
        "so (m, o) is the whole history of observations, and with it, for a deterministic policy, "
        "of actions. Some best policy is deterministic: to take what is best after each history is "
        "worth no less than any mixture, by induction on the steps that are left; and what it does "
        "after the history that the observations y and its own actions make is worth the same when "
        "it is read off y. Both by sums over histories, however many.",
        "So whatever O(k), OA(k) or B(k) can represent on T steps, K(T-1) can, without any write "
        "to choose. Definition A.2 does not see this, because it asks for beliefs under every "
        "policy (S4.ok-actions). What a buffer of pairs adds is that rows of different histories "
        "are apart while the policy is still random: T.oa1.",
    )
    return proved("the buffer is the history, every T", argument, certificates)


clocks_encode.twin("the last T observations", guards="buffer", claimed=1)
clocks_encode.twin("a policy that does not take the best", guards="best", best=BEST.without("most"))
clocks_encode.twin(
    "a policy that is not deterministic", guards="observations", blind=BLIND.without("one")
)
clocks_encode.twin("recall with K1", guards="tasks", tasks=(("recall", "K1"),))
clocks_encode.twin("K2 too small for recall", guards="sharp", small="K2")
