"""Appendices A.1, A.2 and D.6.1: rewards in memory, why O is part of S', and lambda's two ends.

**Rewards.** Histories hold observations and actions, Gamma may read rewards too. Then (m, o) may
tell more than the history, and a memoryless policy of the augmented task may be worth more than any
policy of observations and actions. With `coin`, a hidden coin that is guessed again and again, the
belief never changes, so every policy of observations and actions earns 1/2 a step; a memory that
keeps the side the last reward has shown is right from the second step on.

**O in S'.** If Gamma reads o', the memory and the next observation are drawn together. With
S' = S x M the observation would be drawn anew from omega(s'), and (m', o') could contradict each
other.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any

import sympy

from pomdps import recall, recall_variant
from proofs.appendix_a2_optimal import coin, reads_reward
from proofs.ledger import Evidence, Proof, claim, machine, proved
from proofs.ledger.bellman import (
    CHANCES,
    VALUES,
    first_broken,
    interpret,
    mixed_policy,
    small_task,
)
from proofs.ledger.generic import GAMMA, generic_policy, symbol
from proofs.ledger.inequalities import identical
from proofs.ledger.prose import text
from proofs.ledger.theory import Theory, trouble_with
from proofs.ledger.walks import walk_letters
from workbench import (
    POMDP,
    Memory,
    Policy,
    augment,
    best_history,
    evaluate,
    reachable_beliefs,
    td_values,
    uniform,
)
from workbench.certificates.values import identity_certificate, value_certificate

HALF = Fraction(1, 2)


@claim(
    "A2.rewards",
    place="App. A.2",
    statement="A memory that reads rewards lets a memoryless policy exceed the best policy of "
    "observations and actions. Guessing a hidden coin, gamma = 1/2, is worth 3/2 against 1.",
    verdict="proved",
    steps=(
        machine("beliefs", "The coin has one belief, (1/2, 1/2), whatever is observed and done."),
        machine("history", "Hence every policy of observations and actions is worth 1."),
        machine("memory", "`Guess what the memory says` is worth 3/2 with a memory of rewards."),
    ),
)
def rewards_tell_more(
    proof: Proof, beliefs: int = 1, best: Fraction = Fraction(1), more: Fraction = Fraction(3, 2)
) -> Evidence:
    """The coin of `A2.optimal`, in rationals."""
    C = coin()
    known = len(reachable_beliefs(C).nodes)
    proof.step("beliefs", None if known == beliefs else f"beliefs: {known}")
    found = best_history(C, exact=True).value
    proof.step("history", None if found == best else f"the best is worth {found}")
    E = augment(C, reads_reward())
    pi = Policy.deterministic(E, {o: (o[0], "-") for o in E.O})
    worth = evaluate(E, pi, exact=True).value
    proof.step("memory", None if worth == more > found else f"it is worth {worth}")
    argument = text(
        "A coin is tossed once and stays hidden; each step guesses it and earns 1 if right, gamma "
        "= 1/2. Nothing is observed, so the belief stays (1/2, 1/2) and every policy of "
        "observations and actions earns 1/2 a step: 1/2 + 1/4 + ... = 1. A reward tells the side. "
        "The memory `last winner` keeps it, and guessing what it says is worth 1/2 + 1/2 + 1/4 + "
        "... = 3/2.",
        "So Proposition A.1 is an inequality, at least as good, where Gamma reads rewards; with "
        "Gamma of observations and actions it is an equality (A2.optimal*).",
    )
    return proved(
        "the reward tells the coin: 3/2 with this memory, 1 without it",
        argument,
        [value_certificate(E, "none", pi, worth)],
    )


rewards_tell_more.twin("two beliefs", guards="beliefs", beliefs=2)
rewards_tell_more.twin("every history is worth 3/4", guards="history", best=Fraction(3, 4))
rewards_tell_more.twin("the memory is worth 2", guards="memory", more=Fraction(2))


# ---------------------------------------------------------------------- A.1


def noisy() -> POMDP:
    """One state that is seen as x or as y, each with probability 1/2, at every step. It ends with
    probability 1/2."""
    return POMDP.from_functions(
        name="noisy",
        A=("a",),
        p=lambda s, a: {("s", 0): HALF, ("end", 0): HALF},
        omega=lambda s: {"x": HALF, "y": HALF},
        mu={"s": 1},
        gamma=1,
        terminal={"end"},
    )


def mirror() -> Memory:
    """Remembers the next observation."""
    return Memory("mirror", ["x", "y"], ["-"], lambda m, w, o, a, r, o2: {o2: 1}, {"x": 1})


@claim(
    "A1.why-o",
    place="App. A.1",
    statement="O is part of S' because Gamma may read o'. Without it, a memory of the next "
    "observation and that observation, drawn anew, disagree half of the time.",
    verdict="proved",
    steps=(
        machine("with", "With S' = S x M x O the memory is the observation, after every step."),
        machine("without", "With S' = S x M and o' drawn anew they disagree with chance 1/2."),
    ),
)
def observation_in_the_state(
    proof: Proof, memory: str = "mirror", chance: Fraction = HALF
) -> Evidence:
    """One state, two observations, a memory that copies o'."""
    P = noisy()
    copy = (
        mirror()
        if memory == "mirror"
        else Memory("late", ["x", "y"], ["-"], lambda m, w, o, a, r, o2: {o: 1}, {"x": 1})
    )
    E = augment(P, copy)
    odd = [s for s in E.S if s not in E.terminal and s[1] != s[2]]
    start = {s for s, x in E.mu.items() if x}
    after = {t for s in E.S if s not in E.terminal for t, _ in E.p(s, ("a", "-"))}
    wrong = [s for s in odd if s in after and s not in E.terminal]
    proof.step("with", f"after a step it is in {wrong[0]}" if wrong else None)
    # p'((s', m') | s, m, a) marginalises o' out of Gamma; omega'(o' | s', m') = omega(o' | s')
    omega = P.omega("s")
    to_m = {m: sum(omega[o] for o in omega if o == m) for m in ("x", "y")}
    disagree = sum(to_m[m] * omega[o] for m in to_m for o in omega if m != o)
    proof.step("without", None if disagree == chance else f"they disagree with chance {disagree}")
    argument = text(
        "One state, seen as x or y with probability 1/2 at every step; the memory copies the next "
        f"observation. In the compiled POMDP, S' = S x M x O, no step ends in (s, m, o) with m != "
        f"o ({len(E.S)} states, {len(start)} of them starts). Without O in the state the pair (s', "
        "m') would be drawn first, m' with the chances of o', and then the observation anew: (m', "
        f"o') disagree with probability {disagree}.",
    )
    certificate = identity_certificate("they disagree", "1/2*1/2 + 1/2*1/2", str(disagree))
    return proved("Gamma reads o', so m' and o' have to be drawn together", argument, [certificate])


