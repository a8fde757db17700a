# mypy: disallow-untyped-defs=False
"""Bounds on the return over a box of stochastic policies, compiled; `policy_boxes` has the
mathematics.

`T[i, a, j]` are the transition probabilities, `R[i, a]` the rewards, `sizes[i, a]` the expected
|r|, `seen[i]` the observation; a box is `low[o, a] <= pi(a|o) <= high[o, a]`, each row within the
simplex.
"""

from __future__ import annotations

import numpy as np

from workbench.core.kernels import compile_kernel, inner_kernel, paste_kernel
from workbench.research.curvature_kernels import best_in_row, curve_box

_EPS = 2.220446049250313e-16

_FEW = 40
"""States up to which the occupancy of each is bounded by itself."""


@inner_kernel
def _fill(found, x):
    """Put x everywhere into a vector; an assignment to a slice takes seconds to compile."""
    for i in range(len(found)):
        found[i] = x


@inner_kernel
def _copy_to(found, x):
    """Copy a vector onto another."""
    for i in range(len(found)):
        found[i] = x[i]


@inner_kernel
def _sum_of(x):
    """The sum of a vector, from left to right."""
    total = 0.0
    for i in range(len(x)):
        total += x[i]
    return total


@inner_kernel
def _solve(A, b):
    """Gaussian elimination with partial pivoting, in place; False if a pivot vanishes."""
    n = len(b)
    for i in range(n):
        pivot = i
        for j in range(i + 1, n):
            if abs(A[j, i]) > abs(A[pivot, i]):
                pivot = j
        # a nearly singular matrix may pass: what is found is checked, never trusted
        if abs(A[pivot, i]) < 1e-300:
            return False
        if pivot != i:
            for k in range(i, n):
                A[i, k], A[pivot, k] = A[pivot, k], A[i, k]
            b[i], b[pivot] = b[pivot], b[i]
        for j in range(i + 1, n):
            f = A[j, i] / A[i, i]
            if f != 0.0:
                for k in range(i + 1, n):
                    A[j, k] -= f * A[i, k]
                b[j] -= f * b[i]
    for i in range(n - 1, -1, -1):
        total = b[i]
        for k in range(i + 1, n):
            total -= A[i, k] * b[k]
        b[i] = total / A[i, i]
    return True


@compile_kernel
def tighten(low, high):
    """Cut a box down to what the simplex leaves of it, row by row, in place."""
    for o in range(low.shape[0]):
        # the first turn moves sides by which the second may move others
        for _ in range(2):
            below, above = _sum_of(low[o]), _sum_of(high[o])
            for a in range(low.shape[1]):
                high[o, a] = min(high[o, a], 1.0 - (below - low[o, a]))
                low[o, a] = max(low[o, a], 1.0 - (above - high[o, a]), 0.0)
                high[o, a] = max(high[o, a], low[o, a])


@compile_kernel
def cut_traps(T, ends, start, seen, low, high):
    """Cut off, in place, what has no value without a discount: policies that may come to where no
    policy of the box ends. False if none of the box is left.

    A state is a trap if no action that the box allows leads on to the end. An action that may lead
    into one from a state that every policy of the box may come to has probability zero.
    """
    n, nA = T.shape[0], T.shape[1]
    for _ in range(low.size + 1):
        safe, met = np.zeros(n, dtype=np.bool_), start > 0.0
        for _ in range(n):
            for i in range(n):
                for a in range(nA):
                    if high[seen[i], a] > 0.0 and not safe[i]:
                        safe[i] = ends[i, a]
                        for j in range(n):
                            safe[i] = safe[i] or (T[i, a, j] > 0.0 and safe[j])
                    # met by every policy: by actions that none of the box can avoid
                    if low[seen[i], a] > 0.0 and met[i]:
                        for j in range(n):
                            met[j] = met[j] or T[i, a, j] > 0.0
        changed = False
        for i in range(n):
            if not met[i]:
                continue
            if not safe[i]:
                return False
            for a in range(nA):
                for j in range(n):
                    if T[i, a, j] > 0.0 and not safe[j] and high[seen[i], a] > 0.0:
                        # every policy of the box takes it, and none has a value
                        if low[seen[i], a] > 0.0:
                            return False
                        high[seen[i], a] = 0.0
                        changed = True
        if not changed:
            return True
        for o in range(high.shape[0]):
            if _sum_of(high[o]) < 1.0 - 1e-12:
                return False
        tighten(low, high)
    return True


