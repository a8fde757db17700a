# mypy: disallow-untyped-defs=False
"""Second order: the return over a box of stochastic policies by its slope and curvature at the
centre, compiled.

Let c be the centre of the box, v, d values and occupancy of c (any vectors next to them will do),
b(s,a) = R(s,a) + gamma sum p v - v(s), x = c + delta a policy of the box with occupancy d_x, and D
= d_x - d, of which |D| <= r is known. Let w be linear in delta with w - gamma P_c w = b_x, that is
w = sum_{o,a} W(., oa) delta(o,a). From D (I - gamma P_c) = gamma d_x (P_x - P_c) follows

    J(x) = start . v + d . b_c + g . delta + delta' H delta + sum_s D(s) Q_s(delta),
    Q_s(delta) = sum_a delta(o,a) gamma sum_{s'} p(s'|s,a) w(s'),
    g(o,a) = sum_{s in o} d(s) b(s,a),          delta' H delta = sum_s d(s) Q_s(delta),

without any error. The last sum is of third order: |D| and |Q| are bounded over the box. The
quadratic form is bounded by a concave one: along eigenvectors with a positive eigenvalue the square
is replaced by its chord over the box. A concave function lies below its tangent at any point, and
the best point of a tangent is found row by row.

The same expansion encloses the slope: with E >= |v_x - v| and G(o,a) the derivative of J,

    G(o,a) - G(o,b) = [g + (H + H') delta](o,a) - [g + (H + H') delta](o,b) + second order.

If that is positive all over the box, an optimal policy in it does not take b, for it would gain by
taking a instead: b is useless in the box. A box in which pi(b|o) > 0 throughout holds no optimum.
With gamma = 1 this holds as well where all policies of the box surely end: on a union of such boxes
J has a maximum, and where J rises out of the union it is exceeded in another box.

Rounding: W and d need not be exact, what they leave of their equations is added to the bound with
room for the rounding of that.
"""

from __future__ import annotations

import numpy as np

from workbench.core.kernels import inner_kernel, paste_kernel

_EPS = 2.220446049250313e-16

_MOST_STEPS = 400
"""Pairs of probabilities changed on the way to the top of a concave function; any point gives a
bound."""


@inner_kernel
def _times(A, B):
    """A B, for matrices."""
    found = np.zeros((A.shape[0], B.shape[1]))
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            if A[i, j] != 0.0:
                for k in range(B.shape[1]):
                    found[i, k] += A[i, j] * B[j, k]
    return found


@inner_kernel
def _largest(A):
    """The largest |A[i, j]|. Loops are compiled in a fraction of the time of array expressions."""
    found = 0.0
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            found = max(found, abs(A[i, j]))
    return found


@inner_kernel
def _sum_of(A):
    """The sum of all A[i, j]."""
    found = 0.0
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            found += A[i, j]
    return found


@inner_kernel
def _added(A, factor, B):
    """A + factor B."""
    found = np.empty(A.shape)
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            found[i, j] = A[i, j] + factor * B[i, j]
    return found


@inner_kernel
def _made_symmetric(H):
    """(H + H') / 2."""
    found = np.empty(H.shape)
    for i in range(H.shape[0]):
        for j in range(H.shape[1]):
            found[i, j] = 0.5 * (H[i, j] + H[j, i])
    return found


@inner_kernel
def _eliminate(A, B):
    """The X with A X = B, by Gaussian elimination with partial pivoting; A and B are lost. NaN
    where a pivot vanishes."""
    n = A.shape[0]
    for i in range(n):
        pivot = i
        for j in range(i + 1, n):
            if abs(A[j, i]) > abs(A[pivot, i]):
                pivot = j
        if abs(A[pivot, i]) < 1e-300:
            for j in range(n):
                for k in range(B.shape[1]):
                    B[j, k] = np.nan
            return B
        if pivot != i:
            for k in range(n):
                A[i, k], A[pivot, k] = A[pivot, k], A[i, k]
            for k in range(B.shape[1]):
                B[i, k], B[pivot, k] = B[pivot, k], B[i, k]
        for j in range(n):
            if j != i and A[j, i] != 0.0:
                f = A[j, i] / A[i, i]
                for k in range(i, n):
                    A[j, k] -= f * A[i, k]
                for k in range(B.shape[1]):
                    B[j, k] -= f * B[i, k]
    for i in range(n):
        for k in range(B.shape[1]):
            B[i, k] /= A[i, i]
    return B


