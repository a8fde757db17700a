"""The places (s, m, o) of a task with a memory, and the values of policies there. The arithmetic is
in Fractions, or in formulas.

The memory is carried along beside the task; no compiled product is used. For one policy pi

    v = r_pi + gamma P_pi v        d = mu + P_pi^T d        (discounted: d = mu + gamma P_pi^T d)

are solved from the end of the task backwards, if no place can be met twice, else by elimination.
Along x pi + (1-x) goal the probabilities are polynomials in x, and values and visits are N/D and
C/D' with determinants D and D' (elimination without fractions, Bareiss). For a row o with visits

    (q(o, b) - q(o, a)) (visits of o) D D'  =  sum_s C(s) omega(o|s) [ (R(s,b) - R(s,a)) D + gamma
    sum (p_b - p_a) N ]

has the sign of q(o, b) - q(o, a) where D and D' are positive.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import Any

from workbench.checker.expressions import Polynomial
from workbench.checker.polynomials import ONE, ZERO, eliminated
from workbench.checker.positivity import is_positive_within
from workbench.checker.reader import CheckedTask, MemoryRule, PlainLabel, PolicyRows
from workbench.checker.spoiled import Spoiled

MemoryPlace = tuple[PlainLabel, PlainLabel, PlainLabel]

MOST_PLACES_WALKED = 20_000
MOST_EQUATIONS = 600
"""So many equations are solved where places can be met twice."""


class PlaceGraph:
    """The places that can be reached, and where each action leads from them.

    Parameters
    ----------
    rows : a policy. If it is given, other actions than its own are followed for one step only:
        from the places that it visits, if `aside`, or not at all.
    """

    def __init__(
        self,
        task: CheckedTask,
        memory: MemoryRule,
        rows: PolicyRows | None = None,
        aside: bool = True,
    ):
        self.task, self.W, self.policy = task, memory.W, rows
        self.after = memory.after
        self.actions = list(product(task.A, self.W))
        self.start: dict[MemoryPlace, Any] = {}
        for s, x in task.mu.items():
            for o, y in task.omega[s].items():
                if x * y != 0 and s not in task.terminal:
                    self.start[s, memory.start, o] = x * y
        self.steps: dict[tuple[MemoryPlace, PlainLabel], dict[MemoryPlace, Any]] = {}
        self.R: dict[tuple[MemoryPlace, PlainLabel], Any] = {}
        self.places: list[MemoryPlace] = []
        # places that the policy visits come first; what it only might meet is not left by others
        self.visited = self._walk(list(self.start), set(self.start), everything=rows is None)
        if rows is not None and aside:
            beyond: dict[MemoryPlace, None] = {}
            for place in list(self.places):
                for action in self.actions:
                    if (place, action) not in self.steps:
                        beyond.update(dict.fromkeys(self._step(place, action)))
            seen = set(self.places)
            self._walk([there for there in beyond if there not in seen], seen | set(beyond), False)
        self.rows = list(dict.fromkeys((m, o) for _, m, o in self.places))

    def _walk(self, waiting: list[MemoryPlace], seen: set[MemoryPlace], everything: bool) -> int:
        for place in waiting:  # grows while we walk
            self.places.append(place)
            if len(self.places) > MOST_PLACES_WALKED:
                raise Spoiled(f"the task has more than {MOST_PLACES_WALKED:,} places")
            for action in self.actions if everything else self.taken(place):
                onward = self._step(place, action)
                waiting += [there for there in onward if there not in seen]
                seen.update(onward)
        return len(self.places)

    def _step(self, place: MemoryPlace, action: PlainLabel) -> dict[MemoryPlace, Any]:
        task, (s, m, o), (a, w) = self.task, place, action
        m_next, onward, reward = self.after(m, w, o, a), dict[MemoryPlace, Any](), ZERO
        for (s_next, r), x in task.p[s, a].items():
            reward = reward + x * r
            if s_next in task.terminal:
                continue
            for o_next, y in task.omega[s_next].items():
                if x * y != 0:
                    there = s_next, m_next, o_next
                    onward[there] = onward.get(there, ZERO) + x * y
        self.steps[place, action], self.R[place, action] = onward, reward
        return onward

    def taken(self, place: MemoryPlace, rows: PolicyRows | None = None) -> list[PlainLabel]:
        """The actions that a policy, that of the graph if none is given, takes at a place."""
        rows = self.policy if rows is None else rows
        assert rows is not None
        if place[1:] not in rows:
            raise Spoiled(f"the policy has no row for {place[1:]!r}")
        return [a for a, x in rows[place[1:]].items() if x != 0]

    def order(self, ties: Any) -> list[PlainLabel]:
        """Actions as greedy prefers them among equals: the write first (the higher one if "last"),
        then the lower action."""
        if ties not in ("last", "first"):
            raise Spoiled(f"ties go to 'last' or 'first', not to {ties!r}")
        writes = self.W[::-1] if ties == "last" else self.W
        return [(a, w) for w in writes for a in self.task.A]


# ---------------------------------------------------------------------- values of one policy


class PolicyValues:
    """What a policy is worth at each place, how often it comes there, and its q-values.

    Parameters
    ----------
    rows : the policy; that of the graph if it is left out.

    Attributes
    ----------
    v : what each place is worth.
    value : the return.
    discounted : whether visits are.
    """

    def __init__(self, E: PlaceGraph, discounted: bool = False, rows: PolicyRows | None = None):
        self.E, self.discounted = E, discounted
        policy = E.policy if rows is None else rows
        assert policy is not None
        n, gamma = len(E.places), E.task.gamma
        index = {place: i for i, place in enumerate(E.places)}
        rewards: list[Any] = [ZERO] * n
        self._forth: list[dict[int, Any]] = [{} for _ in range(n)]
        for i, place in enumerate(E.places):
            for a in E.taken(place, policy):
                x = policy[place[1:]][a]
                rewards[i] = rewards[i] + x * E.R[place, a]
                for there, y in E.steps[place, a].items():
                    j = index[there]
                    self._forth[i][j] = self._forth[i].get(j, ZERO) + x * y
        self._turn = last_first(self._forth)
        later = [{j: gamma * x for j, x in row.items()} for row in self._forth]
        self.v = dict(zip(E.places, solved(later, rewards, self._turn), strict=True))
        self.value: Any = sum((x * self.v[place] for place, x in E.start.items()), ZERO)

    @cached_property
    def visits(self) -> dict[MemoryPlace, Any]:
        """How often the policy comes to each place. Places beside its way are left out."""
        E, n = self.E, self.E.visited
        back: list[dict[int, Any]] = [{} for _ in range(n)]
        for i, row in enumerate(self._forth[:n]):
            for j, x in row.items():
                back[j][i] = E.task.gamma * x if self.discounted else x
        first = [E.start.get(place, ZERO) for place in E.places[:n]]
        turn = None if self._turn is None else [i for i in self._turn[::-1] if i < n]
        return dict(zip(E.places[:n], solved(back, first, turn), strict=True))

    def after(self, place: MemoryPlace, action: PlainLabel) -> Any:
        """q(place, action): the return of an action, then of the policy."""
        E = self.E
        later = sum((y * self.v[there] for there, y in E.steps[place, action].items()), ZERO)
        return E.R[place, action] + E.task.gamma * later

    def behind(self, o: PlainLabel) -> dict[MemoryPlace, Any]:
        """P(place | (m, o)), for the places that are visited."""
        here = {place: x for place, x in self.visits.items() if place[1:] == o and x != 0}
        total = sum(here.values(), ZERO)
        return {place: x / total for place, x in here.items()}

    @property
    def q(self) -> dict[tuple[PlainLabel, PlainLabel], Any]:
        """q((m, o), (a, w)) at every observation that is seen."""
        found = {}
        for o in dict.fromkeys(place[1:] for place, x in self.visits.items() if x != 0):
            weights = self.behind(o)
            for a in self.E.actions:
                found[o, a] = sum((x * self.after(place, a) for place, x in weights.items()), ZERO)
        return found


def greedy_actions_by_rule(
    q: dict[tuple[PlainLabel, PlainLabel], Any], order: list[PlainLabel]
) -> dict[PlainLabel, PlainLabel]:
    """The best action at each observation. Among equals it is the first one of the order."""
    if not all(isinstance(x, Fraction) for x in q.values()):
        raise Spoiled("greedy is looked for among numbers, not among formulas")
    best: dict[PlainLabel, PlainLabel] = {}
    for o in dict.fromkeys(o for o, _ in q):
        top = max(q[o, a] for a in order)
        best[o] = next(a for a in order if q[o, a] == top)
    return best


def last_first(forth: list[dict[int, Any]]) -> list[int] | None:
    """Places in an order in which each comes after its successors. None if some can be met
    twice."""
    open_, found, state = list(range(len(forth))), list[int](), [0] * len(forth)
    while open_:
        i = open_[-1]
        if state[i] == 0:
            state[i] = 1
            for j in forth[i]:
                if state[j] == 1:
                    return None
                if state[j] == 0:
                    open_.append(j)
        else:
            open_.pop()
            if state[i] == 1:
                state[i] = 2
                found.append(i)
    return found


def solved(matrix: list[dict[int, Any]], right: list[Any], turn: list[int] | None) -> list[Any]:
    """Solve x = matrix x + right. `turn` is an order in which each reads only those before."""
    n = len(right)
    if turn is not None:
        x: list[Any] = [ZERO] * n
        for i in turn:
            x[i] = right[i] + sum((y * x[j] for j, y in matrix[i].items()), ZERO)
        return x
    if n > MOST_EQUATIONS:
        raise Spoiled(f"{n:,} equations that depend on one another are too many")
    rows = []
    for i, row in enumerate(matrix):
        if not all(isinstance(y, Fraction) for y in [*row.values(), right[i]]):
            raise Spoiled("a task in which places can be met twice needs numbers, not formulas")
        equation = {j: -y for j, y in row.items()} | {n: right[i]}
        equation[i] = equation.get(i, ZERO) + 1
        rows.append({j: y for j, y in equation.items() if y})
    for k in range(n):
        pivot = next((i for i in range(k, n) if rows[i].get(k)), None)
        if pivot is None:
            raise Spoiled("the policy may go on for ever")
        rows[k], rows[pivot] = rows[pivot], rows[k]
        lead = rows[k][k]
        rows[k] = {j: y / lead for j, y in rows[k].items()}
        for i in range(n):
            factor = rows[i].get(k) if i != k else None
            if factor:
                for j, y in rows[k].items():
                    y = rows[i].get(j, ZERO) - factor * y
                    if y:
                        rows[i][j] = y
                    else:
                        rows[i].pop(j, None)
    return [row.get(n, ZERO) for row in rows]


# ---------------------------------------------------------------------- values along a segment


class Segment:
    """x pi + (1-x) goal: its visits C/D and values N/D as polynomials in x."""

    def __init__(self, E: PlaceGraph, pi: PolicyRows, goal: PolicyRows):
        self.E = E
        places, none = E.places, Polynomial({})
        self.index = index = {place: i for i, place in enumerate(places)}
        n, x = len(places), Polynomial.name("x")
        forth: list[dict[int, Polynomial]] = [{i: Polynomial.of(1)} for i in range(n)]
        back: list[dict[int, Polynomial]] = [{i: Polynomial.of(1)} for i in range(n)]
        right = [none] * n
        for i, place in enumerate(places):
            old, new = pi[place[1:]], goal[place[1:]]
            for a in E.actions:
                y = new.get(a, ZERO) + x * (old.get(a, ZERO) - new.get(a, ZERO))
                if not y.terms:
                    continue
                right[i] = right[i] + y * E.R[place, a]
                for there, z in E.steps[place, a].items():
                    j = index[there]
                    forth[i][j] = forth[i].get(j, none) - y * (z * E.task.gamma)
                    back[j][i] = back[j].get(i, none) - y * z
        # places come in the order in which they are met: from the end, a task without loops needs
        # no elimination
        turned = [{n - 1 - j: f for j, f in row.items() if f.terms} for row in forth[::-1]]
        values, self.D = eliminated(turned, right[::-1])
        self.N = values[::-1]
        back = [{j: f for j, f in row.items() if f.terms} for row in back]
        starts = [Polynomial.of(E.start.get(place, ZERO)) for place in places]
        self.C, self.D_visits = eliminated(back, starts)
        if not values or not self.C:
            raise Spoiled("a policy on the way may go on for ever")

    def visits(self, o: PlainLabel) -> Polynomial:
        """Of a row, times the determinant."""
        here = (c for place, c in zip(self.E.places, self.C, strict=True) if place[1:] == o)
        return sum(here, Polynomial({}))

    def difference(self, o: PlainLabel, best: PlainLabel, other: PlainLabel) -> Polynomial:
        """The polynomial with the sign of q(o, best) - q(o, other), given that both determinants
        are positive."""
        E, total = self.E, Polynomial({})
        for place, c in zip(E.places, self.C, strict=True):
            if place[1:] != o or not c.terms:
                continue
            part = self.D * (E.R[place, best] - E.R[place, other])
            for a, sign in ((best, ONE), (other, -ONE)):
                for there, y in E.steps[place, a].items():
                    part = part + self.N[self.index[there]] * (sign * y * E.task.gamma)
            total = total + c * part
        return total


def is_positive_down_to(f: Polynomial, low: Fraction, strict: bool) -> bool:
    """Whether f > 0 (not strict: f >= 0) on [low, 1], or on (0, 1] if low is 0."""
    return is_positive_within(f, {"x": (low > 0, low, ONE, True)}, strict)


def checked_segment(E: PlaceGraph, pi: PolicyRows, goal: PolicyRows, low: Fraction) -> Segment:
    """The segment, if every policy on it from x = 1 down to `low` ends with probability one."""
    segment = Segment(E, pi, goal)
    for D in (segment.D, segment.D_visits):
        if not is_positive_down_to(D, low, strict=True):
            raise Spoiled("values or visits have no definite sign on the way")
    return segment


def worth(E: PlaceGraph, pi: PolicyRows) -> Fraction:
    """The return of a policy that has a row for every row of the graph."""
    for o in E.rows:
        row = pi.get(o)
        if not row:
            raise Spoiled(f"the policy has no row for {o!r}")
        if sum(row.values()) != 1 or min(row.values()) < 0:
            raise Spoiled(f"the policy at {o!r} is no distribution")
    return Fraction(PolicyValues(E, rows=pi).value)
