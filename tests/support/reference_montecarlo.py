"""Slow twins of Monte Carlo limits: one equation for each state, solved by elimination in
Fractions."""

from __future__ import annotations

from fractions import Fraction

from workbench import POMDP, Policy


def solved(matrix: list[list[Fraction]], right: list[Fraction]) -> list[Fraction]:
    """x with matrix x = right."""
    rows = [[*row, side] for row, side in zip(matrix, right, strict=True)]
    for i in range(len(rows)):
        pivot = next(j for j in range(i, len(rows)) if rows[j][i] != 0)
        rows[i], rows[pivot] = rows[pivot], rows[i]
        rows[i] = [x / rows[i][i] for x in rows[i]]
        for j in range(len(rows)):
            if j != i:
                rows[j] = [x - rows[j][i] * y for x, y in zip(rows[j], rows[i], strict=True)]
    return [row[-1] for row in rows]


def expected(P: POMDP, pi: Policy, now, goes_on=lambda o, a: True, gamma=Fraction(1)) -> dict:
    """x(s) = sum_{o,a} omega(o|s) pi(a|o) [ now(s,o,a) + gamma sum_{s'} p(s'|s,a) x(s') if it goes
    on ], 0 at the end."""
    alive = [s for s in P.S if s not in P.terminal]
    matrix, right = [], []
    for s in alive:
        row, side = {t: Fraction(int(t == s)) for t in alive}, Fraction(0)
        for o, y in P.omega(s).items():
            for a, z in pi.row(o).items():
                side += y * z * now(s, o, a)
                if goes_on(o, a):
                    for (t, _), w in P.p(s, a).items():
                        if t in row:
                            row[t] -= gamma * y * z * w
        matrix.append([row[t] for t in alive])
        right.append(side)
    return dict(zip(alive, solved(matrix, right), strict=True))


def monte_carlo(P: POMDP, pi: Policy, pair: tuple, visits: str = "every") -> Fraction | None:
    """The mean of the returns after (every or the first) visit to a pair (o, a), over its number;
    None if never visited."""
    v = expected(
        P, pi, lambda s, o, a: sum(w * r for (_, r), w in P.p(s, a).items()), gamma=P.gamma
    )

    def q(s, a):
        return sum(w * (r + P.gamma * v.get(t, 0)) for (t, r), w in P.p(s, a).items())

    def goes_on(o, a):
        return visits == "every" or (o, a) != pair

    returns = expected(P, pi, lambda s, o, a: q(s, a) if (o, a) == pair else 0, goes_on)
    count = expected(P, pi, lambda s, o, a: int((o, a) == pair), goes_on)
    total = sum(x * count.get(s, 0) for s, x in P.mu.items())
    return sum(x * returns.get(s, 0) for s, x in P.mu.items()) / total if total else None
