"""The slow twin of the oracle loop: labels, Fractions, and the sentence of Section 5.2 word for
word."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from workbench import POMDP, Policy, evaluate
from workbench.core.augment import ActionsAndWrites

Rows = dict


def oracle_loop(
    P: POMDP, pi: Policy, step, weights: str = "visits", criterion: str = "return"
) -> Iterator[tuple[Fraction, Rows, Rows]]:
    """(value, {o: {a: probability}}, {o: greedy action}) of each iterate; ties="last"."""
    rows = {o: {a: pi[o, a] for a in P.A} for o in P.O}
    how = {"weights": weights} if criterion == "return" else {"criterion": criterion}
    while True:
        now = evaluate(P, Policy.from_mapping(P, rows), exact=True, **how)
        q = {o: {a: now.q[o, a] for a in P.actions(o)} for o in P.O}
        greedy = {o: best(P, row) for o, row in q.items() if None not in row.values()}
        yield now.value, {o: dict(row) for o, row in rows.items()}, greedy
        for o, chosen in greedy.items():
            for a in P.A:
                rows[o][a] = (1 - step) * rows[o][a] + (step if a == chosen else 0)


def best(P: POMDP, q: dict):
    """Among equals the higher write, then the lower action of the environment."""
    top = max(q.values())
    equals = [a for a in P.A if q.get(a) == top]
    if not isinstance(P.A, ActionsAndWrites):
        return equals[0]
    actions, writes = P.A.factors
    return max(equals, key=lambda aw: (writes.index(aw[1]), -actions.index(aw[0])))


def unrolled(P: POMDP, horizon: int) -> POMDP:
    """The task cut off after some steps, with the step counted in the state: no state comes
    back."""

    def p(state, a):
        n, s = state
        found = {}
        for (s_next, r), x in P.p(s, a).items():
            to = "end" if s_next in P.terminal or n + 1 == horizon else (n + 1, s_next)
            found[to, r] = found.get((to, r), 0) + x
        return found

    return POMDP.from_functions(
        name=f"{P.name} up to {horizon}",
        A=P.A,
        p=p,
        omega=lambda s: {"end": 1} if s == "end" else P.omega(s[1]),
        mu={(0, s): x for s, x in P.mu.items()},
        gamma=P.gamma,
        terminal={"end"},
        allowed=P.actions,
    )
