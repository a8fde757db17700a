"""Sentences of Sections 1, 5 and Appendices A and C that the paper states in passing.

Section 1: a memoryless policy is optimal where everything is seen. Section 5.1: Monte Carlo has
high variance. Section 5.2: a small step changes P(s|o) little. Appendix A.1: gamma'. Appendix A.2:
the belief summarises the history. Appendix C: built-in structure helps.

For Section 1 let v be a function of the state with v(s) = max_a r(s,a) + gamma sum p(s'|s,a) v(s'),
x(n,h,s) the chance of the history h and the state s after n steps of a policy pi(h,a), J(n) its
expected discounted rewards until then, g(n) = gamma^n. Then by induction on n

    J(n)  <=  sum x(0,h,s) v(s) - g(n) sum x(n,h,s) v(s)

with equality for the memoryless policy that takes maximising actions; and g(n) sum x v tends to 0.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any

import sympy

from pomdps import recall, recall4, recall_variant
from proofs.ledger import (
    Evidence,
    Proof,
    argued,
    checked,
    claim,
    human,
    machine,
    misprint,
    proved,
)
from proofs.ledger.bellman import first_broken
from proofs.ledger.inequalities import prove_positive
from proofs.ledger.prose import table_text, text
from proofs.ledger.theory import Interpretation, Theory, trouble_in
from workbench import POMDP, Policy, augment, best_history, best_memoryless, evaluate, uniform
from workbench.certificates.loop import certify

# ---------------------------------------------------------------------- where all is seen

SEEN = Theory(
    {
        "x+": "x(n+1,h1,s1) == sum[h,s,a](x(n,h,s)*pi(h,a)*p(s,a,s1)*next(h,a,s1,h1))",
        "next": "sum[h1](next(h,a,s1,h1)) == 1",
        "pi": "sum[a](pi(h,a)) == 1",
        "J0": "J(0) == 0",
        "J+": "J(n+1) == J(n) + g(n)*sum[h,s,a](x(n,h,s)*pi(h,a)*rew(s,a))",
        "g0": "g(0) == 1",
        "g+": "g(n+1) == gamma*g(n)",
        "bound": "v(s) - rew(s,a) - gamma*sum[s1](p(s,a,s1)*v(s1)) >= 0",
        "x>": "x(n,h,s) >= 0",
        "pi>": "pi(h,a) >= 0",
        "g>": "g(n) >= 0",
    }
)
"""A history-based policy pi in a task whose states are seen, and a v that no action beats."""

GREEDY = Theory(
    {
        "y+": "y(n+1,s1) == sum[s,a](y(n,s)*d(s,a)*p(s,a,s1))",
        "I0": "I(0) == 0",
        "I+": "I(n+1) == I(n) + g(n)*sum[s,a](y(n,s)*d(s,a)*rew(s,a))",
        "g0": "g(0) == 1",
        "g+": "g(n+1) == gamma*g(n)",
        "greedy": "v(s) == sum[a](d(s,a)*rew(s,a)) + gamma*sum[a,s1](d(s,a)*p(s,a,s1)*v(s1))",
    }
)
"""The memoryless policy d that takes actions at which v is reached."""


def seen(P: POMDP) -> POMDP:
    """The task with its state as the observation."""
    return POMDP.from_functions(
        name=f"{P.name}, seen", A=P.A, p=P.p, omega=lambda s: {s: 1}, mu=dict(P.mu.items()),
        gamma=P.gamma, terminal=lambda s: s in P.terminal,
    )  # fmt: skip


@cache
def seen_with_numbers() -> tuple[Interpretation, Interpretation]:
    """The letters of both theories read off recall4 when it is seen. The policy does something else
    after each history."""
    P = seen(recall4(gamma=Fraction(9, 10)))
    best = best_memoryless(P, exact=True).policy
    S, A = tuple(P.S), tuple(P.A)

    def moves(s: Any, a: Any) -> dict[tuple[Any, Any], Any]:
        return {(s, 0): 1} if s in P.terminal else dict(P.p(s, a).items())

    def p(s: Any, a: Any, t: Any) -> Any:
        return sum(x for (u, _), x in moves(s, a).items() if u == t)

    def rew(s: Any, a: Any) -> Any:
        return sum((r * x for (_, r), x in moves(s, a).items()), Fraction(0))

    @cache
    def v(s: Any, n: int = 3) -> Any:
        if n == 0:
            return Fraction(0)
        return max(rew(s, a) + P.gamma * sum(p(s, a, t) * v(t, n - 1) for t in S) for a in A)

    def pi(h: Any, a: Any) -> Any:  # another row after each history
        weights = [1 + (len(str(h)) + i) % 3 for i in range(len(A))]
        return Fraction(weights[A.index(a)], sum(weights))

    def after(h: Any, a: Any, t: Any, h1: Any) -> int:
        longer = (a,) if h == () else (h[0], a) if isinstance(h, tuple) and len(h) == 1 else h
        return int(h1 == longer)

    H = ((), *((a,) for a in A), *product(A, A))

    @cache
    def x(n: int, h: Any, s: Any) -> Any:
        if n == 0:
            return Fraction(P.mu.get(s, 0)) if h == () else Fraction(0)
        return sum(
            (x(n - 1, g, t) * pi(g, a) * p(t, a, s) * after(g, a, s, h)
             for g in H for t in S for a in A),
            Fraction(0),
        )  # fmt: skip

    def d(s: Any, a: Any) -> Any:
        return Fraction(int(a == A[0])) if s in P.terminal else best[s, a]

    @cache
    def y(n: int, s: Any) -> Any:
        if n == 0:
            return Fraction(P.mu.get(s, 0))
        return sum((y(n - 1, t) * d(t, a) * p(t, a, s) for t in S for a in A), Fraction(0))

    def g(n: int) -> Any:
        return P.gamma**n

    def J(n: int) -> Any:
        return sum((g(k) * x(k, h, s) * pi(h, a) * rew(s, a)
                    for k in range(n) for h in H for s in S for a in A), Fraction(0))  # fmt: skip

    def earned(n: int) -> Any:
        return sum((g(k) * y(k, s) * d(s, a) * rew(s, a)
                    for k in range(n) for s in S for a in A), Fraction(0))  # fmt: skip

    sets = {"s": S, "a": A, "h": H}
    common = {"p": p, "rew": rew, "v": v, "g": g, "gamma": P.gamma}
    assert evaluate(P, best, exact=True).value == earned(2)
    return (
        Interpretation(sets, {**common, "x": x, "pi": pi, "next": after, "J": J}, 2),
        Interpretation(sets, {**common, "y": y, "d": d, "I": earned}, 2),
    )


@claim(
    "S1.memoryless",
    place="Sec. 1",
    statement="In a fully observable task a memoryless policy is optimal among all policies that "
    "look at the history. (Rewards are bounded, and the discount is below 1 or episodes end.)",
    verdict="argued",
    steps=(
        human("v", "A v with v(s) = max_a r + gamma sum p v exists: contraction, or ends."),
        machine(
            "givens", "the formulas hold of recall4 when its states are seen, as the code runs"
        ),
        machine("bound", "no policy earns more in n steps than v at the start less g(n) sum x v"),
        machine("reached", "the memoryless policy of maximising actions earns exactly that"),
        human("limit", "g(n) sum x v tends to 0 as n grows."),
        machine("listed", "in three tasks whose states are seen the best of both are equal"),
    ),
)
def memoryless_where_all_is_seen(
    proof: Proof, theory: Theory = SEEN, greedy: Theory = GREEDY, givens: Theory = SEEN,
    hidden: bool = False,
) -> Evidence:  # fmt: skip
    """Two inductions on n, and the paper's tasks. `hidden`: with their own observations."""
    for one, read in zip((givens, GREEDY), seen_with_numbers(), strict=True):
        proof.step("givens", first_broken(one, read))
    start = "sum[h,s](x(0,h,s)*v(s))"
    most = theory.shows(
        "no policy earns more",
        f"{start} - J(n) - g(n)*sum[h,s](x(n,h,s)*v(s)) >= 0",
        [
            ("unfold", "J+"),
            ("unfold", "g+"),
            ("unfold", "x+"),
            ("less", 1, (("hypothesis", {}),)),
            ("less", 1, (("g>", {}), ("x>", {}), ("pi>", {}), ("bound", {}))),
        ],
        base=[("unfold", "J0"), ("unfold", "g0")],
    )
    proof.step("bound", trouble_in(most))
    equal = greedy.shows(
        "maximising actions earn it",
        "I(n) == sum[s](y(0,s)*v(s)) - g(n)*sum[s](y(n,s)*v(s))",
        [
            ("unfold", "I+"),
            ("unfold", "g+"),
            ("unfold", "y+"),
            ("add", "hypothesis", "-1"),
            ("add", "greedy", "g(n)*y(n,s)"),
        ],
        base=[("unfold", "I0"), ("unfold", "g0")],
    )
    proof.step("reached", trouble_in(equal))
    rows = []
    for make in (recall, recall4, recall_variant):
        P = make() if hidden else seen(make())
        best, most_of_all = best_memoryless(P, exact=True).value, best_history(P, exact=True).value
        rows.append([P.name, best, most_of_all])
        proof.step("listed", None if best == most_of_all else f"{P.name}: {best} < {most_of_all}")
    return argued(
        "two inductions on the number of steps; three tasks agree",
        table_text(["task", "memoryless", "with histories"], rows),
        [most, equal],
    )


