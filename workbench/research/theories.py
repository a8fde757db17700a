"""What small theories say of a task, by exact numbers: `diagnose` shows them side by side.

decodable_after   the least L for which the last L observations and the actions between them
                  determine the state (Efroni et al. 2022)
observability     how much one observation tells about the state: the largest g with
                  |omega^T b - omega^T b'|_1 >= g |b - b'|_1 (Golowich, Moitra and Rohatgi 2022)
filter_rate       how fast the filter forgets its prior (Kara and Yueksel 2022)
dynamics_rank     the size of the smallest linear predictive state representation (Littman, Sutton
                  and Singh 2001; Singh, James and Rudary 2004)

Definitions are the widely quoted ones: those of `observability` and `filter_rate` were not read
again in the papers, and `READING` says so wherever the bound of the latter is shown.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from fractions import Fraction
from itertools import combinations

import flint
import numpy as np

from workbench.agents.beliefs import require_rational
from workbench.core.errors import TooLarge
from workbench.core.numbers import Number
from workbench.core.pomdp import POMDP
from workbench.core.space import Label
from workbench.equilibrium.learned_values import deciding_states
from workbench.progress import check_time

MOST_DIVIDED = 10
"""States of a task whose observability is computed, unless it is 0 or 1: each of the 2^n ways to
divide them is a linear program."""

MOST_STATES = 200
"""Of a task whose rank is computed."""

READING = "the bound by the rate of the filter is our reading of Kara and Yueksel (2022)"


def states_that_go_on(P: POMDP) -> list[Label]:
    """The states that can be reached and are not terminal, in the order of S."""
    return [P.S[i] for i in np.flatnonzero(deciding_states(P)).tolist()]


# ---------------------------------------------------------------------- windows


def decodable_after(P: POMDP) -> int | None:
    """The smallest L such that P is L-step decodable, or None.

    Two states that some window does not tell apart are the ends of two walks that show and do the
    same. The pairs that walks of a length end in are a falling sequence of finite sets.

    >>> from pomdps import recall4
    >>> decodable_after(recall4())
    2
    """
    S = states_that_go_on(P)
    seen = {s: {o for o, x in P.omega(s).items() if x != 0} for s in S}
    after = {
        (s, a): {t for (t, _), x in P.p(s, a).items() if x != 0 and t in seen}
        for s in S
        for a in P.A
    }

    def follow(pairs: set[tuple[Label, Label]]) -> set[tuple[Label, Label]]:
        return {
            (u, v)
            for s, t in pairs
            for a in P.A
            for u in after[s, a]
            for v in after[t, a]
            if seen[u] & seen[v]
        }

    late = {(s, t) for s in S for t in S if seen[s] & seen[t]}
    early = {(s, t) for s, t in late if P.mu[s] != 0 and P.mu[t] != 0}
    L = 1
    while any(s != t for s, t in late):
        check_time()
        # Windows that reach back to the start are shorter: walks from it must be told apart too.
        if any(s != t for s, t in early):
            return None
        before, late, early = late, follow(late), follow(early)
        if late == before:
            return None
        L += 1
    return L


# ---------------------------------------------------------------------- observations


def observability(P: POMDP) -> Fraction:
    """The largest g for which P is g-observable, over the states that can be reached.

    It is 0 exactly if the rows of omega are linearly dependent. Otherwise b and b' may be taken to
    have disjoint supports, and each way to divide the states between them is a linear program.

    >>> from pomdps import recall4
    >>> observability(recall4())
    Fraction(0, 1)
    """
    require_rational(P)
    S = states_that_go_on(P)
    rows = [{o: Fraction(x) for o, x in P.omega(s).items() if x != 0} for s in S]
    columns = list(dict.fromkeys(o for row in rows for o in row))
    if _matrix([[row.get(o, 0) for o in columns] for row in rows]).rank() < len(rows):
        return Fraction(0)
    if len(columns) == sum(map(len, rows)):
        return Fraction(1)  # no two states share an observation
    if len(S) > MOST_DIVIDED:
        raise TooLarge(
            f"{P.name} has {len(S):,} states; its observability is above 0, and is computed up to "
            f"{MOST_DIVIDED}"
        )
    n = len(S)
    return min(
        least_difference(rows, (0, *rest))
        for size in range(1, n)
        for rest in combinations(range(1, n), size - 1)
    )


def least_difference(
    rows: Sequence[Mapping[Hashable, Fraction]], left: Collection[int]
) -> Fraction:
    """Half the least L1 distance between a mixture of the rows in `left` and one of the others.

    >>> least_difference([{"a": Fraction(1)}, {"b": Fraction(1)}], [0])
    Fraction(1, 1)
    """
    check_time()
    columns = list(dict.fromkeys(o for row in rows for o in row))
    n, k = len(rows), len(columns)
    # Variables: weights of the n rows, then both parts of the difference in each column. Lines: a
    # column each, then both weights sum to one, then the cost.
    table = np.full((k + 3, n + 2 * k + 1), Fraction(0), dtype=object)
    for i, row in enumerate(rows):
        table[:k, i] = [row.get(o, Fraction(0)) * (1 if i in left else -1) for o in columns]
        table[k + (i not in left), i] = Fraction(1)
    for c in range(k):
        table[c, n + c], table[c, n + k + c] = Fraction(-1), Fraction(1)
    table[k : k + 2, -1], table[-1, n:-1] = Fraction(1), Fraction(1, 2)
    one, other = min(i for i in range(n) if i in left), min(i for i in range(n) if i not in left)
    apart = table[:k, one] + table[:k, other]
    basis = [n + c + (0 if apart[c] >= 0 else k) for c in range(k)] + [one, other]
    # A vertex to begin with: the weights enter first, so that columns have their own variable left.
    for line in (k, k + 1, *range(k)):
        _pivot(table, line, basis[line])
    # Bland's rule (1977): the first variable that pays, so that the pivots never go round.
    while (entering := next((j for j, x in enumerate(table[-1, :-1]) if x < 0), None)) is not None:
        lines = [i for i in range(k + 2) if table[i, entering] > 0]
        line = min(lines, key=lambda i: (table[i, -1] / table[i, entering], basis[i]))
        basis[line] = entering
        _pivot(table, line, entering)
    return Fraction(-table[-1, -1])


def _pivot(table: np.ndarray, line: int, variable: int) -> None:
    """Make a column the unit vector of a line."""
    table[line] = table[line] / table[line, variable]
    for other in range(len(table)):
        if other != line and table[other, variable] != 0:
            table[other] = table[other] - table[other, variable] * table[line]


# ---------------------------------------------------------------------- the filter


def filter_rate(P: POMDP) -> Fraction | None:
    """The rate alpha at which the filter forgets its prior. None for tasks that end.

    alpha = (1 - min_a delta(p(. | ., a))) (2 - delta(omega)), with delta Dobrushin's coefficient of
    a kernel: how much any two of its rows overlap at least.
    """
    if len(P.terminal):
        return None
    S = states_that_go_on(P)

    def moved(s: Label, a: Label) -> dict[Label, Number]:
        found: dict[Label, Number] = {}
        for (t, _), x in P.p(s, a).items():
            found[t] = found.get(t, 0) + x
        return found

    moves = min(_overlap([moved(s, a) for s in S]) for a in P.A)
    return (1 - moves) * (2 - _overlap([P.omega(s) for s in S]))


def _overlap(rows: Sequence[Mapping[Label, Number]]) -> Fraction:
    return min(
        (
            sum((min(x, other.get(y, 0)) for y, x in row.items()), Fraction(0))
            for row, other in combinations(rows, 2)
        ),
        default=Fraction(1),
    )


def window_bound(P: POMDP, alpha: Fraction, N: int) -> Fraction | None:
    """A bound on the loss of a policy of the last N pairs (o, a). None if the theorem does not
    apply: it needs alpha < 1 and a discount."""
    if alpha >= 1 or P.gamma == 1:
        return None
    bound: Fraction = 4 * max(map(abs, P.R), default=0) * alpha**N / (1 - P.gamma) ** 2
    return bound


# ---------------------------------------------------------------------- predictions


def dynamics_rank(P: POMDP) -> int:
    """The rank of the system dynamics matrix: the size of the smallest linear PSR.

    Its entries are P(test | history). With M_{ao}[s,s'] = p(s'|s,a) omega(o|s') histories span the
    smallest space that holds the mu(.) omega(o_0|.) and is closed under v -> v M_{ao}, tests the
    smallest that holds the vector of ones and is closed under u -> M_{ao} u. Terminal states are
    left out: a test says what is seen while the episode goes on.

    >>> from pomdps import float_reset
    >>> dynamics_rank(float_reset())
    5
    """
    require_rational(P)
    S = states_that_go_on(P)
    if len(S) > MOST_STATES:
        raise TooLarge(f"{P.name} has {len(S):,} states; ranks are computed up to {MOST_STATES}")
    place = {s: i for i, s in enumerate(S)}
    steps: dict[tuple[Label, Label], flint.fmpq_mat] = {}
    for s in S:
        check_time()
        for a in P.A:
            for (t, _), x in P.p(s, a).items():
                for o, y in P.omega(t).items() if t in place else ():
                    step = steps.setdefault((a, o), flint.fmpq_mat(len(S), len(S)))
                    step[place[s], place[t]] += _rational(x * y)
    seen = list(dict.fromkeys(o for s in S for o in P.omega(s)))
    first = _matrix([[P.mu[s] * P.omega(s).get(o, 0) for s in S] for o in seen])
    histories = _closed(first, list(steps.values()))
    tests = _closed(_matrix([[1] * len(S)]), [step.transpose() for step in steps.values()])
    return int((histories * tests.transpose()).rank())


def _closed(rows: flint.fmpq_mat, steps: Sequence[flint.fmpq_mat]) -> flint.fmpq_mat:
    """A basis of the smallest space that holds some rows and is closed under the steps."""
    rank = 0
    while True:
        check_time()
        reduced, more = rows.rref()
        kept = reduced.tolist()[:more]
        basis = flint.fmpq_mat(kept)
        if more == rank:
            return basis
        rank = more
        rows = flint.fmpq_mat(kept + [row for step in steps for row in (basis * step).tolist()])


def _matrix(rows: Sequence[Sequence[Number]]) -> flint.fmpq_mat:
    return flint.fmpq_mat([[_rational(x) for x in row] for row in rows])


def _rational(x: Number) -> flint.fmpq:
    return flint.fmpq(*Fraction(x).as_integer_ratio())