@compile_kernel
def centre(low, high):
    """A point of the box whose rows sum to one."""
    pi = low.copy()
    for o in range(low.shape[0]):
        room = 0.0
        for a in range(low.shape[1]):
            room += high[o, a] - low[o, a]
        left = 1.0 - _sum_of(low[o])
        if room > 0:
            for a in range(low.shape[1]):
                pi[o, a] += (high[o, a] - low[o, a]) * (left / room)
    return pi


@paste_kernel
def _chain(T, R, gamma, acts):
    n, nA = R.shape
    A = np.zeros((n, n))
    r = np.zeros(n)
    for i in range(n):
        A[i, i] = 1.0
        for a in range(nA):
            if acts[i, a] != 0.0:
                r[i] += acts[i, a] * R[i, a]
                for j in range(n):
                    A[i, j] -= gamma * acts[i, a] * T[i, a, j]
    return A, r


@paste_kernel
def _magnitudes(T, sizes, gamma, v):
    n, nA = sizes.shape
    found = np.empty(n)
    for i in range(n):
        most = 0.0
        for a in range(nA):
            total = sizes[i, a]
            for j in range(n):
                total += gamma * T[i, a, j] * abs(v[j])
            most = max(most, total)
        found[i] = most + abs(v[i])
    return found


@inner_kernel
def _iterate(T, R, gamma, seen, low, high, acts, v):
    """Policy iteration where every state chooses for itself within the box: v and `acts`, in place;
    False if a policy on the way has no value."""
    n, nA = R.shape
    weight, x = np.empty(nA), np.empty(nA)
    for _ in range(60):
        A, r = _chain(T, R, gamma, acts)
        if not _solve(A, r):
            return False
        _copy_to(v, r)
        changed = False
        for i in range(n):
            old = 0.0
            for a in range(nA):
                total = R[i, a]
                for j in range(n):
                    total += gamma * T[i, a, j] * v[j]
                weight[a] = total
                old += acts[i, a] * total
            new = best_in_row(weight, low[seen[i]], high[seen[i]], x)
            if new > old + 1e-12 * (abs(new) + abs(old)):
                changed = True
                _copy_to(acts[i], x)
        if not changed:
            return True
    return True  # not yet the best, which the check of what follows from it decides


@inner_kernel
def _informed_values(T, R, sizes, gamma, seen, low, high, pi, v):
    """No policy of the box is worth more than v from anywhere, if every state may choose for itself
    within the box; False if that cannot be certified."""
    n, nA = R.shape
    acts = np.empty((n, nA))
    for i in range(n):
        _copy_to(acts[i], pi[seen[i]])
    units = 8.0 * (n + nA + 8) * _EPS
    if not _iterate(T, R, gamma, seen, low, high, acts, v):
        return False
    # u + c is an upper solution if c (1 - gamma) is at least the excess of u
    if gamma < 1.0:
        worst = _excess(T, R, sizes, gamma, seen, low, high, v)
        if worst > 0.0:
            for i in range(n):
                v[i] += worst / (1.0 - gamma) * (1.0 + 1e-9)
        return True
    # raise the rewards by more than rounding does to them, and solve again; where episodes are
    # long, by more than the iteration can tell apart
    size = _magnitudes(T, sizes, gamma, v)
    for share in (4.0, 1e4, 1e8):
        moved = R.copy()
        for i in range(n):
            for a in range(nA):
                moved[i, a] += share * units * size[i]
        if not _iterate(T, moved, gamma, seen, low, high, acts, v):
            return False
        if _excess(T, R, sizes, gamma, seen, low, high, v) <= 0.0:
            return True
    return False


@inner_kernel
def _excess(T, R, sizes, gamma, seen, low, high, v):
    """max of T v - v over the states, with room for rounding; v is a bound if it is not positive,
    and the process is discounted or v is the value of a policy that ends."""
    n, nA = R.shape
    weight, x = np.empty(nA), np.empty(nA)
    units = 8.0 * (n + nA + 8) * _EPS
    size = _magnitudes(T, sizes, gamma, v)
    worst = -np.inf
    for i in range(n):
        for a in range(nA):
            total = R[i, a]
            for j in range(n):
                total += gamma * T[i, a, j] * v[j]
            weight[a] = total
        here = best_in_row(weight, low[seen[i]], high[seen[i]], x) + units * size[i] - v[i]
        worst = max(worst, here)
    return worst


