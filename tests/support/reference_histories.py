"""Slow twins of beliefs and expressiveness: every history up to a horizon, every f, every
memoryless policy."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction

from workbench import POMDP, Memory, Policy, augment, evaluate
from workbench.core.errors import NeverEnds


def joint(P: POMDP, horizon: int, mu: dict | None = None) -> dict[tuple, dict]:
    """For each history of at most `horizon` actions, P(s_t = s, o_0 .. o_t | a_0 .. a_{t-1}) for
    each state s.

    Only states that are not terminal count as the last one.
    """
    found: dict[tuple, dict] = {}
    for s, x in (P.mu if mu is None else mu).items():
        for o, y in P.omega(s).items():
            _add(found, (o,), s, x * y)
    level = found
    for _ in range(horizon):
        longer: dict[tuple, dict] = {}
        for H, row in level.items():
            for s, x in row.items():
                if s in P.terminal:
                    continue
                for a in P.A:
                    for (s_next, _), y in P.p(s, a).items():
                        for o_next, z in P.omega(s_next).items():
                            _add(longer, (*H, a, o_next), s_next, x * y * z)
        found = found | longer
        level = longer
    kept = {H: {s: x for s, x in row.items() if s not in P.terminal} for H, row in found.items()}
    return {H: row for H, row in kept.items() if row}


def _add(found: dict, H: tuple, s: object, x: Fraction) -> None:
    if x != 0:
        row = found.setdefault(H, {})
        row[s] = row.get(s, 0) + x


def beliefs(P: POMDP, horizon: int, mu: dict | None = None) -> dict[tuple, dict]:
    """b(H) for each history of at most `horizon` actions, by Bayes' rule."""
    return {
        H: {s: Fraction(x) / sum(row.values()) for s, x in row.items()}
        for H, row in joint(P, horizon, mu).items()
    }


def last_memory_states(P: POMDP, memory: Memory, f: dict, horizon: int) -> dict[tuple, set]:
    """Omega_f(H) for each history of at most `horizon` actions: the memory is run along every path
    of states."""
    level = {
        ((o,), s, m)
        for s, x in P.mu.items()
        for o, y in P.omega(s).items()
        for m, z in memory.eta.items()
        if x * y * z != 0
    }
    seen = set(level)
    for _ in range(horizon):
        level = {
            ((*H, a, o_next), s_next, m_next)
            for H, s, m in level
            if s not in P.terminal
            for a in P.A
            for (s_next, r), x in P.p(s, a).items()
            if x != 0
            for o_next, y in P.omega(s_next).items()
            if y != 0
            for m_next, z in memory.Gamma(m, f[m, H[-1], a], H[-1], a, r, o_next).items()
            if z != 0
        }
        seen |= level
    found: dict[tuple, set] = {}
    for H, s, m in seen:
        if s not in P.terminal:
            found.setdefault(H, set()).add(m)
    return found


def separates(P: POMDP, memory: Memory, f: dict, horizon: int) -> bool:
    """Definition A.2 for one f and all histories of at most `horizon` actions, pair by pair."""
    b, Omega = beliefs(P, horizon), last_memory_states(P, memory, f, horizon)
    return all(
        H1[-1] != H2[-1] or b[H1] == b[H2] or not Omega[H1] & Omega[H2]
        for H1, H2 in itertools.combinations(b, 2)
    )


def all_updates(P: POMDP, memory: Memory) -> Iterator[dict]:
    """Every memory-update function f: M x O x A -> W."""
    arguments = list(itertools.product(memory.M, P.O, P.A))
    for writes in itertools.product(memory.W, repeat=len(arguments)):
        yield dict(zip(arguments, writes, strict=True))