memoryless_where_all_is_seen.twin(
    "a v that actions may beat", guards="bound", theory=SEEN.without("bound")
)
memoryless_where_all_is_seen.twin(
    "actions that do not maximise", guards="reached", greedy=GREEDY.without("greedy")
)
memoryless_where_all_is_seen.twin(
    "rewards that are not discounted",
    guards="givens",
    givens=SEEN.replaced(**{"g+": "g(n+1) == g(n)"}),
)
memoryless_where_all_is_seen.twin("states that are not seen", guards="listed", hidden=True)


# ---------------------------------------------------------------------- Monte Carlo's variance


def coins(n: int) -> POMDP:
    """n fair coins one after the other, 1 or -1 each. The number of those left is seen."""
    half = Fraction(1, 2)
    return POMDP.from_functions(
        name=f"{n} coins", A=("flip",), mu={n: 1}, gamma=1, terminal={0},
        p=lambda s, a: {(s - 1, 1): half, (s - 1, -1): half}, omega=lambda s: {s: 1},
    )  # fmt: skip


def return_moments(P: POMDP, s: Any) -> tuple[Any, Any]:
    """Mean and variance of the return from a state, one action, no discount."""
    if s in P.terminal:
        return Fraction(0), Fraction(0)
    (a,) = P.A
    first = second = Fraction(0)
    for (t, r), x in P.p(s, a).items():
        mean, variance = return_moments(P, t)
        first += x * (r + mean)
        second += x * (variance + (r + mean) ** 2)
    return first, second - first**2


