"""Section 5.1: Monte Carlo estimates converge to q_pi(o, a), and so do n-step TD values as n grows.

Every-visit Monte Carlo averages, over all visits to (o, a) in many independent episodes of pi, the
return G that followed. By the strong law its limit is a quotient of two means over one episode, and
by the Markov property

    E[ sum of G over the visits to (o,a) ]   sum_s d_pi(s) omega(o|s) pi(a|o) q_pi(s,a)
    -------------------------------------- = ------------------------------------------ = q_pi(o,a)
    E[ number of visits to (o,a) ]           sum_s d_pi(s) omega(o|s) pi(a|o)

with d_pi the expected visits. So P_pi(s|o) is to be read with visits as weights, and the law needs
episodes that end with probability one and a pair that pi takes. First-visit Monte Carlo, and
discounted weights, are different numbers.

The target of n-step TD holds n rewards and then gamma^n v(o_n). If no episode lasts longer than n
steps it is the return itself, and the fixed point is q_pi. In general, with v_n its value, D = max
|v_pi(o) - v_pi(s)| over the s seen behind o and rho_n = gamma^n max_s P_pi(the episode goes on n
steps after s),

    |v_n(o) - v_pi(o)|  <=  rho_n (max |v_n - v_pi| + D),     so
    max |v_n - v_pi|    <=  rho_n D / (1 - rho_n),                                            (2)

which tends to 0 if gamma < 1 or if episodes have a finite mean length from every state: n rho_n is
at most the mean length, each step discounted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from types import MappingProxyType
from typing import Any

import sympy

from pomdps import recall
from proofs.ledger import Evidence, Proof, argued, claim, human, machine, proved
from proofs.ledger.bellman import (
    CHANCES,
    VALUES,
    first_broken,
    interpret,
    mixed_policy,
    small_task,
)
from proofs.ledger.generic import GAMMA, generic_policy, two_steps
from proofs.ledger.prose import table_text, text
from proofs.ledger.theory import Factors, Theory, trouble_with
from proofs.ledger.walks import walk_letters
from proofs.section5_recall import blue
from proofs.section51_td import RED
from workbench import POMDP, Policy, augment, evaluate, td_values, uniform
from workbench.certificates.values import identity_certificate, td_certificate
from workbench.core.fields import exact_field
from workbench.core.space import Label

Episode = list[tuple[Label, Label, Any]]
"""Steps (o, a, r)."""


def episodes(P: POMDP, pi: Policy) -> Iterator[tuple[Any, Episode]]:
    """Every episode of a task whose episodes are bounded, with its probability."""

    def go(s: Label, x: Any, done: Episode) -> Iterator[tuple[Any, Episode]]:
        if s in P.terminal:
            yield x, done
            return
        for o, y in P.omega(s).items():
            for a, z in pi.row(o).items():
                for (s_next, r), w in P.p(s, a).items():
                    yield from go(s_next, x * y * z * w, [*done, (o, a, r)])

    for s, x in P.mu.items():
        yield from go(s, x, [])


def monte_carlo_limit(P: POMDP, pi: Policy, o: Label, a: Label, visits: str = "every") -> Any:
    """What the average of the returns after visits to (o, a) converges to: the left side of (1)."""
    returns, count = sympy.Integer(0), sympy.Integer(0)
    for x, steps in episodes(P, pi):
        G, seen = sympy.Integer(0), []
        for step in reversed(steps):
            G = step[2] + P.gamma * G
            if step[:2] == (o, a):
                seen.append(G)
        kept = seen if visits == "every" else seen[-1:]
        returns, count = returns + x * sum(kept), count + x * len(kept)
    return returns / count


def one_then_nothing() -> POMDP:
    """Two steps that look alike. The first pays 1."""
    return POMDP.from_functions(
        name="one, then nothing",
        A=["go"],
        p=lambda s, a: {(s + 1, 1 - s): 1},
        omega=lambda s: {"o": 1},
        mu={0: 1},
        gamma=1,
        terminal={2},
    )


@claim(
    "S51.mc",
    place="Sec. 5.1",
    statement="Every-visit Monte Carlo estimates converge with probability one to q_pi(o,a), with "
    "P_pi(s|o) weighted by visits. That is so for every pair that pi takes, if episodes end with "
    "probability one.",
    verdict="argued",
    steps=(
        human("law", "the strong law for the pairs (returns, visits) of independent episodes"),
        human("means", "the quotient of the means is (1), by the Markov property"),
        machine("identity", "(1) on a task of two steps, every number a symbol, all four pairs"),
    ),
)
def monte_carlo_converges(proof: Proof, visits: str = "every", weights: str = "visits") -> Evidence:
    """The identity (1) on a task whose numbers are all symbols."""
    P = two_steps()
    pi = generic_policy(P)
    found = evaluate(P, pi, weights=weights)
    field = exact_field(P.symbols | pi.prob.symbols)
    certificates = []
    for o in P.O:
        for a in P.A:
            limit = monte_carlo_limit(P, pi, o, a, visits)
            if field.one(limit) != field.one(found.q[o, a]):
                proof.step("identity", f"q({o}, {a}) is not the limit")
                return argued("")
            proof.step("identity")
            certificates.append(
                identity_certificate(f"Monte Carlo limit of {(o, a)}", limit, found.q[o, a])
            )
    small = one_then_nothing()
    every, first = (
        monte_carlo_limit(small, uniform(small), "o", "go", which) for which in ("every", "first")
    )
    argument = text(
        "The pairs (sum of the returns after visits to (o,a), number of visits) of independent "
        "episodes are independent and alike, and have finite means, since the length of an episode "
        "has a geometric tail. By the strong law their averages converge with probability one, and "
        "the estimate, their quotient, converges to the quotient of the means if (o,a) has a "
        "chance. At time t the pair has the chance sum_s P(s_t = s) omega(o|s) pi(a|o), and given "
        "s and a the mean return is q_pi(s,a) whatever was before. Summed over t:",
        "  E[sum of G]    sum_s d(s) omega(o|s) pi(a|o) q_pi(s,a)",
        "  ----------- =  --------------------------------------- = q_pi(o,a).",
        "    E[visits]    sum_s d(s) omega(o|s) pi(a|o)",
        "Checked as an identity between rational functions: a task of two steps, three states, two "
        "observations and two actions, all its numbers and the policy's symbols, the left side by "
        f"walking through all episodes, the right side from the evaluator: {len(certificates)} "
        "pairs.",
        "The reading matters. Averaging over first visits only gives something else as soon as an "
        "observation can be seen twice in an episode. Smallest case: two steps that look alike and "
        f"pay 1, then 0, gamma = 1: first visits give {first}, every visit {every} = q. With gamma "
        "< 1 discounted weights differ, too. And a pair that pi never takes, such as (empty, 2 "
        "push) under the blue policy of Figure 3, is never visited: its q_pi needs exploration.",
    )
    return argued(
        "the mean over episodes tends to q_pi(o,a): a law of large numbers, an identity",
        argument,
        certificates,
    )


monte_carlo_converges.twin("first visits only", guards="identity", visits="first")
monte_carlo_converges.twin("discounted weights", guards="identity", weights="discounted")


# ---------------------------------------------------------------------- n steps


def staying_task() -> POMDP:
    """A step that pays nothing, then steps that pay 1 and go on with probability 1/2. All look
    alike."""

    def p(s: str, a: str) -> dict[tuple[str, int], Fraction]:
        if s == "first":
            return {("on", 0): Fraction(1)}
        return {("on", 1): Fraction(1, 2), ("end", 1): Fraction(1, 2)}

    return POMDP.from_functions(
        name="stays",
        A=["go"],
        p=p,
        omega=lambda s: {"o": 1},
        mu={"first": 1},
        gamma=Fraction(19, 20),
        terminal={"end"},
    )


def error_and_bound(P: POMDP, pi: Policy, n: int) -> tuple[Any, Any]:
    """max_o |v_n(o) - v_pi(o)|, and the right side of (2), for a policy that visits all states."""
    true, td = evaluate(P, pi, exact=True), td_values(P, pi, n=n, exact=True)
    alive = [s for s in P.S if s not in P.terminal]
    going = dict.fromkeys(alive, Fraction(1))
    for _ in range(n):
        going = {
            s: sum(
                (
                    y * z * w * going[t]
                    for o, y in P.omega(s).items()
                    for a, z in pi.row(o).items()
                    for (t, _), w in P.p(s, a).items()
                    if t in going
                ),
                start=Fraction(0),
            )
            for s in alive
        }
    rho = P.gamma**n * max(going.values())
    D = max(
        abs(true.v_given_o[o] - true.v[s])
        for s in alive
        for o in P.omega(s)
        if true.s_given_o[o, s]
    )
    return max(abs(td.v[o] - true.v_given_o[o]) for o in P.O if true.reached[o]), rho * D / (
        1 - rho
    )


@cache
def compared(task: Callable[[], POMDP], n: int) -> tuple[str | None, tuple[dict[str, Any], ...]]:
    """A pair whose n-step TD value is not q_pi, on a task of symbols, if there is one. And the
    identities."""
    P = task()
    pi = generic_policy(P)
    true, td = evaluate(P, pi, exact=True), td_values(P, pi, n=n, exact=True)
    certificates, trouble = [], None
    for o in P.O:
        for a in P.A:
            difference = sympy.together(true.q[o, a] - td.q[o, a])
            if sympy.expand(sympy.fraction(difference)[0]) != 0:
                trouble = f"{P.name}, n = {n}: the TD value of {(o, a)} is not q_pi"
            certificates.append(
                identity_certificate(f"{n}-step TD of {(o, a)}", td.q[o, a], true.q[o, a])
            )
    return trouble, tuple(certificates)


@cache
def recalled(n: int) -> tuple[tuple[str, str, bool], ...]:
    """Memories and policies of recall, and whether their n-step TD values are q_pi."""
    found = []
    for memory in ("OA1", "B2"):
        E = augment(recall(gamma=GAMMA), memory)
        policies = {"uniform": uniform(E)} | ({"blue": blue(E)} if memory == "OA1" else {})
        for name, policy in policies.items():
            given, true_q = td_values(E, policy, n=n).q, evaluate(E, policy).q
            found.append((memory, name, given.array.tolist() == true_q.array.tolist()))
    return tuple(found)


@cache
def endless() -> dict[int, tuple[Any, Any]]:
    """By n, the error on the task that stays, and its bound."""
    S = staying_task()
    return {n: error_and_bound(S, uniform(S), n) for n in (1, 2, 5, 10, 20)}


LONG = Theory(
    {
        **CHANCES,
        **{name: VALUES[name] for name in ("v", "q")},
        "x0": "x(0,s) == sum[o](om(s,o)*w(o))",
        "x+": "x(n+1,s) == sum[o,a](om(s,o)*pi(o,a)*(R(s,a) + gamma*sum[s1](p(s,a,s1)*x(n,s1))))",
        "rho0": "rho(0,s) == 1",
        "rho+": "rho(n+1,s) == gamma*sum[o,a,s1](om(s,o)*pi(o,a)*p(s,a,s1)*rho(n,s1))",
        "up": "om(s,o)*(E - w(o) + v(s)) >= 0",
        "low": "om(s,o)*(E + w(o) - v(s)) >= 0",
    }
)
"""x is the mean of what n steps from s pay, and w(o), what is learned, after them; rho is gamma^n
times the chance of going on that long. |w(o) - v(s)| <= E for all s behind o."""


def _close_targets(theory: Theory) -> list[dict[str, Any]]:
    """|x(n,s) - v(s)| <= E rho(n,s), by induction on n."""
    chances: Factors = (("gamma+", {}), ("om+", {}), ("pi+", {}), ("p+", {}))
    return [
        theory.shows(
            "n steps",
            f"E*rho(n,s) {sign} (x(n,s) - v(s)) >= 0",
            [
                *(("unfold", name) for name in ("rho+", "x+", "v", "q")),
                ("less", 1, (*chances, ("hypothesis", {"s": "s1"}))),
            ],
            base=[("unfold", "rho0"), ("unfold", "x0"), ("less", 1, ((bound, {}),))],
        )
        for sign, bound in (("-", "up"), ("+", "low"))
    ]


ROWS = Theory(
    {
        **CHANCES,
        "q": VALUES["q"],
        "y": "y(s,a) == R(s,a) + gamma*sum[s1](p(s,a,s1)*x(n,s1))",
        "seen": "D(o) == sum[s](d(s)*om(s,o))",
        "learned": "sum[s](d(s)*om(s,o)*y(s,a)) == D(o)*qn(o,a)",
        "true": "sum[s](d(s)*om(s,o)*q(s,a)) == D(o)*qo(o,a)",
        "vn": "vn(o) == sum[a](pi(o,a)*qn(o,a))",
        "vo": "vo(o) == sum[a](pi(o,a)*qo(o,a))",
        "d+": "d(s) >= 0",
        "E+": "E >= 0",
        "up": "E*rho(n,s) - (x(n,s) - v(s)) >= 0",
        "low": "E*rho(n,s) + (x(n,s) - v(s)) >= 0",
        "r": "r - gamma*sum[s1](p(s,a,s1)*rho(n,s1)) >= 0",
    }
)
"""q_n(o,a) and q_pi(o,a), the means of targets and of q_pi(s,a) over the states behind o, n + 1
steps; r is the largest rho. "up" and "low" are what the induction shows."""


def _close_rows(theory: Theory) -> list[dict[str, Any]]:
    """|q_n - q_pi| <= r E and |v_n - v_pi| <= r E on every row that is seen."""
    seen: Factors = (("d+", {}), ("om+", {}))
    found = []
    for sign, bound in (("-", "up"), ("+", "low")):
        minus = "-" if sign == "-" else ""
        for goal, first, weight, policy in (
            (f"D(o)*(E*r {sign} (qn(o,a) - qo(o,a))) >= 0", (), "1", ()),
            (
                f"D(o)*(E*r {sign} (vn(o) - vo(o))) >= 0",
                (("unfold", "vn"), ("unfold", "vo")),
                "pi(o,a)",
                (("pi+", {}),),
            ),
        ):
            steps = [
                *first,
                ("add", "learned", f"{minus}1*{weight}"),
                ("add", "true", f"{'' if minus else '-'}1*{weight}"),
                *(("unfold", name) for name in ("seen", "y", "q")),
                ("less", 1, (*seen, *policy, ("E+", {}), ("r", {}))),
                ("less", 1, (*seen, *policy, ("gamma+", {}), ("p+", {}), (bound, {"s": "s1"}))),
            ]
            found.append(theory.shows("rows", goal, steps))
    return found


CLOSE = Theory(
    {
        "E": "E == E0 + D0",
        "top": "E0 == vn(o9) - vo(o9)",
        "row": "E*r - (vn(o9) - vo(o9)) >= 0",
        "E0+": "E0 - (vn(o) - vo(o)) >= 0",
        "om+": CHANCES["om+"],
        "D+": "om(s,o)*(D0 - (vo(o) - v(s))) >= 0",
        "worse": "vo(o) - qo(o,a) - c >= 0",
        "small": "c - 3*E*r >= 0",
        "q near": "E*r - (qn(o,a) - qo(o,a)) >= 0",
        "v near": "E*r + (vn(o) - vo(o)) >= 0",
    },
    fixed=("o9",),
)
"""o9 is the row where |v_n - v_pi| is largest, E0 (v_n the larger; else both signs change), and D0
=
max |v_pi(o) - v_pi(s)|; an action that is worse by c."""


def _close_limits(theory: Theory) -> list[dict[str, Any]]:
    """E0 (1-r) <= r D0. |w(o) - v(s)| <= E0 + D0. And an action that is worse stays so."""
    return [
        theory.shows(
            "the bound",
            "r*D0 - (1 - r)*E0 >= 0",
            [("less", 1, (("row", {}),)), ("unfold", "E"), ("add", "top", "1")],
        ),
        theory.shows(
            "the distance",
            "om(s,o)*(E - vn(o) + v(s)) >= 0",
            [("unfold", "E"), ("less", 1, (("om+", {}), ("E0+", {}))), ("less", 1, (("D+", {}),))],
        ),
        theory.shows(
            "what is worse looks worse",
            "3*(vn(o) - qn(o,a)) - c >= 0",
            [
                ("less", 3, (("worse", {}),)),
                ("less", 3, (("q near", {}),)),
                ("less", 3, (("v near", {}),)),
                ("less", 2, (("small", {}),)),
            ],
        ),
    ]


FADES = Theory(
    {
        **CHANCES,
        "rho0": LONG.given["rho0"],
        "rho+": LONG.given["rho+"],
        "f0": "f(0) == 0",
        "f+": "f(n+1) == f(n) + 1",
        "l": "l(s) == 1 + gamma*sum[o,a,s1](om(s,o)*pi(o,a)*p(s,a,s1)*l(s1))",
        "l+": "l(s) >= 0",
        "rho-": "1 - rho(n,s) >= 0",
    }
)
"""l(s) is the mean length of an episode from s, each step discounted: at most 1/(1-gamma), and
finite for gamma = 1 if the mean length is; f(n) = n. "rho-" is what is shown first."""


def _fading(theory: Theory) -> list[dict[str, Any]]:
    """n rho_n(s) <= l(s), so that rho_n tends to 0. By induction on n."""
    goes_on: Factors = (("gamma+", {}), ("om+", {}), ("pi+", {}), ("p+", {}))
    rest: list[Any] = [
        ("less", 1, (("gamma+", {}), ("om+", {}), ("pi+", {}), ("leak", {}))),
        ("less", 1, (("gamma-", {}),)),
    ]
    return [
        theory.without("rho-").shows(
            "at most one",
            "1 - rho(n,s) >= 0",
            [("unfold", "rho+"), ("less", 1, (*goes_on, ("hypothesis", {"s": "s1"}))), *rest],
            base=[("unfold", "rho0")],
        ),
        theory.shows(
            "n times rho",
            "l(s) - f(n)*rho(n,s) >= 0",
            [
                *(("unfold", name) for name in ("f+", "rho+", "l")),
                ("less", 1, (*goes_on, ("hypothesis", {"s": "s1"}))),
                ("less", 1, (*goes_on, ("rho-", {"s": "s1"}))),
                *rest,
            ],
            base=[("unfold", "f0"), ("less", 1, (("l+", {}),))],
        ),
    ]


LONG_TARGETS = MappingProxyType(
    {
        "targets": (LONG, _close_targets),
        "rows": (ROWS, _close_rows),
        "limit": (CLOSE, _close_limits),
        "fades": (FADES, _fading),
    }
)
"""What carries each step of S51.nstep for all sizes."""


@cache
def target_letters(theory: tuple[tuple[str, str], ...]) -> str | None:
    """Find a formula that does not hold of a task and of its 2-step TD values. It is one of `LONG`,
    changed or not, `ROWS`, `CLOSE` or `FADES`."""
    P = small_task(6, Fraction(4, 5))
    pi = mixed_policy(P, 6)
    found, learned = evaluate(P, pi, exact=True), td_values(P, pi, n=2, exact=True)
    going = [s for s in P.S if s not in P.terminal]
    letters = walk_letters(P, pi, P.gamma)

    def mean(table: Any, o: Any) -> Fraction:
        return sum((pi[o, a] * table[o, a] for a in P.A), Fraction(0))

    w, vo = ({o: mean(table, o) for o in P.O} for table in (learned.q, found.q))

    @cache
    def x(n: int, s: Any) -> Fraction:
        """What n steps pay from s, and w after them, by walking."""
        total = Fraction(0)
        for o, y in P.omega(s).items():
            if n == 0:
                total += y * w[o]
                continue
            for a in P.A:
                for (t, r), c in P.p(s, a).items():
                    later = x(n - 1, t) if t not in P.terminal else 0
                    total += y * pi[o, a] * c * (r + P.gamma * later)
        return total

    def reward(s: Any, a: Any) -> Fraction:
        return sum((c * r for (_, r), c in P.p(s, a).items()), Fraction(0))

    def goes_on(s: Any, a: Any, f: Any) -> Fraction:
        return sum((c * f(t) for (t, _), c in P.p(s, a).items() if t in going), Fraction(0))

    most = max(abs(w[o] - found.v[s]) for s in going for o in P.omega(s))
    gap = max(abs(vo[o] - found.v[s]) for s in going for o in P.omega(s))
    one = {**letters, "x": x, "w": w.__getitem__, "E": most}
    # 2-step TD: the letters of a row at n = 1
    row = {
        "x": lambda n, s: x(1, s), "rho": lambda n, s: letters["rho"](1, s), "E": most,
        "y": lambda s, a: reward(s, a) + P.gamma * goes_on(s, a, lambda t: x(1, t)),
        "D": lambda o: sum((found.visits[s] * P.omega(s).get(o, 0) for s in going), Fraction(0)),
        "d": lambda s: found.visits[s], "qn": lambda o, a: learned.q[o, a],
        "qo": lambda o, a: found.q[o, a], "vn": w.__getitem__, "vo": vo.__getitem__,
        "r": max(P.gamma * goes_on(s, a, lambda t: letters["rho"](1, t))
                 for s in going for a in P.A),
    }  # fmt: skip
    last = max(P.O, key=lambda o: w[o] - vo[o])
    far = w[last] - vo[last]
    near = {**row, "E": far + gap, "E0": far, "D0": gap}
    close = CLOSE.without("worse", "small")  # what is assumed of an action and of n
    return (
        first_broken(Theory(dict(theory)), interpret(P, pi, pi, **one))
        or first_broken(ROWS, interpret(P, pi, pi, **row))
        or next(
            filter(
                None,
                (
                    interpret(P, pi, pi, **near).breaks(f, {"o9": last})
                    for f in close.given.values()
                ),
            ),
            None,
        )
        or first_broken(FADES, interpret(P, pi, pi, **letters))
    )


@claim(
    "S51.nstep",
    place="Sec. 5.1",
    statement="n-step TD values are q_pi for every policy if no episode lasts longer than n "
    "steps. In general they converge to q_pi as n grows (gamma < 1, or episodes of finite mean "
    "length from every state). So for n large enough no action that is worse looks better.",
    verdict="proved",
    steps=(
        machine(
            "givens",
            "the formulas below hold of what the evaluator and 2-step TD find in a task with "
            "chance, lengths of episodes being values where each step pays 1",
        ),
        machine("targets", "|target after (s, a) - q_pi(s,a)| <= E rho_n(s,a), by induction on n"),
        machine("rows", "means over what is behind o are as close, whatever the sizes"),
        machine("limit", "so max |v_n - v_pi| <= rho_n D / (1 - rho_n), and strict order is kept"),
        machine("fades", "n rho_n <= l, the mean discounted length from any state: rho_n -> 0"),
        machine("identity", "two steps, every number a symbol: the 2-step TD values are q_pi"),
        machine("recall", "three steps, gamma a symbol: the 3-step TD values are q_pi"),
        machine("bound", "an endless task keeps to rho_n D / (1 - rho_n), and is never exact"),
    ),
)
def enough_steps(
    proof: Proof,
    task: Callable[[], POMDP] = two_steps,
    n: int = 2,
    recall_steps: int = 3,
    half: int = 1,
    theories: Any = MappingProxyType({}),
    givens: Theory = LONG,
) -> Evidence:
    """Judge the claim. `task`, `n`: a task and a number of steps said to give q_pi exactly.
    `recall_steps`: that of recall. `half`: by what the bound is divided. `theories`: other formulas
    for a step. `givens`: those that are compared with the code."""
    proof.step("givens", target_letters(tuple(givens.given.items())))
    certificates = []
    for key, (theory, show) in LONG_TARGETS.items():
        shown = show(theories.get(key, theory))
        proof.step(key, trouble_with(shown))
        certificates += shown
    other, identities = compared(task, n)
    proof.step("identity", other)
    certificates += identities
    R = recall(gamma=GAMMA)
    lines = []
    for memory, name, same in recalled(recall_steps):
        proof.step("recall", None if same else f"{memory}, {name}: other values")
        lines.append([memory, name, "all values are q_pi"])
    E = augment(R, "OA1")
    (start,) = E.omega(next(iter(E.mu)))
    by_n = {k: td_values(E, blue(E), n=k) for k in (1, 2, 3)}
    shown_by_n = [
        [k, "undefined" if x.q[start, RED] is None else x.q[start, RED]] for k, x in by_n.items()
    ]
    certificates += [td_certificate(R, "OA1", x) for x in by_n.values()]
    errors = []
    for k, (error, bound) in endless().items():
        proof.step("bound", None if 0 < error <= bound / half else f"n = {k}: {error}, {bound}")
        errors.append([k, f"{float(error):.2e}", f"{float(bound):.2e}"])
    argument = text(
        "Bounded episodes. If no episode lasts longer than n steps, the n-step target is the whole "
        "return, no v is read, and the fixed point is q_pi for every policy. As an identity: a "
        f"task of two steps with symbols for all its numbers and for the policy, n = {n}. In "
        "recall, three steps, gamma a symbol, n = 3:",
        table_text(["memory", "policy", "n = 3"], lines),
        "The shortcut of Figure 3, 2 push at the start under the blue policy, by n (its true value "
        "is 0; with n = 2 the target reads a buffer that the blue policy never shows):",
        table_text(["n", "TD value"], shown_by_n),
        "Unbounded episodes. Let rho_n = gamma^n max_s P(the episode goes on n steps after s) and "
        "D = max |v_pi(o) - v_pi(s)|. The n-step target replaces v_pi(s_n) by v_n(o_n) when the "
        "episode goes on, so",
        "  max |v_n - v_pi| <= rho_n (max |v_n - v_pi| + D) <= rho_n D / (1 - rho_n),",
        "shown by induction on n as sums of any size, and rho_n tends to 0: n rho_n is at most the "
        "mean length of an episode from s, each step discounted, l(s) = 1 + gamma sum P l; that is "
        "at most 1/(1-gamma). rho_n = 0 if no episode lasts that long. The q-values "
        "follow: q_n(o,a) reads the same v_n after n steps. So if q_pi(o,a) < v_pi(o), then "
        "q_n(o,a) < v_n(o) from some n on: no such pair is a shortcut any more.",
        "No n is exact in general. Smallest case: one step that pays nothing, then steps that pay "
        "1 and go on with probability 1/2, one observation. After n >= 1 steps the state is the "
        "second one, whose value is not the mean, so v_n - v_pi is a multiple of rho_n that is not "
        "zero:",
        table_text(["n", "|v_n - v_pi|", "bound"], errors),
    )
    return proved(
        "equal if no episode is longer than n, and equal in the limit of large n",
        argument,
        certificates,
    )


enough_steps.twin(
    "targets without discount",
    guards="givens",
    givens=LONG.replaced(
        **{
            "x+": "x(n+1,s) == sum[o,a](om(s,o)*pi(o,a)*(R(s,a) + sum[s1](p(s,a,s1)*x(n,s1))))",
        }
    ),
)
enough_steps.twin(
    "targets that forget to discount",
    guards="targets",
    theories={"targets": LONG.replaced(**{"x+": LONG.given["x+"].replace("gamma*", "")})},
)
enough_steps.twin(
    "rows that do not sum to one", guards="rows", theories={"rows": ROWS.without("pi")}
)
enough_steps.twin("a D that is too small", guards="limit", theories={"limit": CLOSE.without("D+")})
enough_steps.twin(
    "chances that sum to more than one",
    guards="fades",
    theories={"fades": FADES.without("leak")},
)
enough_steps.twin("one step in a task of two", guards="identity", task=one_then_nothing, n=1)
enough_steps.twin(
    "twenty steps in a task without a last one", guards="identity", task=staying_task, n=20
)
enough_steps.twin("two steps in recall", guards="recall", recall_steps=2)
enough_steps.twin("a bound of a tenth", guards="bound", half=10)