@inner_kernel
def best_in_row(weight, low, high, x):
    """max of sum_a x_a weight_a over a row of the box, by filling up the largest weights first; x
    is where it is attained."""
    left = 1.0
    total = 0.0
    nA = len(weight)
    for a in range(nA):
        x[a] = -1.0  # not yet filled
        left -= low[a]
    for _ in range(nA):
        best = -1
        for a in range(nA):
            if x[a] < 0.0 and (best < 0 or weight[a] > weight[best]):
                best = a
        more = min(high[best] - low[best], max(left, 0.0))
        x[best] = low[best] + more
        left -= more
        total += x[best] * weight[best]
    return total


@inner_kernel
def _over_rows(weight, low, high, pi):
    """max of sum_oa (x - pi)(o,a) weight(o,a) over the policies x of the box."""
    nO, nA = low.shape
    x = np.empty(nA)
    moved = np.empty(nA)
    total = 0.0
    for o in range(nO):
        free = False
        for a in range(nA):
            free = free or high[o, a] > low[o, a]
        if free:
            shift = 0.0  # a constant in a row does not matter, and rounding does
            for a in range(nA):
                shift += weight[o, a] / nA
            for a in range(nA):
                moved[a] = weight[o, a] - shift
            total += best_in_row(moved, low[o], high[o], x)
            for a in range(nA):
                total -= pi[o, a] * moved[a]
    return total


