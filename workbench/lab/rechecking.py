"""Re-checking certificates of the oracle loop from their text, with Fractions and nothing of the code that made them.

Read the task and walk through its product with the memory, as Definitions 4.3, 4.4, A.3 and A.4 say. Along x pi + (1-x) tau
the probabilities are polynomials in x, and the values and visits

    v = r_pi + gamma P_pi v          d = mu + P_pi^T d

are N/D and C/D with one determinant D (elimination without fractions, Bareiss). Then for a row o with visits

    (q(o, tau) - q(o, a)) (visits of o) D^2  =  sum_s C(s) omega(o|s) [ (R(s,tau) - R(s,a)) D + gamma sum (p_tau - p_a) N ]

has the sign of q(o, tau) - q(o, a) (`plain_polynomials` decides signs).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

from workbench.lab.plain_polynomials import (
    ONE,
    ZERO,
    Polynomial,
    Spoiled,
    at,
    eliminated,
    plus,
    positive,
    times,
    trimmed,
)
from workbench.lab.rechecking_every_k import every_k

Label = Any
Place = tuple[Label, Label, Label]
Rows = dict[Label, dict[Label, Fraction]]


def recheck(certificate: dict[str, Any]) -> str:
    """Verify a certificate; the sentence says what was verified, and `Spoiled` is raised if it does not hold.

    >>> recheck({"kind": "hearsay"})
    Traceback (most recent call last):
    ...
    workbench.lab.plain_polynomials.Spoiled: unknown kind of certificate 'hearsay'
    """
    try:
        if certificate.get("kind") == "oracle-loop":
            return _oracle_loop(certificate)
        if certificate.get("kind") == "every-k":
            return every_k(certificate, _below)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, ZeroDivisionError) as error:
        raise Spoiled(f"the certificate cannot be read: {error!r}") from None
    raise Spoiled(f"unknown kind of certificate {certificate.get('kind')!r}")


def decode(value: Any) -> Label:
    """A label from JSON: {"tuple": [...]} is a tuple."""
    return tuple(decode(part) for part in value["tuple"]) if isinstance(value, dict) else value


# ---------------------------------------------------------------------- the task and its product with a memory


@dataclass(frozen=True)
class Task:
    """A POMDP as dictionaries."""

    A: list[Label]
    mu: dict[Label, Fraction]
    p: dict[tuple[Label, Label], dict[tuple[Label, Fraction], Fraction]]
    omega: dict[Label, dict[Label, Fraction]]
    terminal: set[Label]
    gamma: Fraction


def read_task(data: dict[str, Any]) -> Task:
    """The task of a certificate; rows that are no distributions are refused."""
    task = Task(
        A=[decode(a) for a in data["actions"]],
        mu={decode(s): Fraction(x) for s, x in data["mu"]},
        p={
            (decode(s), decode(a)): {(decode(t), Fraction(r)): Fraction(x) for t, r, x in row}
            for s, a, row in data["p"]
        },
        omega={decode(s): {decode(o): Fraction(x) for o, x in row} for s, row in data["omega"]},
        terminal={decode(s) for s in data["terminal"]},
        gamma=Fraction(data["gamma"]),
    )
    for row in [task.mu, *task.p.values(), *task.omega.values()]:
        if sum(row.values()) != 1 or min(row.values()) < 0:
            raise Spoiled("the task has a row that is no distribution")
    if not 0 <= task.gamma <= 1:
        raise Spoiled(f"the discount {task.gamma} does not lie in [0, 1]")
    return task


def writes_and_update(name: str) -> tuple[Label, list[Label], Callable[[Label, Label, Label, Label], Label]]:
    """Where a memory starts, its writes from low to high, and m' = f(m, w, o, a)."""
    if name == "none":
        return "-", ["-"], lambda m, w, o, a: m
    kind, k = name.rstrip("0123456789"), int(name.lstrip("BKOA"))
    if k < 1 or kind not in ("B", "K", "O", "OA"):
        raise Spoiled(f"{name!r} is not one of the paper's memories")
    if kind == "B":
        words = ["".join(bits) for bits in product("01", repeat=k)]
        return words[0], words, lambda m, w, o, a: w

    def after(m: Label, w: Label, o: Label, a: Label) -> Label:
        return m if w == "keep" else (*m[1:], (o, a) if kind == "OA" else o)

    return (None,) * k, ["push"] if kind == "K" else ["keep", "push"], after