@claim(
    "S51.mc-variance",
    place="Sec. 5.1",
    statement="Monte Carlo estimates can have as high a variance as one likes beside one-step TD. "
    "With n coins of 1 or -1 the return has variance n, and the one-step target with the right "
    "values has variance 1, n = 1, ..., 8. (How high it is in general depends on the task: "
    "S51.variance.)",
    verdict="checked",
    steps=(
        machine("return", "the return of n coins has variance n"),
        machine("target", "reward plus the true value of what follows has variance 1"),
    ),
)
def monte_carlo_varies(proof: Proof, per_coin: int = 1, target: int = 1) -> Evidence:
    """Both moments in rationals."""
    for n in range(1, 9):
        P = coins(n)
        _, variance = return_moments(P, n)
        proof.step("return", None if variance == per_coin * n else f"n = {n}: {variance}")
        v = {s: evaluate(coins(s), uniform(coins(s)), exact=True).value for s in range(1, n)} | {
            0: 0
        }
        outcomes = [(r + v[t], x) for (t, r), x in P.p(n, "flip").items()]
        mean = sum(y * x for y, x in outcomes)
        spread = sum((y - mean) ** 2 * x for y, x in outcomes)
        proof.step("target", None if spread == target else f"n = {n}: {spread}")
    return checked(
        "the return has variance n and the TD target 1, for n = 1, ..., 8",
        "Coins are independent, so variances add up.",
    )


