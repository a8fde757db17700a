"""Re-checking certificates of the oracle loop from their text, with Fractions and nothing of the
code that made them.

The task is read and walked through with its memory anew (`place_graph`); that greedy stays what it
is along a segment of policies is a number of inequalities between polynomials in one variable,
whose signs `polynomials` decides.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from workbench.checker.every_k_claims import check_every_k
from workbench.checker.place_graph import (
    PlaceGraph,
    PolicyValues,
    checked_segment,
    greedy_actions_by_rule,
    is_positive_down_to,
    worth,
)
from workbench.checker.polynomials import ONE, ZERO
from workbench.checker.reader import (
    CheckedTask,
    PlainLabel,
    PolicyRows,
    count,
    field,
    read_entries,
    read_fraction,
    read_label,
    read_memory,
    read_policy,
    read_task,
)
from workbench.checker.spoiled import Spoiled

LONGEST_PHASE, MOST_ITERATES, LONGEST_CYCLE = 20_000, 1_000, 500
MOST_PHASES_READ = 200
MOST_HISTORIES = 50_000


# ---------------------------------------------------------------------- the oracle loop


def check_loop(certificate: dict[str, Any]) -> str:
    """Where the oracle loop goes from the uniform policy, phase by phase, or what its first
    iterates are worth."""
    task, E, step, order = _setting(certificate)
    pi: PolicyRows = {o: dict.fromkeys(E.actions, Fraction(1, len(E.actions))) for o in E.rows}
    status = field(certificate, "status", str)
    if status == "checked":
        return _iterates(certificate, task, E, pi, step, order)
    if status != "proved":
        raise Spoiled(f"unknown status {status!r}")
    phases = list(read_entries(field(certificate, "phases", list), 2, "phases"))
    if len(phases) > MOST_PHASES_READ:
        raise Spoiled(f"{len(phases)} phases are too many")
    keep = 1 - step
    for i, (steps, pairs) in enumerate(phases):
        if (steps is None) != (i == len(phases) - 1):
            raise Spoiled("all phases but the last have a number of steps, the last one has none")
        if steps is not None:
            count(steps, 1, LONGEST_PHASE)
        tau = _choices(pairs)
        goal = _stays_greedy(E, pi, tau, order, ZERO if steps is None else keep ** (steps - 1))
        x = ZERO if steps is None else keep**steps
        pi = {
            o: {a: x * pi[o].get(a, ZERO) + (1 - x) * goal[o].get(a, ZERO) for a in E.actions}
            for o in E.rows
        }
    if not phases:
        raise Spoiled("there are no phases")
    value = worth(E, pi)
    if value != read_fraction(field(certificate, "value")):
        raise Spoiled(f"the limit is worth {value}, not {certificate['value']}")
    where = f"{_where(certificate, task)}, step {step}: the loop goes to a policy worth {value}"
    claim = field(certificate, "claim", str)
    if claim == "stuck":
        return f"{where}, and another one is worth {_better(certificate, task, E, value)}"
    if claim == "optimal":
        _bound(field(certificate, "bound", dict), task, value)
        return f"{where}, and none is worth more"
    if claim == "limit":
        return where
    raise Spoiled(f"unknown claim {claim!r}")


def _setting(
    certificate: dict[str, Any],
) -> tuple[CheckedTask, PlaceGraph, Fraction, list[PlainLabel]]:
    """The task, its places with the memory, the step, and the order of actions among equals."""
    task = read_task(field(certificate, "model", dict))
    memory, step = (
        read_memory(field(certificate, "memory")),
        read_fraction(field(certificate, "step")),
    )
    if memory.name == "B(k)":
        raise Spoiled("the loop is followed with one memory, not with all B(k)")
    if not 0 < step < 1 or step.denominator > 10**6:
        raise Spoiled(f"the step {str(step)[:40]} is no fraction in (0, 1) of at most six digits")
    E = PlaceGraph(task, memory)
    return task, E, step, E.order(field(certificate, "ties", str))


def _where(certificate: dict[str, Any], task: CheckedTask) -> str:
    ties = "" if certificate["ties"] == "last" else ", ties to the lower write"
    return f"{task.name} with {certificate['memory']}{ties}"


def _choices(pairs: Any) -> dict[PlainLabel, PlainLabel]:
    """What greedy does on the rows that are visited."""
    found: dict[PlainLabel, PlainLabel] = {}
    for o, a in read_entries(pairs, 2, "what greedy does"):
        if (row := read_label(o)) in found:
            raise Spoiled(f"greedy does two things on {row!r}")
        found[row] = read_label(a)
    return found


def _stays_greedy(
    E: PlaceGraph,
    pi: PolicyRows,
    tau: dict[PlainLabel, PlainLabel],
    order: list[PlainLabel],
    low: Fraction,
) -> PolicyRows:
    """The policy that tau makes of pi, if tau stays greedy between them down to x = low."""
    goal = {o: {tau[o]: ONE} if o in tau else pi[o] for o in E.rows}
    _is_greedy_between(E, pi, goal, tau, order, low)
    return goal


def _is_greedy_between(
    E: PlaceGraph,
    pi: PolicyRows,
    goal: PolicyRows,
    tau: dict[PlainLabel, PlainLabel],
    order: list[PlainLabel],
    low: Fraction,
) -> None:
    """Whether tau is greedy on x pi + (1-x) goal from x = 1 down to x = low."""
    if not set(tau) <= set(E.rows) or not set(tau.values()) <= set(E.actions):
        raise Spoiled("a phase names a row or an action that the task does not have")
    segment = checked_segment(E, pi, goal, low)
    for o in E.rows:
        visits = segment.visits(o)
        if (o in tau) != bool(visits.terms):
            raise Spoiled(f"row {o} has a greedy action exactly if it is visited, which fails here")
        if o not in tau:
            continue
        if not is_positive_down_to(visits, low, strict=True):
            raise Spoiled(f"row {o} is not visited on all of the way")
        for a in order:
            if a == tau[o]:
                continue
            strict = order.index(a) < order.index(tau[o])
            if not is_positive_down_to(segment.difference(o, tau[o], a), low, strict):
                raise Spoiled(f"{tau[o]} is not shown to be greedy on row {o}: {a} may be")


def check_cycle(certificate: dict[str, Any]) -> str:
    """Greedy goes through `before`, then through `cycle` for ever, and the values of the cycle lie
    between two numbers."""
    task, E, step, order = _setting(certificate)
    if field(certificate, "status") != "proved":
        raise Spoiled("a cycle is proved")
    keep = 1 - step
    pi: PolicyRows = {o: dict.fromkeys(E.actions, Fraction(1, len(E.actions))) for o in E.rows}

    def moved(start: PolicyRows, tau: dict[PlainLabel, PlainLabel], x: Fraction) -> PolicyRows:
        return {
            o: {a: x * y + (1 - x if a == tau[o] else 0) for a, y in row.items()}
            if o in tau
            else row
            for o, row in start.items()
        }

    def runs(name: str) -> list[tuple[int, dict[PlainLabel, PlainLabel]]]:
        listed = read_entries(field(certificate, name, list), 2, name)
        return [(count(steps, 1, LONGEST_PHASE), _choices(pairs)) for steps, pairs in listed]

    for steps, tau in runs("before"):
        _stays_greedy(E, pi, tau, order, keep ** (steps - 1))
        pi = moved(pi, tau, keep**steps)
    around = [tau for steps, tau in runs("cycle") for _ in range(count(steps, 1, LONGEST_CYCLE))]
    if len(around) > LONGEST_CYCLE:
        raise Spoiled(f"a cycle of {len(around)} steps is too long")
    if not around or any(set(tau) != set(E.rows) for tau in around):
        raise Spoiled("a cycle has steps, and a greedy action on every row at each of them")
    if all(tau == around[0] for tau in around):
        raise Spoiled("greedy never changes: that is a limit, not a cycle")
    goal: PolicyRows = {o: dict.fromkeys(E.actions, ZERO) for o in E.rows}
    for tau in around:
        goal = moved(goal, tau, keep)
    goal = {
        o: {a: y / (1 - keep ** len(around)) for a, y in row.items()} for o, row in goal.items()
    }
    lowest, highest = (read_fraction(field(certificate, name)) for name in ("lowest", "highest"))
    for tau in around:
        _is_greedy_between(E, pi, goal, tau, order, ZERO)
        if not lowest <= worth(E, goal) <= highest:
            raise Spoiled(f"a policy of the cycle is not worth between {lowest} and {highest}")
        pi, goal = moved(pi, tau, keep), moved(goal, tau, keep)
    text = (
        f"{_where(certificate, task)}, step {step}: the loop tends to a cycle of "
        f"{len(around)} policies worth {float(lowest):.6g} to {float(highest):.6g}"
    )
    claim = field(certificate, "claim", str)
    if claim == "cycle":
        return text
    if claim != "below":
        raise Spoiled(f"unknown claim {claim!r}")
    return f"{text}, and another one is worth {_better(certificate, task, E, highest)}"


def _iterates(
    certificate: dict[str, Any],
    task: CheckedTask,
    E: PlaceGraph,
    pi: PolicyRows,
    step: Fraction,
    order: list[PlainLabel],
) -> str:
    """Check all iterates one by one. None is worth more than the number given."""
    highest = read_fraction(field(certificate, "highest"))
    iterates = count(field(certificate, "iterates"), 1, MOST_ITERATES)
    for n in range(iterates):
        here = PolicyValues(E, rows=pi)
        if here.value > highest:
            raise Spoiled(f"iterate {n} is worth {float(here.value):.6g}, more than {highest}")
        for o, best in greedy_actions_by_rule(here.q, order).items():
            pi[o] = {a: (1 - step) * x + (step if a == best else 0) for a, x in pi[o].items()}
    where = f"{_where(certificate, task)}, step {step}"
    text = f"{where}: checked that {iterates} iterates are worth at most {highest}"
    claim = field(certificate, "claim", str)
    if claim == "iterates":
        return text
    if claim != "below":
        raise Spoiled(f"unknown claim {claim!r} for iterates that were only checked")
    return f"{text}, and another policy is worth {_better(certificate, task, E, highest)}"


def _better(
    certificate: dict[str, Any], task: CheckedTask, E: PlaceGraph, value: Fraction
) -> Fraction:
    better = field(certificate, "better", dict)
    memory = read_memory(certificate["memory"])
    found = worth(E, read_policy(field(better, "policy", list), task, memory))
    if found != read_fraction(field(better, "value")):
        raise Spoiled(f"the other policy is worth {found}, not {better['value']}")
    if not found > value:
        raise Spoiled(f"the other policy is worth {found}, no more than {value}")
    return found


def _bound(bound: dict[str, Any], task: CheckedTask, value: Fraction) -> None:
    """No policy of the task, whatever it remembers, is worth more than `value`."""
    kind = field(bound, "kind", str)
    if kind == "states":
        most = bound_of_states(field(bound, "v", list), task)
    elif kind == "histories":
        most = _best_after(task, task.mu, 0, [0])
    else:
        raise Spoiled(f"unknown kind of bound {kind!r}")
    if most != value:
        raise Spoiled(f"the bound is {most}, not {value}")


def bound_of_states(listed: Any, task: CheckedTask) -> Fraction:
    """The mean at the start of a v that no action beats, which no policy is worth more than.

    v(s) >= sum p(s',r|s,a) (r + gamma v(s')) for all actions and all states that can be reached.
    After n steps of any policy v(s_0) >= E[rewards of n steps] + gamma^n E[v(s_n)], and the last
    term tends to 0 if gamma < 1 or if every policy ends, and may be left out if v >= 0.
    """
    v: dict[PlainLabel, Fraction] = {}
    for s, x in read_entries(listed, 2, "v"):
        state = read_label(s)
        if state in v or state not in task.omega:
            raise Spoiled(f"v names {state!r} twice, or the task does not have it")
        v[state] = read_fraction(x)
    waiting = [s for s, x in task.mu.items() if x and s not in task.terminal]
    reached = set(waiting)
    for s in waiting:  # grows while we walk
        if s not in v:
            raise Spoiled(f"v says nothing about {s!r}")
        for a in task.A:
            promised = ZERO
            for (t, r), x in task.p[s, a].items():
                if not x:
                    continue
                on = t not in task.terminal
                if on and t not in v:
                    raise Spoiled(f"v says nothing about {t!r}")
                promised += x * (r + (task.gamma * v[t] if on else ZERO))
                if on and t not in reached:
                    reached.add(t)
                    waiting.append(t)
            if promised > v[s]:
                raise Spoiled(f"{a!r} promises {promised} in {s!r}, more than v = {v[s]}")
    lowest = min((v[s] for s in reached), default=ZERO)
    if not (task.gamma < 1 or lowest >= 0 or _surely_ends(task, reached)):
        raise Spoiled("without a discount the bound needs v >= 0, or a task that surely ends")
    return sum((x * v[s] for s, x in task.mu.items() if s not in task.terminal), ZERO)


def _surely_ends(task: CheckedTask, reached: set[PlainLabel]) -> bool:
    """Whether every policy comes to an end: no set of states can be kept to for ever.

    States from which some action has no chance to leave a set are kept, the others are taken out,
    until nothing changes; what is left can be stayed in.
    """
    left = set(reached)
    while True:
        kept = {
            s
            for s in left
            if any(all(t in left for (t, _), x in task.p[s, a].items() if x) for a in task.A)
        }
        if kept == left:
            return not left
        left = kept


def _best_after(
    task: CheckedTask, weights: dict[PlainLabel, Fraction], depth: int, tried: list[int]
) -> Fraction:
    """The best return after a history, times its probability, by trying all that can follow."""
    tried[0] += 1
    if depth > 50 or tried[0] > MOST_HISTORIES:
        raise Spoiled("episodes are too long, or too many, to try all histories")
    total = ZERO
    for o in dict.fromkeys(o for s in weights for o in task.omega[s]):
        here = {
            s: x * task.omega[s].get(o, ZERO) for s, x in weights.items() if s not in task.terminal
        }
        here = {s: x for s, x in here.items() if x}
        if not here:
            continue
        best = []
        for a in task.A:
            reward, after = ZERO, dict[PlainLabel, Fraction]()
            for s, x in here.items():
                for (t, r), y in task.p[s, a].items():
                    reward += x * y * r
                    after[t] = after.get(t, ZERO) + x * y
            best.append(reward + task.gamma * _best_after(task, after, depth + 1, tried))
        total += max(best)
    return total


# ---------------------------------------------------------------------- every k


def check_all_bits(certificate: dict[str, Any]) -> str:
    """Where the loop with B(k) goes for every k, on a task of two steps."""
    return check_every_k(certificate, _below)


def _below(
    certificate: Any, memory: str, rewards: list[list[Fraction]], step: Fraction, claim: str
) -> None:
    """A certificate about one k has to be about the same task, step and claim."""
    same = (
        field(certificate, "kind") == "oracle-loop"
        and field(certificate, "memory") == memory
        and field(certificate, "claim") == claim
        and field(certificate, "ties") == "last"
        and read_fraction(field(certificate, "step")) == step
    )
    if not same or _table(read_task(field(certificate, "model", dict))) != rewards:
        raise Spoiled(f"the certificate for {memory} is about something else")
    check_loop(certificate)


def _table(task: CheckedTask) -> list[list[Fraction]]:
    """The rewards of a sequence task of length 2, by following its actions."""
    strange = Spoiled("the task is no sequence task of two steps, all seen alike")
    if len(task.mu) != 1 or task.gamma != 1 or len(task.O) != 1:
        raise strange
    found = []
    for a in task.A:
        first = task.p[next(iter(task.mu)), a]
        ((s, nothing),) = first if len(first) == 1 else ((None, ONE),)
        if nothing != 0 or s in task.terminal:
            raise strange
        row = []
        for b in task.A:
            second = task.p[s, b]
            ((end, reward),) = second if len(second) == 1 else ((None, ONE),)
            if end not in task.terminal:
                raise strange
            row.append(reward)
        found.append(row)
    return found
