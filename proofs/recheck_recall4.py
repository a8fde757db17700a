"""Re-checking certificates about policies and polynomials without the code that found them.

q-values             by walking through the episodes (`by_hand`); formulas are compared as quotients of polynomials
policy-value         likewise
greedy-step          likewise: q-values, the greedy action on every row, the step, the return
polynomial-positive  from its coefficients (`plain_algebra`); where they do not settle it, a fresh question to z3
unsat                a fresh question to z3
identity             by multiplying out (`plain_algebra`)
update-separates     by walking through all histories of the task
beliefs-outnumber    likewise
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from proofs.by_hand import Task, by_hand, greedy_by_hand, looked_up, recorder, task_from_json
from proofs.certificates import Spoiled, decode, rechecks
from proofs.plain_algebra import Quotient, positive_on_box, read, same

Rows = dict[Any, dict[Any, Any]]


def number(shown: str) -> Any:
    """A number from text: a Fraction, or a quotient of polynomials if it holds names."""
    try:
        return Fraction(shown)
    except ValueError:
        return read(shown, Quotient.name, Quotient.constant)


def _policy(certificate: dict[str, Any]) -> Rows:
    rows = {decode(o): {decode(a): number(x) for a, x in row} for o, row in certificate["policy"]}
    for o, row in rows.items():
        if sum(row.values(), Fraction(0)) != 1:
            raise Spoiled(f"the policy's row {o} does not sum to one")
    return rows


@rechecks("q-values")
def q_values(certificate: dict[str, Any]) -> str:
    """The q-values and the return of a policy."""
    task = task_from_json(certificate["model"], number)
    memory = certificate["memory"]
    found, value = by_hand(task, memory, looked_up(_policy(certificate)), certificate["discounted"])
    claimed = {(decode(o), decode(a)): number(x) for o, a, x in certificate["q"]}
    if set(claimed) != set(found):
        raise Spoiled("the q-values are given for other pairs (o, a) than those that are seen")
    for pair, x in found.items():
        if claimed[pair] != x:
            raise Spoiled(f"q{pair} is not {certificate['q'][list(claimed).index(pair)][2]}")
    if number(certificate["value"]) != value:
        raise Spoiled(f"the return is not {certificate['value']}")
    return (
        f"{len(found)} q-values and the return, by walking through the episodes of "
        f"{_name(certificate)}"
    )


@rechecks("policy-value")
def policy_value(certificate: dict[str, Any]) -> str:
    """The return of a policy."""
    task = task_from_json(certificate["model"], number)
    _, value = by_hand(task, certificate["memory"], looked_up(_policy(certificate)))
    if number(certificate["value"]) != value:
        raise Spoiled(
            f"the return is {value if isinstance(value, Fraction) else 'not'} "
            f"{certificate['value']}"
        )
    return f"a policy of {_name(certificate)} is worth {certificate['value']}"


@rechecks("greedy-step")
def greedy_step(certificate: dict[str, Any]) -> str:
    """The return before and after a step towards the greedy policy."""
    task = task_from_json(certificate["model"], number)
    memory, step = certificate["memory"], number(certificate["step"])
    rows = _policy(certificate)
    q, before = by_hand(task, memory, looked_up(rows), certificate["discounted"])
    greedy = greedy_by_hand(q, memory)
    moved = {
        o: row
        if o not in greedy
        else {
            a: (1 - step) * row.get(a, Fraction(0)) + (step if a == greedy[o] else 0)
            for a in {**row, greedy[o]: 0}
        }
        for o, row in rows.items()
    }
    _, after = by_hand(task, memory, looked_up(moved))
    for what, found in (("before", before), ("after", after)):
        if number(certificate[what]) != found:
            raise Spoiled(f"the return {what} the step is not {certificate[what]}")
    step_shown = certificate["step"]
    return (
        f"a step of {step_shown} takes the return from {certificate['before']} to "
        f"{certificate['after']}"
    )


def _name(certificate: dict[str, Any]) -> str:
    memory = certificate["memory"]
    return certificate["model"]["name"] + ("" if memory == "none" else f" with {memory}")


# ---------------------------------------------------------------------- algebra


@rechecks("polynomial-positive")
def polynomial_positive(certificate: dict[str, Any]) -> str:
    """A polynomial is positive on a box."""
    polynomial, box, strict = certificate["polynomial"], certificate["box"], certificate["strict"]
    relation = "> 0" if strict else ">= 0"
    if positive_on_box(polynomial, box, strict):
        return f"{polynomial} {relation} on {box}, from its coefficients"
    from proofs.ledger.inequalities import box_conditions, solve

    witness = solve([*box_conditions(box), f"{polynomial} {'<=' if strict else '<'} 0"])
    if witness is not None:
        raise Spoiled(f"{polynomial} {relation} fails at {witness}")
    return f"{polynomial} {relation} on {box}, by z3"


@rechecks("unsat")
def unsat(certificate: dict[str, Any]) -> str:
    """No real numbers satisfy all conditions."""
    from proofs.ledger.inequalities import solve

    witness = solve(certificate["conditions"])
    if witness is not None:
        raise Spoiled(f"the conditions {certificate['conditions']} hold at {witness}")
    return f"{len(certificate['conditions'])} conditions exclude one another, by z3"


@rechecks("identity")
def identity(certificate: dict[str, Any]) -> str:
    """Two quotients of polynomials are the same function."""
    left, right = certificate["left"], certificate["right"]
    if not same(left, right):
        raise Spoiled(f"{left} and {right} are not the same function")
    return f"{certificate.get('what', left)}: both sides multiplied out"


# ---------------------------------------------------------------------- beliefs and memory states


def _histories(task: Task) -> Iterator[tuple[tuple[Any, ...], dict[Any, Fraction]]]:
    """Every history whose episode goes on, with what it tells: weights of the states, not
    normalised."""
    now: list[tuple[tuple[Any, ...], dict[Any, Fraction]]] = list(_observed(task, (), task.mu))
    while now:
        later: list[tuple[tuple[Any, ...], dict[Any, Fraction]]] = []
        for history, weights in now:
            yield history, weights
            for a in task.A:
                moved: dict[Any, Fraction] = {}
                for s, x in weights.items():
                    for (s_next, _), y in task.p[s, a].items():
                        moved[s_next] = moved.get(s_next, Fraction(0)) + x * y
                later += _observed(task, (*history, a), moved)
        now = later


def _observed(
    task: Task, before: tuple[Any, ...], weights: dict[Any, Fraction]
) -> Iterator[tuple[tuple[Any, ...], dict[Any, Fraction]]]:
    for o in task.O:
        kept = {
            s: x * task.omega[s].get(o, Fraction(0))
            for s, x in weights.items()
            if s not in task.terminal
        }
        kept = {s: x for s, x in kept.items() if x}
        if kept:
            yield (*before, o), kept


def _belief(weights: dict[Any, Fraction]) -> frozenset[tuple[Any, Fraction]]:
    total = sum(weights.values(), Fraction(0))
    return frozenset((s, x / total) for s, x in weights.items())


@rechecks("update-separates")
def update_separates(certificate: dict[str, Any]) -> str:
    """A memory-update function never lets two beliefs with one last observation share a memory
    state."""
    task = task_from_json(certificate["model"])
    memory = recorder(certificate["memory"])
    if memory is None:
        raise Spoiled("without a memory there is nothing to update")
    f = {(decode(m), decode(o), decode(a)): decode(w) for m, o, a, w in certificate["f"]}
    holder: dict[Any, Any] = {}
    count = 0
    for history, weights in _histories(task):
        m = memory.start
        for t in range(0, len(history) - 1, 2):
            o, a = history[t], history[t + 1]
            if f.get((m, o, a)) not in memory.W:
                raise Spoiled(f"f({m}, {o}, {a}) is not a write of {certificate['memory']}")
            m = memory.after(m, f[m, o, a], o, a)
        belief = _belief(weights)
        if holder.setdefault((m, history[-1]), belief) != belief:
            raise Spoiled(f"the memory state {m} is shared by two beliefs after {history}")
        count += 1
    return f"f keeps the beliefs of all {count} histories of {_name(certificate)} apart"


@rechecks("beliefs-outnumber")
def beliefs_outnumber(certificate: dict[str, Any]) -> str:
    """More beliefs with one last observation than memory states."""
    task = task_from_json(certificate["model"])
    memory = recorder(certificate["memory"])
    states = len(memory.W) if memory and certificate["memory"].startswith("B") else None
    if states is None:
        raise Spoiled("only binary memories are counted here")
    claimed = {tuple(decode(x) for x in history) for history in certificate["histories"]}
    beliefs = {_belief(weights) for history, weights in _histories(task) if history in claimed}
    if len({history[-1] for history in claimed}) != 1 or len(beliefs) <= states:
        raise Spoiled(f"{len(beliefs)} beliefs do not outnumber {states} memory states")
    return (
        f"{len(beliefs)} beliefs share a last observation, and "
        f"{certificate['memory']} has {states} memory states"
    )