class Product:
    """The places (s, m, o) that can be reached, and where each action leads from them."""

    def __init__(self, task: Task, memory: str):
        self.task = task
        m, self.W, update = writes_and_update(memory)
        self.actions = list(product(task.A, self.W))
        self.start: dict[Place, Fraction] = {}
        for s, x in task.mu.items():
            for o, y in task.omega[s].items():
                if x * y and s not in task.terminal:
                    self.start[s, m, o] = x * y
        self.steps: dict[tuple[Place, Label], dict[Place, Fraction]] = {}
        self.R: dict[tuple[Place, Label], Fraction] = {}
        self.places: list[Place] = []
        self._visit(list(self.start), update)
        self.rows = list(dict.fromkeys((m, o) for _, m, o in self.places))

    def _visit(self, waiting: list[Place], update: Callable[[Label, Label, Label, Label], Label]) -> None:
        task, seen = self.task, set(waiting)
        while waiting:
            place = waiting.pop(0)
            self.places.append(place)
            s, m, o = place
            for a, w in self.actions:
                m_next, onward, reward = update(m, w, o, a), dict[Place, Fraction](), ZERO
                for (s_next, r), x in task.p[s, a].items():
                    reward += x * r
                    for o_next, y in task.omega[s_next].items() if s_next not in task.terminal else ():
                        if x * y:
                            onward[s_next, m_next, o_next] = onward.get((s_next, m_next, o_next), ZERO) + x * y
                self.steps[place, (a, w)], self.R[place, (a, w)] = onward, reward
                waiting += [there for there in onward if there not in seen]
                seen.update(onward)

    def order(self, ties: str) -> list[Label]:
        """Actions as greedy prefers them among equals: the write first (the higher one if "last"), then the lower action."""
        writes = {"last": self.W[::-1], "first": self.W}[ties]
        return [(a, w) for w in writes for a in self.task.A]


# ---------------------------------------------------------------------- values along a segment


class Segment:
    """x pi + (1-x) goal: its visits C/D and values N/D as polynomials in x."""

    def __init__(self, E: Product, pi: Rows, goal: Rows):
        self.E = E
        places, index = E.places, {place: i for i, place in enumerate(E.places)}
        acts = {
            o: {a: trimmed([goal[o].get(a, ZERO), pi[o].get(a, ZERO) - goal[o].get(a, ZERO)]) for a in E.actions}
            for o in E.rows
        }
        n = len(places)
        forth: list[dict[int, Polynomial]] = [{i: [ONE]} for i in range(n)]
        back: list[dict[int, Polynomial]] = [{i: [ONE]} for i in range(n)]
        right: list[Polynomial] = [[] for _ in range(n)]
        for i, place in enumerate(places):
            for a, x in acts[place[1:]].items():
                if not x:
                    continue
                right[i] = plus(right[i], x, E.R[place, a])
                for there, y in E.steps[place, a].items():
                    j = index[there]
                    forth[i][j] = plus(forth[i].get(j, []), x, -y * E.task.gamma)
                    back[j][i] = plus(back[j].get(i, []), x, -y)
        # places come in the order in which they are met: from the end, a task without loops needs no elimination
        turn = list(range(n))[::-1]
        self.N, self.D = _in_turn(forth, right, turn)
        starts = [trimmed([E.start.get(place, ZERO)]) for place in places]
        self.C, self.D_visits = _in_turn(back, starts, list(range(n)))
        self.index = index

    def value(self, x: Fraction) -> Fraction:
        """The return at a point."""
        total = sum((y * at(self.N[self.index[place]], x) for place, y in self.E.start.items()), ZERO)
        return total / at(self.D, x)

    def visits(self, o: Label) -> Polynomial:
        """Of a row, times the determinant."""
        total: Polynomial = []
        for place, c in zip(self.E.places, self.C, strict=True):
            if place[1:] == o:
                total = plus(total, c)
        return total

    def difference(self, o: Label, best: Label, other: Label) -> Polynomial:
        """The polynomial with the sign of q(o, best) - q(o, other), given that both determinants are positive."""
        E = self.E
        total: Polynomial = []
        for place, c in zip(E.places, self.C, strict=True):
            if place[1:] != o or not c:
                continue
            part = times(self.D, trimmed([E.R[place, best] - E.R[place, other]]))
            for a, sign in ((best, ONE), (other, -ONE)):
                for there, y in E.steps[place, a].items():
                    part = plus(part, self.N[self.index[there]], sign * y * E.task.gamma)
            total = plus(total, times(c, part))
        return total


def _in_turn(
    matrix: list[dict[int, Polynomial]], right: list[Polynomial], turn: list[int]
) -> tuple[list[Polynomial], Polynomial]:
    """`eliminated` with rows and columns in another order."""
    place = {i: k for k, i in enumerate(turn)}
    solved, D = eliminated([{place[j]: x for j, x in matrix[i].items()} for i in turn], [right[i] for i in turn])
    return [solved[place[i]] for i in range(len(turn))], D


