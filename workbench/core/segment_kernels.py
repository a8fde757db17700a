# mypy: disallow-untyped-defs=False
"""Compiled: whether a greedy policy stays greedy on the way to itself, x pi + (1-x) tau.

With T levels of states q(o,a) w(o) is a polynomial in x of degree T - 1. Its values at T nodes give
its Bernstein coefficients (`matrix`); if those of q(o,tau) - q(o,a) are nowhere negative, tau stays
greedy. For a large T the matrix is the identity: then the nodes are all that is looked at.
"""

from __future__ import annotations

from workbench.core.horizon_kernels import evaluate_here
from workbench.core.kernels import inline_kernel, lean_later


@inline_kernel
def look_along(tables, R, pi, goal, error, alike, work, leaves, is_known):
    """Whether `goal` stays greedy on x pi + (1-x) goal for 0 < x <= 1. Only rows with a goal count.
    It also returns whether the bounds say so everywhere, and an x above which it holds.

    `leaves[o]` marks rows that may leave, and rows without a goal, which stay as they are, if they
    are seen at the end. A difference within its bound counts as zero, without doubt if it is zero.
    With `is_known`, `work` holds what pi is like.
    """
    nodes, matrix, q, weight = tables.nodes, tables.matrix, work.q_node, work.weight_node
    (rows, nA), last, stays, sure, leave = pi.shape, len(nodes) - 1, True, True, 0.0
    for j in range(last, -1, -1):
        if j < last or not is_known:
            for o in range(rows):
                for a in range(nA):
                    work.there[o, a] = pi[o, a] * (nodes[j] if goal[o] >= 0 else 1.0)
                if goal[o] >= 0:
                    work.there[o, goal[o]] += 1.0 - nodes[j]
            evaluate_here(tables, R, work.there, work)
        for o in range(rows):
            weight[j, o] = work.weight[o]
            for a in range(nA):
                q[j, o, a] = work.q[o, a]
    for o in range(rows):
        best, leaves[o] = goal[o], goal[o] < 0 and weight[0, o] > 0.0
        stays = stays and leaves[o] == 0
        if best < 0:
            continue
        for a in range(nA):
            if alike[o, a] == alike[o, best]:
                continue
            is_left = False
            for i in range(last + 1):
                ahead, bound = 0.0, 0.0
                for j in range(last + 1):
                    ahead += matrix[i, j] * (q[j, o, best] - q[j, o, a])
                    bound += abs(matrix[i, j]) * 2.0 * error * weight[j, o]
                work.part[i] = ahead - bound
                is_left = is_left or ahead < -bound
                sure = sure and (ahead == 0.0 or abs(ahead) > bound)
            if is_left:
                leaves[o], stays = 1, False
                if is_known:
                    leave = max(leave, last_negative(nodes, work.part))
    return stays, sure, leave


@inline_kernel
def last_negative(nodes, part):
    """An x above which the polynomial with Bernstein coefficients `part` is positive. It lies above
    each line through its last coefficient and another one."""
    last, cut = len(part) - 1, 0.0
    for i in range(last):
        if part[i] < 0.0:
            share = 1.0 if part[last] <= 0.0 else part[i] / (part[i] - part[last])
            cut = max(cut, nodes[i] + (1.0 - nodes[i]) * share)
    return cut


@lean_later
def look_ahead(tables, R, pi, goal, error, alike, work, leaves, sure):
    """Call `look_along` for each loop of a batch. It writes `leaves[b, o]`, and to `sure[b]`
    whether that is certain."""
    for b in range(len(R)):
        _, sure[b], _ = look_along(
            tables, R[b], pi[b], goal[b], error[b], alike, work, leaves[b], False
        )
