"""Memories that hold the whole history: buffers that must push are never stuck if they are long
enough.

`window(k)` always pushes the pair (o, a). On tasks of at most T steps window(T-1) drops nothing, so
a row (m, o) is a history h, and the chance of a state behind it does not depend on the policy: the
oracle loop is one on a fully observed task, the tree of histories. Let D_i(j) be the largest
difference between the best value and that of the i-th iterate with j steps left. One step eps
towards greedy gives

    D_{i+1}(j+1)  <=  (1-eps) D_i(j+1) + eps D_i(j)          D_i(0) = 0

so D_i(j) is at most D_0 times the chance that fewer than j of i coins show heads, each with chance
eps. That is at most j/(i eps): it tends to 0 for every eps in (0, 1], whatever the rule for ties.

With fewer cells it need not: a buffer of observations alone, K(k), or of one pair on three steps.
"""

from __future__ import annotations

import random
from fractions import Fraction
from functools import cache
from math import comb
from typing import Any

import pomdps
from proofs.ledger import Evidence, Proof, claim, machine, proved
from proofs.ledger.cells import k, keeps_the_last, t
from proofs.ledger.inequalities import impossible
from proofs.ledger.prose import text
from proofs.ledger.theory import Factors, Theory, trouble_in, trouble_with
from workbench import POMDP, augment, best_history, evaluate, improve, uniform
from workbench.core.batch import sequence_task

BEHIND = Theory(
    {
        "x": "on(h,a,o,h1)*x(h1,s1) == on(h,a,o,h1)*sum[s](x(h,s)*p(s,a,s1))*om(s1,o)",
        "start": "alpha(0,s,h) == x(h,s)*y(0,h)",
        "alpha": "alpha(n+1,s1,h1) == sum[s,h,a,o](alpha(n,s,h)*pi(h,a)*p(s,a,s1)*om(s1,o)"
        "*on(h,a,o,h1))",
        "y": "y(n+1,h1) == sum[h,a,o](y(n,h)*pi(h,a)*on(h,a,o,h1))",
    }
)
"""alpha is the chance of the state s and the history h at time n; x(h,s) that of s and the
observations of h, given its actions, and y that of the actions."""


def behind_histories(theory: Theory) -> dict[str, Any]:
    """alpha(n,s,h) = x(h,s) y(n,h): the weights of the states behind h are x, whatever pi."""
    return theory.shows(
        "what is behind a history",
        "alpha(n,s1,h1) == x(h1,s1)*y(n,h1)",
        [
            ("unfold", "alpha"),
            ("unfold", "hypothesis"),
            ("unfold", "y"),
            ("add", "x", "y(n,h)*pi(h,a)"),
        ],
        base=[("unfold", "start")],
    )


TREE = Theory(
    {
        "v0": "v(0,h) == 0",
        "v+": "v(n+1,h) == sum[a](pi(n,h,a)*q(n,h,a))",
        "q": "q(n,h,a) == r(n,h,a) + gamma*sum[h1](c(n,h,a,h1)*v(n,h1))",
        "w0": "w(0,h) == 0",
        "w+": "w(n+1,h) == sum[a](pi1(n,h,a)*(r(n,h,a) + gamma*sum[h1](c(n,h,a,h1)*w(n,h1))))",
        "toward": "pi1(n,h,a) == pi(n,h,a) + eps*(g(n,h,a) - pi(n,h,a))",
        "most": "sum[a1](g(n,h,a1)*q(n,h,a1)) - q(n,h,a) >= 0",
        "pi": "sum[a](pi(n,h,a)) == 1",
        "best": "V(n+1,h) == sum[a](s(n,h,a)*(r(n,h,a) + gamma*sum[h1](c(n,h,a,h1)*V(n,h1))))",
        "s": "sum[a](s(n,h,a)) == 1",
        "s+": "s(n,h,a) >= 0",
        "pi+": "pi(n,h,a) >= 0",
        "pi1+": "pi1(n,h,a) >= 0",
        "c+": "c(n,h,a,h1) >= 0",
        "c-": "1 - sum[h1](c(n,h,a,h1)) >= 0",
        "gamma+": "gamma >= 0",
        "gamma-": "1 - gamma >= 0",
        "eps+": "eps >= 0",
        "eps-": "1 - eps >= 0",
        "grows": "w(n,h) - v(n,h) >= 0",
        "D": "D(n) - V(n,h) + v(n,h) >= 0",
        "D1": "D(n+1) - V(n+1,h) + v(n+1,h) >= 0",
        "D+": "D(n) >= 0",
    }
)
"""n steps left after the history h: v, w and V what pi, pi1 (a step towards g, which is greedy) and
a best policy s are worth; c is the chance of the next history, if the episode goes on. D(n) bounds
V - v. "grows" is what is shown first."""


