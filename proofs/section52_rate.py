"""Section 5.2, for tasks of any size: what a step towards greedy does to the return.

With pi' = pi + eps (g - pi), g any policy, d' the discounted visits of pi', and

    A(s) = sum_o,a om(s,o) (g - pi)(o,a) q(s,a)        u = A + gamma P_pi u     G = sum_s mu(s) u(s)

the return changes by J' - J = eps G + eps^2 X, X = gamma sum d' om (g - pi) p u. If |u| <= U and N'
= sum_s d'(s), then X >= -2 gamma N' U; for gamma < 1 moreover N' <= 1/(1-gamma) and U <= max|A| /
(1-gamma), and for gamma = 1 N' (1 - eps L) <= N, L the longest mean episode from any state. All of
it is shown by sums over index sets of any size (`proofs.ledger.theory`).
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any

from proofs.ledger.bellman import (
    BY_VISITS,
    CHANCES,
    DIFFERENCE,
    first_broken,
    interpret,
    mixed_policy,
    small_task,
)
from proofs.ledger.theory import Factors, Interpretation, Theory, TheoryStep
from workbench import POMDP, Policy, evaluate

STEP = Theory(
    {
        **DIFFERENCE.given,
        **CHANCES,
        "toward": "pi1(o,a) == pi(o,a) + eps*(g(o,a) - pi(o,a))",
        "pi1": "sum[a](pi1(o,a)) == 1",
        "pi1+": "pi1(o,a) >= 0",
        "g": "sum[a](g(o,a)) == 1",
        "g+": "g(o,a) >= 0",
        "eps+": "eps >= 0",
        "A": "A(s) == sum[o,a](om(s,o)*(g(o,a) - pi(o,a))*q(s,a))",
        "u": "u(s) == A(s) + gamma*sum[o,a,s1](om(s,o)*pi(o,a)*p(s,a,s1)*u(s1))",
        "G": "G == sum[s](mu(s)*u(s))",
        "X": "X == gamma*sum[s,o,a,s1](d1(s)*om(s,o)*(g(o,a) - pi(o,a))*p(s,a,s1)*u(s1))",
        "d1+": "d1(s) >= 0",
        "N1": "N1 == sum[s](d1(s))",
        "up": "U - u(s) >= 0",
        "low": "U + u(s) >= 0",
        "U+": "U >= 0",
    }
)
"""A step towards g, and the bounds on what it leaves over."""

DISCOUNTED = Theory(
    {
        **STEP.given,
        "starts": "sum[s](mu(s)) == 1",
        "A-": "Amax - A(s) >= 0",
        "A+": "Amax + A(s) >= 0",
        "top": "u(s9) == U",
        "small": "G*(1 - gamma)**2 - 2*gamma*Amax*eps - c >= 0",
        "rest": "X + 2*gamma*N1*U >= 0",
        "length": "1 - (1 - gamma)*N1 >= 0",
        "height": "Amax - (1 - gamma)*U >= 0",
    },
    fixed=("s9",),
)
"""gamma < 1: s9 is a state in which |u| is largest, and u is positive there (else -u in its
place)."""

ENDING = Theory(
    {
        **STEP.given,
        "l": "l(s) == 1 + gamma*sum[o,a,s1](om(s,o)*pi(o,a)*p(s,a,s1)*l(s1))",
        "l+": "l(s) >= 0",
        "l-": "L - l(s) >= 0",
        "L+": "L >= 0",
        "N": "N == sum[s](mu(s)*l(s))",
        "half": "1 - 2*eps*L >= 0",
        "N1+": "N1 >= 0",
        "rest": "X + 2*gamma*N1*U >= 0",
        "short": "N - N1*(1 - eps*L) >= 0",
        "twice": "2*N - N1 >= 0",
        "small": "G - 4*eps*N*U - c >= 0",
    }
)
"""Episodes that end: l is their mean length from a state, N that of the task."""

GREEDY = Theory(
    {
        **CHANCES,
        "d": "d(s) == mu(s) + gamma*sum[s1,o,a](d(s1)*om(s1,o)*pi(o,a)*p(s1,a,s))",
        "A": STEP.given["A"],
        "u": STEP.given["u"],
        "G": STEP.given["G"],
        "mu": "mu(s) == d(s) - gamma*sum[s1,o,a](d(s1)*om(s1,o)*pi(o,a)*p(s1,a,s))",
        "seen": "D(o) == sum[s](d(s)*om(s,o))",
        "mean": "sum[s](d(s)*om(s,o)*q(s,a)) == D(o)*qo(o,a)",
        "D+": "D(o) >= 0",
        "g": "sum[a](g(o,a)) == 1",
        "most": "sum[a1](g(o,a1)*qo(o,a1)) - qo(o,a) >= 0",
        "other": "1 - eq(o,o9)*eq(a,a9) >= 0",
    },
    fixed=("o9", "a9"),
)
"""g greedy on qo(o,a), the mean of q(s,a) over the states behind o."""


def shown_by_step(
    difference: Theory = DIFFERENCE,
    discounted: Theory = DISCOUNTED,
    ending: Theory = ENDING,
    greedy: Theory = GREEDY,
) -> dict[str, list[dict[str, Any]]]:
    """What is shown for all sizes, by the step of S52.local* that it belongs to."""
    move: Factors = (("gamma+", {}), ("d1+", {}), ("om+", {}))
    rest: list[TheoryStep] = [
        ("unfold", "X"),
        ("unfold", "N1"),
        ("less", 1, (*move, ("g+", {}), ("p+", {}), ("low", {"s": "s1"}))),
        ("less", 1, (*move, ("pi+", {}), ("p+", {}), ("up", {"s": "s1"}))),
        ("less", 1, (*move, ("g+", {}), ("leak", {}), ("U+", {}))),
        ("less", 1, (*move, ("pi+", {}), ("leak", {}), ("U+", {}))),
    ]
    second = [
        *BY_VISITS,
        ("unfold", "X"),
        ("unfold", "G"),
        ("unfold", "mu"),
        ("unfold", "toward"),
        ("add", "u", "eps*d1(s)"),
        ("add", "A", "eps*d1(s)"),
    ]
    at_top: Factors = (("gamma+", {}), ("om+", {"s": "s9"}), ("pi+", {}))
    change = "J1 - J == eps*G + eps**2*X"
    gap = "D(o9)*pi(o9,a9)*(sum[a1](g(o9,a1)*qo(o9,a1)) - qo(o9,a9))"
    by_rows = [
        ("unfold", "G"),
        ("unfold", "mu"),
        ("add", "u", "-d(s)"),
        ("unfold", "A"),
        ("add", "mean", "pi(o,a) - g(o,a)"),
    ]
    return {
        "any size": [
            difference.shows(
                "what another policy changes",
                "J1 - J == sum[s,o,a](d1(s)*om(s,o)*(pi1(o,a) - pi(o,a))*q(s,a))",
                BY_VISITS,
            )
        ],
        "rate": [
            STEP.shows("what a step changes", change, second),
            greedy.shows(
                "the rate by rows",
                "G == sum[o,a](D(o)*(g(o,a) - pi(o,a))*qo(o,a))",
                by_rows,
            ),
            greedy.shows(
                "every row that is not greedy counts",
                f"G - {gap} >= 0",
                [
                    *by_rows,
                    ("less", 1, (("D+", {}), ("pi+", {}), ("most", {}), ("other", {}))),
                ],
            ),
        ],
        "discounted": [
            discounted.without("rest").shows("what is left over", "X + 2*gamma*N1*U >= 0", rest),
            discounted.without("length").shows(
                "episodes are short",
                "1 - (1 - gamma)*N1 >= 0",
                [
                    ("unfold", "N1"),
                    ("add", "mu", "-1"),
                    ("less", 1, (*move, ("pi1+", {}), ("leak", {}))),
                ],
            ),
            discounted.without("height").shows(
                "the height of u",
                "Amax - (1 - gamma)*U >= 0",
                [
                    ("add", "top", "-1"),
                    ("unfold", "u"),
                    ("less", 1, (("A-", {"s": "s9"}),)),
                    ("less", 1, (*at_top, ("p+", {"s": "s9"}), ("up", {"s": "s1"}))),
                    ("less", 1, (*at_top, ("leak", {"s": "s9"}), ("U+", {}))),
                ],
            ),
            discounted.shows(
                "a step below the bound gains",
                "(1 - gamma)**2*(G + eps*X) - c >= 0",
                [
                    ("less", 1, (("small", {}),)),
                    ("less", 1, (("eps+", {}), ("gamma-", {}), ("gamma-", {}), ("rest", {}))),
                    ("less", 2, (("eps+", {}), ("gamma+", {}), ("height", {}))),
                    (
                        "less",
                        2,
                        (("eps+", {}), ("gamma+", {}), ("gamma-", {}), ("U+", {}), ("length", {})),
                    ),
                ],
            ),
        ],
        "ending": [
            ending.without("rest").shows("what is left over", "X + 2*gamma*N1*U >= 0", rest),
            ending.without("short").shows(
                "a step makes episodes little longer",
                "N - N1*(1 - eps*L) >= 0",
                [
                    ("unfold", "N"),
                    ("unfold", "N1"),
                    ("unfold", "mu"),
                    ("unfold", "toward"),
                    ("add", "l", "-d1(s)"),
                    ("less", 1, (("eps+", {}), *move, ("g+", {}), ("p+", {}), ("l-", {"s": "s1"}))),
                    (
                        "less",
                        1,
                        (("eps+", {}), *move, ("pi+", {}), ("p+", {}), ("l+", {"s": "s1"})),
                    ),
                    ("less", 1, (("eps+", {}), *move, ("g+", {}), ("leak", {}), ("L+", {}))),
                    ("less", 1, (("eps+", {}), ("gamma-", {}), ("d1+", {}), ("L+", {}))),
                ],
            ),
            ending.without("twice").shows(
                "at most twice as long",
                "2*N - N1 >= 0",
                [("less", 2, (("short", {}),)), ("less", 1, (("N1+", {}), ("half", {})))],
            ),
            ending.shows(
                "a step below the bound gains",
                "G + eps*X - c >= 0",
                [
                    ("less", 1, (("small", {}),)),
                    ("less", 1, (("eps+", {}), ("rest", {}))),
                    ("less", 2, (("eps+", {}), ("U+", {}), ("twice", {}))),
                    ("less", 2, (("eps+", {}), ("gamma-", {}), ("N1+", {}), ("U+", {}))),
                ],
            ),
        ],
    }


def _paid(P: POMDP, reward: Callable[[Any], Any]) -> POMDP:
    """P with a reward for each step that depends on the state alone."""
    return POMDP.from_functions(
        name=P.name,
        A=P.A,
        p=lambda s, a: {
            (t, reward(s)): sum(x for (u, _), x in P.p(s, a).items() if u == t)
            for t in dict.fromkeys(t for t, _ in P.p(s, a))
        },
        omega=P.omega,
        mu=dict(P.mu.items()),
        gamma=P.gamma,
        terminal=P.terminal,
        S=P.S,
    )


def model_of_a_step(P: POMDP, pi: Policy, eps: Fraction, weights: str) -> Interpretation:
    """A task, a policy and a step towards greedy, with what the evaluator finds for each letter."""
    found = evaluate(P, pi, exact=True, weights=weights)
    g = pi.greedy(found.q.array)
    new = pi.toward(g, eps)
    going = [s for s in P.S if s not in P.terminal]
    gain = {
        s: sum(
            y * (g[o, a] - pi[o, a]) * found.q_state[s, a]
            for o, y in P.omega(s).items()
            for a in P.A
        )
        for s in going
    }
    u, length = (
        evaluate(_paid(P, reward), pi, exact=True) for reward in (gain.__getitem__, lambda s: 1)
    )
    after = evaluate(P, new, exact=True, weights=weights)
    first = interpret(P, pi, new, weights)
    p, om = first.functions["p"], first.functions["om"]
    rest = P.gamma * sum(
        after.visits[s] * om(s, o) * (g[o, a] - pi[o, a]) * p(s, a, t) * u.v[t]
        for s in going
        for o in P.O
        for a in P.A
        for t in going
    )
    return interpret(
        P, pi, new, weights,
        eps=eps, g=lambda o, a: g[o, a], A=gain.__getitem__, u=lambda s: u.v[s], G=u.value, X=rest,
        N1=sum(after.visits[s] for s in going), U=max(abs(u.v[s]) for s in going),
        Amax=max(map(abs, gain.values())), l=lambda s: length.v[s], N=length.value,
        L=max(length.v[s] for s in going), qo=lambda o, a: found.q[o, a],
        D=lambda o: sum(found.visits[s] * om(s, o) for s in going),
    )  # fmt: skip


READ = (
    STEP,
    DISCOUNTED.without("top", "small", "length", "height"),
    ENDING.without("half", "twice", "small", "short"),
    GREEDY.without("other"),
)
"""The formulas that hold for every task and step; the others are what is shown, or hypotheses."""


@cache
def misread(weights: str = "discounted") -> str | None:
    """A formula that does not hold of what the evaluator finds, for small tasks. None if all do."""
    for seed, gamma, eps in ((1, Fraction(1), Fraction(1, 3)), (2, Fraction(1, 2), Fraction(1, 7))):
        P = small_task(seed, gamma)
        model = model_of_a_step(P, mixed_policy(P, seed), eps, weights)
        for theory in READ:
            if trouble := first_broken(theory, model):
                return trouble
    return None
