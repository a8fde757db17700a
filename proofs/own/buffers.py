"""K(T-1) is enough for every task of T steps: the case for OA is learning, not representation.

A deterministic policy knows its own actions from what it observed. Some optimal history-based
policy is deterministic; after t steps K(T-1) holds o_0, ..., o_{t-1}, all of them.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from typing import Any

import pomdps
from proofs.ledger import Evidence, Proof, claim, machine, proved
from proofs.ledger.bellman import first_broken
from proofs.ledger.cells import k, keeps_the_last, t
from proofs.ledger.inequalities import impossible
from proofs.ledger.prose import text
from proofs.ledger.theory import Interpretation, Theory, trouble_in, trouble_with
from proofs.ledger.walks import Histories
from proofs.own.tables import two_step_task
from workbench import best_history, can_encode_optimal

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


@cache
def clock_letters(best: tuple[tuple[str, str], ...]) -> str | None:
    """Find a formula that a task of two steps does not obey. It is one of `BEST`, changed or not,
    or of `BLIND`. A best value that is not that of `best_history` is told as well."""
    P = two_step_task(14)
    read = Histories(P, 1)
    A, H = list(P.A), read.H

    def pi(n: int, h: Any, a: Any) -> Fraction:  # another row for each n and h
        weights = [1 + (n + H.index(h) + i) % 3 for i in range(len(A))]
        return Fraction(weights[A.index(a)], sum(weights))

    def g(h: Any, a: Any) -> int:
        return int(a == A[H.index(h) % len(A)])

    Y = sorted({h[::2] for h in H})

    def c(y: Any, h: Any) -> int:
        """Whether h is what y and the actions of g make."""
        own = all(g(h[: 2 * i + 1], h[2 * i + 1]) for i in range(len(h) // 2))
        return int(h[::2] == y and own)

    def follow(y: Any, a: Any) -> int:
        return sum(g(h, a) for h in H if c(y, h))

    def U(n: int, s: Any, y: Any) -> Fraction:
        (h,) = (h for h in H if c(y, h))
        return read.worth(lambda n, h, a: follow(h[::2], a), n, s, h)

    sets = {"s": read.going, "a": A, "o": list(P.O), "h": H, "y": Y}
    common = read.letters() | {"pi": pi, "g": g, "c": c, "G": follow, "U": U}
    common["next"] = lambda y, o, y1: int(y1 == (*y, o))
    mixed = common | {
        "V": lambda n, s, h: read.worth(pi, n, s, h),
        "W": lambda n, h: sum(x * read.worth(pi, n, s, h) for s, x in read.weights[h].items()),
    }
    sure = common | {"V": lambda n, s, h: read.worth(lambda n, h, a: g(h, a), n, s, h)}
    most, known = sum(read.B(2, (o,)) for o in P.O), best_history(P, exact=True).value
    if most != known:
        return f"the best of two steps is {most}, best_history says {known}"
    return first_broken(Theory(dict(best)), Interpretation(sets, mixed, 2)) or first_broken(
        BLIND, Interpretation(sets, sure, 2)
    )


CLOCKED = (("recall", "K2"), ("recall_variant", "K2"), ("recall4", "K1"))


@claim(
    "T.clock",
    place="Own, any steps",
    statement="K(T-1) encodes an optimal policy of every task of at most T steps. So the case for "
    "OA is learning, not representation. K(T-2) does not suffice in general.",
    verdict="proved",
    steps=(
        machine(
            "givens",
            "the formulas below hold of the histories of a task of two steps, and its best value "
            "is that of best_history",
        ),
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
    givens: Theory = BEST,
) -> Evidence:
    """Sums of any size. The code of Gamma on a buffer of any length. `can_encode_optimal` on a
    list."""
    proof.step("givens", clock_letters(tuple(givens.given.items())))
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
    return proved(
        "a buffer of T - 1 observations and the present one tell how to act, for every T",
        argument,
        certificates,
    )


clocks_encode.twin(
    "values that are not discounted",
    guards="givens",
    givens=BEST.replaced(F=BEST.given["F"].replace("gamma*", "")),
)
clocks_encode.twin("the last T observations", guards="buffer", claimed=1)
clocks_encode.twin("a policy that does not take the best", guards="best", best=BEST.without("most"))
clocks_encode.twin(
    "a policy that is not deterministic", guards="observations", blind=BLIND.without("one")
)
clocks_encode.twin("recall with K1", guards="tasks", tasks=(("recall", "K1"),))
clocks_encode.twin("K2 too small for recall", guards="sharp", small="K2")