observation_in_the_state.twin("a memory of o, not of o'", guards="with", memory="late")
observation_in_the_state.twin("with chance 1/4", guards="without", chance=Fraction(1, 4))


# ---------------------------------------------------------------------- lambda


def symbolic_two_steps() -> POMDP:
    """Two steps of two actions with one observation. Rewards after both steps, all symbols."""

    def p(s: str, a: str) -> dict[tuple[str, Any], int]:
        return {("end" if len(s) > 1 else f"s{a}", symbol("r", s, a)): 1}

    return POMDP.from_functions(
        name="two steps alike",
        A=("a", "b"),
        p=p,
        omega=lambda s: {"x": 1},
        mu={"s": 1},
        gamma=GAMMA,
        terminal={"end"},
    )


TARGETS = Theory(
    {
        **{name: VALUES[name] for name in ("v", "q")},
        "x": "x(s,a) == R(s,a) + gamma*sum[s1,o](p(s,a,s1)*om(s1,o)"
        "*((1 - lam)*w(o) + lam*sum[a1](pi(o,a1)*x(s1,a1))))",
    }
)
"""The mean target of Sarsa(lambda) after (s, a): w(o) where it bootstraps, x where it goes on."""

TWO_SOLUTIONS = Theory(
    {
        **CHANCES,
        "e": "e(s,a) == gamma*sum[s1,o,a1](p(s,a,s1)*om(s1,o)*pi(o,a1)*e(s1,a1))",
        "rho0": "rho(0,s) == 1",
        "rho+": "rho(n+1,s) == gamma*sum[o,a,s1](om(s,o)*pi(o,a)*p(s,a,s1)*rho(n,s1))",
        "up": "E - e(s,a) >= 0",
        "low": "E + e(s,a) >= 0",
    }
)
"""The difference of two solutions at lambda = 1, at most E, and rho_n, gamma^n times the chance
that an episode goes on for n steps."""