def coming_closer(theory: Theory) -> list[dict[str, Any]]:
    """No history loses by a step, and V - w <= (1-eps) D(n+1) + eps D(n)."""
    later: Factors = (("gamma+", {}), ("c+", {}))
    return [
        theory.without("grows").shows(
            "no history loses",
            "w(n,h) - v(n,h) >= 0",
            [
                ("unfold", "w+"),
                ("less", 1, (("pi1+", {}), *later, ("hypothesis", {"h": "h1"}))),
                ("unfold", "v+"),
                ("unfold", "toward"),
                ("less", 1, (("eps+", {}), ("pi+", {}), ("most", {}))),
                ("add", "pi", "eps*sum[a1](g(n,h,a1)*q(n,h,a1))"),
                ("unfold", "q"),
            ],
            base=[("unfold", "w0"), ("unfold", "v0")],
        ),
        theory.shows(
            "a step comes closer",
            "(1 - eps)*D(n+1) + eps*D(n) - V(n+1,h) + w(n+1,h) >= 0",
            [
                ("unfold", "w+"),
                ("less", 1, (("pi1+", {}), *later, ("grows", {"h": "h1"}))),
                ("less", 1, (("eps-", {}), ("D1", {}))),
                ("less", 1, (("eps+", {}), ("s+", {}), ("most", {}))),
                ("less", 1, (("eps+", {}), ("s+", {}), *later, ("D", {"h": "h1"}))),
                ("less", 1, (("eps+", {}), ("s+", {}), ("gamma+", {}), ("c-", {}), ("D+", {}))),
                ("less", 1, (("eps+", {}), ("s+", {}), ("gamma-", {}), ("D+", {}))),
                ("add", "s", "eps*D(n) + eps*sum[a1](g(n,h,a1)*q(n,h,a1))"),
                ("unfold", "best"),
                ("unfold", "v+"),
                ("unfold", "toward"),
                ("unfold", "q"),
            ],
        ),
    ]


COINS = Theory(
    {
        "nx+": "nx(j,j1) >= 0",
        "c+": "nx(j,j1)*c(n+1,j1) == nx(j,j1)*((1 - eps)*c(n,j1) + eps*c(n,j))",
        "c-": "1 - c(n+1,j) >= 0",
        "D+": "nx(j,j1)*((1 - eps)*D(n,j1) + eps*D(n,j) - D(n+1,j1)) >= 0",
        "L": "nx(j,j1)*L(j1) == nx(j,j1)*(L(j) + 1)",
        "f+": "f(n+1) == f(n) + 1",
        "eps+": "eps >= 0",
        "eps-": "1 - eps >= 0",
        "under": "C*c(n,j) - D(n,j) >= 0",
        "rare": "L(j) - eps*f(n)*c(n,j) >= 0",
    }
)
"""c(n,j) is the chance that fewer than j of n coins show heads, by the last coin; D(n,j) the
largest loss of the n-th iterate with j steps left. nx(j,j1) says that j1 is j + 1, L(j) is j as a
number and f(n) is n. "under" and "rare" hold for n = 0 and for j = 0, and pass from n to n + 1."""


def next_coin(theory: Theory) -> list[dict[str, Any]]:
    """What passes from n and all j to n + 1 and all j + 1: D <= C c, and eps n c <= j."""
    return [
        theory.without("rare").shows(
            "the chance bounds the loss",
            "nx(j,j1)*(C*c(n+1,j1) - D(n+1,j1)) >= 0",
            [
                ("less", 1, (("D+", {}),)),
                ("less", 1, (("eps-", {}), ("nx+", {}), ("under", {"j": "j1"}))),
                ("less", 1, (("eps+", {}), ("nx+", {}), ("under", {}))),
                ("add", "c+", "-C"),
            ],
        ),
        theory.without("under").shows(
            "few heads are rare",
            "nx(j,j1)*(L(j1) - eps*f(n+1)*c(n+1,j1)) >= 0",
            [
                ("unfold", "f+"),
                ("add", "c+", "eps*f(n)"),
                ("less", 1, (("eps-", {}), ("nx+", {}), ("rare", {"j": "j1"}))),
                ("less", 1, (("eps+", {}), ("nx+", {}), ("rare", {}))),
                ("less", 1, (("eps+", {}), ("nx+", {}), ("c-", {"j": "j1"}))),
                ("add", "L", "-eps"),
            ],
        ),
    ]


