# mypy: disallow-untyped-defs=False
"""Compiled forms along the way to a policy, and their signs.

On pi(x) = x pi + y tau, y = 1 - x, a state of level t (so many steps lie before it, at most) has
visits that are a form in (x, y) of degree t, and values of degree T - t, where T levels are all.
A form of a lower degree is raised: it is multiplied by x + y = 1. So q(o, a) times the weight of o
has one degree, T - 1, for all rows,

    sum_i c_i x^i y^(T-1-i)

Visits are sums of products of numbers >= 0, one coefficient like another: what `loop_kernels` says
about rounding holds for each coefficient, beside that of the weight.

c_i / binomial(T-1, i) are the coefficients in the basis of Bernstein, and the form lies between the
least and the largest of them; halving the interval (de Casteljau) brings them closer to it.
"""

from __future__ import annotations

import numpy as np

from workbench.core.kernels import compile_kernel, inline_kernel

UNIT = 2.0**-53

STAYS, OPEN, LEAVES = range(3)
"""What is known about an action: it is never better than tau; nothing; it is, somewhere."""

_MOST_HALVINGS = 48
"""An interval that has been halved so often is as small as rounding."""


@compile_kernel
def state_levels(tables):
    """How many steps lie before each state, at most."""
    n = len(tables.mu)
    actions = tables.R.shape[1]
    level = np.zeros(n, dtype=np.int64)
    for s in range(n):
        if tables.inner[s] >= 0:
            first = tables.inner[s] * actions
            for k in range(tables.row_ptr[first], tables.row_ptr[first + actions]):
                s_next = tables.successor[k]
                level[s_next] = max(level[s_next], level[s] + 1)
    return level


@compile_kernel
def binomials(T):
    """Pascal's triangle."""
    table = np.zeros((T + 1, T + 1))
    for n in range(T + 1):
        table[n, 0] = 1.0
        for i in range(1, n + 1):
            table[n, i] = table[n - 1, i - 1] + table[n - 1, i]
    return table


@inline_kernel
def _add_raised(form, degree, to, factor, pascal, found, row):
    """Add a form times a factor to a row of another degree."""
    for i in range(degree + 1):
        x = factor * form[i]
        if x != 0.0:
            for h in range(to - degree + 1):
                found[row, i + h] += x * pascal[to - degree, h]


@compile_kernel
def fill_way(tables, level, pascal, pi, goal, Q, weight):
    """Write the coefficients of q(o, a) times the weight of o on the way from pi to the goal to
    `Q[o, a, i]`, and those of the weight to `weight[o, i]`. Rows without a goal stay: x pi + y pi.
    """
    mu, entry_ptr, entry_o, entry_prob = (
        tables.mu,
        tables.entry_ptr,
        tables.entry_o,
        tables.entry_prob,
    )
    R, inner, row_ptr = tables.R, tables.inner, tables.row_ptr
    successor, prob = tables.successor, tables.prob
    n, nA, T = len(mu), pi.shape[1], weight.shape[1]
    Q[:] = 0.0
    weight[:] = 0.0
    d, v = np.zeros((n, T)), np.zeros((n, T + 1))
    flow, own = np.empty(T + 1), np.empty((nA, T))
    one = np.ones(1)
    for s in range(n):
        t = level[s]
        _add_raised(one, 0, t, mu[s], pascal, d, s)
        if inner[s] < 0:
            continue
        first = inner[s] * nA
        for e in range(entry_ptr[s], entry_ptr[s + 1]):
            o = entry_o[e]
            for a in range(nA):
                if pi[o, a] == 0.0 and a != goal[o]:
                    continue
                into = tables.carry * entry_prob[e]
                here = pi[o, a] if goal[o] < 0 else 1.0 if a == goal[o] else 0.0
                flow[0] = 0.0
                for i in range(t + 1):
                    flow[i] += into * here * d[s, i]
                    flow[i + 1] = into * pi[o, a] * d[s, i]
                for k in range(row_ptr[first + a], row_ptr[first + a + 1]):
                    s_next = successor[k]
                    _add_raised(flow, t + 1, level[s_next], prob[k], pascal, d, s_next)
    for s in range(n - 1, -1, -1):
        degree = T - 1 - level[s]
        for a in range(nA):
            for i in range(degree + 1):
                own[a, i] = R[tables.reward_row[s], a] * pascal[degree, i]
            if inner[s] >= 0:
                at = inner[s] * nA + a
                for k in range(row_ptr[at], row_ptr[at + 1]):
                    s_next = successor[k]
                    share = tables.gamma * prob[k]
                    _add_raised(v[s_next], T - level[s_next], degree, share, pascal, own, a)
        for e in range(entry_ptr[s], entry_ptr[s + 1]):
            o = entry_o[e]
            for a in range(nA):
                here = pi[o, a] if goal[o] < 0 else 1.0 if a == goal[o] else 0.0
                for i in range(degree + 1):
                    v[s, i] += entry_prob[e] * here * own[a, i]
                    v[s, i + 1] += entry_prob[e] * pi[o, a] * own[a, i]
            for h in range(level[s] + 1):
                share = d[s, h] * entry_prob[e]
                if share != 0.0:
                    for i in range(degree + 1):
                        weight[o, h + i] += share * pascal[degree, i]
                        for a in range(nA):
                            Q[o, a, h + i] += share * own[a, i]


