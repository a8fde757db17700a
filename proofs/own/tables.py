"""Tasks of two steps: random ones with chance (`two_step_task`), and tables. A table has one
observation, first action i, second action j, and reward r[i][j] at the end.

`loop_limits` runs the oracle loop with B(k) on many tables of two actions at once, straight from
the formulas (pi(i,w) at memory 0, the marginal of the second action at the others),

    q(0; i,w) (1 + p_0)  =  sum_j m_w(j) r[i][j]  +  sum_i' pi(i',0) r[i'][i]    p_0 = sum_i pi(i,0)
    q(m; j)              =  sum_i pi(i,m) r[i][j] / p_m

with m_w the marginal at memory w; for w = 0 that of pi itself. It shares no code with `improve`.
"""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench import POMDP, augment, best_history, improve, uniform

NEAR = 1e-12
"""Differences of q-values up to this are ties."""


def table_task(table: Any) -> POMDP:
    """The task of a table, whose entries may be symbols.

    >>> table_task([[5, 4], [0, 6]]).p("s1", 1)
    {('end', Fraction(6, 1)): Fraction(1, 1)}
    """

    def p(s: str, a: int) -> dict[tuple[str, Any], int]:
        return {(f"s{a}", 0): 1} if s == "s" else {("end", table[int(s[1:])][a]): 1}

    return POMDP.from_functions(
        name="two steps",
        A=tuple(range(len(table))),
        p=p,
        omega=lambda s: {"o": 1},
        mu={"s": 1},
        gamma=1,
        terminal={"end"},
    )


def two_step_task(seed: int) -> POMDP:
    """A random task of at most two steps. It has two or three observations, two or three actions,
    and a discount. Starts, observations, moves and early ends are left to chance."""
    dice = random.Random(seed)
    A = tuple(range(dice.choice((2, 3))))
    O = "xyz"[: dice.choice((2, 3))]

    def spread(labels: Any) -> dict[Any, Fraction]:
        weights = [dice.randint(0, 3) for _ in labels]
        weights[dice.randrange(len(weights))] += 1
        return {x: Fraction(w, sum(weights)) for x, w in zip(labels, weights, strict=True) if w}

    first, second = ("s0", "s1"), ("t0", "t1", "t2")
    omega = {s: spread(O) for s in (*first, *second)} | {"end": {O[0]: Fraction(1)}}
    moves = {
        (s, a): {(t, dice.randint(-3, 3)): x for t, x in spread((*second, "end")).items()}
        for s in first
        for a in A
    } | {(t, a): {("end", dice.randint(-5, 5)): 1} for t in second for a in A}
    return POMDP.from_functions(
        name=f"two steps, seed {seed}",
        A=A,
        p=lambda s, a: moves[s, a],
        omega=omega.__getitem__,
        mu=spread(first),
        gamma=dice.choice((Fraction(1), Fraction(19, 20), Fraction(1, 2))),
        terminal={"end"},
    )


def gap_to_best(P: POMDP, memory: str, ties: str = "last") -> Fraction | None:
    """The best history-based value less the limit of the loop, in rationals. Steps of 1/2.

    None if the run does not decide where the loop goes.
    """
    E = augment(P, memory)
    run = improve(E, uniform(E), step=Fraction(1, 2), ties=ties, exact=True, budget=60)
    if not run.decided or run.limit_value is None:
        return None
    return Fraction(best_history(P, exact=True).value - run.limit_value)


def loop_limits(tables: NDArray[Any], K: int, step: float, iterates: int) -> NDArray[np.float64]:
    """The values of the loop's last iterates: `tables[n, i, j]`, K memory states, ties to the
    higher write and then to the lower action.

    >>> loop_limits(np.array([[[5, 4], [0, 6]]]), 2, 0.01, 500).round(1).tolist()
    [5.0]
    """
    r = np.asarray(tables, dtype=float)
    every = np.arange(len(r))
    pi = np.full((len(r), 2, K), 1 / (2 * K))
    second = np.full((len(r), K, 2), 0.5)
    for _ in range(iterates):
        second[:, 0] = pi.sum(axis=2)
        q = (
            np.einsum("nij,nwj->niw", r, second)
            + np.einsum("ni,nij->nj", pi[:, :, 0], r)[..., None]
        )
        best = q.max(axis=(1, 2), keepdims=True)
        good = q >= best - NEAR
        w = K - 1 - np.argmax(good.any(axis=1)[:, ::-1], axis=1)
        i = np.argmax(good[every, :, w], axis=1)
        lead = np.einsum("nim,nij->nmj", pi, r)
        j = (lead[..., 1] > lead[..., 0] + NEAR * pi.sum(axis=1)).astype(int)
        second *= 1 - step
        np.put_along_axis(
            second, j[..., None], np.take_along_axis(second, j[..., None], 2) + step, 2
        )
        pi *= 1 - step
        pi[every, i, w] += step
    second[:, 0] = pi.sum(axis=2)
    return np.einsum("niw,nij,nwj->n", pi, r, second)


def tables_up_to(largest: int) -> NDArray[np.int64]:
    """All tables of two actions with entries 0, ..., largest, one of them 0."""
    grid = np.indices((largest + 1,) * 4).reshape(4, -1).T
    return grid[grid.min(axis=1) == 0].reshape(-1, 2, 2)