@cache
def lambda_letters(lam: Fraction, theory: tuple[tuple[str, str], ...]) -> str | None:
    """Find a formula that does not hold of the code's TD(lambda). In it w is what is learned, and x
    is the target that solves its equation. A mean of x that is not what is learned is told as
    well."""
    P = small_task(8, Fraction(4, 5))
    pi = mixed_policy(P, 8)
    found = evaluate(P, pi, exact=True)
    learned = td_values(P, pi, lam=lam, exact=True).q
    going = [s for s in P.S if s not in P.terminal]
    w = {o: sum((pi[o, a] * learned[o, a] for a in P.A), Fraction(0)) for o in P.O}
    pairs = [(s, a) for s in going for a in P.A]
    M, b = sympy.eye(len(pairs)), sympy.zeros(len(pairs), 1)
    for i, (s, a) in enumerate(pairs):
        for (t, r), c in P.p(s, a).items():
            b[i] += sympy.Rational(c * r)
            for o, y in P.omega(t).items() if t in going else ():
                b[i] += sympy.Rational(P.gamma * c * y * (1 - lam) * w[o])
                for a1 in P.A:
                    weight = P.gamma * c * y * lam * pi[o, a1]
                    M[i, pairs.index((t, a1))] -= sympy.Rational(weight)
    solved = [Fraction(int(x.p), int(x.q)) for x in M.LUsolve(b)]
    x = dict(zip(pairs, solved, strict=True))
    letters: dict[str, Any] = {"x": lambda s, a: x[s, a], "w": w.__getitem__, "lam": lam}
    read = interpret(P, pi, pi, **letters)
    for o, a in product(P.O, P.A):
        behind = {s: found.visits[s] * P.omega(s).get(o, 0) for s in going}
        mean = sum((y * x[s, a] for s, y in behind.items()), Fraction(0)) / sum(behind.values())
        if mean != learned[o, a]:
            return f"lambda = {lam}: {mean} is not the value {learned[o, a]} of {(o, a)}"
    walked = walk_letters(P, pi, P.gamma)
    alike = interpret(P, pi, pi, rho=walked["rho"], e=lambda s, a: Fraction(0), E=Fraction(1))
    return first_broken(Theory(dict(theory)), read) or first_broken(TWO_SOLUTIONS, alike)