def checked_segment(E: Product, pi: Rows, goal: Rows, low: Fraction) -> Segment:
    """The segment, if every policy on it from x = 1 down to `low` ends with probability one."""
    segment = Segment(E, pi, goal)
    for D in (segment.D, segment.D_visits):
        if not positive(D, low, strict=True):
            raise Spoiled("values or visits have no definite sign on the way")
    return segment


def worth(E: Product, pi: Rows) -> Fraction:
    """The return of a policy."""
    for row in pi.values():
        if sum(row.values()) != 1 or min(row.values()) < 0:
            raise Spoiled("a policy has a row that is no distribution")
    full = {o: pi.get(o, {}) for o in E.rows}
    if any(not row for row in full.values()):
        raise Spoiled("a policy is silent on a row")
    return Segment(E, full, full).value(ONE)


# ---------------------------------------------------------------------- the oracle loop


def _oracle_loop(certificate: dict[str, Any]) -> str:
    task = read_task(certificate["model"])
    memory, step, ties = certificate["memory"], Fraction(certificate["step"]), certificate["ties"]
    if not 0 < step < 1:
        raise Spoiled(f"the step {step} does not lie in (0, 1)")
    E = Product(task, memory)
    order = E.order(ties)
    pi: Rows = {o: dict.fromkeys(E.actions, Fraction(1, len(E.actions))) for o in E.rows}
    if certificate["status"] == "checked":
        return _iterates(certificate, E, pi, step, order)
    if certificate["status"] != "proved":
        raise Spoiled(f"unknown status {certificate['status']!r}")
    last = len(certificate["phases"]) - 1
    for i, (steps, choices) in enumerate(certificate["phases"]):
        if (steps is None) != (i == last) or (steps is not None and (not isinstance(steps, int) or steps < 1)):
            raise Spoiled("all phases but the last have a number of steps, the last one has none")
        tau = {decode(o): decode(a) for o, a in choices}
        keep = 1 - step
        goal = _stays_greedy(E, pi, tau, order, ZERO if steps is None else keep ** (steps - 1))
        x = ZERO if steps is None else keep**steps
        pi = {o: {a: x * pi[o].get(a, ZERO) + (1 - x) * goal[o].get(a, ZERO) for a in E.actions} for o in E.rows}
    value = worth(E, pi)
    if value != Fraction(certificate["value"]):
        raise Spoiled(f"the limit is worth {value}, not {certificate['value']}")
    where = f"{certificate['model']['name']} with {memory}, step {step}: the loop goes to a policy worth {value}"
    if certificate["claim"] == "stuck":
        return f"{where}, and another one is worth {_better(certificate, E, value)}"
    if certificate["claim"] == "optimal":
        _bound(certificate["bound"], task, value)
        return f"{where}, and none is worth more"
    if certificate["claim"] == "limit":
        return where
    raise Spoiled(f"unknown claim {certificate['claim']!r}")


def _stays_greedy(E: Product, pi: Rows, tau: dict[Label, Label], order: list[Label], low: Fraction) -> Rows:
    """The policy that tau makes of pi, if tau is greedy on the segment between them down to x = low."""
    goal = {o: {tau[o]: ONE} if o in tau else pi[o] for o in E.rows}
    if not set(tau) <= set(E.rows) or not set(tau.values()) <= set(E.actions):
        raise Spoiled("a phase names a row or an action that the task does not have")
    segment = checked_segment(E, pi, goal, low)
    for o in E.rows:
        visits = segment.visits(o)
        if (o in tau) != bool(visits):
            raise Spoiled(f"row {o} has a greedy action exactly if it is visited, which fails here")
        if o not in tau:
            continue
        if not positive(visits, low, strict=True):
            raise Spoiled(f"row {o} is not visited on all of the way")
        for a in order:
            if a == tau[o]:
                continue
            strict = order.index(a) < order.index(tau[o])
            if not positive(segment.difference(o, tau[o], a), low, strict):
                raise Spoiled(f"{tau[o]} is not shown to be greedy on row {o}: {a} may be")
    return goal