monte_carlo_varies.twin("variance n/4", guards="return", per_coin=2)
monte_carlo_varies.twin("targets of variance 1/4", guards="target", target=2)


# ---------------------------------------------------------------------- a small step and P(s|o)


def shared_room() -> POMDP:
    """Two doors lead to two states that look alike, a third one out."""

    def p(s: str, a: str) -> dict[tuple[str, int], int]:
        return {({"left": "l", "right": "r", "out": "end"}[a] if s == "start" else "end", 0): 1}

    return POMDP.from_functions(
        name="a shared room", A=("left", "right", "out"), p=p, mu={"start": 1}, gamma=1,
        omega=lambda s: {"start" if s == "start" else "room": 1}, terminal={"end"},
    )  # fmt: skip


@claim(
    "S52.small-change",
    place="Sec. 5.2",
    statement="A small step of the policy changes P(s|o) little where o is visited. Along the "
    "step it is a quotient of visits that has no pole at 0. How small the step has to be depends "
    "on how often o is visited: for every epsilon there is a policy at which a step of epsilon "
    "changes some P(s|o) by nearly 1/2. So near policies that stop visiting o no step is small.",
    verdict="argued",
    steps=(
        human("pole", "Visits are rational in the step, and the visits of o are positive at 0."),
        machine("example", "from (delta, 0) to (delta(1-e), e) P(r|room) is e/(e+delta-e delta)"),
        machine("half", "at delta = e that is 1/(2 - e), at least 1/2, for every e in (0, 1]"),
        machine("still", "for a fixed delta it tends to 0 with e: it is at most e/delta"),
    ),
)
def a_small_step_changes_little(
    proof: Proof, share: Any = None, least: Any = None, still: Any = None
) -> Evidence:
    """The evaluator with symbols for the policy. `share`, `least`, `still`: other formulas."""
    e, delta = sympy.symbols("e delta", positive=True)
    P = shared_room()
    rows = {"left": delta * (1 - e), "right": e, "out": 1 - delta * (1 - e) - e}
    last = {"left": 0, "right": 0, "out": 1}
    pi = Policy.from_mapping(P, {"start": rows, "room": last})
    found = evaluate(P, pi, exact=True).s_given_o["room", "r"]
    said = e / (e + delta - e * delta) if share is None else share(e, delta)
    same = sympy.simplify(sympy.sympify(found) - said) == 0
    proof.step("example", None if same else f"P(r|room) is {found}")
    at_e = sympy.simplify(sympy.sympify(found).subs(delta, e) - 1 / (2 - e))
    bound = sympy.Rational(1, 2) if least is None else least
    above = prove_positive(1 / (2 - e) - bound, {e: sympy.Interval.Lopen(0, 1)})
    proof.step("half", None if at_e == 0 and above.holds else f"not at {above.witness}")
    most = e / delta if still is None else still(e, delta)
    inside = {x: sympy.Interval.open(0, 1) for x in (e, delta)}
    bounded = prove_positive(most - sympy.sympify(found), inside)
    proof.step("still", None if bounded.holds else f"not at {bounded.witness}")
    return argued(
        "the change is small where o is visited often enough",
        text(f"P(r|room) = {found}."),
        [*above.certificates, *bounded.certificates],
    )