@claim(
    "D6.lambda",
    place="App. D.6.1",
    statement="lambda = 0 makes Sarsa(lambda) a pure TD method, lambda = 1 a pure Monte Carlo "
    "method. Its fixed point is that of one-step TD with lambda = 0, and q_pi(o,a) with lambda = "
    "1, for every policy.",
    verdict="proved",
    steps=(
        machine(
            "givens",
            "the means of the targets below over the states behind o are the code's values of "
            "TD(lambda), lambda = 0, 1/2 and 1, in a task with chance",
        ),
        machine("any size", "At lambda = 0 the target is r + gamma v(o'), at 1 q_pi solves it."),
        machine("unique", "At lambda = 1 two solutions differ by at most E rho_n, for every n."),
        machine("td", "At lambda = 0 it is the one-step fixed point, on a task of symbols."),
        machine("mc", "At lambda = 1 it is q_pi(o,a), on a task of symbols."),
        machine("tasks", "So it is for the uniform policy of recall x OA1 and the variant x B1."),
    ),
)
def ends_of_lambda(
    proof: Proof,
    low: Any = 0,
    high: Any = 1,
    most: Any = 1,
    theory: Theory = TARGETS,
    two: Theory = TWO_SOLUTIONS,
    givens: Theory = TARGETS,
) -> Evidence:
    """Sums of any size. Then two steps that look alike, all six rewards, the policy and gamma
    symbols."""
    for lam in (Fraction(0), Fraction(1, 2), Fraction(1)):
        proof.step("givens", lambda_letters(lam, tuple(givens.given.items())))
    none = Theory({**theory.given, "lam": "lam == 0"}).shows(
        "lambda = 0",
        "x(s,a) == R(s,a) + gamma*sum[s1,o](p(s,a,s1)*om(s1,o)*w(o))",
        [("unfold", "x"), ("unfold", "lam")],
    )
    whole = Theory({**theory.given, "lam": "lam == 1"}).shows(
        "lambda = 1",
        "q(s,a) == R(s,a) + gamma*sum[s1,o](p(s,a,s1)*om(s1,o)"
        "*((1 - lam)*w(o) + lam*sum[a1](pi(o,a1)*q(s1,a1))))",
        [("unfold", "lam"), ("add", "q", "-1"), ("unfold", "v")],
    )
    proof.step("any size", trouble_with([none, whole]))
    few = [
        two.shows(
            "two solutions are close",
            f"E*rho(n,s) {sign} sum[o,a](om(s,o)*pi(o,a)*e(s,a)) >= 0",
            [
                ("unfold", "rho+"),
                ("unfold", "e"),
                ("less", 1, (("gamma+", {}), ("om+", {}), ("pi+", {}), ("p+", {}),
                             ("hypothesis", {"s": "s1"}))),
            ],
            base=[("unfold", "rho0"), ("less", 1, (("om+", {}), ("pi+", {}), (bound, {})))],
        )
        for sign, bound in (("-", "up"), ("+", "low"))
    ]  # fmt: skip
    proof.step("unique", trouble_with(few))
    P = symbolic_two_steps()
    pi = generic_policy(P)
    true, one = evaluate(P, pi), td_values(P, pi, n=1)
    at = {lam: td_values(P, pi, lam=lam) for lam in {low, high}}
    proof.step("td", _unlike(P, at[low].q, one.q))
    proof.step("mc", _unlike(P, at[high].q, true.q))
    for E in (augment(recall(), "OA1"), augment(recall_variant(), "B1")):
        u = uniform(E)
        exact = evaluate(E, u, exact=True).q
        proof.step("tasks", _unlike(E, td_values(E, u, lam=most, exact=True).q, exact))
        first = td_values(E, u, n=1, exact=True).q
        proof.step("tasks", _unlike(E, td_values(E, u, lam=0, exact=True).q, first))
    argument = text(
        "After (s, a) the target has the mean x(s,a) = r + gamma E[(1-lambda) w(o') + lambda "
        "x(s',a')], w(o) the values that are learned: at lambda = 0 it is r + gamma w(o'), that of "
        "one-step TD; at lambda = 1 it is Bellman's equation, which q_pi(s,a) solves, and two "
        "solutions differ by no more than E rho_n for every n, rho_n gamma^n times the chance of n "
        "more steps, which tends to 0 whenever values exist. Means over P(s|o) of the same targets "
        "are the same. All by sums of any size.",
        "TD(lambda)'s fixed point on observations, on two steps that look alike with symbols in "
        "the place of all rewards, the policy and gamma, equals at lambda = 0 that of one-step "
        "TD and at lambda = 1 the q-values themselves, identically. That the constant-step "
        "learner wanders about its fixed point is another matter.",
    )
    o, a = P.O[0], P.A[0]
    certificate = identity_certificate(
        "lambda = 1", str(at[high].q[o, a]), str(sympy.sympify(true.q[o, a]))
    )
    return proved(
        "both equalities hold for targets of any number of steps",
        argument,
        [none, whole, *few, certificate],
    )


def _unlike(P: POMDP, left: Any, right: Any) -> str | None:
    for o in P.O:
        for a in P.A:
            x, y = left[o, a], right[o, a]
            if (x is None) != (y is None) or (x is not None and not identical(x, y)):
                return f"at {o}, {a}: {x} and {y}"
    return None


ends_of_lambda.twin(
    "lambda and 1 - lambda exchanged",
    guards="givens",
    givens=TARGETS.replaced(x=TARGETS.given["x"].replace("(1 - lam)*w", "lam*w")),
)
ends_of_lambda.twin(
    "bootstrapping twice",
    guards="any size",
    theory=TARGETS.replaced(
        x="x(s,a) == R(s,a) + gamma*sum[s1,o](p(s,a,s1)*om(s1,o)"
        "*((2 - lam)*w(o) + lam*sum[a1](pi(o,a1)*x(s1,a1))))"
    ),
)
ends_of_lambda.twin(
    "solutions that need not be bounded", guards="unique", two=TWO_SOLUTIONS.without("up")
)
ends_of_lambda.twin("lambda = 1/2 as TD", guards="td", low=HALF)
ends_of_lambda.twin("lambda = 1/2 as Monte Carlo", guards="mc", high=HALF)
ends_of_lambda.twin("lambda = 9/10 on the tasks", guards="tasks", most=Fraction(9, 10))