@compile_kernel
def informed_bound(T, R, sizes, gamma, start, seen, low, high, pi):
    """No policy of the box is worth more: every state chooses for itself within the box; infinite
    if that cannot be certified."""
    n, nA = R.shape
    v = np.zeros(n)
    if not _informed_values(T, R, sizes, gamma, seen, low, high, pi, v):
        return np.inf
    value, much = 0.0, 0.0
    for i in range(n):
        value += start[i] * v[i]
        much += start[i] * abs(v[i])
    return value + 8.0 * (n + nA + 8) * _EPS * much


@compile_kernel
def _informed_visits(T, gamma, start, seen, low, high, pi, least, most):
    """Enclose the occupancies of all policies of the box, state by state: that of s is a return,
    with reward 1 in s. Tighter than `_visit_bounds` in wide boxes."""
    n, nA = T.shape[0], T.shape[1]
    R, sizes = np.zeros((n, nA)), np.zeros((n, nA))
    for s in range(n):
        R[s], sizes[s] = 1.0, 1.0
        most[s] = min(most[s], informed_bound(T, R, sizes, gamma, start, seen, low, high, pi))
        R[s] = -1.0
        least[s] = max(
            least[s], -informed_bound(T, R, sizes, gamma, start, seen, low, high, pi), 0.0
        )
        R[s], sizes[s] = 0.0, 0.0
    return bool(np.isfinite(most).all())


@paste_kernel
def _visit_bounds(T, gamma, start, seen, low, high, least, most):
    """Enclose the occupancies of all policies of the box; whether there is an upper bound.

    most >= start + gamma most P for the entrywise largest P of the box, and least <= start + gamma
    least P for the smallest; both are checked with room for rounding.
    """
    n, nA = T.shape[0], T.shape[1]
    up, down = np.zeros((n, n)), np.zeros((n, n))
    weight, x = np.empty(nA), np.empty(nA)
    for i in range(n):
        o = seen[i]
        for j in range(n):
            any_way = False
            for a in range(nA):
                weight[a] = T[i, a, j]
                any_way = any_way or weight[a] != 0.0
            if any_way:
                up[i, j] = best_in_row(weight, low[o], high[o], x)
                for a in range(nA):
                    weight[a] = -weight[a]
                down[i, j] = max(0.0, -best_in_row(weight, low[o], high[o], x))
    # sums of n + nA terms in any order, and room for the few operations around them
    units = 8.0 * (n + nA + 8) * _EPS
    if not _shifted(down, gamma, start, -4.0 * units, least):
        _fill(least, 0.0)
    for i in range(n):
        total = start[i]
        for j in range(n):
            total += gamma * down[j, i] * least[j]
        if least[i] > total * (1.0 - units):
            for i in range(n):  # an occupancy is at least that of the first step
                least[i] = start[i] * (1.0 - units)
            break
    if not _shifted(up, gamma, start, 4.0 * units, most):
        return False
    for i in range(n):
        total = start[i]
        for j in range(n):
            total += gamma * up[j, i] * most[j]
        if not total * (1.0 + units) <= most[i] < np.inf:
            return False
    return True


@inner_kernel
def _shifted(P, gamma, start, share, found):
    """d = start + shift + gamma d P, with a shift that leaves room for rounding when this is
    checked; no entry is negative. False if there is no such d."""
    n = len(start)
    A = np.zeros((n, n))
    for i in range(n):
        A[i, i] = 1.0
        for j in range(n):
            A[i, j] -= gamma * P[j, i]
    # elimination destroys its matrix, and two right-hand sides are solved
    again = A.copy()
    _copy_to(found, start)
    more = np.ones(n)
    if not (_solve(A, found) and _solve(again, more)):
        return False
    largest = np.abs(found).max()
    for i in range(n):
        if found[i] < -1e-9 * largest or more[i] < 0.0:
            return False
        found[i] = max(0.0, found[i] + share * largest * more[i])
    return True


