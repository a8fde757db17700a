"""Singh, Jaakkola and Jordan 1994: learning without state estimation.

Two states that look alike and want different actions: A is right in 1a and B in 1b; the right one
pays R and leads to the other state, the wrong one pays -R and stays. With discount gamma, from
either state alike:

    every deterministic policy     is right at most once, and then wrong for ever
    a fair coin                    is right half of the time: worth 0
    the last action remembered     is wrong at most once: from then on it alternates
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import sympy

from proofs.ledger import Evidence, Proof, claim, machine, proved
from proofs.ledger.generic import GAMMA
from proofs.ledger.inequalities import prove_positive
from proofs.ledger.prose import text
from proofs.papers.paper import Paper
from workbench import POMDP, Policy, augment, evaluate, observation_mdp, td_values
from workbench.certificates.values import identity_certificate, value_certificate
from workbench.core.numbers import Number
from workbench.core.space import Label

PAPER = Paper(
    "sjj1994",
    "Singh, Jaakkola and Jordan",
    "Learning without state-estimation in partially observable Markovian decision processes",
    1994,
    "ours",
)
R = sympy.Symbol("R", positive=True)


def two_alike(gamma: Number = GAMMA, r: Number = R) -> POMDP:
    """The task of two states that look alike."""
    right = {"1a": "A", "1b": "B"}

    def p(s: str, a: str) -> dict[tuple[str, Number], int]:
        if a == right[s]:
            return {("1b" if s == "1a" else "1a", r): 1}
        return {(s, -r): 1}

    return POMDP.from_functions(
        name="two alike",
        A=("A", "B"),
        p=p,
        omega=lambda s: {"1": 1},
        mu={"1a": Fraction(1, 2), "1b": Fraction(1, 2)},
        gamma=gamma,
    )


@claim(
    "P.sjj1994.stochastic",
    place=PAPER.place,
    statement="On two states that look alike both deterministic memoryless policies are worth -R "
    "gamma / (1 - gamma), for every reward R > 0 and discount in (0, 1). The fair coin is worth "
    "0, and the policy that alternates by the last action R gamma / (1 - gamma). So stochastic "
    "beats deterministic, and memory beats both, by any amount.",
    verdict="proved",
    steps=(
        machine("deterministic", "both deterministic policies, in R and gamma"),
        machine("coin", "the fair coin is worth 0"),
        machine("memory", "alternating with K1 of actions, in R and gamma"),
        machine("gap", "gamma / (1 - gamma) is positive on (0, 1) and without bound"),
    ),
)
def stochastic(
    proof: Proof,
    sign: int = 1,
    bias: Number = Fraction(1, 2),
    memory: str = "window1",
    top: int = 1,
) -> Evidence:
    """Judge the claim. `sign`: of the wrong action's reward. `bias`: of the coin. `top`: where
    gamma ends."""
    P = two_alike()
    worth = sympy.cancel(R * GAMMA / (1 - GAMMA))
    instance, certificates = two_alike(Fraction(9, 10), 1), []
    for a in P.A:
        v = evaluate(P, Policy.deterministic(P, {"1": a})).value
        pi = Policy.deterministic(instance, {"1": a})
        certificates.append(
            value_certificate(instance, "none", pi, evaluate(instance, pi, exact=True).value)
        )
        off = sympy.cancel(v + sign * worth) != 0
        proof.step("deterministic", f"{a}: worth {v}" if off else None)
    tossed = Policy.from_mapping(P, {"1": {"A": bias, "B": 1 - bias}})
    v = evaluate(P, tossed).value
    proof.step("coin", None if sympy.cancel(v) == 0 else f"worth {v}")
    E = augment(P, memory)
    other = {"A": "B", "B": "A"}
    choice = {o: _alternating(o[0], other) for o in E.O}
    v = evaluate(E, Policy.deterministic(E, {o: (a, E.A[0][1]) for o, a in choice.items()})).value
    proof.step("memory", None if sympy.cancel(v - worth) == 0 else f"worth {v}")
    interval = sympy.Interval.open(0, top)
    decided = prove_positive(GAMMA / (1 - GAMMA), {GAMMA: interval})
    proof.step("gap", None if decided.holds else f"not positive at gamma = {decided.witness}")
    return proved(
        "the three values, for every R and gamma: -R gamma/(1-gamma), 0, R gamma/(1-gamma)",
        text(
            "From either state with probability 1/2 the first step is worth 0 for every policy. A "
            "deterministic policy is wrong in all that follow, the coin in half of them, the "
            "alternating one in none: after a right action the other one is right, and after a "
            "wrong one too."
        ),
        [*decided.certificates, *certificates],
    )


def _alternating(m: tuple[object, ...], other: dict[str, str]) -> str:
    """The action after a window of one pair (o, a): the other one. A at the start."""
    last = m[-1]
    return "A" if not isinstance(last, tuple) else other[last[1]]


stochastic.twin("deterministic policies that gain", guards="deterministic", sign=-1)
stochastic.twin("a coin with 2/3", guards="coin", bias=Fraction(2, 3))
stochastic.twin("K1, which remembers no action", guards="memory", memory="K1")
stochastic.twin("discounts above 1", guards="gap", top=2)


# ---------------------------------------------------------------------- what learners converge to

X = sympy.Symbol("x")


def paid_at(P: POMDP, s: Label) -> dict[Label, Any]:
    """What each action is paid in a state, expected."""
    return {a: sum(prob * r for (_, r), prob in P.p(s, a).items()) for a in P.A}


@claim(
    "P.sjj1994.limits",
    place=PAPER.place,
    statement="On two states that look alike, under a behaviour that takes A with probability x, "
    "learners see an MDP of one state. It pays R (1 - 2x) for A and R (2x - 1) for B. TD(0) "
    "converges to its q-values, and for x < 1/2 Q-learning to q(A) = R (1 - 2x) / (1 - gamma), "
    "q(B) = q(A) - 2 R (1 - 2x). So the rarer action looks best, and always to take it is worth "
    "-R gamma / (1 - gamma), the least of all memoryless policies.",
    verdict="proved",
    steps=(
        machine("mdp", "the MDP over observations: its rewards, with weights of the long run"),
        machine("td", "the fixed point of TD(0) is the q of that MDP"),
        machine("optimality", "the two numbers solve q = r + gamma max q for x < 1/2"),
        machine("rarer", "q(A) - q(B) is positive for x < 1/2"),
        machine("worst", "the value of every policy exceeds that of always A"),
    ),
)
def limits(
    proof: Proof,
    paid: int = 2,
    lam: int = 0,
    behind: int = 2,
    top: Number = Fraction(1, 2),
    least: int = 1,
) -> Evidence:
    """Judge the claim. `paid`, `behind`: coefficients. `lam`: of TD. `top`: where x ends. `least`:
    how often R gamma / (1 - gamma) always taking A loses."""
    P = two_alike()
    pi = Policy.from_mapping(P, {"1": {"A": X, "B": 1 - X}})
    seen = observation_mdp(P, pi, weights="stationary")
    r = paid_at(seen, "1")
    off = [a for a, sign in (("A", 1), ("B", -1)) if sympy.cancel(r[a] - sign * R * (1 - paid * X))]
    proof.step("mdp", f"{off[0]} pays {r[off[0]]}" if off else None)
    learned = td_values(P, pi, lam=lam, weights="stationary")
    believed = evaluate(seen, pi, weights="stationary").q
    differ = [a for a in P.A if sympy.cancel(learned.q["1", a] - believed["1", a]) != 0]
    proof.step("td", f"q of {differ[0]}: {learned.q['1', differ[0]]}" if differ else None)
    best = R * (1 - 2 * X) / (1 - GAMMA)
    q = {"A": best, "B": best - behind * R * (1 - 2 * X)}
    wrong = [a for a in P.A if sympy.cancel(r[a] + GAMMA * best - q[a]) != 0]
    proof.step("optimality", f"not at {wrong[0]}" if wrong else None)
    box = {X: sympy.Interval.open(0, top), R: sympy.Interval.open(0, sympy.oo)}
    rarer = prove_positive(2 * R * (1 - 2 * X), box)
    proof.step("rarer", None if rarer.holds else f"not at {rarer.witness}")
    # every policy x is worth R gamma (4x(1 - x) - 1) / (1 - gamma)
    gain = sympy.cancel(evaluate(P, pi).value + least * R * GAMMA / (1 - GAMMA))
    inside = {
        X: sympy.Interval.open(0, 1),
        R: sympy.Interval.open(0, sympy.oo),
        GAMMA: sympy.Interval.open(0, 1),
    }
    above = prove_positive(gain, inside)
    proof.step("worst", None if above.holds else f"not at {above.witness}")
    return proved(
        "the action that is taken less often looks best, and always taking it is worst",
        text(
            "The chain spends the share 1 - x of its time in 1a. For x < 1/2 the greater of the "
            "two q is q(A), so the equation with max is the one that is checked; x > 1/2 is the "
            "same with names exchanged, since the task is."
        ),
        [
            *rarer.certificates,
            *above.certificates,
            identity_certificate("what A pays", r["A"], R * (1 - 2 * X)),
        ],
    )


limits.twin("R (1 - 3x)", guards="mdp", paid=3)
limits.twin("TD(1) for TD(0)", guards="td", lam=1)
limits.twin("q(B) = q(A) - R (1 - 2x)", guards="optimality", behind=1)
limits.twin("x up to 3/4", guards="rarer", top=Fraction(3, 4))
limits.twin("always A is worth 0", guards="worst", least=0)


# ---------------------------------------------------------------------- discount against average


def two_ways(first: Number = Fraction(1, 2), gamma: Number = GAMMA) -> POMDP:
    """Two looks, x and y, that lead to one: A pays 1 after x, and B after y; then it is x with
    probability `first`, or y."""

    def p(s: str, a: str) -> dict[tuple[str, int], Number]:
        if s in ("x", "y"):
            return {(f"after {s}", 0): 1}
        paid = int((s == "after x") == (a == "A"))
        return {("x", paid): first, ("y", paid): 1 - first}

    return POMDP.from_functions(
        name="two ways",
        A=("A", "B"),
        p=p,
        omega=lambda s: {s if s in ("x", "y") else "z": 1},
        mu={"x": first, "y": 1 - first},
        gamma=gamma,
    )


def _from_each(P: POMDP, criterion: str = "return") -> tuple[Any, Any]:
    """What x and y are worth if A is taken with probability x wherever that matters."""
    rows: dict[str, dict[str, Number]] = {o: {"A": 1, "B": 0} for o in ("x", "y")}
    pi = Policy.from_mapping(P, {**rows, "z": {"A": X, "B": 1 - X}})
    found = evaluate(P, pi, criterion=criterion)
    worth = found.v if criterion == "return" else found.gain
    assert worth is not None
    return worth["x"], worth["y"]


@claim(
    "P.sjj1994.no_best",
    place=PAPER.place,
    statement="On two ways into one look there is, for no discount in (0, 1), a memoryless policy "
    "that is best at every observation. The value of x rises and that of y falls with the "
    "probability of A. The average reward is the same from both, 1/4 for every policy.",
    verdict="proved",
    steps=(
        machine("rises", "the derivative of v(x) is positive for all discounts"),
        machine("falls", "that of v(y) is negative"),
        machine("average", "the average reward from x and from y is 1/4"),
    ),
)
def no_best(
    proof: Proof, up: str = "x", first: Number = Fraction(1, 2), worth: Number = Fraction(1, 4)
) -> Evidence:
    """Judge the claim. `up`: whose value rises. `first`: how often x comes first. `worth`: the
    average reward."""
    inside = {X: sympy.Interval(0, 1), GAMMA: sympy.Interval.open(0, 1)}
    v = dict(zip(("x", "y"), _from_each(two_ways()), strict=True))
    rises = prove_positive(sympy.cancel(sympy.diff(v[up], X)), inside)
    proof.step("rises", None if rises.holds else f"not at {rises.witness}")
    low = _from_each(two_ways(first))[1]
    falls = prove_positive(sympy.cancel(-sympy.diff(low, X)), inside)
    proof.step("falls", None if falls.holds else f"not at {falls.witness}")
    averages = _from_each(two_ways(), "average")
    off = [g for g in averages if sympy.cancel(g - worth) != 0]
    proof.step("average", f"it is {off[0]}" if off else None)
    return proved(
        "more of A raises the value of x and lowers that of y; the average is always 1/4",
        text("A policy best at x takes A for certain, and one best at y takes B."),
        [*rises.certificates, *falls.certificates],
    )


no_best.twin("y's value rises", guards="rises", up="y")
no_best.twin("x nine times out of ten", guards="falls", first=Fraction(9, 10))
no_best.twin("1/3 on average", guards="average", worth=Fraction(1, 3))


@claim(
    "P.sjj1994.average",
    place=PAPER.place,
    statement="In average reward the two states that look alike give -R (1 - 2x)^2 to the policy "
    "that takes A with probability x. That is -R to both deterministic ones and 0 to the fair "
    "coin, and the last action remembered gives R. On two ways where x comes two times out of "
    "three the average is (1 + p)/6 from both, best for p = 1, though for gamma^2 < 3/4 the "
    "discounted value of y falls with p. So averages have a policy that is best from everywhere "
    "where discounted values have none.",
    verdict="proved",
    steps=(
        machine("alike", "-R (1 - 2x)^2 as an identity"),
        machine("memory", "the alternating policy has R"),
        machine("ways", "(1 + p)/6 from both"),
        machine("falls", "the discounted value of y falls while 3 - 4 gamma^2 is positive"),
    ),
)
def average(
    proof: Proof,
    power: int = 2,
    memory: str = "window1",
    share: Number = Fraction(2, 3),
    three: int = 3,
) -> Evidence:
    """Judge the claim. `power`: of 1 - 2x. `memory`: of the alternating policy. `share`: how often
    x comes. `three`: the 3 of 3 - 4 gamma^2."""
    P = two_alike()
    pi = Policy.from_mapping(P, {"1": {"A": X, "B": 1 - X}})
    gain = evaluate(P, pi, criterion="average").value
    off = sympy.cancel(gain + R * (1 - 2 * X) ** power) != 0
    proof.step("alike", f"it is {sympy.factor(gain)}" if off else None)
    E = augment(P, memory)
    other = {"A": "B", "B": "A"}
    alternate = Policy.deterministic(E, {o: (_alternating(o[0], other), E.A[0][1]) for o in E.O})
    kept = evaluate(E, alternate, criterion="average").value
    proof.step("memory", None if sympy.cancel(kept - R) == 0 else f"{memory}: {kept}")
    averages = _from_each(two_ways(share), "average")
    wrong = [g for g in averages if sympy.cancel(g - (1 + X) / 6) != 0]
    proof.step("ways", f"it is {wrong[0]}" if wrong else None)
    low = _from_each(two_ways(Fraction(2, 3)))[1]
    falling = sympy.cancel(-sympy.diff(low, X) * 3 * (1 - GAMMA**2) / GAMMA)
    same = sympy.cancel(falling - (three - 4 * GAMMA**2)) == 0
    proof.step("falls", None if same else f"it is {falling}")
    return proved(
        "averages, in symbols: -R (1-2x)^2, R with memory; (1+p)/6 from both starts",
        text(
            "The derivative of the discounted value of y is -(3 - 4 gamma^2) gamma / (3 (1 - "
            "gamma^2)). For gamma^2 > 3/4 it is positive: with patience the two agree."
        ),
        [
            identity_certificate("average of two alike", gain, -R * (1 - 2 * X) ** 2),
            identity_certificate("average of two ways", averages[0], (1 + X) / 6),
            identity_certificate("fall of y", falling, 3 - 4 * GAMMA**2),
        ],
    )


average.twin("-R (1 - 2x)", guards="alike", power=1)
average.twin("K1, which remembers no action", guards="memory", memory="K1")
average.twin("x three times out of four", guards="ways", share=Fraction(3, 4))
average.twin("4 - 4 gamma^2", guards="falls", three=4)