def few_heads(i: int, j: int, eps: Fraction) -> Fraction:
    """The chance that fewer than j of i coins show heads, each with chance eps.

    >>> few_heads(2, 1, Fraction(1, 3)), few_heads(5, 0, Fraction(1, 3))
    (Fraction(4, 9), Fraction(0, 1))
    """
    terms = (comb(i, n) * eps**n * (1 - eps) ** (i - n) for n in range(min(j, i + 1)))
    return sum(terms, start=Fraction(0))


def recursion_fails(eps: Any, less: int = 0) -> str | None:
    """Where the chances do not follow the recursion of the bound, i and j up to 8; `less`: coins
    that are left out."""
    for i in range(8):
        for j in range(8):
            due = (1 - eps) * few_heads(i, j + 1, eps) + eps * few_heads(i, j, eps)
            if few_heads(i + 1 - less, j + 1, eps) != due:
                return f"{i + 1} coins, fewer than {j + 1} heads"
    return None


def three_step_task(seed: int) -> POMDP:
    """A random task of three steps: two observations, two actions, chance in moves and
    observations."""
    dice = random.Random(seed)
    chances = [Fraction(n, 4) for n in (1, 2, 3)]
    omega = {
        (n, i): dict(zip("xy", (x, 1 - x), strict=True))
        for n in range(3)
        for i in range(2)
        for x in [dice.choice(chances)]
    }
    moves = {}
    for n in range(3):
        for i in range(2):
            for a in (0, 1):
                x = dice.choice(chances)
                after = [(n + 1, 0), (n + 1, 1)] if n < 2 else ["end", "end"]
                pays = (dice.randint(-3, 3), dice.randint(4, 6))
                moves[(n, i), a] = {(after[0], pays[0]): x, (after[1], pays[1]): 1 - x}
    return POMDP.from_functions(
        name=f"three steps, seed {seed}",
        A=(0, 1),
        p=lambda s, a: moves[s, a],
        omega=lambda s: {"x": Fraction(1)} if s == "end" else omega[s],
        mu={(0, 0): Fraction(1, 2), (0, 1): Fraction(1, 2)},
        gamma=dice.choice((Fraction(1), Fraction(1, 2))),
        terminal={"end"},
    )


@cache
def history_gaps(seed: int, memory: str, eps: Fraction, iterates: int) -> tuple[Fraction, ...]:
    """The best history-based value less that of the first iterates, in rationals."""
    P = three_step_task(seed)
    E = augment(P, memory)
    best = best_history(P, exact=True).value
    pi, found = uniform(E), []
    for _ in range(iterates):
        now = evaluate(E, pi, exact=True)
        found.append(best - now.value)
        pi = pi.toward(pi.greedy(now.q.array), eps)
    return tuple(found)


SHORT = {
    "window1": [[[0, 0], [0, 1]], [[0, 1], [0, 0]]],
    "K2": [[[0, 0], [0, 0]], [[0, 1], [1, 0]]],
}
"""Tables of three steps with rewards 0 and 1 on which a buffer that must push is stuck."""


@cache
def end_on_three_steps(memory: str) -> float:
    """Where the loop ends on the table that belongs to a memory."""
    E = augment(sequence_task(SHORT.get(memory, SHORT["window1"])), memory)
    return float(improve(E, uniform(E), step=0.02).value)


