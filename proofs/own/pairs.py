"""OA1 on episodes of at most two steps: never stuck, and how soon it is close to the best.

Any observations, chance, rewards, discount. After <a, push> at o the memory holds (o, a), and the
row ((o, a), o') is visited at the second step only, after that history. With B(o,a,o',b) the reward
of b after it, times its chance, and H(o,a) that of the first step, visits times q-values are

    at ((o, a), o'):   y(o,a) B(o,a,o',b)                      y(o,a) the share of <a, push> at o
    at (empty, o):     H(o,a) + gamma sum_o' sum_b  r B(o,a,o',b)     if w = push, else k for r
                              + sum over (o1,a1) kept of  kk(o1,a1) B(o1,a1,o,a)

r, k the rows after a push and after a keep, kk the share of keep. Greedy on the first is b*, the
best action of the history, whatever the policy; so after n steps eps, x = (1-eps)^n,

    r = x u + (1-x) b*       k = x u + c,  c >= 0 of mass 1 - x        u uniform

and push - keep = gamma sum_o',b c(b) (B(b*) - B(b)) >= 0. If ties go to push, keep is never greedy
and kk = x u/2. Then visits times q(a, push) are Q(o,a) + x E(o,a): Q the best history-based value
of a, and neither Q nor E depends on n. What greedy loses in Q is at most x times the spread of
E, so

    V* - V(pi_n)  <=  C ( (1-eps)^n + n eps (1-eps)^(n-1) )  <=  3 C / (n eps)

with a number C of the task: C times the chance that fewer than two of n coins of chance eps show
heads. With ties to keep the loop may be stuck, and on three steps as well.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from functools import cache
from typing import Any

from proofs.ledger import Evidence, Proof, claim, machine, proved
from proofs.ledger.bellman import first_broken
from proofs.ledger.prose import text
from proofs.ledger.theory import Factors, Interpretation, Theory, trouble_with
from proofs.ledger.walks import loop_iterates
from proofs.own.buffers import BEST, best_is_deterministic
from proofs.own.tables import gap_to_best, table_task, two_step_task
from workbench import Policy, augment, best_history, evaluate
from workbench.core.ties import tie_order
from workbench.improvement.batch import sequence_task
from workbench.memories import attach

ROWS = Theory(
    {
        "start": "x0(s,m,o) == mu(s)*om(s,o)*e(m)",
        "next": "x1(s1,m1,o1) == sum[s,m,o,a,w](x0(s,m,o)*pi(m,o,a,w)*p(s,a,s1)*om(s1,o1)"
        "*G(m,o,a,w,m1))",
        "G": "G(m,o,a,w,m1) == keep(w)*eq(m,m1) + push(w)*pr(o,a,m1)",
        "q0": "q0(s,m,o,a,w) == R(s,a) + gamma*sum[s1,o1,m1,a1,w1](p(s,a,s1)*om(s1,o1)"
        "*G(m,o,a,w,m1)*pi(m1,o1,a1,w1)*R(s1,a1))",
        "N": "N(m,o,a,w) == sum[s](x0(s,m,o)*q0(s,m,o,a,w) + z*x1(s,m,o)*R(s,a))",
        "B": "B(o,a,o1,a1) == sum[s,s1](mu(s)*om(s,o)*p(s,a,s1)*om(s1,o1)*R(s1,a1))",
        "H": "H(o,a) == sum[s](mu(s)*om(s,o)*R(s,a))",
        "y": "y(o,a) == sum[m,w](e(m)*pi(m,o,a,w)*push(w))",
        "k": "k(o,a) == sum[m,w](e(m)*pi(m,o,a,w))",
        "kk": "kk(o,a) == sum[m,w](e(m)*pi(m,o,a,w)*keep(w))",
        "one": "sum[m](pr(o,a,m)) == 1",
        "empty": "sum[m](e(m)) == 1",
        "apart": "e(m)*pr(o,a,m) == 0",
        "same": "pr(o,a,m)*pr(o1,a1,m) == pr(o,a,m)*eq(o,o1)*eq(a,a1)",
        "alone": "e(m)*e(m1) == e(m)*eq(m,m1)",
    }
)
"""OA1 on two steps: x0 and x1 are the chances of s, m, o at the first and the second step, e(m)
says that m is empty and pr(o,a,m) that it is (o, a); N are visits times q-values, z the weight of
the second visit: 1, or gamma if visits are discounted."""


def rows_by_history(theory: Theory) -> list[dict[str, Any]]:
    """Visits times q-values at ((o, a), o1) and at (empty, o)."""
    before = "mu(s)*om(s,o2)*pi(m,o2,a2,w2)*p(s,a2,s1)"
    return [
        theory.shows(
            "rows after a push",
            "sum[m](pr(o,a,m)*N(m,o1,a1,w1)) == z*y(o,a)*B(o,a,o1,a1)",
            [
                ("unfold", "N"),
                ("unfold", "next"),
                ("unfold", "start"),
                ("add", "apart", "-mu(s)*om(s,o1)*q0(s,m,o1,a1,w1)"),
                ("unfold", "G"),
                ("add", "apart", f"-z*{before}*om(s1,o1)*keep(w2)*R(s1,a1)"),
                (
                    "add",
                    "same",
                    f"-z*e(m)*{before}*om(s1,o1)*push(w2)*R(s1,a1)",
                    {"o1": "o2", "a1": "a2", "m": "m1"},
                ),
                ("unfold", "y"),
                ("unfold", "B"),
            ],
        ),
        theory.shows(
            "rows without a pair",
            "sum[m](e(m)*N(m,o,a,w)) == H(o,a)"
            " + gamma*keep(w)*sum[o1,a1](k(o1,a1)*B(o,a,o1,a1))"
            " + gamma*push(w)*sum[m1,o1,a1,w1](pr(o,a,m1)*pi(m1,o1,a1,w1)*B(o,a,o1,a1))"
            " + z*sum[o1,a1](kk(o1,a1)*B(o1,a1,o,a))",
            [
                ("unfold", "N"),
                ("unfold", "next"),
                ("unfold", "start"),
                ("add", "alone", "-mu(s)*om(s,o)*q0(s,m,o,a,w)", {"m1": "m"}),
                ("unfold", "q0"),
                ("unfold", "G"),
                ("add", "alone", f"-z*{before}*om(s1,o)*keep(w2)*R(s1,a)", {"m1": "m"}),
                (
                    "add",
                    "apart",
                    f"-z*e(m)*{before}*om(s1,o)*push(w2)*R(s1,a)",
                    {"m": "m1", "o": "o2", "a": "a2"},
                ),
                ("unfold", "H"),
                ("unfold", "k"),
                ("unfold", "kk"),
                ("unfold", "B"),
            ],
        ),
    ]


LOOP = Theory(
    {
        "x0": "x(0) == 1",
        "x+": "x(n+1) == (1 - eps)*x(n)",
        "k0": "k(0,o,a) == u(a)",
        "k+": "k(n+1,o,a) == (1 - eps)*k(n,o,a) + eps*g(n,o,a)",
        "c0": "c(0,o,a) == 0",
        "c+": "c(n+1,o,a) == (1 - eps)*c(n,o,a) + eps*g(n,o,a)",
        "r0": "r(0,o,a,o1,a1) == u(a1)",
        "r+": "r(n+1,o,a,o1,a1) == (1 - eps)*r(n,o,a,o1,a1) + eps*b(o,a,o1,a1)",
        "kk0": "kk(0,o,a) == u(a)/2",
        "kk+": "kk(n+1,o,a) == (1 - eps)*kk(n,o,a)",
        "u": "sum[a](u(a)) == 1",
        "u+": "u(a) >= 0",
        "g": "sum[a](g(n,o,a)) == 1",
        "g+": "g(n,o,a) >= 0",
        "eps+": "eps >= 0",
        "eps-": "1 - eps >= 0",
    }
)
"""The iterates: k and kk what is done, and kept, at (empty, o), r what is done at ((o, a), o1); g
is greedy at the first, b at the second."""


def iterates_by_shares(theory: Theory) -> list[dict[str, Any]]:
    """The iterates are mixtures of the start and of what was greedy, for every n."""
    return [
        theory.shows(
            "without a pair",
            "k(n,o,a) == x(n)*u(a) + c(n,o,a)",
            [
                ("unfold", "k+"),
                ("unfold", "x+"),
                ("unfold", "c+"),
                ("add", "hypothesis", "-(1 - eps)"),
            ],
            base=[("unfold", "k0"), ("unfold", "x0"), ("unfold", "c0")],
        ),
        theory.shows(
            "with a pair",
            "r(n,o,a,o1,a1) == x(n)*u(a1) + (1 - x(n))*b(o,a,o1,a1)",
            [("unfold", "r+"), ("unfold", "x+"), ("add", "hypothesis", "-(1 - eps)")],
            base=[("unfold", "r0"), ("unfold", "x0")],
        ),
        theory.shows(
            "what is kept",
            "kk(n,o,a) == x(n)*u(a)/2",
            [("unfold", "kk+"), ("unfold", "x+"), ("add", "hypothesis", "-(1 - eps)")],
            base=[("unfold", "kk0"), ("unfold", "x0")],
        ),
        theory.shows(
            "mass",
            "sum[a](c(n,o,a)) == 1 - x(n)",
            [
                ("unfold", "c+"),
                ("unfold", "x+"),
                ("add", "hypothesis", "-(1 - eps)"),
                ("add", "g", "-eps"),
            ],
            base=[("unfold", "c0"), ("unfold", "x0")],
        ),
        theory.shows(
            "no negative share",
            "c(n,o,a) >= 0",
            [
                ("unfold", "c+"),
                ("less", 1, (("eps-", {}), ("hypothesis", {}))),
                ("less", 1, (("eps+", {}), ("g+", {}))),
            ],
            base=[("unfold", "c0")],
        ),
        theory.shows(
            "x is not negative",
            "x(n) >= 0",
            [("unfold", "x+"), ("less", 1, (("eps-", {}), ("hypothesis", {})))],
            base=[("unfold", "x0"), ("less", 1, ())],
        ),
    ]


SHARES = Theory(
    {
        "k": "k(n,o,a) == x(n)*u(a) + c(n,o,a)",
        "r": "r(n,o,a,o1,a1) == x(n)*u(a1) + (1 - x(n))*b(o,a,o1,a1)",
        "kk": "kk(n,o,a) == x(n)*u(a)/2",
        "mass": "sum[a](c(n,o,a)) == 1 - x(n)",
        "c+": "c(n,o,a) >= 0",
        "x+": "x(n) >= 0",
        "u": "sum[a](u(a)) == 1",
        "u+": "u(a) >= 0",
        "g": "sum[a](g(n,o,a)) == 1",
        "g+": "g(n,o,a) >= 0",
        "gamma+": "gamma >= 0",
        "most": "sum[a2](b(o,a,o1,a2)*B(o,a,o1,a2)) - B(o,a,o1,a1) >= 0",
        "Q": "Q(o,a) == H(o,a) + gamma*sum[o1,a1](b(o,a,o1,a1)*B(o,a,o1,a1))",
        "E": "E(o,a) == gamma*sum[o1,a1](u(a1)*B(o,a,o1,a1) - b(o,a,o1,a1)*B(o,a,o1,a1))"
        " + z*sum[o1,a1](u(a1)*B(o1,a1,o,a))/2",
        "greedy": "sum[a1](g(n,o,a1)*(Q(o,a1) + x(n)*E(o,a1))) - Q(o,a) - x(n)*E(o,a) >= 0",
        "V": "V(o) == sum[a](s(o,a)*Q(o,a))",
        "s": "sum[a](s(o,a)) == 1",
        "s+": "s(o,a) >= 0",
        "W": "W(o) - E(o,a) + E(o,a1) >= 0",
        "M": "M(o,a,o1) - sum[a2](b(o,a,o1,a2)*B(o,a,o1,a2)) + B(o,a,o1,a1) >= 0",
        "Y": "Y(o) - gamma*sum[o1](M(o,a,o1)) >= 0",
        "Y+": "Y(o) >= 0",
    }
)
"""What was shown of the iterates; b takes a best action of each history (`most`), g one that is
greedy among pushes, s a best first action. V(o) is the best history-based value from o, times the
chance of o; W, M, Y bound differences of rewards."""


def push_is_never_worse(theory: Theory) -> dict[str, Any]:
    """Push less keep at (empty, o), visits times q-values, for every action."""
    best = "sum[a2](b(o,a,o1,a2)*B(o,a,o1,a2))"
    return theory.shows(
        "push is never worse than keep",
        "gamma*sum[o1,a1](r(n,o,a,o1,a1)*B(o,a,o1,a1))"
        " - gamma*sum[o1,a1](k(n,o1,a1)*B(o,a,o1,a1)) >= 0",
        [
            ("unfold", "r"),
            ("unfold", "k"),
            ("add", "mass", f"gamma*{best}", {"o": "o1"}),
            ("less", 1, (("gamma+", {}), ("c+", {"o": "o1", "a": "a1"}), ("most", {}))),
        ],
    )


def values_on_the_way(theory: Theory) -> list[dict[str, Any]]:
    """q(a, push) in x, what greedy loses at most, and what the second step does."""
    first = "H(o,a) + gamma*sum[o1,a1](r(n,o,a,o1,a1)*B(o,a,o1,a1))"
    kept = "H(o,a) + gamma*sum[o1,a1](k(n,o1,a1)*B(o,a,o1,a1))"
    share = "sum[a](k(n,o,a)*Q(o,a))"
    return [
        theory.shows(
            "linear in x",
            f"{first} + z*sum[o1,a1](kk(n,o1,a1)*B(o1,a1,o,a)) == Q(o,a) + x(n)*E(o,a)",
            [("unfold", "r"), ("unfold", "kk"), ("unfold", "Q"), ("unfold", "E")],
        ),
        theory.shows(
            "what greedy loses",
            "x(n)*W(o) - V(o) + sum[a](g(n,o,a)*Q(o,a)) >= 0",
            [
                ("less", 1, (("s+", {}), ("greedy", {}))),
                ("less", 1, (("x+", {}), ("g+", {}), ("s+", {"a": "a1"}), ("W", {}))),
                ("add", "s", "-sum[a1](g(n,o,a1)*(Q(o,a1) + x(n)*E(o,a1)))"),
                ("add", "g", "x(n)*W(o) + x(n)*sum[a1](s(o,a1)*E(o,a1))"),
                ("unfold", "V"),
            ],
        ),
        theory.shows(
            "what the second step loses",
            f"sum[a]((k(n,o,a) - kk(n,o,a))*({first}) + kk(n,o,a)*({kept})) - {share}"
            " + 3*x(n)*Y(o)/2 >= 0",
            second_step_losses(),
        ),
    ]


def second_step_losses() -> list[tuple[Any, ...]]:
    """Bound what the second step loses. A push loses x times the bound M at most. A keep, of which
    there is x/2, loses M at most."""
    half = Fraction(1, 2)
    later: Factors = (("gamma+", {}), ("u+", {"a": "a1"}), ("M", {}))
    start: Factors = (("x+", {}), ("u+", {}))  # with x/2 of it k - kk, with c the rest of it
    best = "sum[a2](b(o,a,o1,a2)*B(o,a,o1,a2))"
    return [
        *(("unfold", name) for name in ("r", "k", "kk", "Q")),
        ("less", half, (*start, ("x+", {}), *later)),
        ("less", half, (*start, ("x+", {}), ("Y", {}))),
        ("less", 1, (("c+", {}), ("x+", {}), *later)),
        ("less", 1, (("c+", {}), ("x+", {}), ("Y", {}))),
        ("less", half, (*start, ("x+", {}), *later)),
        ("less", half, (*start, ("gamma+", {}), ("c+", {"o": "o1", "a": "a1"}), ("M", {}))),
        ("less", half, (*start, ("Y", {}))),
        ("less", half, (("x+", {}), ("x+", {}), ("Y+", {}))),
        ("add", "mass", "x(n)*Y(o)"),
        ("add", "mass", f"x(n)*u(a)*gamma*(M(o,a,o1) - {best})/2", {"o": "o1"}),
    ]


CLOSER = Theory(
    {
        "x0": "x(0) == 1",
        "x+": "x(n+1) == (1 - eps)*x(n)",
        "t0": "t(0) == 0",
        "t+": "t(n+1) == (1 - eps)*t(n) + eps*x(n)",
        "f0": "f(0) == 0",
        "f+": "f(n+1) == f(n) + 1",
        "k+": "k(n+1,o,a) == (1 - eps)*k(n,o,a) + eps*g(n,o,a)",
        "lost": "x(n)*W(o) - V(o) + sum[a](g(n,o,a)*Q(o,a)) >= 0",
        "I": "I(o) - V(o) + sum[a](k(0,o,a)*Q(o,a)) >= 0",
        "S": "S(n,o) == sum[a](k(n,o,a)*Q(o,a))",
        "second": "J(n,o) - S(n,o) + 3*x(n)*Y(o)/2 >= 0",
        "C": "C(o) - I(o) - 3*Y(o)/2 >= 0",
        "CW": "C(o) - W(o) >= 0",
        "C+": "C(o) >= 0",
        "eps+": "eps >= 0",
        "eps-": "1 - eps >= 0",
    }
)
"""x and t are the chances that none, and one, of n coins of chance eps show heads, f(n) = n; J(n,o)
what the n-th iterate is worth from o, times the chance of o, and I what it lacks at first."""


def closer_and_closer(theory: Theory) -> list[dict[str, Any]]:
    """What the first step lacks, and all that is lacking, by the number of iterates."""
    gap = "x(n)*I(o) + t(n)*W(o) - V(o) + sum[a](k(n,o,a)*Q(o,a)) >= 0"
    return [
        theory.shows(
            "the first step comes closer",
            gap,
            [
                *(("unfold", name) for name in ("x+", "t+", "k+")),
                ("less", 1, (("eps-", {}), ("hypothesis", {}))),
                ("less", 1, (("eps+", {}), ("lost", {}))),
            ],
            base=[("unfold", "x0"), ("unfold", "t0"), ("less", 1, (("I", {}),))],
        ),
        *few_coins(theory),
        theory.extended(
            gap=gap,
            coins="3 - eps*f(n)*(x(n) + t(n)) >= 0",
            **{"f>": "f(n) >= 0", "x>": "x(n) >= 0", "t>": "t(n) >= 0"},
        ).shows(
            "what is lacking",
            "3*C(o) - eps*f(n)*(V(o) - J(n,o)) >= 0",
            [
                ("less", 1, (("C+", {}), ("coins", {}))),
                ("less", 1, (("eps+", {}), ("f>", {}), ("x>", {}), ("C", {}))),
                ("less", 1, (("eps+", {}), ("f>", {}), ("t>", {}), ("CW", {}))),
                ("less", 1, (("eps+", {}), ("f>", {}), ("gap", {}))),
                ("less", 1, (("eps+", {}), ("f>", {}), ("second", {}))),
                ("unfold", "S"),
            ],
        ),
    ]


def few_coins(theory: Theory) -> list[dict[str, Any]]:
    """eps n (x + t) <= 3: fewer than two heads become rare as 1/n."""
    signs = {"f>": "f(n) >= 0", "x>": "x(n) >= 0", "x<": "1 - x(n) >= 0"}
    known = theory.extended(**signs)
    none = "1 - x(n)*(1 + eps*f(n)) >= 0"
    both = "1 - x(n) - t(n) >= 0"
    twice: Factors = (("x>", {}), ("eps+", {}), ("eps+", {}))
    return [
        theory.shows("n is not negative", "f(n) >= 0",
                     [("unfold", "f+"), ("less", 1, (("hypothesis", {}),)), ("less", 1, ())],
                     base=[("unfold", "f0")]),
        theory.shows("x is not negative", "x(n) >= 0",
                     [("unfold", "x+"), ("less", 1, (("eps-", {}), ("hypothesis", {})))],
                     base=[("unfold", "x0"), ("less", 1, ())]),
        theory.extended(**{"x>": "x(n) >= 0"}).shows(
            "x is at most one", "1 - x(n) >= 0",
            [("unfold", "x+"), ("less", 1, (("hypothesis", {}),)),
             ("less", 1, (("eps+", {}), ("x>", {})))],
            base=[("unfold", "x0")]),
        theory.extended(**{"x>": "x(n) >= 0"}).shows(
            "t is not negative", "t(n) >= 0",
            [("unfold", "t+"), ("less", 1, (("eps-", {}), ("hypothesis", {}))),
             ("less", 1, (("eps+", {}), ("x>", {})))],
            base=[("unfold", "t0")]),
        known.shows(
            "no head", none,
            [("unfold", "x+"), ("unfold", "f+"), ("less", 1, (("hypothesis", {}),)),
             ("less", 1, (*twice, ("f>", {}))), ("less", 1, twice)],
            base=[("unfold", "x0"), ("unfold", "f0")]),
        known.shows(
            "no head, or one", both,
            [("unfold", "x+"), ("unfold", "t+"), ("less", 1, (("eps-", {}), ("hypothesis", {}))),
             ("less", 1, (("eps+", {}), ("x<", {})))],
            base=[("unfold", "x0"), ("unfold", "t0")]),
        known.extended(none=none, both=both).shows(
            "one head", "2 - eps*f(n)*t(n) >= 0",
            [("unfold", "f+"), ("unfold", "t+"),
             ("less", 1, (("eps-", {}), ("hypothesis", {}))),
             ("less", 1, (("eps+", {}), ("eps-", {}), ("both", {}))),
             ("less", 1, (("eps+", {}), ("none", {}))),
             ("less", 1, (("eps+", {}), ("eps+", {}))),
             ("less", 2, (("eps+", {}), ("eps-", {}), ("x>", {})))],
            base=[("unfold", "f0"), ("less", 2, ())]),
        known.extended(none=none, one="2 - eps*f(n)*t(n) >= 0").shows(
            "fewer than two heads", "3 - eps*f(n)*(x(n) + t(n)) >= 0",
            [("less", 1, ((name, {}),)) for name in ("one", "none", "x>")]),
    ]  # fmt: skip


# ---------------------------------------------------------------------- with numbers

TIED = ((1, Fraction(1, 3)), (15, Fraction(1, 3)), (1, Fraction(1)), (15, Fraction(1)))
"""Random tasks of two observations and two actions, one of them with a discount, and steps."""

ITERATES = 3

THREE = [[[0, 0], [0, 0]], [[0, 0], [2, 1]]]
"""Rewards of three steps on which OA1 ends at 1."""


@cache
def loop_with_numbers(seed: int, eps: Fraction, z: str = "1") -> Interpretation:
    """The letters of the theories read as what the evaluator finds along the code's loop.

    `z`: what second visits weigh, "1" or "gamma".
    """
    P = two_step_task(seed)
    E, memory = augment(P, "OA1"), attach("OA1", P)
    zero = Fraction(0)
    run = loop_iterates(E, eps, ITERATES + 1)
    policies, taus = [one.pi for one in run], [one.greedy for one in run]
    values = [evaluate(E, pi, exact=True) for pi in policies]
    S = [s for s in P.S if s not in P.terminal]
    O, A, W, empty = list(P.O), list(P.A), list(memory.W), (None,)
    read: Interpretation  # of which the functions below are part

    def done(policy: Policy, m: Any, o: Any, a: Any) -> Any:
        return sum((policy[(m, o), (a, w)] for w in W), start=zero)

    def by_rows(name: str, **at: Any) -> Any:
        return read.value(ROWS.given[name].split("==")[1], at)

    def by_shares(name: str, **at: Any) -> Any:
        return read.value(SHARES.given[name].split("==")[1], at)

    def number(name: str, *at: Any) -> Any:
        return read.functions[name](*at)

    def seen(m: Any, o: Any, a: Any, w: Any) -> Any:
        now = values[1]
        return now.o_visits[m, o] * now.q[(m, o), (a, w)] if now.reached[m, o] else zero

    def c(n: int, o: Any, a: Any) -> Any:
        return zero if n == 0 else (1 - eps) * c(n - 1, o, a) + eps * done(taus[n - 1], empty, o, a)

    def most(o: Any, a: Any, o1: Any) -> Any:
        due = [number("B", o, a, o1, a1) for a1 in A]
        return max(due) - min(due)

    def first(o: Any, a: Any) -> Fraction:
        return Fraction(a == max(A, key=lambda each: number("Q", o, each)))

    def spread(o: Any) -> Any:
        due = [number("E", o, a) for a in A]
        return max(due) - min(due)

    def later(o: Any) -> Any:
        return max(P.gamma * sum((number("M", o, a, o1) for o1 in O), start=zero) for a in A)

    functions: dict[str, Any] = {
        "mu": lambda s: Fraction(P.mu[s]),
        "om": lambda s, o: Fraction(P.omega(s).get(o, 0)),
        "p": lambda s, a, s1: sum((x for (t, _), x in P.p(s, a).items() if t == s1), zero),
        "R": lambda s, a: sum((x * r for (_, r), x in P.p(s, a).items()), zero),
        "gamma": Fraction(P.gamma),
        "z": Fraction(P.gamma) if z == "gamma" else Fraction(1),
        "eps": eps,
        "e": lambda m: Fraction(m == empty),
        "pr": lambda o, a, m: Fraction(m == ((o, a),)),
        "keep": lambda w: Fraction(w == "keep"),
        "push": lambda w: Fraction(w == "push"),
        "G": lambda m, o, a, w, m1: Fraction(memory.Gamma(m, w, o, a, 0, O[0]).get(m1, 0)),
        "pi": lambda m, o, a, w: policies[1][(m, o), (a, w)],
        "x0": lambda s, m, o: by_rows("start", s=s, m=m, o=o),
        "x1": lambda s, m, o: by_rows("next", s1=s, m1=m, o1=o),
        "q0": lambda s, m, o, a, w: by_rows("q0", s=s, m=m, o=o, a=a, w=w),
        "N": seen,
        "B": lambda o, a, o1, a1: by_rows("B", o=o, a=a, o1=o1, a1=a1),
        "H": lambda o, a: by_rows("H", o=o, a=a),
        "x": lambda n: (1 - eps) ** n,
        "t": lambda n: n * eps * (1 - eps) ** max(n - 1, 0),
        "f": Fraction,
        "u": lambda a: Fraction(1, len(A)),
        "k": lambda n, o, a: done(policies[n], empty, o, a),
        "kk": lambda n, o, a: policies[n][(empty, o), (a, "keep")],
        "g": lambda n, o, a: done(taus[n], empty, o, a),
        "c": c,
        "r": lambda n, o, a, o1, a1: done(policies[n], ((o, a),), o1, a1),
        "b": lambda o, a, o1, a1: done(taus[0], ((o, a),), o1, a1),
        "Q": lambda o, a: by_shares("Q", o=o, a=a),
        "E": lambda o, a: by_shares("E", o=o, a=a),
        "s": first,
        "V": lambda o: max(number("Q", o, a) for a in A),
        "W": spread,
        "M": most,
        "Y": later,
        "I": lambda o: number("V", o) - number("S", 0, o),
        "C": lambda o: max(number("I", o) + Fraction(3, 2) * later(o), spread(o)),
        "S": lambda n, o: sum((number("k", n, o, a) * number("Q", o, a) for a in A), zero),
        "J": lambda n, o: read.value(WORTH, {"n": n, "o": o}),
        "return": lambda n: values[n].value,
        "best": best_history(P, exact=True).value,
    }
    sets = {"s": S, "o": O, "a": A, "m": list(memory.M), "w": W}
    kept = {name: cache(one) if callable(one) else one for name, one in functions.items()}
    read = Interpretation(sets, kept, times=ITERATES)
    return read


WORTH = (
    "sum[a]((k(n,o,a) - kk(n,o,a))*(H(o,a) + gamma*sum[o1,a1](r(n,o,a,o1,a1)*B(o,a,o1,a1)))"
    " + kk(n,o,a)*(H(o,a) + gamma*sum[o1,a1](k(n,o1,a1)*B(o,a,o1,a1))))"
)
"""What the n-th iterate is worth from o, times the chance of o."""

NAMED = ("start", "next", "q0", "B", "H", "y", "k", "kk"), ("Q", "E")
"""Formulas of `ROWS` and of `SHARES` that only give names to sums, by which these are computed."""


@cache
def broken_formula(seed: int, eps: Fraction, z: str = "1") -> str | None:
    """The first formula of the theories that does not hold along the loop on a random task."""
    read = loop_with_numbers(seed, eps, z)
    theories: Iterable[Theory] = (
        ROWS.without(*NAMED[0]),
        LOOP,
        SHARES.without(*NAMED[1]),
        CLOSER,
    )
    for theory in theories:
        if trouble := first_broken(theory, read):
            return trouble
    for n in range(ITERATES):
        worth = sum((read.value("J(n,o)", {"n": n, "o": o}) for o in read.sets["o"]), Fraction(0))
        if worth != read.functions["return"](n):
            return f"iterate {n} is worth {read.functions['return'](n)}, not {worth}"
    most = sum((read.value("V(o)", {"o": o}) for o in read.sets["o"]), Fraction(0))
    best = read.functions["best"]
    return None if most == best else f"the best value is {best}, not {most}"


def keeps_first(ties: str) -> str | None:
    """Which keep comes before a push where q-values tie, for two to six actions."""
    for n in range(2, 7):
        E = augment(table_task([[0] * n] * n), "OA1")
        writes = [E.A[int(i)][1] for i in tie_order(E.A, ties)]
        if writes != ["push"] * n + ["keep"] * n:
            return f"with {n} actions: {', '.join(writes)}"
    return None


@cache
def random_gap(seed: int, memory: str) -> Fraction | None:
    """What the loop lacks in the end on a random task. None if it is not decided."""
    return gap_to_best(two_step_task(seed), memory)


@claim(
    "T.oa1",
    place="Own, two steps",
    statement="OA1 is never stuck on episodes of at most two steps, whatever observations, "
    "chance, rewards and discount. The loop from uniform with ties to push comes to the best "
    "history-based value. After n steps eps in (0, 1] it lacks 3C/(n eps) at most, C a number of "
    "the task. With ties to keep it may be stuck, and on three steps as well.",
    verdict="proved",
    steps=(
        machine(
            "formulas",
            "Three iterates of the code's loop on two random tasks, with steps 1/3 and 1, in "
            "rationals, fit every formula that the steps below start from: visits, q-values, "
            "Gamma, greedy choices, the best value.",
        ),
        machine("history", "Visits times q-values at ((o, a), o') and at (empty, o), any size."),
        machine("iterates", "The iterates are shares of uniform and of what was greedy, every n."),
        machine("push", "At (empty, o) push is never worse than keep, any size, every n."),
        machine("ties", "If ties go to the higher write, every push comes before every keep."),
        machine(
            "way",
            "q(a, push) is Q + x E; greedy loses x W at most, and the second step 3/2 x Y.",
        ),
        machine("closer", "So n eps (V* - V) <= 3C, for every n, by induction."),
        machine("best", "V* is the best value of a policy of histories, any size."),
        machine("loops", "In rationals the loop tends to the best value on 20 random tasks."),
        machine("keep", "With ties to keep it is stuck on [[0,2],[0,1]] at 1."),
        machine("three", "On a table of three steps it ends at 1, and 2 is possible."),
    ),
)
def oa1_on_two_steps(
    proof: Proof,
    z: str = "1",
    rows: Theory = ROWS,
    loop: Theory = LOOP,
    shares: Theory = SHARES,
    rule: str = "last",
    closer: Theory = CLOSER,
    best: Theory = BEST,
    memory: str = "OA1",
    ties: str = "first",
    longer: str = "OA1",
) -> Evidence:
    """Sums of any size. Exact iterates for what they start from. Runs for the rest."""
    for seed, eps in TIED:
        proof.step("formulas", broken_formula(seed, eps, z))
    shown = {
        "history": rows_by_history(rows),
        "iterates": iterates_by_shares(loop),
        "push": [push_is_never_worse(shares)],
        "way": values_on_the_way(shares),
        "closer": closer_and_closer(closer),
        "best": best_is_deterministic(best),
    }
    for key, certificates in shown.items():
        proof.step(key, trouble_with(certificates))
    proof.step("ties", keeps_first(rule))
    for seed in range(20):
        lost = random_gap(seed, memory)
        proof.step("loops", None if lost == 0 else f"seed {seed}: {lost} below the best")
    stuck = gap_to_best(table_task(((0, 2), (0, 1))), "OA1", ties)
    proof.step("keep", None if stuck == 1 else f"{stuck} is lost")
    lost = gap_to_best(sequence_task(THREE), longer)
    proof.step("three", None if lost == 1 else f"{longer} lacks {lost} on three steps")
    argument = text(
        "After a push the row is the history, so its action is right from the start; after a keep "
        "the row is shared with the first step. Both began uniform and have moved by 1 - x, one of "
        "them always to the best: push is never worse, whatever the first action. Ties to push "
        "(the paper's rule, the higher write) then mean that keep is never greedy; its share is "
        "x/2. So visits times q(a, push) are Q(o,a) + x E(o,a), Q what a is worth to the best "
        "policy of histories, and greedy loses x times the spread of E at most:",
        "  V* - V  <=  C ((1-eps)^n + n eps (1-eps)^(n-1))  <=  3 C / (n eps).",
        "C is the larger of the spread of E and of what the uniform policy lacks and 3/2 of what "
        "the second step can lose, summed over first observations. Each line is a certificate for "
        "all numbers of states, observations and actions; rows that a full step leaves unvisited "
        "stay as they are and fit the same formulas. The 20 "
        "tasks have two or three observations and actions, random starts, noisy observations, "
        "early ends and discounts 1, 19/20, 1/2.",
        "Sharp: with ties to keep the first step goes to keep, since all rows are uniform, and on "
        "[[0,2],[0,1]] the row that both steps share then plays 1 twice, worth 1, where the "
        "buffer's row would tell nothing new. On three steps the second push drops the first "
        f"pair: on {THREE} the loop ends at 1 (and see S52.fig-variant).",
    )
    found = [one for certificates in shown.values() for one in certificates]
    return proved(
        "after n steps of size eps at most 3C/(n eps) is missing, whatever the task",
        argument,
        found,
    )


oa1_on_two_steps.twin("second visits weigh gamma", guards="formulas", z="gamma")
oa1_on_two_steps.twin("a pair may be empty", guards="history", rows=ROWS.without("apart"))
oa1_on_two_steps.twin(
    "keep is all there is at first",
    guards="iterates",
    loop=LOOP.replaced(kk0="kk(0,o,a) == u(a)"),
)
oa1_on_two_steps.twin("any action after a push", guards="push", shares=SHARES.without("most"))
oa1_on_two_steps.twin("no bound on E", guards="way", shares=SHARES.without("W"))
oa1_on_two_steps.twin("ties to the lower write", guards="ties", rule="first")
oa1_on_two_steps.twin(
    "greedy loses nothing",
    guards="closer",
    closer=CLOSER.replaced(**{"t+": "t(n+1) == (1 - eps)*t(n)"}),
)
oa1_on_two_steps.twin("another policy than the best", guards="best", best=BEST.without("most"))
oa1_on_two_steps.twin("B1 in its place", guards="loops", memory="B1")
oa1_on_two_steps.twin("ties to push", guards="keep", ties="last")
oa1_on_two_steps.twin("OA2 on three steps", guards="three", longer="OA2")
