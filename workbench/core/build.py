"""`POMDP.from_functions`: a breadth-first walk from mu discovers S and O. `check`: is it a POMDP?

The walk builds compressed rows and leaves the judging to `check`. What it alone can see, it refuses
itself: a function that returns something else than a distribution, a label that nobody declared.
Every error names labels and values.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from workbench.core.asked import Asked, Met, require_function
from workbench.core.errors import ModelError, UnknownLabel, WrongType
from workbench.core.numbers import Number, Numbers, frozen, is_symbolic
from workbench.core.rows import Emissions, Transitions, add_rows
from workbench.core.space import Distribution, Label, Space, StateSet

if TYPE_CHECKING:
    from workbench.core.pomdp import POMDP

SUM_TOLERANCE = 1e-9
"""How far a sum of float probabilities may lie from one. Exact probabilities must sum to one
exactly."""

_MOST_STATES = 5_000_000
"""A walk that has discovered more states is taken for one without end."""


def discover(
    A: Iterable[Label],
    p: Callable[[Label, Label], Mapping[tuple[Label, Number], Number]],
    omega: Callable[[Label], Mapping[Label, Number]],
    mu: Mapping[Label, Number],
    terminal: Iterable[Label] | Callable[[Label], bool],
    S: Iterable[Label] | None,
    O: Iterable[Label] | None,
    allowed: Callable[[Label], Iterable[Label]] | None,
) -> dict[str, Any]:
    """The fields of the POMDP. Actions and outcomes come in the order in which they are written."""
    A_ = Space(A)
    actions = tuple(A_)
    require_function("p", p, "a distribution")
    require_function("omega", omega, "a distribution")
    if allowed is not None:
        require_function("allowed", allowed, "a set")
    if isinstance(terminal, str):
        raise WrongType(
            f"terminal must be a set of labels or a function, not the single string {terminal!r}"
        )
    ends = () if callable(terminal) else tuple(terminal)
    is_over = Asked(
        terminal if callable(terminal) else frozenset(ends).__contains__, "terminal(s={})"
    )
    moves = Asked(p, "p(. | s={}, a={})", "(s_next, r)", "outcomes")
    emits = Asked(omega, "omega(. | s={})", "o", "observation")
    may = Asked(allowed, "allowed({})")
    begins = Asked(lambda: mu, "mu(.)", "s", "states: an episode needs one to start in")
    endless = (
        f"more than {_MOST_STATES:,} states were discovered; the last one is ",
        ": bound the model",
    )
    states, seen = Met(S, _MOST_STATES, endless), Met(O)
    for s, x in mu.items() if isinstance(mu, Mapping) else ():
        Asked(mu, "mu({})").number(x, s)
    start = {states.index(s, Asked(mu, "mu")): x for s, x in begins.outcomes()}

    row_ptr, s_next, r, prob = [0], [], [], []
    o_ptr, o_col, o_prob = [0], [], []
    ended: list[bool] = []
    table: dict[int, NDArray[np.bool_]] = {}
    everything = np.ones(len(A_), dtype=bool)
    for s in states.labels:  # grows while we walk
        for o, x in emits.outcomes(s):
            o_col.append(seen.index(o, emits, s))
            o_prob.append(x)
        ended.append(bool(is_over(s)))
        here = everything
        if allowed is not None and not ended[-1]:
            for i in o_col[o_ptr[-1] :]:
                if i not in table:
                    table[i] = may.choice(A_, seen.labels[i])
                here = table[i]  # `check` refuses states whose observations differ in this
        o_ptr.append(len(o_col))
        for a, may_be_taken in zip(actions, here.tolist(), strict=True):
            for outcome, x in moves.outcomes(s, a) if may_be_taken and not ended[-1] else ():
                if not isinstance(outcome, tuple) or len(outcome) != 2:
                    raise WrongType(
                        f"{moves.at(s, a)}: an outcome is a pair (s_next, r), not {outcome!r}"
                    )
                s_next.append(states.index(outcome[0], moves, s, a))
                r.append(moves.number(outcome[1], s, a))
                prob.append(x)
            row_ptr.append(len(s_next))

    S_, O_ = states.space(), seen.space()
    for label in ends:
        if label not in S_:
            raise UnknownLabel(
                f"terminal: {S_._unknown(label)} (a terminal state must be reachable; "
                "a function that says whether a state is terminal may speak of others too)"
            )
    pointers = [frozen(np.array(x, dtype=np.int64)) for x in (row_ptr, o_ptr)]
    columns = [frozen(np.array(x, dtype=np.int32)) for x in (s_next, o_col)]
    return {
        "S": S_,
        "O": O_,
        "A": A_,
        "p": Transitions(S_, A_, pointers[0], columns[0], Numbers.of(r), Numbers.of(prob)),
        "omega": Emissions(S_, O_, pointers[1], columns[1], Numbers.of(o_prob)),
        "mu": Distribution(S_, Numbers.of([start.get(i, 0) for i in range(len(S_))])),
        "terminal": StateSet(S_, np.array(ended, dtype=bool)),
        "allowed": np.array([table.get(i, everything) for i in range(len(O_))]),
    }


# ---------------------------------------------------------------------- checks


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
        others = entry_s[(entry_o == o) & (has[entry_s, a] == allowed[o, a])].tolist()
        as_in = f", as in s={P.S.text(P.S[others[0]])}, which shows o too" if others else ""
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
        prob.where(lambda x: x < 0),
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