@claim(
    "T.push",
    place="Own, any steps",
    statement="Buffers that must push are never stuck if they hold the history: on every task of "
    "at most T steps, with window(T-1), which pushes every pair, the loop from uniform is after i "
    "steps eps within C P(fewer than T of i coins of chance eps show heads) <= C T/(i eps) of the "
    "best history-based value, C what it lacks at first at most, whatever the rule for ties. With "
    "fewer cells, or observations alone, it may be stuck on three steps.",
    verdict="proved",
    steps=(
        machine("buffer", "window(T-1) holds the whole history of t <= T - 1 steps, for every T."),
        machine("behind", "What is behind a history does not depend on the policy, any size."),
        machine("closer", "V - w <= (1-eps) D(j+1) + eps D(j) after a step, any size, any ties."),
        machine("coins", "The sums of binomials follow this recursion, eps = 1/3, up to 8 coins."),
        machine("fades", "So D <= C c and i eps c <= j: from i to i + 1, for all i, j and eps."),
        machine("bound", "Four iterates of two tasks with chance keep to the bound, exactly."),
        machine("short", "window(1) and K(2) are stuck on three steps with rewards 0 and 1."),
    ),
)
def histories_are_never_stuck(
    proof: Proof,
    claimed: int = 0,
    behind: Theory = BEHIND,
    tree: Theory = TREE,
    less: int = 0,
    most: int = 27,
    short: Any = ("window1", "K2"),
    chances: Theory = COINS,
) -> Evidence:
    """Sums of any size, the code of Gamma, and tasks of three steps, whose rewards lie between -3
    and 6: returns differ by no more than `most`."""
    proof.step("buffer", keeps_the_last("window", pomdps.recall(), claimed))
    whole = impossible([t <= k, t - k > 0])
    proof.step("buffer", None if whole.holds else str(whole.witness))
    first = behind_histories(behind)
    proof.step("behind", trouble_in(first))
    closer = coming_closer(tree)
    proof.step("closer", trouble_with(closer))
    proof.step("coins", recursion_fails(Fraction(1, 3), less))
    faded = next_coin(chances)
    proof.step("fades", trouble_with(faded))
    eps = Fraction(1, 3)
    for seed in (0, 1):
        for i, gap in enumerate(history_gaps(seed, "window2", eps, 4)):
            due = most * few_heads(i, 3, eps)
            proof.step("bound", None if 0 <= gap <= due else f"seed {seed}, {i}: {gap} > {due}")
    lines = []
    for memory in short:
        value = end_on_three_steps(memory)
        proof.step("short", None if value < 1 - 1e-3 else f"{memory} reaches 1")
        lines.append(f"{memory} ends at {value:.3f} on {SHORT.get(memory)}")
    argument = text(
        "After t <= T - 1 steps window(T-1) holds all pairs, so a row is a history. The chance of "
        "a state and a history at time n is x(h,s) y(n,h), where only y reads the policy: q(h, a) "
        "is that of the tree of histories, a fully observed task. There no history loses by a "
        "step, so pi' is worth at least (1-eps) v + eps (what greedy gains at once), and with D(j) "
        "the largest V - v with j steps left",
        "  V - v'  <=  (1-eps) D(j+1) + eps D(j),      D(0) = 0.",
        "The chance c that fewer than j of i coins show heads follows the same recursion, by the "
        "last coin, and starts at 1, so it bounds D_i(j)/C; and i eps c <= j passes from i to i + "
        "1 as well, so that it tends to 0 for every eps in (0, 1]. The rule "
        "for ties does not matter, and each line is a certificate for all sizes.",
        f"Sharp: {'; '.join(lines)}. There 1 is possible. On the table of T.eight, where all eight "
        "memories of sizes 1 and 2 are stuck, window1 and window2 reach the optimum: to push "
        "always is what saves them.",
    )
    certificates = [*whole.certificates, first, *closer, *faded]
    return proved("error <= C T/(i eps), every T, i, eps", argument, certificates)


histories_are_never_stuck.twin("the last T pairs", guards="buffer", claimed=1)
histories_are_never_stuck.twin(
    "weights that read the policy",
    guards="behind",
    behind=BEHIND.replaced(y="y(n+1,h1) == sum[h,a,o](y(n,h)*on(h,a,o,h1))"),
)
histories_are_never_stuck.twin(
    "towards what is not greedy", guards="closer", tree=TREE.without("most")
)
histories_are_never_stuck.twin("one coin less", guards="coins", less=1)
histories_are_never_stuck.twin(
    "a loss that does not shrink", guards="fades", chances=COINS.without("D+")
)
histories_are_never_stuck.twin("a C of 1", guards="bound", most=1)
histories_are_never_stuck.twin("window2 as well", guards="short", short=("window1", "window2"))
