"""Checking at the door: whether rows are distributions and a POMDP is one. Every error names labels
and values."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from workbench.core.errors import ModelError
from workbench.core.numbers import Number, Numbers, is_symbolic
from workbench.core.rows import add_rows, own_rows

if TYPE_CHECKING:
    from workbench.core.pomdp import POMDP

SUM_TOLERANCE = 1e-9
"""How far a sum of float probabilities may lie from one. Exact probabilities must sum to one
exactly."""


def check(P: POMDP) -> None:
    """Raise a `ModelError` naming labels and values if `P` is not a POMDP. Nothing is ever
    renormalised."""
    _check_gamma(P.gamma)
    nA = len(P.A)

    def pair(row: int) -> str:
        return f"p(. | s={P.S.text(P.S[row // nA])}, a={P.A.text(P.A[row % nA])})"

    counts = np.diff(P.p.row_ptr)
    ended = np.repeat(P.terminal.mask, nA)
    if P.allowed is not None:
        _check_allowed(P, P.allowed, counts.reshape(-1, nA) > 0, pair)
    if (bad := np.flatnonzero(ended & (counts > 0))).size:
        raise ModelError(f"{pair(int(bad[0]))} has outcomes, but that state is terminal")
    if P.allowed is None and (bad := np.flatnonzero(~ended & (counts == 0))).size:
        raise ModelError(
            f"{pair(int(bad[0]))} has no outcomes; every action of a state that is not terminal "
            "needs one, unless `allowed` leaves it out"
        )
    check_rows(P.p.row_ptr, P.p.prob, pair)
    _check_rewards(P, pair)

    def state(row: int) -> str:
        return f"omega(. | s={P.S.text(P.S[row])})"

    if (bad := np.flatnonzero(np.diff(P.omega.row_ptr) == 0)).size:
        raise ModelError(f"{state(int(bad[0]))} has no observation")
    check_rows(P.omega.row_ptr, P.omega.prob, state)
    check_rows(
        np.array([0, len(P.S)]), P.mu.prob, lambda _: "mu(.)", lambda k: f"mu({P.S.text(P.S[k])})"
    )


def _check_allowed(
    P: POMDP, allowed: NDArray[np.bool_], has: NDArray[np.bool_], pair: Callable[[int], str]
) -> None:
    """Refuse states that have other actions than their observations allow. An agent knows what it
    may do from what it sees."""
    if allowed.shape != (len(P.O), len(P.A)):
        raise ModelError(
            f"allowed[o, a] needs the shape {(len(P.O), len(P.A))}, not {allowed.shape}"
        )
    entry_s = own_rows(P.omega.row_ptr)
    living = ~P.terminal.mask[entry_s]
    entry_s, entry_o = entry_s[living], P.omega.o[living]
    if (bad := np.flatnonzero(~allowed[entry_o].any(axis=1))).size:
        raise ModelError(f"no action is allowed at o={P.O.text(P.O[int(entry_o[bad[0]])])}")
    first = P.omega.o[P.omega.row_ptr[entry_s]]
    if (bad := np.flatnonzero((allowed[entry_o] != allowed[first]).any(axis=1))).size:
        s, o, other = (int(x[bad[0]]) for x in (entry_s, first, entry_o))
        raise ModelError(
            f"s={P.S.text(P.S[s])} may show o={P.O.text(P.O[o])} or o={P.O.text(P.O[other])}, "
            "which allow different actions: let each observation have a state of its own"
        )
    if (wrong := np.argwhere(has[entry_s] != allowed[entry_o])).size:
        k, a = wrong[0].tolist()
        s, o = int(entry_s[k]), int(entry_o[k])
        others = entry_s[(entry_o == o) & (has[entry_s, a] == allowed[o, a])]
        as_in = f", as in s={P.S.text(P.S[int(others[0])])}, which shows o too" * bool(len(others))
        what, but = ("outcomes", "not allowed") if has[s, a] else ("no outcomes", "allowed")
        raise ModelError(
            f"{pair(s * len(P.A) + a)} has {what}, but that action is {but} at "
            f"o={P.O.text(P.O[o])}{as_in}: what is allowed has to depend on what is seen"
        )


def _check_gamma(gamma: Number) -> None:
    if is_symbolic(gamma):
        return
    if not 0 <= gamma <= 1:  # NaN fails as well
        raise ModelError(f"gamma must lie in [0, 1], not {gamma}")


def _check_rewards(P: POMDP, pair: Callable[[int], str]) -> None:
    r = P.p.r
    if r.codes is None and (bad := np.flatnonzero(~np.isfinite(r.floats))).size:
        row = int(np.searchsorted(P.p.row_ptr, bad[0], side="right")) - 1
        raise ModelError(f"{pair(row)} holds the reward {r[int(bad[0])]}")


def check_rows(
    row_ptr: NDArray[np.int64],
    prob: Numbers,
    name: Callable[[int], str],
    entry: Callable[[int], str] | None = None,
) -> None:
    """Every row a distribution: finite, not negative, summing to one (exactly, where exact)."""

    def owner(k: int) -> str:
        return entry(k) if entry else name(int(np.searchsorted(row_ptr, k, side="right")) - 1)

    if prob.codes is None:
        if (bad := np.flatnonzero(~np.isfinite(prob.floats))).size:
            raise ModelError(f"{owner(int(bad[0]))} holds the probability {prob[int(bad[0])]}")
        if (bad := np.flatnonzero(prob.floats < 0)).size:
            raise ModelError(
                f"{owner(int(bad[0]))} holds the negative probability {prob[int(bad[0])]}"
            )
        sums = add_rows(row_ptr, prob.floats)
        filled = np.diff(row_ptr) > 0
        if (bad := np.flatnonzero(filled & (np.abs(sums - 1) > SUM_TOLERANCE))).size:
            raise ModelError(f"{name(int(bad[0]))} sums to {sums[bad[0]]:.12g}, not to 1")
        return
    for code, value in enumerate(prob.values):
        if not is_symbolic(value) and value < 0:
            where = np.flatnonzero(prob.codes == code)
            if where.size:
                raise ModelError(f"{owner(int(where[0]))} holds the negative probability {value}")
    _check_exact_sums(row_ptr, prob, name)


def _check_exact_sums(
    row_ptr: NDArray[np.int64], prob: Numbers, name: Callable[[int], str]
) -> None:
    """Exact rows: each distinct row is added up once, so a million equal rows cost one sum."""
    codes, values = prob.codes, prob.values
    assert codes is not None
    counts = np.diff(row_ptr)
    for length in np.unique(counts[counts > 0]).tolist():
        rows = np.flatnonzero(counts == length)
        block = codes[row_ptr[rows][:, None] + np.arange(length)]
        distinct, first = _distinct_rows(block)
        for members, i in zip(distinct, first, strict=True):
            which, times = np.unique(members, return_counts=True)
            total = sum(values[c] * n for c, n in zip(which.tolist(), times.tolist(), strict=True))
            if total != 1 and not (is_symbolic(total) and total.cancel() == 1):
                raise ModelError(f"{name(int(rows[i]))} sums to {total}, not to 1")


def _distinct_rows(block: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """The distinct rows of a 2-d array of codes, and where each occurs first."""
    packed = (
        np.ascontiguousarray(block)
        .view(np.dtype((np.void, block.dtype.itemsize * block.shape[1])))
        .ravel()
    )
    _, first = np.unique(packed, return_index=True)
    return block[first], first