@paste_kernel
def _value_errors(T, gamma, seen, low, high, pi, B, size, error):
    """error >= |v_x - v| for all policies x of the box; infinite where there is no such bound.

    v_x - v is the return of x with the rewards b; they are raised by what rounding may have done to
    them.
    """
    n, nA = B.shape
    units = 8.0 * (n + nA + 8) * _EPS
    sizes = np.empty((n, nA))
    v = np.zeros(n)
    _fill(error, 0.0)
    # the largest and the smallest of v_x - v are two returns: of b and of -b
    for sign in (1.0, -1.0):
        R = np.empty((n, nA))
        for i in range(n):
            for a in range(nA):
                R[i, a] = sign * B[i, a] + units * size[i]
                sizes[i, a] = abs(R[i, a])
        _fill(v, 0.0)
        if not _informed_values(T, R, sizes, gamma, seen, low, high, pi, v):
            _fill(error, np.inf)
            return
        for i in range(n):
            error[i] = max(error[i], v[i])


@compile_kernel
def bound_box(T, R, sizes, gamma, start, seen, low, high, target, useless, least, most):
    """(bound, value at the centre, row to split, action to split by); the bound is infinite if none
    was found, the value minus infinity if it is not defined.

    A bound below `target` is good enough. Otherwise slope and curvature come in (`curve_box`), and
    `useless[o, a]` says which actions no optimal policy in the box takes. least <= d <= most then
    enclose the occupancies; most is infinite if nothing is known.
    """
    n, nA = R.shape
    nO = low.shape[0]
    for o in range(nO):
        _fill(useless[o], False)
    _fill(least, 0.0)
    _fill(most, np.inf)
    pi = centre(low, high)
    acts = np.empty((n, nA))
    for i in range(n):
        _copy_to(acts[i], pi[seen[i]])
    # the cheapest bound goes first: most boxes of a search end here
    bound = informed_bound(T, R, sizes, gamma, start, seen, low, high, pi)
    A, v = _chain(T, R, gamma, acts)
    kept = A.copy()
    At = A.T.copy()
    d = start.copy()
    fine = _solve(A, v) and _solve(At, d)
    score = np.zeros((nO, nA))
    if not fine:
        for i in range(n):
            for a in range(nA):
                score[seen[i], a] = high[seen[i], a] - low[seen[i], a]
        best = np.argmax(score)
        return bound, -np.inf, best // nA, best % nA
    B = np.empty((n, nA))
    value, much = 0.0, 0.0
    for i in range(n):
        value += start[i] * v[i]
        much += start[i] * abs(v[i])
        for a in range(nA):
            total = R[i, a] - v[i]
            for j in range(n):
                total += gamma * T[i, a, j] * v[j]
            B[i, a] = total
            o = seen[i]
            # split where width, visits and advantage leave most of the bound open; the small
            # term keeps rows alive that the centre does not visit
            score[o, a] += (abs(d[i]) + 1e-9) * abs(total) * (high[o, a] - low[o, a])
    best = np.argmax(score)
    if not bound > target:
        return bound, value, best // nA, best % nA
    finite = _visit_bounds(T, gamma, start, seen, low, high, least, most)
    if not finite:
        _fill(most, np.inf)
    if n <= _FEW:
        finite = _informed_visits(T, gamma, start, seen, low, high, pi, least, most)
    if not finite:
        return bound, value, best // nA, best % nA
    units = 8.0 * (n + nA + 8) * _EPS
    size = _magnitudes(T, sizes, gamma, v)
    above = value + units * much
    total = above
    x = np.empty(nA)
    G = np.zeros((nO, nA))
    for i in range(n):
        middle, radius = 0.5 * (least[i] + most[i]), 0.5 * (most[i] - least[i])
        o = seen[i]
        for a in range(nA):
            G[o, a] += middle * B[i, a]
        up = best_in_row(B[i], low[o], high[o], x)
        down = -best_in_row(-B[i], low[o], high[o], x)
        if most[i] > 0.0:
            total += radius * (1.0 + units) * max(abs(up), abs(down))
            total += most[i] * units * (size[i] + abs(up) + abs(down))
    for o in range(nO):
        total += best_in_row(G[o], low[o], high[o], x)
    bound = min(bound, total)
    if bound > target:
        error = np.empty(n)
        _value_errors(T, gamma, seen, low, high, pi, B, size, error)
        curved = curve_box(
            T,
            gamma,
            start,
            seen,
            low,
            high,
            pi,
            kept,
            above,
            v,
            size,
            B,
            d,
            least,
            most,
            error,
            useless,
        )
        bound = min(bound, curved)
    return bound, value, best // nA, best % nA