@compile_kernel
def judge_way(Q, weight, error, goal, alike, pascal, verdict):
    """`verdict[o, a]` for actions in the order of ties: whether the goal of the row stays greedy
    beside a on all of the way, the policy tau itself left out."""
    T = weight.shape[1]
    b, off = np.empty((_MOST_HALVINGS + 2, T)), np.empty((_MOST_HALVINGS + 2, T))
    depth = np.empty(_MOST_HALVINGS + 2, dtype=np.int64)
    for o in range(len(goal)):
        best = goal[o]
        # x^first y^(T-1-first) is the first that the row is visited with
        first = 0
        while first < T and weight[o, first] == 0.0:
            first += 1
        for a in range(Q.shape[1]):
            verdict[o, a] = STAYS
            if best < 0 or first == T or alike[o, a] == alike[o, best]:
                continue
            stays = True
            for i in range(first, T):
                c = Q[o, best, i] - Q[o, a, i]
                stays = stays and c > 2.0 * error * weight[o, i]
            if stays:  # as a rule
                continue
            degree = T - 1 - first
            for i in range(degree + 1):
                c, w = Q[o, best, first + i] - Q[o, a, first + i], weight[o, first + i]
                b[0, i] = c / pascal[degree, i]
                off[0, i] = 2.0 * error * w / pascal[degree, i]
            verdict[o, a] = _sign(b, off, depth, degree, a < best)


@inline_kernel
def _sign(b, off, depth, degree, strict):
    """Whether b is positive on (0, 1], or not negative, where its coefficients may be off."""
    found = STAYS
    depth[0] = 0
    top = 0
    while top >= 0:
        is_above, size = True, 0.0
        for i in range(degree + 1):
            is_above = is_above and b[top, i] >= off[top, i]
            size = max(size, abs(b[top, i]))
        # the first and the last coefficient are the values at the ends
        for i in (0, degree):
            if b[top, i] < -off[top, i]:
                return LEAVES
            if b[top, i] < off[top, i] or (strict and b[top, i] == off[top, i]):
                is_above, found = True, OPEN  # where nobody can tell, halving does not help
        if is_above:
            top -= 1
        elif depth[top] == _MOST_HALVINGS:
            found = OPEN
            top -= 1
        else:
            # the right half stays where it is, the left one goes on top
            depth[top] += 1
            depth[top + 1] = depth[top]
            rounding = degree * UNIT * size
            for i in range(degree + 1):
                b[top + 1, i] = b[top, 0]
                off[top + 1, i] = off[top, 0] + rounding
                for h in range(degree - i):
                    b[top, h] = 0.5 * (b[top, h] + b[top, h + 1])
                    off[top, h] = 0.5 * (off[top, h] + off[top, h + 1])
            for i in range(degree + 1):
                off[top, i] += rounding
            top += 1
    return found
