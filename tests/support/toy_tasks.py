"""Small tasks of the tests' own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import Any

from workbench import POMDP, Policy


def small_task(
    name: str,
    p: Callable[[Any, Any], Mapping],
    start: Any,
    *,
    A: Iterable = (0, 1),
    omega: Callable[[Any], Mapping] = lambda s: {"o": 1},
    gamma: Any = 1,
    terminal: Any = lambda s: s == "end",
    **more: Any,
) -> POMDP:
    """A task in as few words as it takes: states look alike, and episodes end in "end", unless
    told otherwise.

    Parameters
    ----------
    start : the distribution of the first state, or that state.
    """
    mu = start if isinstance(start, Mapping) else {start: 1}
    return POMDP.from_functions(
        name=name, A=A, p=p, omega=omega, mu=mu, gamma=gamma, terminal=terminal, **more
    )


def task_like(P: POMDP, name: str, **changes: Any) -> POMDP:
    """The same task but for what is given."""
    same = {"A": P.A, "p": P.p, "omega": P.omega, "mu": dict(P.mu.items()), "gamma": P.gamma}
    ended = P.terminal.__contains__
    return POMDP.from_functions(name=name, **{**same, "terminal": ended, **changes})


def habit() -> POMDP:
    """Two rooms that look alike: whoever does the same twice is paid, more for r than for l."""
    pay = {("l", "l"): 1, ("r", "r"): 3, ("l", "r"): -9, ("r", "l"): -9}
    return small_task(
        "habit", lambda s, a: {("end", pay[s, a]) if s else (a, 0): 1}, "", A=["l", "r"]
    )


def doors() -> POMDP:
    """Go left or right, then open the door, or go back. The left one pays 3, the right one costs 1;
    what was done is not seen. Doors can only be opened where one stands."""

    def p(s, a):
        if s == "start":
            return {
                (a, 0): Fraction(3, 4),
                ("left" if a == "right" else "right", 0): Fraction(1, 4),
            }
        if a == "back":
            return {("start", Fraction(-1, 2)): 1}
        return {("end", 3 if s == "left" else -1): 1}

    return POMDP.from_functions(
        name="doors",
        A=["left", "right", "back", "open"],
        p=p,
        omega=lambda s: {{"start": "hall", "end": "over"}.get(s, "door"): 1},
        mu={"start": 1},
        gamma=Fraction(9, 10),
        terminal={"end"},
        allowed=lambda o: ["left", "right"] if o == "hall" else ["back", "open"],
    )


def a_coin_known_to_three_digits() -> tuple[POMDP, Policy, Policy]:
    """Stop with -1 or go on with 1, each half of the time, and the worst policy that rounds to
    that."""
    P = POMDP.from_functions(
        name="coin",
        A=["stop", "go"],
        p=lambda s, a: {("end", -1): 1} if a == "stop" else {(0, 1): 1},
        omega=lambda s: {s: 1},
        mu={0: 1},
        gamma=1,
        terminal={"end"},
    )
    known, worst = (
        Policy.from_mapping(P, {0: {"stop": stop, "go": 1 - stop}})
        for stop in (0.5, Fraction(999, 2000))
    )
    return P, known, worst
