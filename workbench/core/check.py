"""Checking at the door: whether rows are distributions and a POMDP is one. Every error names labels
and values."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from workbench.core.errors import ModelError
from workbench.core.numbers import Numbers, is_symbolic
from workbench.core.rows import add_rows

if TYPE_CHECKING:
    from workbench.core.pomdp import POMDP

SUM_TOLERANCE = 1e-9
"""How far a sum of float probabilities may lie from one. Exact probabilities must sum to one
exactly."""


def check(P: POMDP) -> None:
    """Raise a `ModelError` naming labels and values if `P` is not a POMDP. Nothing is ever
    renormalised."""
    if not is_symbolic(P.gamma) and not 0 <= P.gamma <= 1:  # NaN fails as well
        raise ModelError(f"gamma must lie in [0, 1], not {P.gamma}")
    nA = len(P.A)

    def pair(row: int) -> str:
        return f"p(. | s={P.S.text(P.S[row // nA])}, a={P.A.text(P.A[row % nA])})"

    def state(row: int) -> str:
        return f"omega(. | s={P.S.text(P.S[row])})"

    has = np.diff(P.p.row_ptr) > 0
    ended = np.repeat(P.terminal.mask, nA)
    if P.allowed is not None:
        _check_allowed(P, P.allowed, has.reshape(-1, nA), pair)
    _refuse(ended & has, lambda row: f"{pair(row)} has outcomes, but that state is terminal")
    if P.allowed is None:
        _refuse(
            ~ended & ~has,
            lambda row: (
                f"{pair(row)} has no outcomes; every action of a state that is not terminal "
                "needs one, unless `allowed` leaves it out"
            ),
        )
    check_rows(P.p.row_ptr, P.p.prob, pair)
    if P.p.r.codes is None:
        _refuse(
            ~np.isfinite(P.p.r.floats),
            lambda k: f"{pair(_row(P.p.row_ptr, k))} holds the reward {P.p.r[k]}",
        )
    _refuse(np.diff(P.omega.row_ptr) == 0, lambda row: f"{state(row)} has no observation")
    check_rows(P.omega.row_ptr, P.omega.prob, state)
    check_rows(
        np.array([0, len(P.S)]), P.mu.prob, lambda _: "mu(.)", lambda k: f"mu({P.S.text(P.S[k])})"
    )


def _refuse(bad: NDArray[np.bool_], message: Callable[[int], str]) -> None:
    """Raise an error about the first place of a mask."""
    if bad.any():
        raise ModelError(message(int(bad.argmax())))


def _row(row_ptr: NDArray[np.int64], k: int) -> int:
    return int(np.searchsorted(row_ptr, k, side="right")) - 1


def _check_allowed(
    P: POMDP, allowed: NDArray[np.bool_], has: NDArray[np.bool_], pair: Callable[[int], str]
) -> None:
    """Refuse states that have other actions than their observations allow. An agent knows what it
    may do from what it sees."""
    if allowed.shape != (len(P.O), len(P.A)):
        raise ModelError(
            f"allowed[o, a] needs the shape {(len(P.O), len(P.A))}, not {allowed.shape}"
        )
    entry_s = P.omega.s
    living = ~P.terminal.mask[entry_s]
    entry_s, entry_o = entry_s[living], P.omega.o[living]

    def seen(k: int) -> str:
        return f"o={P.O.text(P.O[k])}"

    _refuse(~allowed[entry_o].any(axis=1), lambda k: f"no action is allowed at {seen(entry_o[k])}")
    first = P.omega.o[P.omega.row_ptr[entry_s]]
    _refuse(
        (allowed[entry_o] != allowed[first]).any(axis=1),
        lambda k: (
            f"s={P.S.text(P.S[entry_s[k]])} may show {seen(first[k])} or {seen(entry_o[k])}, "
            "which allow different actions: let each observation have a state of its own"
        ),
    )
    if (wrong := np.argwhere(has[entry_s] != allowed[entry_o])).size:
        k, a = wrong[0].tolist()
        s, o = int(entry_s[k]), int(entry_o[k])
        others = entry_s[(entry_o == o) & (has[entry_s, a] == allowed[o, a])]
        as_in = f", as in s={P.S.text(P.S[int(others[0])])}, which shows o too" * bool(len(others))
        what, but = ("outcomes", "not allowed") if has[s, a] else ("no outcomes", "allowed")
        raise ModelError(
            f"{pair(s * len(P.A) + a)} has {what}, but that action is {but} at {seen(o)}{as_in}: "
            "what is allowed has to depend on what is seen"
        )


def check_rows(
    row_ptr: NDArray[np.int64],
    prob: Numbers,
    name: Callable[[int], str],
    entry: Callable[[int], str] | None = None,
) -> None:
    """Every row a distribution: finite, not negative, summing to one (exactly, where exact)."""

    def owner(k: int) -> str:
        return entry(k) if entry else name(_row(row_ptr, k))

    if prob.codes is None:
        _refuse(~np.isfinite(prob.floats), lambda k: f"{owner(k)} holds the probability {prob[k]}")
    _refuse(
        prob.negatives,
        lambda k: f"{owner(k)} holds the negative probability {prob[k]}",
    )
    is_float, symbols, one = prob.codes is None, prob.symbols, 1
    if is_float or symbols:
        entries = prob.floats if is_float else prob.objects
    else:
        # whole numbers over one denominator, so that a million rows cost one pass of integers
        one = math.lcm(*(x.denominator for x in prob.values))
        values = [int(x * one) for x in prob.values]
        longest = int(np.diff(row_ptr).max(initial=1))
        kind = np.int64 if max(map(abs, values), default=0) * longest < 1 << 62 else object
        entries = np.array(values, dtype=kind)[prob.codes]
    sums = add_rows(row_ptr, entries, np.zeros(len(row_ptr) - 1, dtype=entries.dtype))
    if symbols:
        other = {x for x in sums if x != 1 and not (is_symbolic(x) and x.cancel() == 1)}
        differ = np.array([x in other for x in sums])
    else:
        differ = abs(sums - one) > (SUM_TOLERANCE if is_float else 0)

    def told(row: int) -> Any:
        if is_float:
            return f"{sums[row]:.12g}"
        return prob.take(slice(row_ptr[row], row_ptr[row + 1])).objects.sum()

    _refuse(
        differ & (np.diff(row_ptr) > 0), lambda row: f"{name(row)} sums to {told(row)}, not to 1"
    )
