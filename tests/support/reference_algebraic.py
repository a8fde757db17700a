"""A second opinion on exact optima: the return by elimination in numbers of many digits, its
stationary point by Newton's method on differences. Slow and obvious."""

from __future__ import annotations

import mpmath

from workbench import POMDP

DIGITS = 30
_WORKING, _STEP = 110, mpmath.mpf(10) ** -35


def precise_return(P: POMDP, first: dict) -> mpmath.mpf:
    """mu . v with v = r + gamma P v, where `first[o]` is the probability of the first of two
    actions."""
    states = [s for s in P.S if s not in P.terminal]
    place = {s: i for i, s in enumerate(states)}
    A, b = mpmath.eye(len(states)), mpmath.zeros(len(states), 1)
    for s in states:
        for o, seen in P.omega(s).items():
            for a, share in zip(P.A, (first[o], 1 - first[o]), strict=True):
                for (t, r), chance in P.p(s, a).items():
                    weight = share * _number(seen) * _number(chance)
                    b[place[s]] += weight * _number(r)
                    if t in place:
                        A[place[s], place[t]] -= _number(P.gamma) * weight
    v = mpmath.lu_solve(A, b)
    return mpmath.fsum(_number(x) * v[place[s]] for s, x in P.mu.items())


def _number(x) -> mpmath.mpf:
    return mpmath.mpf(x.numerator) / x.denominator


def precise_optimum(P: POMDP, near: dict) -> tuple[dict, mpmath.mpf]:
    """The stationary point next to `near[o]`, the probability of the first action in each row, and
    the return there."""
    with mpmath.workdps(_WORKING):

        def worth(*x) -> mpmath.mpf:
            return precise_return(P, dict(zip(near, x, strict=True)))

        def slopes(*x) -> list[mpmath.mpf]:
            found = []
            for i in range(len(x)):
                up, down = list(x), list(x)
                up[i], down[i] = x[i] + _STEP, x[i] - _STEP
                found.append((worth(*up) - worth(*down)) / (2 * _STEP))
            return found

        start = [mpmath.mpf(x) for x in near.values()]
        root = mpmath.findroot(slopes, start, tol=mpmath.mpf(10) ** -70, h=_STEP, verify=False)
        point = dict(zip(near, root, strict=True))
        return point, worth(*root)