@paste_kernel
def _concave_top(g, S, low, high, pi):
    """An upper bound on max of g . delta + delta' S delta over the box, for a symmetric S without
    positive eigenvalues on differences of policies: the tangent at a point next to the top.

    The point moves along the pair of a row that promises most, as far as pays.
    """
    nO, nA = low.shape
    delta = np.zeros((nO, nA))
    slope = g.copy()
    for _ in range(_MOST_STEPS):
        gain, at, up, down = 0.0, -1, -1, -1
        for o in range(nO):
            best, worst = -1, -1
            for a in range(nA):
                x = pi[o, a] + delta[o, a]
                if x < high[o, a] and (best < 0 or slope[o, a] > slope[o, best]):
                    best = a
                if x > low[o, a] and (worst < 0 or slope[o, a] < slope[o, worst]):
                    worst = a
            if best >= 0 and worst >= 0:
                room = min(
                    high[o, best] - pi[o, best] - delta[o, best],
                    pi[o, worst] + delta[o, worst] - low[o, worst],
                )
                rise = slope[o, best] - slope[o, worst]
                if rise * room > gain:
                    gain, at, up, down = rise * room, o, best, worst
        if at < 0:
            break
        i, j = at * nA + up, at * nA + down
        room = min(
            high[at, up] - pi[at, up] - delta[at, up],
            pi[at, down] + delta[at, down] - low[at, down],
        )
        rise = slope[at, up] - slope[at, down]
        bend = -2.0 * (S[i, i] - 2.0 * S[i, j] + S[j, j])
        step = room if bend <= 0.0 else min(room, rise / bend)
        delta[at, up] += step
        delta[at, down] -= step
        for o in range(nO):
            for a in range(nA):
                k = o * nA + a
                slope[o, a] += 2.0 * step * (S[k, i] - S[k, j])
        if gain <= 1e-15 * (_largest(g) + 1e-300):
            break
    height = 0.0
    tangent = np.empty((nO, nA))
    for k in range(nO * nA):
        o, a = k // nA, k % nA
        bent = 0.0
        for j in range(nO * nA):
            bent += S[k, j] * delta[j // nA, j % nA]
        height += delta[o, a] * (g[o, a] + bent)
        tangent[o, a] = g[o, a] + 2.0 * bent
    return height + _over_rows(tangent, low, high, _added(pi, 1.0, delta))


@paste_kernel
def _quadratic_top(g, H, low, high, pi, reach):
    """An upper bound on max of g . delta + delta' H delta over the box; `reach` bounds |delta|."""
    nO, nA = low.shape
    S = _made_symmetric(H)
    for o in range(nO):  # onto differences of policies: rows of delta sum to zero
        count = 0
        for a in range(nA):
            count += reach[o, a] > 0.0
        if count == 0:
            continue
        for k in range(nO * nA):
            total = 0.0
            for a in range(nA):
                if reach[o, a] > 0.0:
                    total += S[k, o * nA + a]
            for a in range(nA):
                S[k, o * nA + a] -= total / count
        for k in range(nO * nA):
            total = 0.0
            for a in range(nA):
                if reach[o, a] > 0.0:
                    total += S[o * nA + a, k]
            for a in range(nA):
                S[o * nA + a, k] -= total / count
    for k in range(nO * nA):
        if reach[k // nA, k % nA] <= 0.0:
            for j in range(nO * nA):
                S[k, j] = 0.0
                S[j, k] = 0.0
    S = _made_symmetric(S)
    values, vectors = np.linalg.eigh(S)
    chord = np.zeros((nO, nA))
    constant = 0.0
    left = S.copy()
    u = np.empty((nO, nA))
    back = np.empty((nO, nA))
    for k in range(nO * nA):
        if values[k] > 0.0:
            for j in range(nO * nA):
                u[j // nA, j % nA] = vectors[j, k]
                back[j // nA, j % nA] = -vectors[j, k]
            most = _over_rows(u, low, high, pi)
            least = -_over_rows(back, low, high, pi)
            # t^2 <= (most + least) t - most least between least and most
            chord = _added(chord, values[k] * (most + least), u)
            constant -= values[k] * most * least
            for i in range(nO * nA):
                for j in range(nO * nA):
                    left[i, j] -= values[k] * vectors[i, k] * vectors[j, k]
    units = 16.0 * (nO * nA + 8) ** 2 * _EPS
    size = _largest(H) * _sum_of(reach)
    return (
        _concave_top(_added(g, 1.0, chord), left, low, high, pi)
        + constant
        + units * (_largest(g) + _largest(chord) + size) * _sum_of(reach)
        + units * nA * size
    )


@paste_kernel
def curve_box(
    T, gamma, start, seen, low, high, pi, A, value, v, size, B, d, least, most, error, useless
):
    """An upper bound on the return over the box, infinite if none is found; `useless[o, a]` says
    which actions no optimal policy in the box takes.

    A = I - gamma P at the centre pi; `value` bounds start . v from above; B[i, a] are the b above,
    size[i] the size of what is added up in them; least <= d_x <= most, and |v_x - v| <= error.
    """
    n, nA = B.shape
    nO = low.shape[0]
    units = 16.0 * (n + nO * nA + 16) * _EPS
    reach = np.zeros((nO, nA))
    for o in range(nO):
        for a in range(nA):
            reach[o, a] = max(high[o, a] - pi[o, a], pi[o, a] - low[o, a], 0.0)
            if high[o, a] <= low[o, a]:
                reach[o, a] = 0.0
    columns = np.zeros((n, nO * nA))
    for i in range(n):
        for a in range(nA):
            if reach[seen[i], a] > 0.0:
                columns[i, seen[i] * nA + a] = B[i, a]
    W = _eliminate(A.copy(), columns.copy())
    widest = np.zeros(nO * nA)
    for k in range(nO * nA):
        for i in range(n):
            if not np.isfinite(W[i, k]):
                return np.inf
            widest[k] = max(widest[k], abs(W[i, k]))
    span = 0.0
    for k in range(nO * nA):
        span += widest[k] * reach[k // nA, k % nA]
    # what W and d leave of their equations
    residue = _added(columns, -1.0, _times(A, W))
    open_ = np.zeros((n, nO * nA))
    for i in range(n):
        for k in range(nO * nA):
            open_[i, k] = abs(residue[i, k]) + units * (abs(columns[i, k]) + 3.0 * widest[k])
    loose = np.empty(n)
    for j in range(n):
        went = 0.0
        for i in range(n):
            went += d[i] * A[i, j]
        loose[j] = abs(start[j] - went) + units * (start[j] + 2.0 * abs(d[j]))
    for i in range(n):  # gamma d P is of the size of d where it comes from
        for j in range(n):
            loose[j] += units * abs(d[i] * A[i, j])
    away = np.empty(n)
    for i in range(n):
        away[i] = max(most[i] - d[i], d[i] - least[i], 0.0) * (1.0 + units)
    K = np.zeros((n, nA, nO * nA))
    for i in range(n):
        for a in range(nA):
            for j in range(n):
                if T[i, a, j] != 0.0:
                    for k in range(nO * nA):
                        K[i, a, k] += gamma * T[i, a, j] * W[j, k]
    # the mean over the actions of a row does not matter, since delta sums to zero there
    H = np.zeros((nO * nA, nO * nA))
    g = np.zeros((nO, nA))
    total = value
    third = 0.0
    for i in range(n):
        o = seen[i]
        count = 0
        for a in range(nA):
            count += reach[o, a] > 0.0
            total += d[i] * pi[o, a] * B[i, a]
            if reach[o, a] > 0.0:
                g[o, a] += d[i] * B[i, a]
        bent = 0.0
        if count:
            for k in range(nO * nA):
                mean = 0.0
                for a in range(nA):
                    if reach[o, a] > 0.0:
                        mean += K[i, a, k]
                mean /= count
                for a in range(nA):
                    if reach[o, a] > 0.0:
                        K[i, a, k] -= mean
                        H[o * nA + a, k] += d[i] * K[i, a, k]
            for a in range(nA):
                if reach[o, a] > 0.0:
                    bent += reach[o, a] * _spread(K[i, a], reach)
                    bent += reach[o, a] * units * span
        third += away[i] * bent
        # rounding: of B, of g and H, of the equations for W and d
        left = 0.0
        centred = 0.0
        for k in range(nO * nA):
            left += open_[i, k] * reach[k // nA, k % nA]
        for a in range(nA):
            centred += pi[o, a] * B[i, a]
        third += away[i] * (left + abs(centred) + units * size[i])
        third += loose[i] * span
        third += units * (abs(d[i]) + away[i]) * (4.0 * size[i] + nA * span)
    bound = total + _quadratic_top(g, H, low, high, pi, reach) + third * (1.0 + 1e-9)
    _find_useless(
        T,
        gamma,
        seen,
        low,
        high,
        pi,
        A,
        B,
        reach,
        d,
        away,
        size,
        error,
        g,
        H,
        K,
        open_,
        loose,
        widest,
        units,
        useless,
    )
    return bound


@inner_kernel
def _spread(weight, reach):
    """A bound on |sum delta weight|: of each row, half the range is enough, for delta sums to
    zero."""
    nO, nA = reach.shape
    total = 0.0
    for o in range(nO):
        least, most = np.inf, -np.inf
        for a in range(nA):
            if reach[o, a] > 0.0:
                least = min(least, weight[o * nA + a])
                most = max(most, weight[o * nA + a])
        if most > least:
            middle = 0.5 * (least + most)
            for a in range(nA):
                if reach[o, a] > 0.0:
                    total += reach[o, a] * abs(weight[o * nA + a] - middle)
    return total


@paste_kernel
def _find_useless(
    T,
    gamma,
    seen,
    low,
    high,
    pi,
    A,
    B,
    reach,
    d,
    away,
    size,
    error,
    g,
    H,
    K,
    open_,
    loose,
    widest,
    units,
    useless,
):
    """Mark the actions that another one of their row beats all over the box."""
    n, nA = T.shape[0], T.shape[1]
    nO = low.shape[0]
    for o in range(nO):
        for a in range(nA):
            useless[o, a] = False
    for i in range(n):
        if not error[i] < np.inf:
            return
    # second <= |v_x - v - w|: (I - gamma P_c)(v_x - v - w) = gamma (P_x - P_c)(v_x - v) + rounding
    ahead = np.zeros((n, nA))
    right = np.zeros(n)
    for i in range(n):
        o = seen[i]
        left = units * size[i]
        centred = 0.0
        for a in range(nA):
            for j in range(n):
                ahead[i, a] += gamma * T[i, a, j] * error[j]
            centred += pi[o, a] * B[i, a]
            right[i] += reach[o, a] * ahead[i, a]
        left += abs(centred)
        for k in range(nO * nA):
            left += open_[i, k] * reach[k // nA, k % nA]
        right[i] += left
    # more than enough, so that the check leaves room for rounding
    enough = np.empty((n, 1))
    largest = 0.0
    for i in range(n):
        largest = max(largest, right[i])
    for i in range(n):
        enough[i, 0] = right[i] * (1.0 + units) + 1e-6 * largest
    second = _eliminate(A.copy(), enough)[:, 0]
    for i in range(n):
        total = second[i]
        much = abs(second[i])
        for j in range(n):
            if j != i:
                total += A[i, j] * second[j]
                much += abs(A[i, j] * second[j])
        total += (A[i, i] - 1.0) * second[i]
        if not (second[i] >= 0.0 and total - units * much >= right[i] * (1.0 + units)):
            return
    weight = np.empty((nO, nA))
    for o in range(nO):
        best = -1
        for a in range(nA):
            if reach[o, a] > 0.0 and (best < 0 or g[o, a] > g[o, best]):
                best = a
        if best < 0:
            continue
        for b in range(nA):
            if b == best or reach[o, b] <= 0.0:
                continue
            i_best, i_b = o * nA + best, o * nA + b
            for k in range(nO * nA):
                weight[k // nA, k % nA] = -(H[k, i_best] - H[k, i_b] + H[i_best, k] - H[i_b, k])
            least = g[o, best] - g[o, b] - _over_rows(weight, low, high, pi)
            if least <= 0.0:
                continue
            for i in range(n):
                here = seen[i]
                # sum_s D(s) sum_a delta(a) K(s, a), the two columns' difference
                low_k, high_k = np.inf, -np.inf
                for a in range(nA):
                    if reach[here, a] > 0.0:
                        difference = K[i, a, i_best] - K[i, a, i_b]
                        low_k, high_k = min(low_k, difference), max(high_k, difference)
                if high_k > low_k:
                    for a in range(nA):
                        if reach[here, a] > 0.0:
                            difference = K[i, a, i_best] - K[i, a, i_b]
                            least -= (
                                away[i] * reach[here, a] * abs(difference - 0.5 * (low_k + high_k))
                            )
                both = widest[i_best] + widest[i_b]
                least -= away[i] * (open_[i, i_best] + open_[i, i_b])
                least -= loose[i] * both
                least -= units * (abs(d[i]) + away[i]) * (4.0 * size[i] + nA * both)
                if here == o:
                    for j in range(n):
                        gap = gamma * abs(T[i, best, j] - T[i, b, j])
                        if gap != 0.0:
                            least -= gap * (abs(d[i]) * second[j] + away[i] * error[j])
                            least -= units * gap * (abs(d[i]) + away[i]) * error[j]
            slack = 0.0
            mass = 0.0
            for i in range(n):
                mass += abs(d[i])
            for k in range(nO * nA):
                slack += (widest[i_best] + widest[i_b] + widest[k]) * reach[k // nA, k % nA]
            least -= units * mass * slack
            if least > 0.0:
                useless[o, b] = True
