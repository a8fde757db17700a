"""The letters of proofs that speak of times, histories and lengths, read off the workbench's own
tasks.

A proof for tasks of any size starts from formulas between letters. `walk_letters` and
`history_letters` put numbers in the place of the letters, and `theory.Interpretation` says which
formula does not hold: chances at time n are counted by walking through p and omega, lengths of
episodes are values that `evaluate` finds where each step pays 1, best values are those of
`best_history`. So a formula that is not about the code's objects is seen.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any

from workbench import POMDP, Policy, evaluate
from workbench.core.improve import Iterate, iterates
from workbench.core.policy import uniform

ZERO = Fraction(0)


def loop_iterates(E: POMDP, step: Fraction, many: int) -> list[Iterate]:
    """The first iterates of the code's own loop from the uniform policy, in rationals."""
    stream = iterates(E, uniform(E), step=step, exact=True)
    return [one for one, _ in zip(stream, range(many), strict=False)]


def loop_leaves(E: POMDP, step: Fraction, due: Callable[[int], Policy], many: int) -> str | None:
    """Say where the first iterates of the code's loop are not the policies due(0), due(1), ..."""
    for n, one in enumerate(loop_iterates(E, step, many)):
        told = due(n)
        for o, a in product(E.O, E.A):
            if one.pi[o, a] != told[o, a]:
                return f"{E.name}, step {step}, iterate {n}: {one.pi[o, a]} of {a} at {o}"
    return None


def with_step_rewards(P: POMDP, pays: Callable[[Any], Fraction], discount: Fraction) -> POMDP:
    """The task in which a step from s pays pays(s)."""
    return POMDP.from_functions(
        name=f"{P.name}, other rewards", A=P.A, omega=P.omega, mu=dict(P.mu.items()),
        p=lambda s, a: _joined(P, s, a, pays(s)), gamma=discount,
        terminal=lambda s: s in P.terminal,
    )  # fmt: skip


def _joined(P: POMDP, s: Any, a: Any, paid: Fraction) -> dict[tuple[Any, Any], Any]:
    found: dict[tuple[Any, Any], Any] = {}
    for (t, _), x in P.p(s, a).items():
        found[t, paid] = found.get((t, paid), 0) + x
    return found


def walk_letters(P: POMDP, pi: Policy, z: Fraction) -> Mapping[str, Any]:
    """Letters of a walk under a policy. Visits are discounted by z.

    alpha(n,s) the chance of s at time n, beta(n,s) = z^n alpha, D and F visits and discounted
    visits before time n, C what was paid before, rho gamma^n times the chance of going on for n
    steps from s, l the mean number of steps from s and k that of those still to come, summed over
    all times, both discounted by z; f(n) = n, g(n) = gamma^n, h one over it.
    """
    going = [s for s in P.S if s not in P.terminal]

    def onward(weights: Mapping[Any, Fraction]) -> dict[Any, Fraction]:
        found: dict[Any, Fraction] = {}
        for s, x in weights.items():
            for o, y in P.omega(s).items():
                for a in P.A:
                    for (t, _), c in P.p(s, a).items():
                        if t not in P.terminal:
                            found[t] = found.get(t, ZERO) + x * y * pi[o, a] * c
        return found

    @cache
    def at(n: int) -> dict[Any, Fraction]:
        return {s: Fraction(x) for s, x in P.mu.items() if x} if n == 0 else onward(at(n - 1))

    @cache
    def chance(n: int, s: Any) -> Fraction:
        weights = {s: Fraction(1)}
        for _ in range(n):
            weights = onward(weights)
        return sum(weights.values(), ZERO)

    def alpha(n: int, s: Any) -> Fraction:
        return at(n).get(s, ZERO)

    def paid(n: int) -> Fraction:
        return sum(
            (x * y * pi[o, a] * c * r
             for s, x in at(n).items() for o, y in P.omega(s).items() for a in P.A
             for (_, r), c in P.p(s, a).items()),
            ZERO,
        )  # fmt: skip

    def worth(pays: Callable[[Any], Fraction]) -> dict[Any, Fraction]:
        v = evaluate(with_step_rewards(P, pays, z), pi, exact=True).v
        return {s: v[s] for s in going}

    length = worth(lambda s: Fraction(1))
    still = worth(length.__getitem__)
    return {
        "alpha": alpha,
        "beta": lambda n, s: z**n * alpha(n, s),
        "g": lambda n: P.gamma**n,
        "h": lambda n: 1 / Fraction(P.gamma) ** n,
        "f": lambda n: n,
        "C": lambda n: sum((P.gamma**i * paid(i) for i in range(n)), ZERO),
        "D": lambda n, s: sum((z**i * alpha(i, s) for i in range(n)), ZERO),
        "F": lambda n, s: sum((P.gamma**i * alpha(i, s) for i in range(n)), ZERO),
        "rho": lambda n, s: P.gamma**n * chance(n, s),
        "l": length.__getitem__,
        "k": still.__getitem__,
        "K": sum((x * still[s] for s, x in P.mu.items() if x), ZERO),
        "z": z,
    }