a_small_step_changes_little.twin(
    "e/(e + delta)", guards="example", share=lambda e, delta: e / (e + delta)
)
a_small_step_changes_little.twin("at least 3/4", guards="half", least=sympy.Rational(3, 4))
a_small_step_changes_little.twin("at most e", guards="still", still=lambda e, delta: e)


# ---------------------------------------------------------------------- gamma'


@claim(
    "A1.gamma",
    place="App. A.1",
    statement="Appendix A.1 as printed lists gamma' in the tuple of P' and never says what it is. "
    "It has to be gamma: with another discount returns differ, and P' is not equivalent to E.",
    verdict="misprint",
    corrected_by="A1.equivalent",
    steps=(
        machine("other", "recall4 x B1 with another discount is worth another return"),
        machine("same", "augment keeps the discount"),
    ),
)
def gamma_prime(
    proof: Proof, other: Fraction = Fraction(1, 2), own: Fraction = Fraction(9, 10)
) -> Evidence:
    """The uniform policy, in rationals."""
    P = recall4(gamma=Fraction(9, 10))
    E = augment(P, "B1")
    proof.step("same", None if E.gamma == own else f"the product has {E.gamma}")
    worth, changed = (evaluate(x, uniform(x), exact=True).value for x in (E, E.with_gamma(other)))
    proof.step("other", None if worth != changed else f"both are worth {worth}")
    return misprint(
        "gamma' is never defined", text(f"{worth} with gamma, {changed} with {other}."),
        counterexample=f"gamma' = {other}: {changed}, not {worth}",
    )  # fmt: skip


gamma_prime.twin("the same discount", guards="other", other=Fraction(9, 10))
gamma_prime.twin("a product without discount", guards="same", own=Fraction(1))


# ---------------------------------------------------------------------- beliefs

BELIEF = Theory(
    {
        "same": "y(s) == c*z(s)",
        "y'": "y1(a,o,s1) == sum[s](y(s)*p(s,a,s1)*om(s1,o))",
        "z'": "z1(a,o,s1) == sum[s](z(s)*p(s,a,s1)*om(s1,o))",
        "Y": "Y(n) == sum[s](y(s)*u(n,s))",
        "Z": "Z(n) == sum[s](z(s)*u(n,s))",
    }
)
"""Chances y(s), z(s) of two histories together with the state behind them, which are proportional:
one belief. u(n,s) is what any way of acting on what is seen from now on earns in n steps from s."""


@claim(
    "A2.belief",
    place="App. A.2",
    statement="The belief summarises the history. After two histories with one belief every "
    "action and observation leads to one belief again, every observation has the same chance, and "
    "every way of going on is worth the same. (b_0 as printed leaves out mu. It is so with mu.)",
    verdict="proved",
    steps=(
        machine("update", "chances in proportion stay in proportion after any a and o"),
        machine("worth", "what is earned from now on is in the same proportion, any n and way"),
        machine(
            "listed",
            "histories of up to 3 steps of recall4 and recall's variant with one belief have one "
            "distribution of the next state and observation",
        ),
    ),
)
def beliefs_summarise(
    proof: Proof, theory: Theory = BELIEF, onwards: Theory = BELIEF, blurred: bool = False
) -> Evidence:
    """One step for all sizes. Then histories by their beliefs. `blurred`: by their length alone."""
    kept = theory.shows(
        "one belief again", "y1(a,o,s1) == c*z1(a,o,s1)",
        [("unfold", "y'"), ("unfold", "z'"), ("unfold", "same")],
    )  # fmt: skip
    proof.step("update", trouble_in(kept))
    worth = onwards.shows(
        "the same worth", "Y(n) == c*Z(n)", [("unfold", "Y"), ("unfold", "Z"), ("unfold", "same")]
    )
    proof.step("worth", trouble_in(worth))
    count = 0
    for make in (recall4, recall_variant):
        P = make()
        futures: dict[Any, Any] = {}
        for h, weights in histories(P, 3):
            total = sum(weights.values())
            belief = (
                len(h) if blurred else tuple(sorted((s, x / total) for s, x in weights.items()))
            )
            for a in P.A:
                ahead = {key: x / total for key, x in onward(P, weights, a).items()}
                count += 1
                if futures.setdefault((belief, a), ahead) != ahead:
                    proof.step("listed", f"{P.name}: {a} after {h} has another future")
    proof.step("listed")
    return proved(
        "for tasks of any size; histories of two tasks agree",
        f"{count} futures compared.",
        [kept, worth],
    )


