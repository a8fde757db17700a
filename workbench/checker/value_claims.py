"""Re-checking what policies are worth, and what temporal differences make of them.

policy-value     the return of a policy
q-values         its q-values, weighted by visits or by discounted visits, and the return
greedy-step      the return before and after a step towards the greedy policy
falling-step     a policy from which every small step towards greedy lowers the return
td-values        values that reproduce themselves as the means of their n-step targets
value-bound      a function of the state that no action beats bounds the return of every policy

NumberReader may be formulas where no place can be met twice: then the statement holds for all
values of the names that make the rows distributions.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from workbench.checker.loop_claims import bound_of_states
from workbench.checker.place_graph import (
    MemoryPlace,
    PlaceGraph,
    PolicyValues,
    greedy_actions_by_rule,
)
from workbench.checker.polynomials import ZERO
from workbench.checker.reader import (
    CheckedTask,
    MemoryRule,
    PlainLabel,
    PolicyRows,
    count,
    distribution,
    done_label,
    field,
    read_entries,
    read_formula,
    read_fraction,
    read_label,
    read_memory,
    read_policy,
    read_task,
    seen_label,
    shown_task,
)
from workbench.checker.spoiled import Spoiled

LONGEST_TARGET = 60


def _subject(certificate: dict[str, Any]) -> tuple[CheckedTask, MemoryRule, PolicyRows]:
    """The task, the memory and the policy that a certificate is about."""
    task = read_task(field(certificate, "model", dict), read_formula)
    memory = read_memory(field(certificate, "memory"))
    if memory.name == "B(k)":
        raise Spoiled("values are about one memory, not about all B(k)")
    rows = read_policy(field(certificate, "policy", list), task, memory, read_formula)
    return task, memory, rows


def _table(
    listed: Any, task: CheckedTask, memory: MemoryRule
) -> dict[tuple[PlainLabel, PlainLabel], Any]:
    """q-values by (m, o) and (a, w)."""
    found = {}
    for o, a, x in read_entries(listed, 3, "q"):
        pair = seen_label(task, memory, read_label(o)), done_label(task, memory, read_label(a))
        if pair in found:
            raise Spoiled(f"q{pair} is given twice")
        found[pair] = read_formula(x)
    return found


def _is_discounted(certificate: dict[str, Any]) -> bool:
    return bool(field(certificate, "discounted", bool))


def check_value(certificate: dict[str, Any]) -> str:
    """The return of a policy."""
    task, memory, rows = _subject(certificate)
    E = PlaceGraph(task, memory, rows, aside=False)
    value = PolicyValues(E).value
    if value != read_formula(field(certificate, "value")):
        shown = f"{value}, not" if isinstance(value, Fraction) else "not"
        raise Spoiled(f"the policy is worth {shown} {certificate['value']}")
    return (
        f"a policy of {shown_task(task, memory)} is worth {certificate['value']}: "
        f"{len(E.places)} equations solved"
    )


def check_q_values(certificate: dict[str, Any]) -> str:
    """The q-values and the return of a policy."""
    task, memory, rows = _subject(certificate)
    found = PolicyValues(PlaceGraph(task, memory, rows), _is_discounted(certificate))
    claimed, q = _table(field(certificate, "q", list), task, memory), found.q
    if set(claimed) != set(q):
        raise Spoiled("the q-values are given for other pairs (o, a) than those that are seen")
    for pair, x in q.items():
        if not claimed[pair] == x:
            raise Spoiled(f"q{pair} is not what is said")
    if not found.value == read_formula(field(certificate, "value")):
        raise Spoiled(f"the return is not {certificate['value']}")
    return (
        f"{len(q)} q-values of a policy of {shown_task(task, memory)}, and its return "
        f"{certificate['value']}"
    )


def check_greedy_step(certificate: dict[str, Any]) -> str:
    """Check the return before and after a move towards the greedy policy. Ties go to the higher
    write, then to the lower action."""
    task, memory, rows = _subject(certificate)
    step = read_formula(field(certificate, "step"))
    if isinstance(step, Fraction) and not 0 <= step <= 1:
        raise Spoiled(f"the step {step} does not lie in [0, 1]")
    E = PlaceGraph(task, memory, rows)
    before = PolicyValues(E, _is_discounted(certificate))
    greedy = greedy_actions_by_rule(before.q, E.order("last"))
    moved = dict(rows)
    for o, best in greedy.items():
        moved[o] = {
            a: (1 - step) * rows[o].get(a, ZERO) + (step if a == best else 0)
            for a in {**rows[o], best: 0}
        }
    after = PolicyValues(PlaceGraph(task, memory, moved, aside=False))
    for what, found in (("before", before.value), ("after", after.value)):
        if not read_formula(field(certificate, what)) == found:
            raise Spoiled(f"the return {what} the step is not {certificate[what]}")
    return (
        f"a step of {certificate['step']} towards greedy takes the return of "
        f"{shown_task(task, memory)} from {certificate['before']} to {certificate['after']}"
    )


def check_falling_step(certificate: dict[str, Any]) -> str:
    """From a policy whose greedy actions are unique, the return falls at a given rate:

    dJ/deps = sum over places of d (discounted) times sum_a (greedy - pi)(a) q(place, a)
    """
    task, memory, rows = _subject(certificate)
    weights = field(certificate, "weights", str)
    if weights not in ("visits", "discounted"):
        raise Spoiled(f"weights are visits or discounted, not {weights!r}")
    E = PlaceGraph(task, memory, rows)
    flow = PolicyValues(E, discounted=True)
    q = PolicyValues(E, discounted=weights == "discounted").q
    first, last = (greedy_actions_by_rule(q, E.order("last")[::way]) for way in (1, -1))
    if first != last:
        raise Spoiled("greedy is not unique")
    rate = ZERO
    for place, d in flow.visits.items():
        o = place[1:]
        if o in first:
            mean = sum((x * flow.after(place, a) for a, x in rows[o].items() if x), ZERO)
            rate += d * (flow.after(place, first[o]) - mean)
    if rate != read_fraction(field(certificate, "rate")):
        raise Spoiled(f"the return changes at the rate {rate}, not {certificate['rate']}")
    if not rate < 0:
        raise Spoiled(f"the return does not fall: it changes at the rate {rate}")
    return (
        f"from a policy of {shown_task(task, memory)} worth {flow.value}, a step towards greedy on "
        f"{weights} lowers the return, at the rate {rate}"
    )


# ---------------------------------------------------------------------- temporal differences


class _Targets:
    """Expected n-step targets of a policy that read the values q of the observations."""

    def __init__(
        self, E: PlaceGraph, q: dict[tuple[PlainLabel, PlainLabel], Any], seen: set[PlainLabel]
    ):
        self.E, self.q, self.seen = E, q, seen
        self.known: dict[tuple[MemoryPlace, int], Any] = {}

    def value(self, place: MemoryPlace, n: int) -> Any:
        """The n-step target at a place, or None if it is not defined."""
        if (place, n) not in self.known:
            assert self.E.policy is not None
            row, o = self.E.policy[place[1:]], place[1:]
            total: Any = ZERO
            for a in self.E.taken(place):
                read = self.q.get((o, a)) if o in self.seen else None
                part = self.after(place, a, n) if n else read
                total = None if part is None or total is None else total + row[a] * part
            self.known[place, n] = total
        return self.known[place, n]

    def after(self, place: MemoryPlace, action: PlainLabel, n: int) -> Any:
        """The target of an action: its reward, then n - 1 more, then q."""
        total = self.E.R[place, action]
        for there, y in self.E.steps[place, action].items():
            later = self.value(there, n - 1)
            total = (
                None if later is None or total is None else (total + self.E.task.gamma * y * later)
            )
        return total


def check_td_values(certificate: dict[str, Any]) -> str:
    """Check that each q(o, a) is the mean of its n-step targets. The pairs that are left out have
    none."""
    task, memory, rows = _subject(certificate)
    n = count(field(certificate, "n"), 1, LONGEST_TARGET)
    E = PlaceGraph(task, memory, rows)
    found = PolicyValues(E)
    seen = list(dict.fromkeys(place[1:] for place, x in found.visits.items() if x != 0))
    q = _table(field(certificate, "q", list), task, memory)
    if strange := [pair for pair in q if pair[0] not in seen or pair[1] not in E.actions]:
        raise Spoiled(f"{strange[0]} is never seen")
    targets = _Targets(E, q, set(seen))
    for o in seen:
        weights = found.behind(o)
        for a in E.actions:
            parts = {place: targets.after(place, a, n) for place in weights}
            if any(part is None for part in parts.values()):
                if (o, a) in q:
                    raise Spoiled(f"the target of {(o, a)} reads what is never seen")
                continue
            mean = sum((x * parts[place] for place, x in weights.items()), ZERO)
            if (o, a) not in q or not q[o, a] == mean:
                raise Spoiled(f"the value of {(o, a)} is not the mean of its targets")
    return (
        f"{len(q)} values of {n}-step TD in {shown_task(task, memory)} are the means of their "
        "targets"
    )


def check_value_bound(certificate: dict[str, Any]) -> str:
    """No policy is worth more than the mean at the start of a v that no action beats."""
    task = read_task(field(certificate, "model", dict))
    bound = bound_of_states(field(certificate, "v", list), task)
    if bound != read_fraction(field(certificate, "bound")):
        raise Spoiled(f"the bound is {bound}, not {certificate['bound']}")
    return f"no policy of {task.name} is worth more than {bound}"


# ---------------------------------------------------------------------- compiled or not


def check_same_sequences(certificate: dict[str, Any]) -> str:
    """A task and a memory run as a pair, and their compiled product: the same sequences have the
    same probabilities."""
    task = read_task(field(certificate, "model", dict))
    compiled = read_task(field(certificate, "compiled", dict))
    if compiled.gamma != task.gamma:
        raise Spoiled(f"the discount is {task.gamma}, and {compiled.gamma} when compiled")
    horizon = count(field(certificate, "horizon"), 1, 6)
    memory = field(certificate, "memory", dict)
    eta = distribution(
        [
            (read_label(m), read_fraction(x))
            for m, x in read_entries(field(memory, "eta"), 2, "eta")
        ],
        "eta",
    )
    writes = [read_label(w) for w in field(memory, "W", list)]
    if len(set(writes)) < len(writes):
        raise Spoiled("the writes of the memory hold a label twice")
    Gamma: dict[PlainLabel, dict[PlainLabel, Fraction]] = {}
    for m, w, o, a, r, o_next, row in read_entries(field(memory, "Gamma", list), 7, "Gamma"):
        key = (*map(read_label, (m, w, o, a)), read_fraction(r), read_label(o_next))
        if key in Gamma:
            raise Spoiled(f"Gamma{key} is given twice")
        pairs = [
            (read_label(n), read_fraction(x)) for n, x in read_entries(row, 2, "a row of Gamma")
        ]
        Gamma[key] = distribution(pairs, f"Gamma(.|{key})")
    rows: PolicyRows = {}
    for o, row in read_entries(field(certificate, "policy", list), 2, "the policy"):
        pairs = [(read_label(a), read_fraction(x)) for a, x in read_entries(row, 2, "a row")]
        if (seen := read_label(o)) in rows:
            raise Spoiled(f"the policy has two rows for {seen!r}")
        rows[seen] = distribution(pairs, f"the policy at {seen!r}")
    pairs_known = {(a, w) for a in task.A for w in writes}
    if any(action not in pairs_known for row in rows.values() for action in row):
        raise Spoiled("the policy takes actions that the task or the memory does not have")

    def pair_step(
        place: MemoryPlace, action: PlainLabel
    ) -> list[tuple[tuple[Any, MemoryPlace], Fraction]]:
        (s, m, o), (a, w) = place, action
        found = []
        for (s_next, r), x in task.p[s, a].items():
            for o_next, y in task.omega[s_next].items():
                if (m, w, o, a, r, o_next) not in Gamma:
                    raise Spoiled(f"Gamma says nothing about {(m, w, o, a, r, o_next)}")
                for m_next, z in Gamma[m, w, o, a, r, o_next].items():
                    found.append(((r, (s_next, m_next, o_next)), x * y * z))
        return found

    def compiled_step(
        state: PlainLabel, action: PlainLabel
    ) -> list[tuple[tuple[Any, Any], Fraction]]:
        if (state, action) not in compiled.p:
            raise Spoiled(f"the compiled task has no action {action!r}")
        return [((r, after), x) for (after, r), x in compiled.p[state, action].items()]

    def seen_in_compiled(state: PlainLabel) -> PlainLabel:
        (o, *others) = compiled.omega[state]
        if others:
            raise Spoiled(f"the compiled state {state!r} is seen in two ways")
        return o

    pair_start = {
        (s, m, o): x * y * z
        for s, x in task.mu.items()
        for m, y in eta.items()
        for o, z in task.omega[s].items()
    }
    pair = _sequences(
        pair_start, pair_step, lambda p: p[1:], lambda p: p[0] in task.terminal, rows, horizon
    )
    product = _sequences(
        dict(compiled.mu),
        compiled_step,
        seen_in_compiled,
        compiled.terminal.__contains__,
        rows,
        horizon,
    )
    if pair != product:
        raise Spoiled("some sequence has another probability when compiled")
    return (
        f"{task.name}: {len(pair)} sequences of {horizon} steps have the same probability, and the "
        "discount is the same, compiled or not"
    )


def _sequences(
    start: dict[Any, Fraction], step: Any, seen: Any, ended: Any, rows: PolicyRows, horizon: int
) -> dict[Any, Fraction]:
    """The probability of each o_0, a_0, r_0, o_1, ... up to a horizon or the end."""

    def add(total: dict[Any, Fraction], what: Any, x: Fraction) -> None:
        if x:
            total[what] = total.get(what, ZERO) + x

    now: dict[Any, Fraction] = {}
    for place, x in start.items():
        add(now, ((seen(place),), place), x)
    done: dict[Any, Fraction] = {}
    for _ in range(horizon):
        later: dict[Any, Fraction] = {}
        for (past, place), x in now.items():
            if ended(place):
                add(done, past, x)
                continue
            if seen(place) not in rows:
                raise Spoiled(f"the policy has no row for {seen(place)!r}")
            for action, y in rows[seen(place)].items():
                for (r, after), z in step(place, action):
                    add(later, ((*past, action, r, seen(after)), after), x * y * z)
        if len(later) > 200_000:
            raise Spoiled("there are too many sequences")
        now = later
    for (past, _), x in now.items():
        add(done, past, x)
    return done
