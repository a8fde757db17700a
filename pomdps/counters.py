"""Tasks in which something has to be counted or combined: periods, parity, distance from a wall."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

from pomdps.task import task
from workbench.core.errors import WorkbenchError
from workbench.core.numbers import Number
from workbench.core.pomdp import POMDP

_HALF = Fraction(1, 2)


@task(
    title="A chain in the dark whose right action changes ever more rarely",
    text="States 1, 2, 3, ...; the right action pays 1 and moves on, the wrong one pays -1 and "
    "leads back to 1. It is 0 in the states n(n+1)/2 + 1, n = 0, 1, 2, ..., and 1 elsewhere. The "
    "last state moves on to itself.",
    source="Sinha, Geist and Mahajan 2024, Example 1",
    known={"states": 60, "observations": 1, "actions": 2, "best": 10},
)
def periodic_counter(n: int = 60, gamma: Number = Fraction(9, 10)) -> POMDP:
    """The chain on which periodic policies beat stationary ones, cut off after n states.

    >>> periodic_counter()
    POMDP periodic counter: 60 states, 1 observation, 2 actions, 120 outcomes, gamma 9/10
    """
    if n < 2:
        raise WorkbenchError(f"the chain needs at least two states, not {n}")
    zero = {k * (k + 1) // 2 + 1 for k in range(n)}

    def p(s: int, a: int) -> dict[tuple[int, int], int]:
        right = a == (0 if s in zero else 1)
        return {(min(s + 1, n), 1) if right else (1, -1): 1}

    return POMDP.from_functions(
        name="periodic counter",
        A=(0, 1),
        p=p,
        omega=lambda s: {"o": 1},
        mu={1: 1},
        gamma=gamma,
        S=range(1, n + 1),
    )


@task(
    title="Two coins are shown one after the other; then say whether they agree",
    text="Each coin is shown for one step, whatever is done; at the junction up pays 1 if the "
    "coins agree and -1 if not, down the other way round. A state is the step with both coins.",
    source="Allen et al. 2024",
    known={"states": 13, "observations": 6, "actions": 2, "best": Fraction(81, 100)},
)
def parity_check(gamma: Number = Fraction(9, 10), zero: Number = _HALF) -> POMDP:
    """The parity check: no TD(lambda) differs from another on it, whatever the policy.

    Parameters
    ----------
    zero : the probability that a coin shows 0; with another than 1/2 the coins are not fair.

    >>> parity_check()
    POMDP parity check: 13 states (1 terminal), 6 observations, 2 actions, 24 outcomes, gamma 9/10
    """

    side = (zero, 1 - zero)

    def p(s: tuple[int, int, int], a: str) -> dict[tuple[object, int], int]:
        step, first, second = s
        if step < 2:
            return {((step + 1, first, second), 0): 1}
        right = "up" if first == second else "down"
        return {("end", 1 if a == right else -1): 1}

    def omega(s: object) -> dict[str, int]:
        if not isinstance(s, tuple):
            return {"end": 1}
        step, first, second = s
        return {("junction" if step == 2 else f"coin {step + 1}: {(first, second)[step]}"): 1}

    return POMDP.from_functions(
        name="parity check",
        A=("up", "down"),
        p=p,
        omega=omega,
        mu={
            (0, first, second): side[first] * side[second]
            for first, second in product((0, 1), repeat=2)
        },
        gamma=gamma,
        terminal={"end"},
    )


@task(
    title="Float and reset: no window of observations tells the state",
    text="Five cells. Float drifts one cell to either side with probability 1/2, the ends hold, "
    "and shows 0. Reset goes to the right end and shows, and pays, 1 if it was there already. A "
    "state is the cell with what was shown last.",
    source="Littman, Sutton and Singh 2001; the reward is ours",
    known={"states": 6, "observations": 2, "actions": 2, "best": 10},
)
def float_reset(n: int = 5, gamma: Number = Fraction(9, 10)) -> POMDP:
    """The float-reset problem with n cells, starting at the right end.

    >>> float_reset()
    POMDP float reset: 6 states, 2 observations, 2 actions, 18 outcomes, gamma 9/10
    """
    if n < 2:
        raise WorkbenchError(f"float-reset needs at least two cells, not {n}")
    last = n - 1

    def p(s: tuple[int, int], a: str) -> dict[tuple[tuple[int, int], int], Number]:
        cell, _ = s
        if a == "reset":
            there = int(cell == last)
            return {((last, there), there): 1}
        found: dict[tuple[tuple[int, int], int], Number] = {}
        for drifted in (max(cell - 1, 0), min(cell + 1, last)):
            outcome = (drifted, 0), 0
            found[outcome] = found.get(outcome, 0) + _HALF
        return found

    return POMDP.from_functions(
        name="float reset",
        A=("float", "reset"),
        p=p,
        omega=lambda s: {s[1]: 1},
        mu={(last, 0): 1},
        gamma=gamma,
    )
