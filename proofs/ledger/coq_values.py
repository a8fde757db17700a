"""Certificates about policies as theorems of Coq: values, q-values, TD values, greedy actions.

The task, the memory and the policy are written down as tables (`Tasks.v`). The theorem speaks of
them by the definitions of `Model.v`; its proof lets Coq compute.

policy-value    with numbers: `Check.v` is handed a value and a bound on the steps that are left for
                each place that the policy comes to; with formulas, as the others
q-values, td-values, greedy-step, greedy-family
                on tasks of at most T steps: `Formulas.v` computes with polynomials, and is handed
                Bernstein coefficients where something has to be positive
value-bound     `Check.v` is handed a value for each state that no action beats
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

from proofs.ledger.coq_algebra import (
    COMPUTE,
    Box,
    coq_box,
    coq_list,
    coq_name,
    coq_rational,
    coq_values,
    positive_proof,
)
from proofs.ledger.coq_tables import CoqTables, Numbered, as_polynomial
from workbench.checker.expressions import Polynomial, Quotient
from workbench.checker.place_graph import (
    PlaceGraph,
    PolicyValues,
    greedy_actions_by_rule,
    last_first,
)
from workbench.checker.polynomials import ZERO
from workbench.checker.positivity import read_box
from workbench.checker.reader import (
    CLASSES,
    CheckedTask,
    MemoryRule,
    PlainLabel,
    PolicyRows,
    done_label,
    read_entries,
    read_formula,
    read_fraction,
    read_label,
    read_memory,
    read_policy,
    read_task,
    seen_label,
)
from workbench.checker.spoiled import Spoiled

# ---------------------------------------------------------------------- the value of a policy


def value_theorem(certificate: dict[str, Any], name: str) -> str:
    """What a policy is worth."""
    task, memory, rows = _subject(certificate)
    value = read_formula(certificate["value"])
    if names := _names(task, rows, value):
        it = CoqTables(task, memory, names)
        return _about_steps(
            name,
            it,
            rows,
            says=f"is_value (P := P) pi (at_ e {it.number(value)})",
            by=f"formula_right t_{name} {it.at.memory} p_{name} {longest_episode(task)}",
        )
    it, at = CoqTables(task, memory, None), Numbered(task, memory)
    values = PolicyValues(PlaceGraph(task, memory, rows, aside=False)).v
    # the mean number of steps that are left bounds how slowly episodes end
    ones = {key: _paid(row) for key, row in task.p.items()}
    lengths = PolicyValues(PlaceGraph(replace(task, p=ones), memory, rows, aside=False)).v
    places = coq_list(
        f"(({at.s[s]}, {at.state(m)}, {at.o[o]})%nat, "
        f"({coq_rational(x)}, {coq_rational(lengths[s, m, o])}))"
        for (s, m, o), x in values.items()
    )
    return (
        f"Definition t_{name} : task Q := {it.tables}.\n"
        f"Definition p_{name} : table_of Q := {it.rows(rows)}.\n"
        f"Theorem {name} : is_value (P := product Q2R t_{name} {at.memory}) "
        f"(to_policy Q2R 0 t_{name} {at.memory} p_{name}) (Q2R {coq_rational(value)}).\n"
        f"Proof. apply (check_value_right t_{name} {at.memory} p_{name} {places}). "
        "vm_compute. reflexivity. Qed.\n"
    )


def _subject(
    certificate: dict[str, Any], every_k: bool = False
) -> tuple[CheckedTask, MemoryRule, PolicyRows]:
    task = read_task(certificate["model"], read_formula)
    memory = read_memory(certificate["memory"])
    if memory.name == "B(k)" and not every_k:
        raise Spoiled("values are about one memory, not about all B(k)")
    rows = read_policy(certificate["policy"], task, memory, read_formula)
    return task, memory, rows


def _paid(row: dict[Any, Fraction]) -> dict[Any, Fraction]:
    found: dict[Any, Fraction] = {}
    for (s, _), x in row.items():
        found[s, Fraction(1)] = found.get((s, Fraction(1)), Fraction(0)) + x
    return found


def bound_theorem(certificate: dict[str, Any], name: str) -> str:
    """What no policy is worth more than, whatever it remembers."""
    task = read_task(certificate["model"])
    it = CoqTables(task, read_memory("none"), None)
    v = [(read_label(s), read_fraction(x)) for s, x in read_entries(certificate["v"], 2, "v")]
    if any(x < 0 for _, x in v):
        raise Spoiled("no theorem is written for bounds by negative values")
    values = coq_list(f"({it.at.s[s]}%nat, {coq_rational(x)})" for s, x in v)
    return (
        f"Definition t_{name} : task Q := {it.tables}.\n"
        f"Theorem {name} : forall (m : memory (to_pomdp Q2R t_{name})) (pi : policy (augment _ m)) "
        "x, is_memory m -> is_policy pi -> is_value pi x -> "
        f"(x <= Q2R {coq_rational(read_fraction(certificate['bound']))})%R.\n"
        f"Proof. apply (bound_right t_{name} {values}). {COMPUTE}. Qed.\n"
    )


# ---------------------------------------------------------------------- tasks of at most T steps


def _names(task: CheckedTask, rows: PolicyRows, *more: Any) -> list[str]:
    """The names in the numbers of a task and a policy, and in other numbers."""
    numbers = [task.gamma, *more]
    for row in (task.mu, *task.omega.values(), *task.p.values(), *rows.values()):
        numbers += row.values()
    numbers += [r for row in task.p.values() for _, r in row]
    found: set[str] = set()
    for x in numbers:
        if isinstance(x, Quotient):
            found |= x.num.names | x.den.names
        elif isinstance(x, Polynomial):
            found |= x.names
    return sorted(found)


def longest_episode(task: CheckedTask) -> int:
    """The most steps of an episode, whatever is done.

    Raises
    ------
    Spoiled
        if a state can be met twice.
    """
    index = {s: i for i, s in enumerate(task.omega)}
    forth: list[dict[int, Any]] = [{} for _ in index]
    for (s, _), row in task.p.items():
        forth[index[s]].update({index[t]: 1 for (t, _), x in row.items()})
    if (order := last_first(forth)) is None:
        raise Spoiled("a state can be met twice, and the theorem is about tasks of at most T steps")
    steps = [0] * len(forth)
    for i in order:
        steps[i] = 1 + max((steps[j] for j in forth[i]), default=-1)
    return max(steps[index[s]] for s in task.mu)


def _about_steps(
    name: str,
    it: CoqTables,
    rows: PolicyRows,
    *,
    says: str,
    by: str,
    given: str = "",
    tables: str = "",
) -> str:
    """A theorem about a policy of a task of at most T steps, for all values of the names.

    Parameters
    ----------
    says, by, given : what it says of the task P and the policy pi, the lemma that proves it, and
        what is assumed of the names.
    tables : definitions of further tables.
    """
    assert it.names is not None
    every = f"forall {' '.join(map(coq_name, it.names))} : R, " if it.names else ""
    return (
        f"Definition t_{name} : task poly := {it.tables}.\n"
        f"Definition p_{name} : table_of poly := {it.rows(rows)}.\n{tables}"
        f"Theorem {name} : {every}let e := {coq_values(it.names)} in {given}"
        f"let P := product (at_ e) t_{name} {it.at.memory} in "
        f"let pi : policy P := to_policy (at_ e) zero t_{name} {it.at.memory} p_{name} in {says}.\n"
        f"Proof. intros. apply ({by}); first [assumption | {COMPUTE}]. Qed.\n"
    )


def _table(
    listed: Any, task: CheckedTask, memory: MemoryRule
) -> dict[PlainLabel, dict[PlainLabel, Any]]:
    """The numbers of a certificate by row and action."""
    found: dict[PlainLabel, dict[PlainLabel, Any]] = {}
    for o, a, x in read_entries(listed, 3, "q"):
        row = found.setdefault(seen_label(task, memory, read_label(o)), {})
        row[done_label(task, memory, read_label(a))] = read_formula(x)
    return found


def _visits(values: PolicyValues, o: PlainLabel) -> Polynomial:
    return as_polynomial(sum((x for at, x in values.visits.items() if at[1:] == o), ZERO))


def q_theorem(certificate: dict[str, Any], name: str) -> str:
    """The q-values of a policy on the rows that it visits, and what it is worth."""
    if certificate["discounted"]:
        raise Spoiled("no theorem is written for discounted visits")
    task, memory, rows = _subject(certificate)
    value, q = read_formula(certificate["value"]), _table(certificate["q"], task, memory)
    it = CoqTables(
        task, memory, _names(task, rows, value, *(x for r in q.values() for x in r.values()))
    )
    values = PolicyValues(PlaceGraph(task, memory, rows))

    def quotient(x: Any) -> str:
        above, below = (x.num, x.den) if isinstance(x, Quotient) else (x, 1)
        return f"({it.number(above)}, {it.number(Polynomial.of(below))})"

    table = coq_list(
        f"({it.at.row(o)}, {it.number(_visits(values, o))}, "
        + coq_list(f"({it.at.action(a)}, {quotient(x)})" for a, x in row.items())
        + ")"
        for o, row in q.items()
    )
    T, about = longest_episode(task), f"t_{name} {it.at.memory} p_{name}"
    return _about_steps(
        name,
        it,
        rows,
        says=f"horizon P {T} /\\ is_value (P := P) pi (at_ e {it.number(value)}) /\\ "
        f"q_values {about} {T} e q_{name}",
        by=f"q_right {about} {T}",
        tables=f"Definition q_{name} : q_rows := {table}.\n",
    )


def td_theorem(certificate: dict[str, Any], name: str) -> str:
    """Values that are the means of their n-step targets."""
    task, memory, rows = _subject(certificate)
    q = _table(certificate["q"], task, memory)
    n = int(certificate["n"])
    it = CoqTables(task, memory, _names(task, rows, *(x for r in q.values() for x in r.values())))
    PlaceGraph(task, memory, rows)
    T, about = longest_episode(task), f"t_{name} {it.at.memory} p_{name}"
    return _about_steps(
        name,
        it,
        rows,
        says=f"horizon P {T} /\\ forall w, says e q_{name} w -> forall o l b v, "
        f"In (o, l) q_{name} -> In (b, v) l -> td_value (P := P) {T} {n} pi w o b",
        by=f"td_right {about} {T} {n} q_{name}",
        tables=f"Definition q_{name} : table_of poly := {it.rows(q)}.\n",
    )


# ---------------------------------------------------------------------- greedy


def _winner(it: CoqTables, values: PolicyValues, o: PlainLabel, best: PlainLabel, box: Box) -> str:
    """The proof that an action is greedy in a row and wins all ties."""
    assert it.names is not None
    here = {place: x for place, x in values.visits.items() if place[1:] == o}
    order = values.E.order("last")
    before: list[str] = []
    later: list[str] = []
    for a in order:
        if a != best:
            gap = Polynomial.of(ZERO)
            for place, x in here.items():
                lead = values.after(place, best) - values.after(place, a)
                gap = gap + as_polynomial(x) * as_polynomial(lead)
            strict = order.index(a) < order.index(best)
            shown = f"({it.at.action(a)}, {positive_proof(gap, box, strict)})"
            (before if strict else later).append(shown)
    seen = positive_proof(_visits(values, o), box, True)
    return f"({it.at.row(o)}, {it.at.action(best)}, {seen}, {coq_list(before)}, {coq_list(later)})"


def family_theorem(certificate: dict[str, Any], name: str) -> str:
    """Actions that are greedy at every policy of a family, of one memory or of all B(k)."""
    task, memory, rows = _subject(certificate, every_k=True)
    box = read_box(certificate["box"])
    free = set(_names(task, rows)) - set(box)
    # names without bounds come last, so that the box is that of the first ones
    it = CoqTables(task, memory, [*sorted(box), *sorted(free)])
    if certificate["ties"] != "last":
        raise Spoiled("no theorem is written for ties that go to the lower write")
    for row in rows.values():
        for x in row.values():
            positive_proof(as_polynomial(x), box, False)
    values = PolicyValues(PlaceGraph(task, memory, rows))
    greedy = {
        seen_label(task, memory, read_label(o)): done_label(task, memory, read_label(a))
        for o, a in read_entries(certificate["greedy"], 2, "greedy")
    }
    shown = coq_list(f"({it.at.row(o)}, {it.at.action(a)})" for o, a in greedy.items())
    T, about = longest_episode(task), f"t_{name} {it.at.memory} p_{name}"
    if memory.name == "B(k)":
        return _for_every_k(name, it, rows, values, greedy, shown, box)
    winners = coq_list(_winner(it, values, o, best, box) for o, best in greedy.items())
    return _about_steps(
        name,
        it,
        rows,
        given=f"inside {coq_box(box)} e -> ",
        says=f"horizon P {T} /\\ forall o a, In (o, a) {shown} -> "
        f"(0 < visits (P := P) {T} pi o)%R /\\ "
        f"greedy (P := P) {T} (tie_rule t_{name} {it.at.memory}) pi o = a",
        by=f"winners_right {about} {T} {coq_box(box)} {winners}",
    )


def _for_every_k(
    name: str,
    it: CoqTables,
    rows: PolicyRows,
    values: PolicyValues,
    greedy: dict[PlainLabel, PlainLabel],
    shown: str,
    box: Box,
) -> str:
    """Greedy actions with B(k), for all k at once. The name y is 2^-k."""
    assert it.names is not None
    if "y" not in box:
        raise Spoiled("with B(k) the name y stands for 2^-k, in (0, 1/2]")
    # B(1) has no words between the first and the last
    inner = {**box, "y": (box["y"][0], box["y"][1], Fraction(1, 2), False)}
    winners = coq_list(
        _winner(it, values, o, best, inner if o[0] == CLASSES[1] else box)
        for o, best in greedy.items()
    )
    T, K = longest_episode(it.task), "(2 ^ k)%nat"
    names = "".join(f" {coq_name(v)}" for v in it.names if v != "y")
    e = coq_list("(/ INR (2 ^ k))%R" if v == "y" else coq_name(v) for v in it.names)
    return (
        f"Definition t_{name} : task poly := {it.tables}.\n"
        f"Definition p_{name} : table_of poly := {it.rows(rows)}.\n"
        f"Theorem {name} : forall (k : nat){f' ({names.strip()} : R)' if names else ''}, "
        f"(1 <= k)%nat -> let e := ({e} : list R) in inside {coq_box(box)} e -> "
        f"let P := product (at_ e) t_{name} (Words {K}) in let pi : policy P := "
        f"spread {K} (to_policy (at_ e) zero t_{name} {it.at.memory} p_{name}) in "
        f"horizon P {T} /\\ forall m c o a d, In (([c], o), (a, d)) {shown} -> (m < {K})%nat -> "
        f"class {K} m = c -> (0 < visits (P := P) {T} pi ([m], o))%R /\\ "
        f"greedy (P := P) {T} (by_write (tacts t_{name}) {K}) pi ([m], o) = (a, word {K} d).\n"
        f"Proof. intros. apply (classes_right t_{name} p_{name} {T} {it.names.index('y')} "
        f"{coq_box(box)} {winners}); [{COMPUTE} | assumption | reflexivity | assumption]. Qed.\n"
    )


def step_theorem(certificate: dict[str, Any], name: str) -> str:
    """What a policy is worth before and after a step towards greedy."""
    if certificate["discounted"]:
        raise Spoiled("no theorem is written for discounted visits")
    task, memory, rows = _subject(certificate)
    step, first, last = (read_formula(certificate[key]) for key in ("step", "before", "after"))
    it = CoqTables(task, memory, _names(task, rows, step, first, last))
    E = PlaceGraph(task, memory, rows)
    values = PolicyValues(E)
    greedy = greedy_actions_by_rule(values.q, E.order("last"))
    moved = {
        o: {
            a: (1 - step) * row.get(a, ZERO) + (step if a == greedy.get(o) else 0)
            for a in {**row, greedy[o]: 0}
        }
        if o in greedy
        else row
        for o, row in rows.items()
    }
    winners = coq_list(_winner(it, values, o, best, {}) for o, best in greedy.items())
    unseen = coq_list(it.at.row(o) for o in rows if o not in greedy)
    T, about = longest_episode(task), f"t_{name} {it.at.memory} p_{name}"
    return _about_steps(
        name,
        it,
        rows,
        says=f"let pi' : policy P := to_policy (at_ e) zero t_{name} {it.at.memory} n_{name} in "
        f"horizon P {T} /\\ is_value pi (at_ e {it.number(first)}) /\\ "
        f"is_value pi' (at_ e {it.number(last)}) /\\ "
        f"forall o b, In o (map fst n_{name}) -> In b (acts P) -> improve (P := P) {T} "
        f"(tie_rule t_{name} {it.at.memory}) (at_ e {it.number(step)}) pi o b = pi' o b",
        by=f"step_is_right {about} n_{name} {it.number(step)} {T} {it.number(first)} "
        f"{it.number(last)} {winners} {unseen}",
        tables=f"Definition n_{name} : table_of poly := {it.rows(moved)}.\n",
    )


HEAD = """From Coq Require Import Reals QArith Qreals List.
From Remembering Require Import Sums Model TwoSteps Ties Polynomials Tasks Check Formulas Classes.
Import ListNotations.
Open Scope Q_scope.
"""
