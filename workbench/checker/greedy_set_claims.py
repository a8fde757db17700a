"""Re-checking that whole sets of greedy policies hold no fixed point, one inequality for each.

fixed-point-bounds   every greedy policy of a task with a memory is listed as a fixed point, refuted
                     by a pair (o, a), or lies in a set D that bounds refute

A set D is given by the actions D(o) that are possible in each row. Let b be epsilon-greedy on some
g with g(o) in D(o), d its visits, and B_a(s; v) = R(s,a) + gamma sum p(s'|s,a) v(o(s')). For
Q-learning q(o,a) is the mean of B_a(s; v) over the places s behind o, weighed by d, and
v(o) = max_a q(o,a) = q(o, g(o)). All that is asked for has one form,

    sum_s d(s) r(s) <= 0   for every such b,         r = 0 except behind o

and a *potential* U shows it: U(s) >= r(s) + sum p_b(s'|s) U(s') for every action of D and every s,
and mu . U <= 0; episodes end, so that the sum over an episode of what is left is 0. Three uses:

    high    r = B_a(s; high) - high(o) for each a in D(o): then v <= high
    low     r = low(o) - B_a(s; low) for one a: then v >= low
    out     r = the most that B_a(s; v) - B_a'(s; v) can be for low <= v <= high, and mu . U < 0:
            then q(o,a') > q(o,a), so a is not greedy in o and leaves D(o)

v is a fixed point of an operator that is monotone and, where gamma < 1 or no place is met twice,
has a spectral radius below 1, so that the first two are bounds indeed. Sarsa(0) takes
(1 - epsilon) B_a + epsilon mean_a B_a in place of B_a in the first two.

Sets are met in the order of a walk: each ends refuted (a row without actions), is divided by the
actions of one row, the first action's set first, or lists its policies.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import prod
from typing import Any

from workbench.checker.fixed_point_claims import (
    GreedyActions,
    GreedyTables,
    check_fixed_point,
    check_refuted,
    told_values,
)
from workbench.checker.place_graph import PlaceGraph, last_first
from workbench.checker.polynomials import ZERO
from workbench.checker.reader import (
    PlainLabel,
    count,
    field,
    read_entries,
    read_fraction,
    read_label,
    shown_task,
)
from workbench.checker.spoiled import Spoiled

Fractions = list[Fraction]
Domain = list[tuple[int, ...]]

MOST_SETS = 20_000
MOST_LISTED = 100_000


class SetBounds:
    """A task with a memory as numbers, and the inequalities that hold for sets of policies."""

    def __init__(
        self,
        E: PlaceGraph,
        places: list[PlainLabel],
        rows: list[PlainLabel],
        actions: list[PlainLabel],
        epsilon: Fraction,
        greedy_target: bool,
    ):
        index = {place: i for i, place in enumerate(places)}
        number_of = {o: i for i, o in enumerate(rows)}
        self.epsilon, self.gamma = epsilon, E.task.gamma
        self.greedy_target, self.nA = greedy_target, len(actions)
        self.row_of = [number_of[place[1:]] for place in places]
        self.behind: list[list[int]] = [[] for _ in rows]
        for i, o in enumerate(self.row_of):
            self.behind[o].append(i)
        self.mu = [E.start.get(place, ZERO) for place in places]
        self.R = [[E.R[place, a] for a in actions] for place in places]
        self.steps = [
            [[(index[there], x) for there, x in E.steps[place, a].items()] for a in actions]
            for place in places
        ]
        self._check_ends()

    def _check_ends(self) -> None:
        forth: list[dict[int, Any]] = [{} for _ in self.mu]
        ends = set()
        for i, here in enumerate(self.steps):
            for onward in here:
                forth[i].update(onward)
                if sum((x for _, x in onward), ZERO) < 1:
                    ends.add(i)
        while more := {i for i in range(len(forth)) if i not in ends and ends & forth[i].keys()}:
            ends |= more
        if len(ends) < len(forth):
            raise Spoiled("an episode may go on for ever, whatever is done")
        if self.gamma == 1 and last_first(forth) is None:
            raise Spoiled("gamma is 1 and a place can be met twice: bounds say nothing")

    def backups(self, v: Fractions) -> list[Fractions]:
        """Backups B_a(s, V) as `[s][a]`."""
        return [
            [
                r + self.gamma * sum((x * v[self.row_of[j]] for j, x in onward), ZERO)
                for r, onward in zip(rewards, here, strict=True)
            ]
            for rewards, here in zip(self.R, self.steps, strict=True)
        ]

    def target(self, B: Fractions, a: int) -> Fraction:
        """What a place behind a row counts in v, if a is greedy there."""
        if self.greedy_target:
            return B[a]
        return (1 - self.epsilon) * B[a] + self.epsilon * sum(B, ZERO) / self.nA

    def is_shown(
        self, U: Fractions | None, r: dict[int, Fraction], D: Domain, strict: bool
    ) -> bool:
        """Whether a potential shows that sum d r <= 0 (< 0) for every behaviour of the set. None is
        the potential 0."""
        if U is None:
            return not strict and all(x <= 0 for x in r.values())
        total = sum((x * y for x, y in zip(self.mu, U, strict=True)), ZERO)
        if total > 0 or (strict and total == 0):
            return False
        share = self.epsilon / self.nA
        for s, here in enumerate(self.steps):
            after = [sum((x * U[j] for j, x in onward), ZERO) for onward in here]
            most = max((after[a] for a in D[self.row_of[s]]), default=None)
            if most is None:
                raise Spoiled(f"row {self.row_of[s]} has no actions")
            if U[s] < r.get(s, ZERO) + (1 - self.epsilon) * most + share * sum(after, ZERO):
                return False
        return True

    def over(self, o: int, a: int, high: Fractions, B: list[Fractions]) -> dict[int, Fraction]:
        """r that shows q(o, a) <= high(o)."""
        return {s: self.target(B[s], a) - high[o] for s in self.behind[o]}

    def under(self, o: int, a: int, low: Fractions, B: list[Fractions]) -> dict[int, Fraction]:
        """r that shows v(o) >= low(o)."""
        return {s: low[o] - self.target(B[s], a) for s in self.behind[o]}

    def lag(
        self, o: int, a: int, better: int, low: Fractions, high: Fractions
    ) -> dict[int, Fraction]:
        """r that shows q(o, better) > q(o, a): the most that a can lead, place by place."""
        found = {}
        for s in self.behind[o]:
            change: dict[int, Fraction] = {}
            for sign, b in ((1, a), (-1, better)):
                for j, x in self.steps[s][b]:
                    change[self.row_of[j]] = change.get(self.row_of[j], ZERO) + sign * x
            lead = sum((x * (high if x > 0 else low)[k] for k, x in change.items()), ZERO)
            found[s] = self.R[s][a] - self.R[s][better] + self.gamma * lead
        return found


def check_set_bounds(certificate: dict[str, Any]) -> str:
    """Every greedy policy is a fixed point that is listed, or is refuted, alone or in a set."""
    cells = GreedyTables.read(certificate)
    places = [read_label(place) for place in field(certificate, "places", list)]
    if len(places) != len(cells.E.places) or set(places) != set(cells.E.places):
        raise Spoiled("the places are not those that the task has")
    bounds = SetBounds(
        cells.E, places, cells.rows, cells.actions, cells.epsilon, cells.greedy_target
    )
    unit = read_fraction(field(certificate, "unit"))
    if unit <= 0:
        raise Spoiled("the unit of the potentials is not positive")
    fixed: dict[GreedyActions, tuple[bool, Fraction]] = {}
    for digits, strict, shown in read_entries(field(certificate, "fixed", list), 3, "fixed"):
        g, value = _read_policy(cells, digits), read_fraction(shown)
        if g in fixed:
            raise Spoiled(f"policy {list(g)} is spoken of twice")
        check_fixed_point(cells, g, strict, value)
        fixed[g] = strict, value
    nodes = field(certificate, "sets", list)
    if len(nodes) > MOST_SETS:
        raise Spoiled(f"{len(nodes):,} sets are more than {MOST_SETS:,}")
    waiting: list[Domain] = [[tuple(range(len(cells.actions)))] * len(cells.rows)]
    seen: set[GreedyActions] = set()
    listed = 0
    for node in nodes:
        if not waiting:
            raise Spoiled("there are more sets than the walk meets")
        D = _narrowed(bounds, waiting.pop(), field(node, "rounds", list), unit)
        how = field(node, "then", str)
        if how == "empty":
            if all(D):
                raise Spoiled("a set is said to be refuted, and every row has actions left")
        elif how == "divided":
            o = count(field(node, "row"), 0, len(D) - 1)
            waiting += [[*D[:o], (a,), *D[o + 1 :]] for a in reversed(D[o])]
        elif how == "listed":
            listed += prod(map(len, D))
            if listed > MOST_LISTED:
                raise Spoiled(f"more than {MOST_LISTED:,} policies are listed")
            seen |= _check_listed(cells, D, fixed, field(node, "refuted", list))
        else:
            raise Spoiled(f"a set is empty, divided or listed, not {how[:40]!r}")
    if waiting:
        raise Spoiled(f"{len(waiting):,} sets are not spoken of")
    if lost := fixed.keys() - seen:
        raise Spoiled(f"the fixed point {list(min(lost))} lies in a set that is said to hold none")
    told = told_values(list(fixed.values()))
    many = f"{len(cells.actions)}^{len(cells.rows)}"
    return (
        f"{cells.learner} with epsilon {cells.epsilon} on "
        f"{shown_task(cells.E.task, cells.memory)}: {told}, among {many} greedy policies, "
        f"{listed:,} of them one by one and the others in {len(nodes):,} "
        f"set{'' if len(nodes) == 1 else 's'}"
    )


def _check_listed(
    cells: GreedyTables, D: Domain, fixed: dict[GreedyActions, Any], refuted: list[Any]
) -> set[GreedyActions]:
    """Check that each policy of a set is refuted or a known fixed point. Returns those that are."""
    found: dict[GreedyActions, tuple[int, int]] = {}
    for digits, row, action in read_entries(refuted, 3, "refuted"):
        g = _read_policy(cells, digits)
        if g in found:
            raise Spoiled(f"policy {list(g)} is spoken of twice")
        found[g] = row, action
    here = set()
    for g in product(*D):
        if g in fixed:
            here.add(g)
            continue
        if g not in found:
            raise Spoiled(f"policy {list(g)} is not spoken of")
        check_refuted(cells, g, *found.pop(g))
    if found:
        raise Spoiled(f"policy {list(next(iter(found)))} does not lie in the set that lists it")
    return here


def _narrowed(bounds: SetBounds, D: Domain, rounds: list[Any], unit: Fraction) -> Domain:
    """What is left of a set after the actions that cannot be greedy are out."""
    D = list(D)
    for one in rounds:
        if not all(D):
            raise Spoiled("a set without policies is narrowed further")
        low, high = (_numbers(field(one, name), len(D), unit) for name in ("low", "high"))
        rows, actions = len(D) - 1, bounds.nA - 1
        lower = {
            count(o, 0, rows): (count(a, 0, actions), U)
            for o, a, U in read_entries(field(one, "lower", list), 3, "lower")
        }
        upper = {
            (count(o, 0, rows), count(a, 0, actions)): U
            for o, a, U in read_entries(field(one, "upper", list), 3, "upper")
        }
        from_high, from_low = bounds.backups(high), bounds.backups(low)
        for o in range(len(D)):
            if o not in lower:
                raise Spoiled(f"nothing is said on the least that row {o} is worth")
            a, U = lower[o]
            r = bounds.under(o, a, low, from_low)
            if not bounds.is_shown(_potential(U, bounds, unit), r, D, strict=False):
                raise Spoiled(f"row {o} may be worth less than {low[o]}")
            for a in D[o]:
                r = bounds.over(o, a, high, from_high)
                if not bounds.is_shown(_potential(upper.get((o, a)), bounds, unit), r, D, False):
                    raise Spoiled(f"row {o} may be worth more than {high[o]}")
        out: list[tuple[int, int]] = []
        for o, a, better, U in read_entries(field(one, "out", list), 4, "out"):
            o, a = count(o, 0, rows), count(a, 0, actions)
            r = bounds.lag(o, a, count(better, 0, actions), low, high)
            if not bounds.is_shown(_potential(U, bounds, unit), r, D, strict=True):
                raise Spoiled(f"action {a} may be greedy in row {o}")
            out.append((o, a))
        for o, a in out:
            D[o] = tuple(b for b in D[o] if b != a)
    return D


def _read_policy(cells: GreedyTables, digits: Any) -> GreedyActions:
    if not isinstance(digits, list) or len(digits) != len(cells.rows):
        raise Spoiled(f"{str(digits)[:40]} is not an action for each of {len(cells.rows)} rows")
    return tuple(count(a, 0, len(cells.actions) - 1) for a in digits)


def _potential(U: Any, bounds: SetBounds, unit: Fraction) -> Fractions | None:
    return None if U is None else _numbers(U, len(bounds.mu), unit)


def _numbers(found: Any, many: int, unit: Fraction) -> Fractions:
    if not isinstance(found, list) or len(found) != many or any(type(x) is not int for x in found):
        raise Spoiled(f"{str(found)[:40]} is not a list of {many} whole numbers")
    return [x * unit for x in found]
