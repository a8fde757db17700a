"""Re-checking certificates of the oracle loop from their text, with Fractions and nothing of the
code that made them.

The task is read and its product with the memory walked through anew (`plain_products`); that greedy
stays what it is along a segment of policies is a number of inequalities between polynomials in one
variable, whose signs `plain_polynomials` decides.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from workbench.checker.every_k_claims import every_k
from workbench.checker.polynomials import ONE, ZERO, Spoiled, at, positive
from workbench.checker.products import (
    Label,
    Product,
    Rows,
    Segment,
    Task,
    checked_segment,
    decode,
    read_task,
    worth,
)


def recheck(certificate: dict[str, Any]) -> str:
    """Verify a certificate; the sentence says what was verified, and `Spoiled` is raised if it does
    not hold.

    >>> recheck({"kind": "hearsay"})
    Traceback (most recent call last):
    ...
    workbench.checker.polynomials.Spoiled: unknown kind of certificate 'hearsay'
    """
    try:
        if certificate.get("kind") == "oracle-loop":
            return _oracle_loop(certificate)
        if certificate.get("kind") == "oracle-cycle":
            return _oracle_cycle(certificate)
        if certificate.get("kind") == "every-k":
            return every_k(certificate, _below)
    except (
        KeyError,
        TypeError,
        ValueError,
        AttributeError,
        IndexError,
        ZeroDivisionError,
    ) as error:
        raise Spoiled(f"the certificate cannot be read: {error!r}") from None
    raise Spoiled(f"unknown kind of certificate {certificate.get('kind')!r}")


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
        if (steps is None) != (i == last) or (
            steps is not None and (not isinstance(steps, int) or steps < 1)
        ):
            raise Spoiled("all phases but the last have a number of steps, the last one has none")
        tau = {decode(o): decode(a) for o, a in choices}
        keep = 1 - step
        goal = _stays_greedy(E, pi, tau, order, ZERO if steps is None else keep ** (steps - 1))
        x = ZERO if steps is None else keep**steps
        pi = {
            o: {a: x * pi[o].get(a, ZERO) + (1 - x) * goal[o].get(a, ZERO) for a in E.actions}
            for o in E.rows
        }
    value = worth(E, pi)
    if value != Fraction(certificate["value"]):
        raise Spoiled(f"the limit is worth {value}, not {certificate['value']}")
    where = (
        f"{certificate['model']['name']} with {memory}, step {step}: the loop goes "
        f"to a policy worth {value}"
    )
    if certificate["claim"] == "stuck":
        return f"{where}, and another one is worth {_better(certificate, E, value)}"
    if certificate["claim"] == "optimal":
        _bound(certificate["bound"], task, value)
        return f"{where}, and none is worth more"
    if certificate["claim"] == "limit":
        return where
    raise Spoiled(f"unknown claim {certificate['claim']!r}")


def _stays_greedy(
    E: Product, pi: Rows, tau: dict[Label, Label], order: list[Label], low: Fraction
) -> Rows:
    """The policy that tau makes of pi, if tau is greedy on the segment between them down to x =
    low."""
    goal = {o: {tau[o]: ONE} if o in tau else pi[o] for o in E.rows}
    _is_greedy_between(E, pi, goal, tau, order, low)
    return goal


def _is_greedy_between(
    E: Product, pi: Rows, goal: Rows, tau: dict[Label, Label], order: list[Label], low: Fraction
) -> None:
    """Whether tau is greedy on x pi + (1-x) goal from x = 1 down to x = low."""
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


def _oracle_cycle(certificate: dict[str, Any]) -> str:
    """Greedy goes through `before`, then through `cycle` for ever, and the values of the cycle lie
    between two numbers."""
    task, step = read_task(certificate["model"]), Fraction(certificate["step"])
    if not 0 < step < 1 or certificate["status"] != "proved":
        raise Spoiled("a cycle is proved, for a step in (0, 1)")
    E, keep = Product(task, certificate["memory"]), 1 - step
    order = E.order(certificate["ties"])
    pi: Rows = {o: dict.fromkeys(E.actions, Fraction(1, len(E.actions))) for o in E.rows}

    def moved(start: Rows, tau: dict[Label, Label], x: Fraction) -> Rows:
        return {
            o: {a: x * y + (1 - x if a == tau[o] else 0) for a, y in row.items()}
            if o in tau
            else row
            for o, row in start.items()
        }

    def runs(name: str) -> list[tuple[int, dict[Label, Label]]]:
        found = [
            (steps, {decode(o): decode(a) for o, a in pairs}) for steps, pairs in certificate[name]
        ]
        if any(not isinstance(steps, int) or steps < 1 for steps, _ in found):
            raise Spoiled("a run has at least one step")
        return found

    for steps, tau in runs("before"):
        _stays_greedy(E, pi, tau, order, keep ** (steps - 1))
        pi = moved(pi, tau, keep**steps)
    around = [tau for steps, tau in runs("cycle") for _ in range(steps)]
    if not around or any(set(tau) != set(E.rows) for tau in around):
        raise Spoiled("a cycle has steps, and a greedy action on every row at each of them")
    if all(tau == around[0] for tau in around):
        raise Spoiled("greedy never changes: that is a limit, not a cycle")
    goal: Rows = {o: dict.fromkeys(E.actions, ZERO) for o in E.rows}
    for tau in around:
        goal = moved(goal, tau, keep)
    goal = {
        o: {a: y / (1 - keep ** len(around)) for a, y in row.items()} for o, row in goal.items()
    }
    lowest, highest = Fraction(certificate["lowest"]), Fraction(certificate["highest"])
    for tau in around:
        _is_greedy_between(E, pi, goal, tau, order, ZERO)
        if not lowest <= worth(E, goal) <= highest:
            raise Spoiled(f"a policy of the cycle is not worth between {lowest} and {highest}")
        pi, goal = moved(pi, tau, keep), moved(goal, tau, keep)
    text = (
        f"{certificate['model']['name']} with {certificate['memory']}, step {step}: the loop "
        "tends to a cycle of "
        f"{len(around)} policies worth {float(lowest):.6g} to {float(highest):.6g}"
    )
    if certificate["claim"] == "cycle":
        return text
    if certificate["claim"] != "below":
        raise Spoiled(f"unknown claim {certificate['claim']!r}")
    return f"{text}, and another one is worth {_better(certificate, E, highest)}"


def _iterates(
    certificate: dict[str, Any], E: Product, pi: Rows, step: Fraction, order: list[Label]
) -> str:
    """All iterates one by one; none is worth more than the number given."""
    highest = Fraction(certificate["highest"])
    for n in range(certificate["iterates"]):
        here = Segment(E, pi, pi)
        if (value := here.value(ONE)) > highest:
            raise Spoiled(
                f"iterate {n} is worth {float(value):.6g}, more than {certificate['highest']}"
            )
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
    policy = {
        decode(o): {decode(a): Fraction(x) for a, x in row}
        for o, row in certificate["better"]["policy"]
    }
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
                    (
                        x * (r + task.gamma * (ZERO if t in task.terminal else v[t]))
                        for (t, r), x in row
                        if x
                    ),
                    ZERO,
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
        here = {
            s: x * task.omega[s].get(o, ZERO) for s, x in weights.items() if s not in task.terminal
        }
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


# ---------------------------------------------------------------------- small k of a claim about
# every k


def _below(
    certificate: dict[str, Any],
    memory: str,
    rewards: list[list[Fraction]],
    step: Fraction,
    claim: str,
) -> None:
    """A certificate about one k has to be about the same task, step and claim."""
    same = (
        certificate["memory"] == memory
        and certificate["claim"] == claim
        and certificate["ties"] == "last"
    )
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
