"""Calls of the checker's rules on small tasks, tables and formulas drawn with a fixed seed.

Beside `arithmetic`, for mutation testing: numbers are small, so that ties, loops, empty rows and
refusals are met. Only the standard library and the checker are needed.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

from workbench.checker import (
    algebra_claims,
    critical_claims,
    every_k_claims,
    expressions,
    fixed_point_claims,
    greedy_set_claims,
    loop_claims,
    memory_claims,
    place_graph,
    plane_polynomials,
    polynomials,
    positivity,
    reader,
    sum_claims,
    value_claims,
)
from workbench.checker.spoiled import Spoiled
from workbench.checker.sums import SumReader

F = Fraction
STATES, ACTIONS = ("s", "t", "u"), ("a", "b")


def _in_order(found: Any) -> Any:
    """The same without sets, whose order depends on hashes."""
    if isinstance(found, frozenset | set):
        return sorted(map(repr, found))
    if isinstance(found, dict):
        return {key: _in_order(x) for key, x in found.items()}
    if isinstance(found, list | tuple):
        return type(found)(map(_in_order, found))
    return found


def told(call: Callable[[], Any]) -> str:
    """What a call returns, or how it is refused."""
    try:
        return repr(_in_order(call()))
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def model(rng: random.Random, loops: bool) -> dict[str, Any]:
    """A task as JSON, with a few of its rows changed now and then."""
    later = {"s": ("t", "u", "end"), "t": ("u", "end"), "u": ("end",)}

    def row(s: str) -> list[list[str]]:
        there = (*STATES, "end") if loops else later[s]
        one, two = rng.choice(there), rng.choice(there)
        x = F(rng.randint(0, 4), 4)
        found = {(one, str(rng.randint(-1, 2))): x}
        key = (two, str(rng.randint(-1, 2)))
        found[key] = found.get(key, F(0)) + 1 - x
        return [[t, r, str(y)] for (t, r), y in found.items()]

    share = F(rng.randint(0, 4), 4)
    omega = [["s", [["o", "1"]]], ["t", [["o", str(share)], ["x", str(1 - share)]]],
             ["u", [["x", "1"]]], ["end", [["o", "1"]]]]  # fmt: skip
    found: dict[str, Any] = {
        "name": "drawn",
        "actions": list(ACTIONS),
        "omega": omega,
        "terminal": ["end"],
        "mu": [["s", "1/2"], [rng.choice(("t", "u", "end")), "1/2"]],
        "p": [[s, a, row(s)] for s in STATES for a in ACTIONS],
        "gamma": rng.choice(("1", "1/2", "3/4", "1", "0")),
    }
    if rng.random() < 0.1:
        found["gamma"] = rng.choice(("x", "1 + x", "-x", "x/2", "3/2", "1 - x"))
    if rng.random() < 0.1:
        found["p"][0][2] = [["t", "0", "x"], ["end", "1", rng.choice(("1 - x", "1 + x", "1"))]]
    return found


def policy(rng: random.Random, memory: Any) -> list[Any]:
    """A policy with few decimals as JSON, by rows (m, o)."""
    rows = []
    words = memory.W if memory.name.startswith("B") else [memory.start]
    for m in words:
        for o in ("o", "x"):
            x = F(rng.randint(0, 3), 3)
            done = [{"tuple": [a, w]} for a in ACTIONS for w in memory.W]
            one, two = rng.sample(done, 2)
            label = {"tuple": [{"tuple": list(m)} if isinstance(m, tuple) else m, o]}
            rows.append([label, [[one, str(x)], [two, str(1 - x)]]])
    return rows


def _bounds(rng: random.Random, E: Any) -> Any:
    epsilon = F(rng.randint(1, 3), 3)
    return greedy_set_claims.SetBounds(
        E, list(E.places), list(E.rows), list(E.actions), epsilon, rng.random() < 0.5
    )


def _numbers(rng: random.Random, n: int) -> list[Fraction]:
    return [F(rng.randint(-4, 8), 2) for _ in range(n)]


def _value_with_formulas(data: dict[str, Any]) -> Any:
    """The return of taking both actions alike, where x is 1/3."""
    task = reader.read_task(data, reader.read_formula)
    rows = {("-", o): {(a, "-"): F(1, 2) for a in ACTIONS} for o in task.O}
    E = place_graph.PlaceGraph(task, reader.read_memory("none"), rows)
    return reader._value(place_graph.PolicyValues(E).value + 0 * expressions.Quotient.name("x"),
                         {"x": F(1, 3)})  # fmt: skip


def on_a_task(rng: random.Random) -> Iterator[tuple[str, Callable[[], Any]]]:
    """What is asked of a drawn task."""
    data, name = model(rng, rng.random() < 0.5), rng.choice(("none", "B1", "O1", "K1", "OA1"))
    memory = reader.read_memory(name)
    rows = policy(rng, memory)
    v = [[s, str(rng.randint(-1, 4))] for s in STATES[: rng.choice((2, 3, 3, 3, 3))]]
    yield "formula values", lambda: _value_with_formulas(data)
    yield "task", lambda: sorted(reader.read_task(data, reader.read_formula).O)
    try:
        task = reader.read_task(data)
    except Exception:
        return
    yield "bound of states", lambda: loop_claims.bound_of_states(v, task)
    high = rng.randint(3, 5)
    most = [[s, str(high)] for s in STATES]
    yield "high bound of states", lambda: loop_claims.bound_of_states(most, task)
    some = set(rng.sample(STATES, rng.randint(1, 3)))
    yield "surely ends", lambda: loop_claims._surely_ends(task, some)
    yield "histories", lambda: loop_claims._best_after(task, task.mu, 0, [0])
    read = reader.read_policy(rows, task, memory) if name in ("none", "B1") else None
    E = place_graph.PlaceGraph(task, memory)
    yield "places", lambda: (E.places, E.steps, E.R, E.start)
    order = E.order(rng.choice(("last", "first")))
    if read is not None:
        yield "values", lambda: place_graph.PolicyValues(E, rows=read).value
        for discounted in (False, True):
            mark = f"discounted {discounted}"
            yield (
                f"q, {mark}",
                lambda d=discounted: sorted(
                    place_graph.PolicyValues(E, d, read).q.items(), key=repr
                ),
            )
        yield (
            "greedy",
            lambda: place_graph.greedy_actions_by_rule(
                place_graph.PolicyValues(E, rows=read).q, order
            ),
        )
        some_actions = rng.sample(order, min(3, len(order)))
        goal = {o: {some_actions[i % len(some_actions)]: F(1)} for i, o in enumerate(E.rows)}
        tau = {o: next(iter(row)) for o, row in goal.items()}
        low = rng.choice((F(0), F(1, 2), F(1)))
        yield (
            "greedy between",
            lambda: loop_claims._is_greedy_between(E, read, goal, tau, order, low),
        )
        yield (
            "segment",
            lambda: [
                sorted(f.terms.items())
                for part in [place_graph.Segment(E, read, goal)]
                for f in (*part.N, *part.C, part.D, part.D_visits)
            ],
        )
    even = {o: dict.fromkeys(E.actions, F(1, len(E.actions))) for o in E.rows}
    try:
        q = place_graph.PolicyValues(E, rows=even).q
    except Spoiled:
        q = {}
    first = {o: max(E.actions, key=lambda a: (q[o, a], a)) for o in dict.fromkeys(o for o, _ in q)}
    target = {o: {first[o]: F(1)} if o in first else even[o] for o in E.rows}
    yield (
        "greedy from even",
        lambda: loop_claims._is_greedy_between(E, even, target, first, order, F(1, 3)),
    )
    yield (
        "beliefs",
        lambda: (
            observed := memory_claims._observed(task, task.mu),
            [memory_claims._after(task, b, a) for b in observed.values() for a in ACTIONS],
        ),
    )
    way = [rng.choice("ox"), rng.choice(ACTIONS), rng.choice("ox"), rng.choice((*ACTIONS, "c"))]
    steps = rng.randint(0, 2)
    yield "follow", lambda: memory_claims._follow(task, way[: 2 * steps])
    if len(E.places) > 12:
        return
    epsilon, learner = F(rng.randint(1, 3), 3), rng.choice(("Q-learning", "Sarsa(0)"))
    tables = fixed_point_claims.GreedyTables(
        E, memory, list(E.rows), list(E.actions), learner, epsilon
    )
    g = tuple(rng.randrange(len(E.actions)) for _ in E.rows)
    i, j = rng.randrange(len(g)), rng.randrange(len(E.actions))
    yield "table", lambda: [tables.action_values(g)(i, j) for i in range(len(g)) for j in range(2)]
    yield "refuted", lambda: fixed_point_claims.check_refuted(tables, g, i, j)
    is_strict, worth = rng.random() < 0.5, F(rng.randint(-2, 4), 2)
    yield "fixed", lambda: fixed_point_claims.check_fixed_point(tables, g, is_strict, worth)
    yield "set bounds", lambda: _bounds(random.Random(1), E).mu
    if "Spoiled" in told(lambda: _bounds(random.Random(1), E).mu):
        return
    bounds = _bounds(rng, E)
    low_, high_ = _numbers(rng, len(E.rows)), _numbers(rng, len(E.rows))
    U, D = _numbers(rng, len(E.places)), [(0, 1)] * len(E.rows)
    B = bounds.backups(high_)
    o, a, better = rng.randrange(len(E.rows)), j, rng.randrange(len(E.actions))
    yield "over", lambda: bounds.over(o, a, high_, B)
    yield "under", lambda: bounds.under(o, a, low_, B)
    yield "lag", lambda: bounds.lag(o, a, better, low_, high_)
    r = {s: F(rng.randint(-6, 1)) for s in bounds.behind[o]}
    strict = rng.random() < 0.5
    flat = [F(rng.randint(-1, 1))] * len(U)
    given = rng.choice((None, U, flat, [x - 6 for x in U]))
    yield "shown", lambda: bounds.is_shown(given, r, D, strict)
    fall = [F(-x) for x in range(len(E.places))]
    yield "shown by a falling one", lambda: bounds.is_shown(fall, r, D, strict)
    if name in ("none", "B1"):
        q = [[{"tuple": [{"tuple": []}, "o"]}, "a", "0"]] if rng.random() < 0.1 else []
        certificate = {"model": data, "memory": name, "policy": rows, "n": rng.randint(1, 3),
                       "q": q, "weights": "discounted", "rate": "0", "value": "1/2",
                       "discounted": False, "step": "1/2", "before": "0", "after": "1"}  # fmt: skip
        for check in (value_claims.check_td_values, value_claims.check_falling_step,
                      value_claims.check_value, value_claims.check_greedy_step):  # fmt: skip
            yield check.__name__, lambda check=check: check(certificate)


FORMULAS = [
    "f(s) == g(s)", "f(s1) == g(s1)", "g(s) - f(s) == 0", "f(s) >= g(s)", "2*f(s) - 2*g(s) >= 0",
    "sum[s](f(s)) == 1", "sum[s1](p(s,s1)) == 1", "sum[s](2*f(s)) == 1", "f(s) >= 0", "-f(s) >= 0",
    "h(n,s) == 0", "h(n+1,s) == h(n,s)", "h(0,s) == 0", "h(n+1,s1) == 0", "sum[s](f(s)*g(s)) == 1",
    "sum[s](p(s,s)) == 1", "sum[s,s1](p(s,s1)) == 1", "p(s,s1) == eq(s,s1)", "f(s) = 1", "c == c",
    "c >= 0", "p(s,s1) == p(s1,s)", "f(s) == 2*g(s)", "sum[s1](p(s,s1)) == sum[s1](f(s1))",
]  # fmt: skip


def one_state(stay: str, pays: str, stays: str, gamma: str) -> dict[str, Any]:
    """A state in which a may stay and is paid for it, and b ends."""
    leave = str(1 - F(stay)) if "x" not in stay else "1 - x"
    onward = [["s", pays, stay], ["end", "0", leave]]
    return {
        "name": "one state", "actions": ["a", "b"], "gamma": gamma, "mu": [["s", "1"]],
        "omega": [["s", [["o", "1"]]], ["end", [["o", "1"]]]], "terminal": ["end"],
        "p": [["s", "a", onward], ["s", "b", [["end", stays, "1"]]]],
    }  # fmt: skip


def on_one_state(rng: random.Random) -> Iterator[tuple[str, Callable[[], Any]]]:
    """What is asked of a task of one state."""
    better = {"memory": "none", "better": {"policy": [["o", [["b", "1"]]]], "value": "1"}}
    than = rng.choice((F(0), F(1, 2), F(1), F(2)))
    ending = reader.read_task(one_state("0", "0", "1", "1"))
    places = place_graph.PlaceGraph(ending, reader.read_memory("none"))
    steps = {"model": one_state("0", "0", "1", "1"), "memory": "none", "ties": "last",
             "step": rng.choice(("0", "1/2", "1", "3/2", "1/1000000", "1/1000001"))}  # fmt: skip
    yield "setting", lambda: loop_claims._setting(steps)[2:]
    leave = {"tuple": ["a", "-"]}
    depends = {
        "model": one_state(rng.choice(("1/2", "1", "0")), "1", "0", "1"), "memory": "none",
        "observation": {"tuple": ["-", "o"]}, "action": leave,
        "histories": [[[leave] * rng.randint(0, 2), "1"], [[], "1"]],
    }  # fmt: skip
    yield "depends", lambda: memory_claims.check_history_dependence(depends)
    yield "better", lambda: loop_claims._better(better, ending, places, than)
    stay, pays = rng.choice(("0", "1/2", "1")), rng.choice(("0", "-1", "1"))
    ends, gamma = rng.choice(("-1", "0", "1")), rng.choice(("1", "1", "1/2"))
    data, v = one_state(stay, pays, ends, gamma), rng.choice(("-1", "0", "-2", "1", "-1/2"))
    yield (
        "bound of one state",
        lambda: loop_claims.bound_of_states([["s", v]], reader.read_task(data)),
    )
    done = rng.choice(([["b", "1"]], [["a", "1/2"], ["b", "1/2"]], [["a", "1/4"], ["b", "3/4"]]))
    rate = rng.choice(("0", "0", "-1/2", "1/2", "-1"))
    certificate = {"model": one_state("0", pays, ends, gamma), "memory": "none", "rate": rate,
                   "policy": [["o", done]],
                   "weights": rng.choice(("visits", "discounted"))}  # fmt: skip
    yield "rate", lambda: value_claims.check_falling_step(certificate)
    family = {
        "model": one_state(rng.choice(("0", "0", "1/2", "x")), rng.choice(("0", "x", "-x")),
                           rng.choice(("1", "x", "2 - x")), rng.choice(("1", "1", "x"))),
        "memory": "none", "box": {"x": rng.choice(("[0, 1]", "(0, 1]", "(0, 1)", "[1, 2]"))},
        "policy": [["o", [["a", "x"], ["b", "1 - x"]]]], "ties": rng.choice(("last", "first")),
        "greedy": [["o", rng.choice(("a", "b"))]],
    }  # fmt: skip
    yield "family", lambda: algebra_claims.check_greedy_family(family)
    c, low = F(rng.randint(1, 5)), F(rng.randint(0, 2))
    line, ends_in = rng.choice(([c, F(-1, 4)], [c * c, -2 * c, F(1)], [-c, F(1)])), (True, False)
    strict = rng.random() < 0.5
    yield "far away", lambda: polynomials.keeps_sign(line, low, None, ends_in, strict)
    E = place_graph.PlaceGraph(reader.read_task(data), reader.read_memory("B1"))
    fake: Any = SimpleNamespace(everywhere=E)
    fake._are_alike = lambda o, a, b: critical_claims._Point._are_alike(fake, o, a, b)
    o, one, two = E.rows[0], rng.choice(E.actions), rng.choice(E.actions)
    yield "alike", lambda: critical_claims._Point._are_alike(fake, o, one, two)
    fake.rows = [(row, [rng.choice(E.actions)]) for row in [*E.rows, ("1", "o")][:2]]
    seen = set(rng.sample(E.rows, rng.randint(0, len(E.rows))))
    fake._reached = lambda: seen
    yield "all reached", lambda: critical_claims._Point._reaches_all(fake)
    asked: list[Any] = []
    top, bottom = rng.choice((("y0_0**2", "1"), ("y0_0", "1 + y0_0**2"), ("y0_0*y0_1", "1")))
    f, g = expressions.read_polynomial(top), expressions.read_polynomial(bottom)

    def value(at: Any, extra: Any) -> Fraction:
        asked.append(sorted(at.values()))
        return f.at(at) / g.at(at)

    grid: Any = SimpleNamespace(
        names=[("y0_0", "o", "a"), ("y0_1", "o", "b")], places={"o": rng.randint(1, 2)},
        left=[100], _worth=value,
    )  # fmt: skip
    extra = rng.choice((None, ("o", "c")))
    yield "grid", lambda: (critical_claims._Point._compare(grid, f, g, extra), asked)


def on_formulas(rng: random.Random) -> Iterator[tuple[str, Callable[[], Any]]]:
    """What is asked of formulas about sums."""
    fixed = frozenset(rng.choice(((), ("s",), ("s1",), ("s", "s1"))))
    read = SumReader()

    def pair() -> Any:
        return [sum_claims.read_sum_formula(x, read) for x in (one, two)]

    one, two = rng.choice(FORMULAS), rng.choice(FORMULAS)
    yield "says", lambda: sum_claims._says(*pair(), fixed)
    yield (
        "distribution of sums",
        lambda: sorted(map(repr, sum_claims._distribution(pair()[0], fixed))),
    )
    steps: list[Any] = []
    for _ in range(rng.randint(0, 2)):
        steps.append(rng.choice((
            ["unfold", rng.randint(0, 2)],
            ["add", rng.randint(0, 2), rng.choice(("1", "-1", "g(s)"))],
            ["add", 0, "1", {"s": rng.choice(("s1", "s2", "n", "a"))}],
            ["less", rng.choice(("1", "0", "-1", "1/2")), [[rng.randint(0, 2), {}]]],
            ["less", 1, [[0, {}], [1, {"s": "s1"}]]], ["add", "hypothesis", "1"],
            ["fold", 1], ["unfold"],
        )))  # fmt: skip
    certificate = {
        "what": "drawn", "fixed": sorted(fixed), "given": rng.sample(FORMULAS, 3),
        "goal": rng.choice(FORMULAS), "steps": steps,
        "base": rng.choice((None, None, [], [["unfold", 0]])),
    }  # fmt: skip
    yield "sum claim", lambda: sum_claims.check_sum_claim(certificate)
    unequal = {"what": "eq", "fixed": [], "base": None, "given": ["eq(s,s1) == p(s,s1)"],
               "goal": "eq(s,s1)*c == p(s,s1)*c", "steps": [["unfold", 0]]}  # fmt: skip
    later = {"what": "later", "fixed": [], "given": ["h(n+1,s) == 0", "h(0,s) == 0"],
             "goal": "h(n,s) == 0", "base": [["unfold", 1]], "steps": [["unfold", 0]]}  # fmt: skip
    yield "later", lambda: sum_claims.check_sum_claim(later)
    yield "eq unfolded", lambda: sum_claims.check_sum_claim(unequal)
    known = {
        "what": "known", "fixed": [], "base": None,
        "given": ["f(s) == g(s) + h(0,s)", "g(s) >= 0", "h(0,s) >= 0", "sum[s](mu(s)) == 1",
                  "mu(s) >= 0"],
        "goal": "sum[s](mu(s)*f(s)) >= 0",
        "steps": [["unfold", 0], ["less", "1", [[4, {"s": "s"}], [1, {"s": "s"}]]],
                  ["less", "1", [[4, {}], [rng.choice((2, 1, 3)), {}]]]],
    }  # fmt: skip
    yield "known sum claim", lambda: sum_claims.check_sum_claim(known)


def on_numbers(rng: random.Random) -> Iterator[tuple[str, Callable[[], Any]]]:
    """What is asked of tables, matrices and conditions."""
    n = rng.randint(2, 3)
    r = [[F(rng.randint(0, 4)) for _ in range(n)] for _ in range(n)]
    f, step, u = rng.randrange(n), F(rng.randint(1, 9), 10), F(1, 2 ** rng.randint(1, 3))
    best = max(range(n), key=lambda a: (r[a][a], -a))
    r[best][best] += rng.randint(0, 3)
    yield "stays", lambda: every_k_claims._stays(r, f, step, u)
    staying = rng.choice((
        [[4, 3, 0], [2, 4, 3], [2, 0, 1]], [[0, 1, 1], [1, 4, 1], [2, 2, 4]],
        [[2, 0, 4], [1, 4, 3], [2, 0, 4]], [[2, 0], [0, 2]], [[4, 3], [0, 4]],
    ))  # fmt: skip
    near = [[F(x) for x in row] for row in staying]
    for _ in range(rng.randint(0, 2)):
        near[rng.randrange(len(near))][rng.randrange(len(near))] += rng.choice((-1, 1, F(1, 2)))
    small = rng.choice((F(1, 50), F(1, 10), F(1, 2)))
    for first in range(len(near)):
        yield f"stays near {first}", lambda a=first: every_k_claims._stays(near, a, small, u)
    yield "stays at the best", lambda: every_k_claims._stays(r, best, step, u)
    word = rng.choice(("0", "last"))
    last = max(range(n), key=lambda a: r[best][a])
    phases: list[Any] = [[None, [best, word], last, rng.choice((best, last, f))]]
    if rng.random() < 0.4:
        phases.insert(0, [rng.randint(1, 3), [f, word], last, best])
    yield "phases", lambda: every_k_claims._phases(r, phases, step, u)
    mixture = [(F(1, 3), None), (F(2, 3), [[f, word], last, best])]
    yield "mixture", lambda: every_k_claims._of_mixture(r, mixture)
    m = rng.randint(1, 4)
    H = [[(x, x + rng.randint(0, 1)) for x in _numbers(rng, m)] for _ in range(m)]
    rng_mixed, sign = rng.random() < 0.3, rng.choice((-1, 1))
    for i in range(m):
        x = F(rng.choice((-9, -8, 8, 9)) if rng_mixed else sign * 9)
        H[i][i] = (x, x + F(1, 2))
    whole = rng.random() < 0.6
    yield "kind", lambda: critical_claims._kind_of(H, whole)
    flat = [[(F(-1, 2), F(1, 2)) if i == j == m - 1 else x for j, x in enumerate(row)]
            for i, row in enumerate(H)]  # fmt: skip
    flatter = [[(low / 64, high / 64) for low, high in row] for row in H]
    yield "kind of a flat one", lambda: critical_claims._kind_of(flatter, whole)
    yield "kind not seen", lambda: critical_claims._kind_of(flat, whole)
    boxes = [tuple((x, x + rng.randint(0, 2)) for x in _numbers(rng, 2)) for _ in range(2)]
    yield "overlap", lambda: critical_claims._overlap(*boxes)
    rows = [((None, "o"), ["a", "b", "c"][: rng.randint(1, 3)]), ((None, "x"), ["a", "b"])]
    names = [
        (f"y{i}_{j}", o, a) for i, (o, acts) in enumerate(rows) for j, a in enumerate(acts[:-1])
    ]
    box = [(F(rng.randint(0, 3), 6), F(rng.randint(2, 6), 6)) for _ in names]
    inside: Any = SimpleNamespace(names=names, box=box)
    yield "inside", lambda: critical_claims._Point._require_inside(inside)
    y = [expressions.Polynomial.name(x) for x in "xy"]
    c = [F(rng.randint(1, 3), 4) for _ in range(2)]
    system = [y[0] - c[0] + (y[1] - c[1]) * F(rng.randint(-1, 1), 2), y[1] * y[1] - c[1] ** 2]
    J = [[g.derivative(x) for x in "xy"] for g in system]
    wide = F(rng.randint(1, 6), 20)
    around = tuple((a - wide, a + wide * rng.choice((F(1, 2), 1, 2))) for a in c)
    ranges = [
        [critical_claims._range(g, dict(zip("xy", around, strict=True))) for g in row] for row in J
    ]
    at_an_end = [y[0] - F(1, 2)]
    side = rng.choice(((F(1, 2), F(1)), (F(0), F(1, 2)), (F(1, 4), F(3, 4))))
    yield (
        "root at an end",
        lambda: critical_claims._require_root(
            at_an_end, [[y[0].derivative("x")]], [[(F(1), F(1))]], ["x"], (side,)
        ),
    )
    yield "root", lambda: critical_claims._require_root(system, J, ranges, ["x", "y"], around)
    size = rng.randint(1, 4)
    graph = [{j: F(1) for j in range(size) if rng.random() < 0.35} for _ in range(size)]
    yield "last first", lambda: place_graph.last_first(graph)
    matrix = [{j: F(rng.randint(-2, 2), 3) for j in row} for row in graph]
    right = _numbers(rng, size)
    yield "solved", lambda: place_graph.solved(matrix, right, None)
    turn = place_graph.last_first(graph)
    yield "solved in turn", lambda: place_graph.solved(matrix, right, turn)
    points = sorted({F(rng.randint(0, 8), 8) for _ in range(rng.randint(0, 4))})
    lines = [[-F(rng.randint(0, 4), 4), F(1)], [F(1, 8), F(-3, 4), F(1)], [F(1, 9), F(-2, 3), F(1)]]
    chosen = [rng.choice(lines) for _ in range(rng.randint(0, 3))]
    pair = [[-F(rng.randint(3, 5), 8), F(1)], [-F(rng.randint(3, 5), 8), F(1)]]
    yield "two in a gap", lambda: plane_polynomials.check_one_in_each_gap(pair, [F(1, 4), F(3, 4)])
    yield "gaps", lambda: plane_polynomials.check_one_in_each_gap(chosen, points)
    curves = [expressions.read_polynomial(x) for x in rng.sample(
        ("x - y", "x + y - 1", "2*y - 1", "2*x - 1", "x*y", "x**2 + y**2 - 1", "x", "x**2 - y"),
        rng.randint(1, 2))]  # fmt: skip
    grid = [(F(2 * i + 1, 10), F(2 * j + 1, 8) + F(i, 99)) for i in range(5) for j in range(4)]
    tall = [(F(2 * i + 1, 12), F(h, 10)) for i in range(6) for h in (1, 4, 6, 9)]
    here = rng.choice((grid, tall, rng.sample(tall, 20)))
    yield "many cells", lambda: plane_polynomials.check_cells(curves, here, "xy")


CONDITIONS = ["x >= 0", "1 - x >= 0", "x - 2 >= 0", "x > 0", "x < 0", "x == 1", "x*y > 1", "y <= 0"]


def on_conditions(rng: random.Random) -> Iterator[tuple[str, Callable[[], Any]]]:
    """What is asked of conditions, boxes, numbers and labels in text."""
    conditions = rng.sample(CONDITIONS, 3)
    terms = [
        [rng.choice(("1", "2", "-1", "x", "1/2")), rng.sample(range(4), rng.randint(0, 2))]
        for _ in range(rng.randint(0, 2))
    ]
    squares, positive = rng.choice(([], ["x - 1"])), rng.choice(([], [0], [1, 2], [5]))
    yield "excludes", lambda: positivity.excludes(conditions, terms, positive, squares)
    known = rng.choice((
        (["x >= 0", "1 - x >= 0", "x - 2 >= 0"], [["1", [1]], ["1", [2]]], [], []),
        (["x > 0", "x < 0"], [["1", [1]]], [0], []), (["x == 1", "x < 0"], [["1", [0]]], [1], []),
        (["x == 1", "x < 0"], [["x", [0]], ["1", [1]]], [], []), (["x == 1"], [["x", []]], [], []),
        (["x**2 + 1 <= 0"], [["1", [0]], ["1", [1]]], [], ["x"]),
        (["x >= 0"], [["0", [0]]], [], []),
        (["x > 0", "-x > 0"], [["1", []], ["-1", []]], [0, 1], []),
        (["x > 1", "x < 1"], [], [0], []),
    ))  # fmt: skip
    yield "known excludes", lambda: positivity.excludes(*known)
    shown = rng.choice(("(0, 1/2]", "(0, 1]", "[0, 1/2]", "(0, 1/4]", "(0, oo)", "(1/4, 1/2)"))
    box = positivity.read_box({"y": shown} if rng.random() < 0.9 else {"x": shown})
    written = rng.choice(("0", "1 - 2*y", "y", "x - 2*x*y", "1/2"))
    row = {("a", "others"): reader.read_polynomial_number(written), ("a", "0"): F(1, 2)}
    yield "shares", lambda: algebra_claims._check_shares({"o": row}, box)
    yield "without one half", lambda: algebra_claims._without_one_half(box)
    yield "formula", lambda: [
        (told(lambda t=t: reader._value(reader.read_formula(t), {"x": F(1, 3)})),
         told(lambda t=t: hash(reader.read_formula(t)) == hash(reader.read_formula(f"{t} + 0"))))
        for t in ("x", "1 - x", "x/(1 + x)", "(x + x**2)/x", "3 - x/x", "1/x - 2", "2*x/(4*x)",
                  "1/(x - x)", "7/3", "x**200", "x**201", "x**0", "((x))", "x > 1", "2**3**2")
    ]  # fmt: skip
    rows = [
        {"a": reader.read_formula(one), "b": reader.read_formula(two)}
        for one, two in [rng.choice((
            ("x", "1 - x"), ("1 + x", "-x"), ("9*x", "1 - 9*x"), ("60*x", "1 - 60*x"),
            ("1/2", "1/2"),
            ("1/(1 - 2*x)", "1 - 1/(1 - 2*x)"), ("3*x", "1 - 3*x"), ("x*y", "1 - x*y"), ("1", "0"),
            ("1 - 1/(9*x)", "1/(9*x)"), ("200*x", "1 - 200*x"))) for _ in range(rng.randint(1, 2))]
    ]  # fmt: skip
    yield "possible", lambda: reader.check_possible(rows)
    texts = ["{}", "[1, 2.5]", '{"a": 1, "a": 2}', "NaN", "1" * 20, "1" * 21, "-" + "1" * 20, "{",
             "[" * 59 + "]" * 59, "[" * 60 + "]" * 60, "[" * 62 + "]" * 62]  # fmt: skip
    yield "json", lambda: [told(lambda t=t: len(str(reader.read_json(t)))) for t in texts]
    lengths = (1, 3_999, 4_000, 4_001, 8_001, 20_000, 20_001)
    tail = rng.choice(("", "/3", "/" + "1" * 4_001, "/0", "/00"))
    yield (
        "digits",
        lambda: [told(lambda k=k: hash(reader.read_fraction("7" * k + tail))) for k in lengths],
    )
    yield (
        "whole numbers",
        lambda: [
            told(lambda x=x: greedy_set_claims._numbers(x, 2, F(1, 2)))
            for x in ([1, 2], [1, 0.5], [1, "1"], [True, 1], [1], (1, 2), [0.5, 0.5])
        ],
    )
    yield (
        "counts",
        lambda: [
            told(lambda x=x, a=a: reader.count(x, *a))
            for x in (-1, 0, 1, 2, 100_000, 100_001, True, "1")
            for a in ((), (0,), (0, 1), (1, 2))
        ],
    )
    yield "memories", lambda: [
        told(lambda m=m: (lambda r: (r.name, r.start, r.W, [r.after(x, w, "o", "a")
             for x in (r.start,) for w in r.W]))(reader.read_memory(m)))
        for m in ("none", "B1", "B2", "B10", "B11", "B(k)", "K1", "K2", "K8", "K9", "O2", "OA2",
                  "window2", "B0", 7)
    ]  # fmt: skip
    yield "labels", lambda: [told(lambda x=x: reader.read_label(x)) for x in (
        None, 1, "a", True, 1.5, [1], {"tuple": [1, {"tuple": []}]}, {"tuple": 1}, {"other": []},
        {"tuple": [], "x": 1})]  # fmt: skip
    yield "intervals in text", lambda: [told(lambda x=x: positivity.read_box({"x": x})) for x in (
        "[0, 1]", "[1, 1]", "(1, 1]", "[1, 1)", "[2, 1]", "[0, oo)", "[0, oo]", "0, 1",
        7)]  # fmt: skip
    numbers = [
        expressions.read_quotient(x)
        for x in rng.sample(("x", "1/x", "x/(x+1)", "2", "(x**2-1)/(x-1)", "x+1", "0*x"), 2)
    ]
    one, two = numbers
    yield "quotients", lambda: [
        told(lambda g=g: (lambda z: (z.number, z.num.at({"x": F(2)}), z.den.at({"x": F(2)})))(g()))
        for g in (
            lambda: one + two, lambda: one - two, lambda: one * two, lambda: one / two,
            lambda: 1 - one, lambda: 1 / two, lambda: 2 * one + 1, lambda: -one,
            lambda: one + F(1, 2),
        )
    ] + [one == two, one == one + 0, two == 2, hash(one) == hash(two)]  # fmt: skip


def rule_calls(rng: random.Random) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Some calls, each with a name for what it asks."""
    for part in (on_a_task, on_one_state, on_formulas, on_numbers, on_conditions):
        yield from part(random.Random(rng.random()))
