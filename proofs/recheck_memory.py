"""Re-checking certificates about memories, beliefs and TD values without the code that found them.

memory-update        an f keeps all beliefs with one last observation apart, by walking through pairs (memory state, belief)
clique               ways to go on of which no two may leave the same word in B(k), more than it has words
policy-exact-value   the return of a policy: one equation for each state it reaches, solved by elimination in Fractions
value-bound          a function of the state that no action beats bounds the return of every policy
td-values            values that reproduce themselves as the means of their n-step targets, by walking through the episodes
history-dependence   the same observation and action, different rewards, by replaying histories
same-sequences       a compiled product and the pair that it stands for, run side by side

Tasks are dictionaries of labels and Fractions (`by_hand`); values of TD may be formulas.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from itertools import combinations, product
from typing import Any

from proofs.by_hand import Recorder, Task, recorder, task_from_json
from proofs.certificates import Spoiled, decode, rechecks
from proofs.recheck_recall4 import number

Label = Any
Belief = frozenset[tuple[Label, Fraction]]
Place = tuple[Label, Label, Label]

NO_MEMORY = Recorder("-", ["-"], lambda m, w, o, a: m)


def _recorder(name: str) -> Recorder:
    return recorder(name) or NO_MEMORY


def _name(certificate: dict[str, Any]) -> str:
    memory = certificate["memory"]
    return certificate["model"]["name"] + (f" with {memory}" if memory != "none" else "")


# ---------------------------------------------------------------------- beliefs


def _observed(task: Task, weights: dict[Label, Fraction]) -> dict[Label, Belief]:
    """For each observation the belief over the states in which the episode goes on."""
    found: dict[Label, Belief] = {}
    for o in task.O:
        kept = {
            s: x * task.omega[s].get(o, Fraction(0))
            for s, x in weights.items()
            if s not in task.terminal
        }
        if total := sum(kept.values()):
            found[o] = frozenset((s, x / total) for s, x in kept.items() if x)
    return found


def _after(task: Task, b: Belief, a: Label) -> dict[Label, Belief]:
    moved: dict[Label, Fraction] = {}
    for s, x in b:
        for (s_next, _), y in task.p[s, a].items():
            moved[s_next] = moved.get(s_next, Fraction(0)) + x * y
    return _observed(task, moved)


@rechecks("memory-update")
def memory_update(certificate: dict[str, Any]) -> str:
    """f keeps all beliefs with one last observation apart; where f is silent the first write is
    written."""
    task = task_from_json(certificate["model"])
    memory = _recorder(certificate["memory"])
    f = {(decode(m), decode(o), decode(a)): decode(w) for m, o, a, w in certificate["f"]}
    if wrong := set(f.values()) - set(memory.W):
        raise Spoiled(f"{wrong.pop()} is not a write of {certificate['memory']}")
    start = task.mu if certificate["starts with mu"] else dict.fromkeys(task.omega, Fraction(1))
    holder: dict[tuple[Label, Label], Belief] = {}
    queue = [(memory.start, o, b) for o, b in _observed(task, start).items()]
    for m, o, b in queue:  # grows while we walk
        if (m, o) in holder:
            if holder[m, o] != b:
                raise Spoiled(
                    f"the memory state {m} is shared by two beliefs with the observation {o}"
                )
            continue
        holder[m, o] = b
        for a in task.A:
            m_next = memory.after(m, f.get((m, o, a), memory.W[0]), o, a)
            queue += [(m_next, o_next, b_next) for o_next, b_next in _after(task, b, a).items()]
    return (
        f"f keeps the beliefs of {_name(certificate)} apart: one behind each of "
        f"{len(holder)} pairs (m, o)"
    )


@rechecks("clique")
def clique(certificate: dict[str, Any]) -> str:
    """Ways to go on that exclude each other, more than B(k) has words."""
    task = task_from_json(certificate["model"])
    if not certificate["memory"].startswith("B"):
        raise Spoiled("words are counted for binary memories")
    words = 2 ** int(certificate["memory"][1:])
    maps = []
    for way in certificate["ways"]:
        labels = [decode(x) for x in way]
        found = _observed(task, task.mu)
        for o, a in zip(labels[::2], labels[1::2], strict=True):
            if o not in found:
                raise Spoiled(f"no history goes {labels}")
            found = _after(task, found[o], a)
        maps.append(found)
    for one, other in combinations(maps, 2):
        if not any(o in other and other[o] != b for o, b in one.items()):
            raise Spoiled("two ways to go on could share a word")
    if len(maps) <= words:
        raise Spoiled(f"{len(maps)} ways to go on fit into {words} words")
    return f"{len(maps)} ways to go on need a word each, and {certificate['memory']} has {words}"


# ---------------------------------------------------------------------- values


def _starts(task: Task, memory: Recorder) -> dict[Place, Any]:
    found: dict[Place, Any] = {}
    for s, x in task.mu.items():
        for o, y in task.omega[s].items():
            found[s, memory.start, o] = x * y
    return found


def _steps(
    task: Task, memory: Recorder, place: Place, action: Label
) -> Iterator[tuple[Any, Any, Place]]:
    """Probability, reward and next place of each outcome of an action (a, w)."""
    (s, m, o), (a, w) = place, action
    for (s_next, r), x in task.p[s, a].items():
        for o_next, y in task.omega[s_next].items():
            yield x * y, r, (s_next, memory.after(m, w, o, a), o_next)


def _rows(certificate: dict[str, Any]) -> dict[Label, dict[Label, Any]]:
    """The policy, {(m, o): {(a, w): probability}}; one without memory is given one that has nothing
    to write."""
    rows = {decode(o): {decode(a): number(x) for a, x in row} for o, row in certificate["policy"]}
    for o, row in rows.items():
        if sum(row.values(), Fraction(0)) != 1:
            raise Spoiled(f"the policy's row {o} does not sum to one")
    if certificate["memory"] == "none":
        return {("-", o): {(a, "-"): x for a, x in row.items()} for o, row in rows.items()}
    return rows


def _solved(matrix: list[list[Fraction]], right: list[Fraction]) -> list[Fraction]:
    """x with matrix x = right, by Gauss and Jordan."""
    rows = [[*row, side] for row, side in zip(matrix, right, strict=True)]
    for i in range(len(rows)):
        pivot = next((j for j in range(i, len(rows)) if rows[j][i] != 0), None)
        if pivot is None:
            raise Spoiled("the value is not determined")
        rows[i], rows[pivot] = rows[pivot], rows[i]
        lead = rows[i][i]
        rows[i] = [x / lead for x in rows[i]]
        for j, row in enumerate(rows):
            if j != i and row[i] != 0:
                factor = row[i]
                rows[j] = [x - factor * y for x, y in zip(row, rows[i], strict=True)]
    return [row[-1] for row in rows]


@rechecks("policy-exact-value")
def policy_exact_value(certificate: dict[str, Any]) -> str:
    """The return of a policy."""
    task, memory, rows = (
        task_from_json(certificate["model"]),
        _recorder(certificate["memory"]),
        _rows(certificate),
    )
    starts = _starts(task, memory)
    places = {place: i for i, place in enumerate(p for p in starts if p[0] not in task.terminal)}
    equations: list[tuple[dict[int, Fraction], Fraction]] = []
    for place in (queue := list(places)):  # grows while we walk
        towards: dict[int, Fraction] = {}
        reward = Fraction(0)
        if place[1:] not in rows:
            raise Spoiled(f"the policy has no row for {place[1:]}")
        for action, x in rows[place[1:]].items():
            for y, r, place_next in _steps(task, memory, place, action):
                reward += x * y * r
                if place_next[0] in task.terminal or x * y == 0:
                    continue
                if place_next not in places:
                    places[place_next] = len(places)
                    queue.append(place_next)
                i = places[place_next]
                towards[i] = towards.get(i, Fraction(0)) + x * y
        equations.append((towards, reward))
    matrix = [
        [Fraction(i == j) - task.gamma * towards.get(j, Fraction(0)) for j in range(len(places))]
        for i, (towards, _) in enumerate(equations)
    ]
    v = _solved(matrix, [reward for _, reward in equations])
    value = sum(
        (x * v[places[place]] for place, x in starts.items() if place in places), Fraction(0)
    )
    if value != Fraction(certificate["value"]):
        raise Spoiled(f"the policy is worth {value}, not {certificate['value']}")
    return f"a policy of {_name(certificate)} is worth {value}: {len(places)} equations solved"


@rechecks("value-bound")
def value_bound(certificate: dict[str, Any]) -> str:
    """v(s) is at least what every action promises, so no policy is worth more than the mean of v at
    the start."""
    task = task_from_json(certificate["model"])
    if not task.gamma < 1:
        raise Spoiled("the bound needs a discount below 1")
    v = {decode(s): Fraction(x) for s, x in certificate["v"]} | dict.fromkeys(
        task.terminal, Fraction(0)
    )
    for (s, a), row in task.p.items():
        if s not in v:
            raise Spoiled(f"v says nothing about {s}")
        promised = sum(
            (x * (r + task.gamma * v[s_next]) for (s_next, r), x in row.items()), Fraction(0)
        )
        if promised > v[s]:
            raise Spoiled(f"{a} promises {promised} in {s}, more than v = {v[s]}")
    bound = sum((x * v[s] for s, x in task.mu.items()), Fraction(0))
    if bound != Fraction(certificate["bound"]):
        raise Spoiled(f"the bound is {bound}, not {certificate['bound']}")
    return f"no policy of {certificate['model']['name']} is worth more than {bound}"


# ---------------------------------------------------------------------- temporal differences


class _Undefined(Exception):
    """A target reads the value of an observation that is never seen."""


def _visits(task: Task, memory: Recorder, rows: dict[Label, dict[Label, Any]]) -> dict[Place, Any]:
    """Expected visits to each place, episodes being finite."""
    total: dict[Place, Any] = {}
    now = _starts(task, memory)
    while now:
        later: dict[Place, Any] = {}
        for place, x in now.items():
            if place[0] in task.terminal:
                continue
            total[place] = total.get(place, Fraction(0)) + x
            for action, y in rows[place[1:]].items():
                for z, _, place_next in _steps(task, memory, place, action):
                    later[place_next] = later.get(place_next, Fraction(0)) + x * y * z
        now = later
    return total


@rechecks("td-values")
def td_values(certificate: dict[str, Any]) -> str:
    """Each q(o, a) is the mean of its n-step targets; the pairs that are left out have none."""
    task, memory, rows = (
        task_from_json(certificate["model"], number),
        _recorder(certificate["memory"]),
        _rows(certificate),
    )
    q = {(decode(o), decode(a)): number(x) for o, a, x in certificate["q"]}
    visits = _visits(task, memory, rows)
    seen = {place[1:] for place in visits}

    def v(o: Label) -> Any:
        if any((o, action) not in q for action in rows[o]):
            raise _Undefined
        return sum((x * q[o, action] for action, x in rows[o].items()), Fraction(0))

    def target(place: Place, action: Label, n: int) -> Any:
        total: Any = Fraction(0)
        for x, r, place_next in _steps(task, memory, place, action):
            total = total + x * r
            if place_next[0] in task.terminal:
                continue
            if n == 1:
                if place_next[1:] not in seen:
                    raise _Undefined
                later = v(place_next[1:])
            else:
                later = sum(
                    (y * target(place_next, b, n - 1) for b, y in rows[place_next[1:]].items()),
                    Fraction(0),
                )
            total = total + x * task.gamma * later
        return total

    def mean(o: Label, action: Label) -> Any:
        behind = {place: x for place, x in visits.items() if place[1:] == o}
        weight = sum(behind.values(), Fraction(0))
        return sum(
            (x / weight * target(place, action, certificate["n"]) for place, x in behind.items()),
            Fraction(0),
        )

    for o, action in product(seen, product(task.A, memory.W)):
        try:
            found = mean(o, action)
        except _Undefined:
            if (o, action) in q:
                raise Spoiled(
                    f"the target of {(o, action)} reads an observation that is never seen"
                ) from None
            continue
        if (o, action) not in q or q[o, action] != found:
            raise Spoiled(f"the value of {(o, action)} is not the mean of its targets")
    if extra := {o for o, _ in q} - seen:
        raise Spoiled(f"{extra.pop()} is never seen")
    return (
        f"{len(q)} values of {certificate['n']}-step TD in {_name(certificate)} are "
        "the means of their targets"
    )


# ---------------------------------------------------------------------- histories and sequences


@rechecks("history-dependence")
def history_dependence(certificate: dict[str, Any]) -> str:
    """Histories that end with one observation, after which one action pays differently; no chance
    is involved."""
    task, memory = task_from_json(certificate["model"]), _recorder(certificate["memory"])
    o, action = decode(certificate["observation"]), decode(certificate["action"])
    rewards = set()
    for done, claimed in certificate["histories"]:
        (place,) = _starts(task, memory)
        for step in (decode(x) for x in done):
            ((_, _, place),) = _steps(task, memory, place, step)
        if place[1:] != o or place[0] in task.terminal:
            raise Spoiled(f"{done} does not lead to {o}")
        ((_, r, _),) = _steps(task, memory, place, action)
        if r != Fraction(claimed):
            raise Spoiled(f"after {done} the reward is {r}, not {claimed}")
        rewards.add(r)
    if len(rewards) < 2:
        raise Spoiled("the reward is the same after all of these histories")
    return (
        f"{action} at {o} pays {' or '.join(map(str, sorted(rewards)))} after "
        f"{len(certificate['histories'])} histories"
    )


def _add(
    total: dict[Any, Fraction], outcomes: Iterable[tuple[Any, Fraction]]
) -> dict[Any, Fraction]:
    for outcome, x in outcomes:
        if x:
            total[outcome] = total.get(outcome, Fraction(0)) + x
    return total


@rechecks("same-sequences")
def same_sequences(certificate: dict[str, Any]) -> str:
    """A task and a memory run as a pair, and their compiled product: the same sequences have the
    same probabilities."""
    task, compiled = task_from_json(certificate["model"]), task_from_json(certificate["compiled"])
    rows = {decode(o): {decode(a): Fraction(x) for a, x in row} for o, row in certificate["policy"]}
    eta = {decode(m): Fraction(x) for m, x in certificate["memory"]["eta"]}
    Gamma = {
        (*map(decode, (m, w, o, a)), Fraction(r), decode(o_next)): {
            decode(n): Fraction(x) for n, x in row
        }
        for m, w, o, a, r, o_next, row in certificate["memory"]["Gamma"]
    }

    def pair_step(place: Place, action: Label) -> Iterator[tuple[tuple[Any, Place], Fraction]]:
        (s, m, o), (a, w) = place, action
        for (s_next, r), x in task.p[s, a].items():
            for o_next, y in task.omega[s_next].items():
                for m_next, z in Gamma[m, w, o, a, r, o_next].items():
                    yield (r, (s_next, m_next, o_next)), x * y * z

    def compiled_step(state: Label, action: Label) -> Iterator[tuple[tuple[Any, Place], Fraction]]:
        for (state_next, r), x in compiled.p[state, action].items():
            yield (r, state_next), x

    pair_start = {
        (s, m, o): x * y * z
        for s, x in task.mu.items()
        for m, y in eta.items()
        for o, z in task.omega[s].items()
    }
    found = [
        _sequences(
            pair_start,
            pair_step,
            lambda p: p[1:],
            lambda p: p[0] in task.terminal,
            rows,
            certificate["horizon"],
        ),
        _sequences(
            dict(compiled.mu),
            compiled_step,
            lambda s: next(iter(compiled.omega[s])),
            lambda s: s in compiled.terminal,
            rows,
            certificate["horizon"],
        ),
    ]
    if found[0] != found[1]:
        raise Spoiled("some sequence has another probability when compiled")
    return (
        f"{len(found[0])} sequences of {certificate['horizon']} steps have the same "
        "probability, compiled or not"
    )


def _sequences(
    start: dict[Any, Fraction],
    step: Any,
    seen: Any,
    ended: Any,
    rows: dict[Label, dict[Label, Fraction]],
    horizon: int,
) -> dict[Any, Fraction]:
    """The probability of each o_0, a_0, r_0, o_1, ... up to a horizon or the end."""
    now = _add({}, ((((seen(place),), place), x) for place, x in start.items()))
    done: dict[Any, Fraction] = {}
    for _ in range(horizon):
        later: dict[Any, Fraction] = {}
        for (past, place), x in now.items():
            if ended(place):
                _add(done, [(past, x)])
                continue
            for action, y in rows[seen(place)].items():
                _add(
                    later,
                    (
                        (((*past, action, r, seen(place_next)), place_next), x * y * z)
                        for (r, place_next), z in step(place, action)
                    ),
                )
        now = later
    return _add(done, ((past, x) for (past, _), x in now.items()))