def onward(P: POMDP, weights: dict[Any, Any], a: Any) -> dict[Any, Any]:
    """The chance of each next state and observation, times that of the history."""
    found: dict[Any, Any] = {}
    for s, x in weights.items():
        if s in P.terminal:
            continue
        for (t, _), y in P.p(s, a).items():
            for o, z in P.omega(t).items():
                found[t, o] = found.get((t, o), 0) + x * y * z
    return found


def histories(P: POMDP, most: int) -> list[tuple[tuple[Any, ...], dict[Any, Any]]]:
    """Histories o_0, a_0, o_1, ... of at most so many steps. Each has the chances of the states
    behind it, given its actions."""
    found = []
    now: dict[tuple[Any, ...], dict[Any, Any]] = {}
    for s, x in P.mu.items():
        for o, y in P.omega(s).items():
            now.setdefault((o,), {})[s] = x * y
    for _ in range(most + 1):
        found += list(now.items())
        later: dict[tuple[Any, ...], dict[Any, Any]] = {}
        for h, weights in now.items():
            for a in P.A:
                for (t, o), x in onward(P, weights, a).items():
                    later.setdefault((*h, a, o), {})[t] = x
        now = later
    return found


beliefs_summarise.twin(
    "chances that are not in proportion", guards="update",
    theory=BELIEF.replaced(same="y(s) == c*z(s) + w(s)"),
)  # fmt: skip
beliefs_summarise.twin(
    "another way of going on",
    guards="worth",
    onwards=BELIEF.replaced(Z="Z(n) == sum[s](z(s)*w(n,s))"),
)
beliefs_summarise.twin("histories of one length", guards="listed", blurred=True)


# ---------------------------------------------------------------------- built-in structure


@claim(
    "C.structure",
    place="App. C",
    statement="'More built-in structure helps avoid local minima', read as a tendency (as one it "
    "is measured by T.hurts-often). On the 4-action recall task OA1 reaches the optimum 1 and B1 "
    "ends at 3/4. Not always: on the variant of recall B1, which has less structure, reaches the "
    "optimum 3, and OA1 ends at 25/16 (S52.fig-variant). T.eight has a task on which both hurt.",
    verdict="checked",
    steps=(
        machine("helps", "recall4: the loop ends at 1 with OA1 and at 3/4 with B1, steps of 1/50"),
        machine("not", "the variant: with B1 it ends at 3, the optimum"),
    ),
)
def structure_helps(proof: Proof, best: Any = 1, other: Any = 3) -> Evidence:
    """Certificates of the loops, in rationals."""
    step = Fraction(1, 50)
    made = [certify(recall4(), "OA1", step), certify(recall4(), "B1", step),
            certify(recall_variant(), "B1", step)]  # fmt: skip
    with_oa1, with_b1, variant = (Fraction(str(c["value"])) for c in made)
    right = with_oa1 == best and with_b1 == Fraction(3, 4)
    proof.step("helps", None if right else f"OA1 {with_oa1}, B1 {with_b1}")
    proof.step("not", None if variant == other else f"B1 on the variant: {variant}")
    argument = (
        "On 4-action recall the loop reaches 1 with OA1 and stops at 3/4 with one bit.\n"
        "On the variant of recall it reaches 3, the best, with one bit; OA1 ends at 25/16\n"
        "there (S52.fig-variant)."
    )
    return checked("true on 4-action recall, false on the variation", argument, made)


structure_helps.twin("OA1 at 3/4 on recall4", guards="helps", best=Fraction(3, 4))
structure_helps.twin("B1 at 25/16 on the variant", guards="not", other=Fraction(25, 16))