def best_deterministic(P: POMDP) -> Fraction:
    """The best value of a deterministic memoryless policy, over all of them that end."""
    values = []
    decides = [o for o, matters in zip(P.O, P.decides, strict=True) if matters]
    for choice in itertools.product(*map(P.actions, decides)):
        pi = Policy.deterministic(P, dict(zip(decides, choice, strict=True)), otherwise=P.A[0])
        try:
            values.append(evaluate(P, pi, exact=True).value)
        except NeverEnds:
            continue
    return max(values)


def encodes(P: POMDP, memory: Memory, best: Fraction) -> bool:
    """Whether some deterministic memoryless policy of <P, memory> is worth `best`."""
    return best_deterministic(augment(P, memory)) >= best


def best_history(P: POMDP, horizon: int) -> Fraction:
    """The best value of a policy of the whole history, for a task that is over after `horizon`
    actions."""

    def value(row: dict, left: int) -> Fraction:
        going = {s: x for s, x in row.items() if s not in P.terminal}
        assert left > 0 or not going, "the task goes on"
        allowed = [a for a in P.A if all(P.p(s, a) for s in going)]
        return max(worth(going, a, left) for a in allowed) if going else Fraction(0)

    def worth(row: dict, a: object, left: int) -> Fraction:
        now = sum(x * y * r for s, x in row.items() for (_, r), y in P.p(s, a).items())
        after: dict = {}
        for s, x in row.items():
            for (s_next, _), y in P.p(s, a).items():
                for o_next, z in P.omega(s_next).items():
                    _add(after, o_next, s_next, x * y * z)
        return now + P.gamma * sum(value(part, left - 1) for part in after.values())

    first: dict = {}
    for s, x in P.mu.items():
        for o, y in P.omega(s).items():
            _add(first, o, s, x * y)
    return sum((value(part, horizon) for part in first.values()), Fraction(0))


class TooLong(Exception):
    """More partial functions than the plain search was allowed to try."""


def find_f(
    P: POMDP, memory: Memory, f: dict | None = None, left: list[int] | None = None
) -> dict | None:
    """Some f that keeps all beliefs apart, or None: follow f until it is silent, then try every
    write there. `left` holds how many may be tried, and counts down.

    No learning, no looking ahead: whatever is reached under f so far (a place is a last
    observation, a belief, a state and a memory state) is found again from the start each time.
    """
    if left is not None:
        left[0] -= 1
        if left[0] < 0:
            raise TooLong
    f = {} if f is None else f
    starts = beliefs(P, 0)
    reached = {
        (H[-1], _frozen(b), s, m)
        for H, b in starts.items()
        for s in b
        for m, x in memory.eta.items()
        if x != 0
    }
    held: dict = {}
    queue = list(reached)
    silent = None
    while queue:
        o, b, s, m = queue.pop()
        if held.setdefault((m, o), b) != b:
            return None
        for a in P.A:
            following = _step(P, dict(b), a)
            for (s_next, r), x in P.p(s, a).items():
                for o_next, y in P.omega(s_next).items():
                    if x * y == 0 or s_next in P.terminal:
                        continue
                    if (m, o, a) not in f:
                        silent = silent or (m, o, a)
                        continue
                    for m_next, z in memory.Gamma(m, f[m, o, a], o, a, r, o_next).items():
                        place = (o_next, _frozen(following[o_next]), s_next, m_next)
                        if z != 0 and place not in reached:
                            reached.add(place)
                            queue.append(place)
    if silent is None:
        return f
    tries = (find_f(P, memory, {**f, silent: w}, left) for w in memory.W)
    return next((found for found in tries if found is not None), None)


def _frozen(b: dict) -> frozenset:
    return frozenset(b.items())


def _step(P: POMDP, b: dict, a: object) -> dict:
    """For each observation after an action, the belief."""
    found: dict = {}
    for s, x in b.items():
        for (s_next, _), y in P.p(s, a).items():
            for o_next, z in P.omega(s_next).items():
                if s_next not in P.terminal:
                    _add(found, o_next, s_next, x * y * z)
    return {o: {s: x / sum(row.values()) for s, x in row.items()} for o, row in found.items()}