class Histories:
    """The letters of proofs about histories o_0, a_0, o_1, ..., up to a number of actions.

    H are the histories, on(h,a,o,h1) says that h1 is h, a, o (nothing goes on from the longest
    ones), x(h,s) is the chance of s and of the observations of h given its actions, r(h,a) the
    reward with these weights, B and F the best values with these weights, any number of steps.
    """

    def __init__(self, P: POMDP, actions: int):
        self.P, self.actions = P, actions
        self.going = [s for s in P.S if s not in P.terminal]
        self.H: list[tuple[Any, ...]] = [(o,) for o in P.O]
        for h in self.H:
            if len(h) < 2 * actions:
                self.H += [(*h, a, o) for a in P.A for o in P.O]
        self.weights = {(o,): self._start(o) for o in P.O}
        for h in self.H[len(P.O) :]:
            self.weights[h] = self._after(self.weights[h[:-2]], h[-2], h[-1])

    def _start(self, o: Any) -> dict[Any, Fraction]:
        return {s: Fraction(x) * P_o for s, x in self.P.mu.items()
                if x and (P_o := self.P.omega(s).get(o, 0))}  # fmt: skip

    def _after(self, weights: dict[Any, Fraction], a: Any, o: Any) -> dict[Any, Fraction]:
        found: dict[Any, Fraction] = {}
        for s, x in weights.items():
            for (t, _), y in self.P.p(s, a).items():
                if t not in self.P.terminal and (z := self.P.omega(t).get(o, 0)):
                    found[t] = found.get(t, ZERO) + x * y * z
        return found

    def on(self, h: Any, a: Any, o: Any, h1: Any) -> int:
        """1 if h1 is h, a, o."""
        return int(h1 == (*h, a, o))

    def x(self, h: Any, s: Any) -> Fraction:
        """The chance of s and the observations of h."""
        return self.weights[h].get(s, ZERO)

    def reward(self, s: Any, a: Any) -> Fraction:
        """The mean reward of a in s."""
        return sum((y * r for (_, r), y in self.P.p(s, a).items()), ZERO)

    def r(self, h: Any, a: Any) -> Fraction:
        """The mean reward of a after h, times the chance of h."""
        return sum((x * self.reward(s, a) for s, x in self.weights[h].items()), ZERO)

    @cache  # noqa: B019 - kept as long as the letters are
    def B(self, n: int, h: Any) -> Fraction:
        """The best of n more steps after h, times the chance of h."""
        return max(self.F(n - 1, h, a) for a in self.P.A) if n else ZERO

    def F(self, n: int, h: Any, a: Any) -> Fraction:
        """An action, and then the best of n more steps."""
        later = ((*h, a, o) for o in self.P.O)
        return self.r(h, a) + self.P.gamma * sum(
            (self.B(n, h1) for h1 in later if h1 in self.weights), ZERO
        )

    def worth(self, act: Callable[..., Any], n: int, s: Any, h: Any) -> Fraction:
        """What n more steps of a policy act(n - 1, h, a) pay in s after h, by walking."""
        if n == 0:
            return ZERO
        total = ZERO
        for a in self.P.A:
            if not (chance := act(n - 1, h, a)):
                continue
            for (t, paid), y in self.P.p(s, a).items():
                later = ZERO
                for o, z in self.P.omega(t).items() if t not in self.P.terminal else ():
                    if (*h, a, o) in self.weights:
                        later += z * self.worth(act, n - 1, t, (*h, a, o))
                total += chance * y * (paid + self.P.gamma * later)
        return total

    def letters(self) -> dict[str, Any]:
        """The letters that do not speak of a policy."""
        P = self.P
        return {
            "R": self.reward, "gamma": P.gamma, "on": self.on, "x": self.x, "r": self.r,
            "B": self.B, "F": self.F, "om": lambda s, o: Fraction(P.omega(s).get(o, 0)),
            "p": lambda s, a, t: sum((y for (u, _), y in P.p(s, a).items() if u == t), ZERO),
        }  # fmt: skip