def _iterates(certificate: dict[str, Any], E: Product, pi: Rows, step: Fraction, order: list[Label]) -> str:
    """All iterates one by one; none is worth more than the number given."""
    highest = Fraction(certificate["highest"])
    for n in range(certificate["iterates"]):
        here = Segment(E, pi, pi)
        if (value := here.value(ONE)) > highest:
            raise Spoiled(f"iterate {n} is worth {float(value):.6g}, more than {certificate['highest']}")
        for o in E.rows:
            if here.visits(o):
                best = order[0]
                for a in order[1:]:
                    if at(here.difference(o, a, best), ONE) > 0:
                        best = a
                pi[o] = {a: (1 - step) * x + (step if a == best else 0) for a, x in pi[o].items()}
    count = certificate["iterates"]
    if count < 1:
        raise Spoiled("no iterate was checked")
    where = f"{certificate['model']['name']} with {certificate['memory']}"
    text = f"{where}: checked that {count} iterates are worth at most {highest}"
    if certificate["claim"] == "iterates":
        return text
    if certificate["claim"] != "below":
        raise Spoiled(f"unknown claim {certificate['claim']!r} for iterates that were only checked")
    return f"{text}, and another policy is worth {_better(certificate, E, highest)}"


def _better(certificate: dict[str, Any], E: Product, value: Fraction) -> Fraction:
    policy = {decode(o): {decode(a): Fraction(x) for a, x in row} for o, row in certificate["better"]["policy"]}
    if any(a not in E.actions for row in policy.values() for a in row):
        raise Spoiled("the better policy takes an action that the task does not have")
    found = worth(E, policy)
    if found != Fraction(certificate["better"]["value"]):
        raise Spoiled(f"the other policy is worth {found}, not {certificate['better']['value']}")
    if not found > value:
        raise Spoiled(f"the other policy is worth {found}, no more than {value}")
    return found


def _bound(bound: dict[str, Any], task: Task, value: Fraction) -> None:
    """No policy of the task, whatever it remembers, is worth more than `value`."""
    if bound["kind"] == "states":
        v = {decode(s): Fraction(x) for s, x in bound["v"]}
        for s in v:
            for a in task.A:
                row = task.p[s, a].items()
                after = sum(
                    (x * (r + task.gamma * (ZERO if t in task.terminal else v[t])) for (t, r), x in row if x), ZERO
                )
                if after > v[s]:
                    raise Spoiled(f"state {s} can be worth more than {v[s]}")
        most = sum((x * v[s] for s, x in task.mu.items() if s not in task.terminal), ZERO)
    elif bound["kind"] == "histories":
        most = _best_after(task, task.mu, 0)
    else:
        raise Spoiled(f"unknown kind of bound {bound['kind']!r}")
    if most != value:
        raise Spoiled(f"the bound is {most}, not {value}")


def _best_after(task: Task, weights: dict[Label, Fraction], depth: int) -> Fraction:
    """The best return after a history, times its probability, by trying all that can follow."""
    if depth > 50:
        raise Spoiled("episodes are too long to try all histories")
    observations: Iterable[Label] = dict.fromkeys(o for s in weights for o in task.omega[s])
    total = ZERO
    for o in observations:
        here = {s: x * task.omega[s].get(o, ZERO) for s, x in weights.items() if s not in task.terminal}
        here = {s: x for s, x in here.items() if x}
        if not here:
            continue
        tried = []
        for a in task.A:
            reward, after = ZERO, dict[Label, Fraction]()
            for s, x in here.items():
                for (t, r), y in task.p[s, a].items():
                    reward += x * y * r
                    after[t] = after.get(t, ZERO) + x * y
            tried.append(reward + task.gamma * _best_after(task, after, depth + 1))
        total += max(tried)
    return total


# ---------------------------------------------------------------------- small k of a claim about every k


def _below(certificate: dict[str, Any], memory: str, rewards: list[list[Fraction]], step: Fraction, claim: str) -> None:
    """A certificate about one k has to be about the same task, step and claim."""
    same = certificate["memory"] == memory and certificate["claim"] == claim and certificate["ties"] == "last"
    if not same or _table(certificate) != rewards or Fraction(certificate["step"]) != step:
        raise Spoiled(f"the certificate for {memory} is about something else")
    recheck(certificate)


def _table(certificate: dict[str, Any]) -> list[list[Fraction]]:
    """The rewards of a sequence task of length 2, by following its actions."""
    task = read_task(certificate["model"])
    (start,) = task.mu
    found = []
    for a in task.A:
        (((s, nothing), _),) = task.p[start, a].items()
        if nothing != 0:
            raise Spoiled("the first action of the task is paid")
        row = []
        for b in task.A:
            (((end, reward), _),) = task.p[s, b].items()
            if end not in task.terminal or {tuple(x) for x in task.omega.values()} != {("o",)}:
                raise Spoiled("the task is no sequence task of two steps")
            row.append(reward)
        found.append(row)
    if task.gamma != 1:
        raise Spoiled("the task has a discount")
    return found
