"""The smallest partially observable tasks: two states that look alike, two actions, episodes of at
most two steps.

    first    either action ends the episode or leads to "second"
    second   either action ends the episode

With a policy pi(r) = p the return is a polynomial of degree at most 2 in p, and so it is along any
step of the oracle loop; it is written out here, and the checker and the evaluator agree with it.
One state fewer is a fully observed task, one action fewer leaves nothing to choose: where these
tasks give a counterexample, none is smaller.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

from workbench import POMDP

A = ("l", "r")


@dataclass(frozen=True)
class Tiny:
    """A task: whether each action goes on from `first`, the rewards r(first,l), r(first,r),
    r(second,l), r(second,r)."""

    goes_on: tuple[bool, ...]
    rewards: tuple[int, ...]
    gamma: Fraction
    visible: bool = False

    def p(self, s: str, a: str) -> dict[tuple[str, int], int]:
        i = A.index(a)
        if s == "first":
            return {("second" if self.goes_on[i] else "end", self.rewards[i]): 1}
        return {("end", self.rewards[2 + i]): 1}

    def omega(self, s: str) -> dict[str, int]:
        return {s if self.visible and s != "end" else "o": 1}

    @property
    def model(self) -> POMDP:
        """As a POMDP."""
        return POMDP.from_functions(
            name="two alike",
            A=A,
            p=self.p,
            omega=self.omega,
            mu={"first": 1},
            gamma=self.gamma,
            terminal={"end"},
        )

    def worth(self, pi: dict[str, Fraction]) -> Fraction:
        """The return when r is taken with probability pi[s]."""
        later = (1 - pi["second"]) * self.rewards[2] + pi["second"] * self.rewards[3]
        now = [self.rewards[i] + self.gamma * self.goes_on[i] * later for i in (0, 1)]
        return (1 - pi["first"]) * now[0] + pi["first"] * now[1]

    def table(self) -> list[list[Any]]:
        """State, action, reward, next state."""
        return [[s, a, r, t] for s in ("first", "second") for a in A for (t, r) in self.p(s, a)]


def tiny_tasks(largest: int, gammas: tuple[Fraction, ...], visible: bool = False) -> Iterator[Tiny]:
    """All of them with rewards 0, ..., largest and at least one reward `largest`."""
    for gamma, goes_on in product(gammas, product((True, False), repeat=2)):
        for rewards in product(range(largest + 1), repeat=4):
            if max(rewards) == largest:
                yield Tiny(goes_on, rewards, gamma, visible)


def returns_along_a_step(
    one: Tiny, p: Fraction, discounted: bool
) -> tuple[Fraction, Fraction, Fraction, bool]:
    """Coefficients of 1, eps, eps^2 in the return after a step eps towards greedy, and whether
    q-values tie somewhere.

    q(first,a) = r(first,a) + gamma on(a) v(second), q(second,a) = r(second,a), and P(s|o) is 1 : d
    if the two look alike, d = P(on), times gamma if discounted. Ties go to l.
    """
    pi = {"first": p, "second": p}
    d = (1 - p) * one.goes_on[0] + p * one.goes_on[1]
    d *= one.gamma if discounted else 1
    second = one.rewards[2:]
    v = (1 - p) * second[0] + p * second[1]
    first = [one.rewards[i] + one.gamma * one.goes_on[i] * v for i in (0, 1)]
    apart = {"first": first[1] - first[0], "second": Fraction(second[1] - second[0])}
    if not one.visible:
        apart = dict.fromkeys(apart, (apart["first"] + d * apart["second"]) / (1 + d))
    seen = ("first", "second") if d or not one.visible else ("first",)
    to = {s: Fraction(apart[s] > 0) if s in seen else p for s in pi}

    def after(eps: Fraction) -> Fraction:
        return one.worth({s: (1 - eps) * x + eps * to[s] for s, x in pi.items()})

    before, half, whole = after(Fraction(0)), after(Fraction(1, 2)), after(Fraction(1))
    bend = 2 * (whole - 2 * half + before)
    return before, whole - before - bend, bend, any(apart[s] == 0 for s in seen)
