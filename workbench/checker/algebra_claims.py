"""Re-checking identities and inequalities between polynomials, and where a policy stays greedy.

identity              two quotients of polynomials are the same function
polynomial-positive   a polynomial is positive on a box: from its coefficients, or by Sturm
excluded              conditions exclude one another: a combination of products of them is negative
greedy-family         a policy is greedy at every policy of a family, all derived from the task
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from workbench.checker.expressions import Polynomial, is_same_function
from workbench.checker.place_graph import PlaceGraph, PolicyValues
from workbench.checker.polynomials import ZERO
from workbench.checker.positivity import (
    BoxInterval,
    excludes,
    is_positive_on_box,
    is_positive_within,
    read_box,
)
from workbench.checker.reader import (
    CLASSES,
    PlainLabel,
    done_label,
    field,
    read_entries,
    read_label,
    read_memory,
    read_policy,
    read_polynomial_number,
    read_task,
    seen_label,
    shown_task,
)
from workbench.checker.spoiled import Spoiled

MOST_CONDITIONS = 60


def check_identity(certificate: dict[str, Any]) -> str:
    """Two quotients of polynomials are the same function."""
    left, right = field(certificate, "left", str), field(certificate, "right", str)
    if not is_same_function(left, right):
        raise Spoiled(f"{left[:60]} and {right[:60]} are not the same function")
    what = field(certificate, "what", str)
    return f"{what}: {_cut(left)} = {_cut(right)}, both sides multiplied out"


def check_polynomial_positive(certificate: dict[str, Any]) -> str:
    """A polynomial is positive, or nowhere negative, on a box."""
    polynomial, box = field(certificate, "polynomial", str), field(certificate, "box", dict)
    strict = field(certificate, "strict", bool)
    relation = "> 0" if strict else ">= 0"
    if not is_positive_on_box(polynomial, box, strict):
        raise Spoiled(f"{_cut(polynomial)} {relation} is not shown on {box}")
    where = ", ".join(f"{name} in {one}" for name, one in box.items())
    return f"{_cut(polynomial)} {relation} for {where}" if where else f"{polynomial} {relation}"


def check_excluded(certificate: dict[str, Any]) -> str:
    """No real numbers satisfy all conditions."""
    conditions = field(certificate, "conditions", list)
    terms = list(read_entries(field(certificate, "terms", list), 2, "terms"))
    positive, squares = field(certificate, "positive", list), field(certificate, "squares", list)
    if len(conditions) > MOST_CONDITIONS or len(terms) > 20_000:
        raise Spoiled("there are too many conditions or terms")
    if not excludes(conditions, terms, positive, squares):
        raise Spoiled("the products do not cancel, so nothing is excluded")
    return f"{'; '.join(map(_cut, conditions))}: never all at once, by {len(terms)} products"


def check_greedy_family(certificate: dict[str, Any]) -> str:
    """A policy is greedy on the q-values of every policy of a family, up to ties that go its way.

    The family is a policy whose probabilities are polynomials in names, each on an interval. The
    probabilities are shown to be nowhere negative there, and the rows to sum to one; the q-values
    are derived from the task and the memory. With visits d and behind each observation o

        sum over places (s, m, o) of d(s, m, o) (q(s, m, o; best) - q(s, m, o; a))

    is a polynomial with the sign of q(o, best) - q(o, a), since the visits of o are positive. The
    memory "B(k)" stands for all B(k), k >= 1, at once, with y = 2^-k: a policy then gives the
    2^k - 2 memory states other than the first and the last one probability together, of which each
    has the same share, and does the same in all of them; so each of them is worth the same, and the
    episodes are those of a memory with three states.
    """
    task = read_task(field(certificate, "model", dict), read_polynomial_number)
    memory = read_memory(field(certificate, "memory"))
    rows = read_policy(field(certificate, "policy", list), task, memory, read_polynomial_number)
    box = read_box(field(certificate, "box", dict))
    rows_of_task = [task.mu, *task.omega.values(), *task.p.values()]
    numbers = [task.gamma, *(x for row in rows_of_task for x in row.values())]
    if any(not isinstance(x, Fraction) for x in numbers):
        raise Spoiled("only rewards and the policy may be formulas here")
    for o, row in rows.items():
        for a, x in row.items():
            if not is_positive_within(Polynomial.of(x), box, strict=False):
                raise Spoiled(f"the probability of {a!r} at {o!r} may be negative")
    if memory.name == "B(k)":
        _check_shares(rows, box)
    E = PlaceGraph(task, memory, rows)
    values = PolicyValues(E)
    order = E.order(field(certificate, "ties", str))
    goal: dict[PlainLabel, PlainLabel] = {}
    for o, a in read_entries(field(certificate, "greedy", list), 2, "greedy"):
        row = seen_label(task, memory, read_label(o))
        if row in goal:
            raise Spoiled(f"greedy does two things at {row!r}")
        goal[row] = done_label(task, memory, read_label(a))
    if not goal or not set(goal.values()) <= set(order):
        raise Spoiled("greedy does nothing, or what is no action")
    shown: dict[bool, list[Polynomial]] = {True: [], False: []}
    inequalities = 0
    for o, best in goal.items():
        here = {place: x for place, x in values.visits.items() if place[1:] == o}
        # B(1) has no other memory states than the first and the last
        inside = _without_one_half(box) if o[0] == CLASSES[1] and memory.name == "B(k)" else box
        if not is_positive_within(Polynomial.of(sum(here.values(), ZERO)), inside):
            raise Spoiled(f"{o!r} is not shown to be visited by every policy of the family")
        for a in order:
            if a == best:
                continue
            gap = Polynomial.of(ZERO)
            for place, x in here.items():
                gap = gap + x * (values.after(place, best) - values.after(place, a))
            strict = order.index(a) < order.index(best)
            again = inside is box and (gap in shown[True] or (not strict and gap in shown[False]))
            if again:
                continue
            if not is_positive_within(gap, inside, strict):
                raise Spoiled(f"{best!r} is not shown to be preferred to {a!r} at {o!r}")
            if inside is box:
                shown[strict].append(gap)
            inequalities += 1
    where = ", ".join(f"{name} in {one}" for name, one in certificate["box"].items())
    return (
        f"{shown_task(task, memory)}: on {len(goal)} rows greedy is one action for all {where}, "
        f"{inequalities} inequalities from the task"
    )


def _check_shares(rows: Any, box: dict[str, BoxInterval]) -> None:
    """y = 2^-k lies in (0, 1/2], and what is written to no memory state at all has no chance."""
    has_low, low, high, has_high = box.get("y", (True, ZERO, None, False))
    half = Fraction(1, 2)
    if high is None or high > half or low < 0 or (low == 0 and has_low):
        raise Spoiled("with B(k) the name y stands for 2^-k, in (0, 1/2]")
    if high < half or not has_high:
        return
    for o, row in rows.items():
        written = sum((x for (_, w), x in row.items() if w == CLASSES[1]), ZERO)
        left = Polynomial.of(ZERO)
        for powers, c in Polynomial.of(written).terms.items():
            rest = tuple((name, k) for name, k in powers if name != "y")
            left = left + Polynomial({rest: c * half ** dict(powers).get("y", 0)})
        if left.terms:
            raise Spoiled(f"the policy at {o!r} writes to memory states that B(1) does not have")


def _without_one_half(box: dict[str, BoxInterval]) -> dict[str, BoxInterval]:
    has_low, low, high, has_high = box["y"]
    return {**box, "y": (has_low, low, high, has_high and high != Fraction(1, 2))}


def _cut(shown: str) -> str:
    return shown if len(shown) <= 70 else f"{shown[:67]}..."
