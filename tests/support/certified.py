"""One certificate of every kind, on small tasks, and what the workbench itself says about each.

`CERTIFICATES[kind]()` makes it; `TRUTH[kind](certificate)` is the slow second opinion: the
statement judged by the evaluator, the decision procedures and the solver of the workbench, from the
same JSON. A changed certificate that the checker still accepts has to be true.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import sympy
from reference_sums import follows_in_models
from toy_tasks import task_like

from pomdps import recall, recall4
from proofs.appendix_a1_product import sequences_certificate, toy, uneven_policy
from proofs.appendix_c_setting import local_optimum
from proofs.ledger.exclusion import exclusion_certificate
from proofs.ledger.inequalities import box_conditions, solve_conditions
from proofs.ledger.theory import Theory
from proofs.section5_recall import RED, blue, rewards_by_history
from workbench import (
    POMDP,
    Memory,
    Policy,
    QLearning,
    Sarsa,
    augment,
    best_history,
    critical_points,
    equilibria,
    evaluate,
    is_sufficiently_expressive,
    subdivide,
    td_values,
    uniform,
)
from workbench.agents.simulate import alone, pair, sequences
from workbench.certificates.critical import critical_certificate
from workbench.certificates.cycle import certify_cycle
from workbench.certificates.every_k import limit_for_every_k
from workbench.certificates.fixed_points import fixed_points_certificate
from workbench.certificates.fixed_regions import fixed_regions_certificate
from workbench.certificates.loop import certify
from workbench.certificates.set_bounds import set_bounds_certificate
from workbench.certificates.values import (
    bits_certificates,
    clique_certificate,
    falling_certificate,
    family_certificate,
    identity_certificate,
    pigeons_certificate,
    q_certificate,
    step_certificate,
    td_certificate,
    value_certificate,
)
from workbench.core.numbers import Number, is_symbolic, number
from workbench.core.space import Distribution
from workbench.core.ties import tie_order
from workbench.improvement.batch import sequence_task
from workbench.lab.small_models import DeterministicPOMDPs
from workbench.results.json import decode, encode, model_from_json, model_json, policy_from_json
from workbench.sufficiency.update import verify_f

HALF = Fraction(1, 2)
Certificate = dict[str, Any]


def _put(x: Number, point: dict[Any, Fraction]) -> Number:
    """A number with rationals for its symbols."""
    if not is_symbolic(x):
        return x
    return number(x.subs({s: sympy.Rational(v.numerator, v.denominator) for s, v in point.items()}))


def _substituted(P: POMDP, point: dict[Any, Fraction]) -> POMDP:
    """P with rationals for its symbols."""
    put = partial(_put, point=point)
    return replace(
        P,
        p=replace(P.p, r=P.p.r.map(put), prob=P.p.prob.map(put)),
        omega=replace(P.omega, prob=P.omega.prob.map(put)),
        mu=Distribution(P.S, P.mu.prob.map(put)),
        gamma=put(P.gamma),
    )


def returning() -> POMDP:
    """Two states that look alike and a step that may come back, so that values need equations."""

    def p(s: str, a: str) -> dict[tuple[str, int], Fraction]:
        if s == "s":
            return {("s", 0): HALF, ("t", 1): HALF} if a == "a" else {("end", 1): Fraction(1)}
        return {("end", 2 if a == "b" else 0): Fraction(1)}

    return POMDP.from_functions(
        name="returning",
        A=("a", "b"),
        p=p,
        omega=lambda s: {"o": 1},
        mu={"s": 1},
        gamma=Fraction(9, 10),
        terminal={"end"},
    )


def paid_at_once(second: list[list[int]], gamma: Any = HALF) -> POMDP:
    """Two steps without a sight: x for the first action 0, then `second[a_1][a_2]`."""
    x = sympy.Symbol("x")
    return POMDP.from_functions(
        name="paid at once",
        A=(0, 1),
        p=lambda s, a: (
            {(f"s{a}", 0 if a else x): 1} if s == "s*" else {("end", second[int(s[1])][a]): 1}
        ),
        omega=lambda s: {"o": 1},
        mu={"s*": 1},
        gamma=gamma,
        terminal={"end"},
    )


def regions_of(
    P: POMDP, memory: str = "none", learner: Any = None, epsilon: Any = None
) -> Certificate:
    """The certificate of a subdivision, by default of Q-learning with a symbol for epsilon."""
    epsilon = sympy.Symbol("epsilon") if epsilon is None else epsilon
    found = subdivide(augment(P, memory), learner or QLearning(), epsilon=epsilon, symmetry=False)
    return fixed_regions_certificate(P, memory, found)


def falling() -> POMDP:
    """Two states that look alike, from which greedy on visits points downhill."""
    space = DeterministicPOMDPs(2, 2, 1, 0, 1, gamma=HALF)
    return space.task((0, 1, 0, 2, 0, 0, 1, 1, 0, 0, 1))


def _fall() -> Certificate:
    P = falling()
    return falling_certificate(P, "none", uniform(P), "visits", _rate(P, uniform(P), "visits"))


def _rate(E: POMDP, pi: Policy, weights: str) -> Any:
    """dJ/deps at 0 along a step towards greedy, from the return as a formula in eps."""
    seen = evaluate(E, pi, exact=True, weights=weights)
    eps = sympy.Symbol("eps", positive=True)
    moved = {}
    for o in E.O:
        row = {a: pi[o, a] for a in E.A}
        if seen.reached[o]:
            q = seen.q.row(o)
            best = [a for a in E.A if q[a] == max(q.values())]
            assert len(best) == 1
            row = {a: (1 - eps) * x + (eps if a == best[0] else 0) for a, x in row.items()}
        moved[o] = row
    after = sympy.sympify(evaluate(E, Policy.from_mapping(E, moved), exact=True).value)
    return sympy.cancel(sympy.diff(after, eps)).subs(eps, 0)


def _family() -> Certificate:
    P, x = recall4(), sympy.Symbol("x")
    E = augment(P, "B1")
    goal = local_optimum(E)
    pi = Policy.from_mapping(E, {o: {a: x / 8 + (1 - x) * goal[o, a] for a in E.A} for o in E.O})
    greedy = {(m, o): (1 if m == "0" else 3, "1") for m, o in E.O}
    return family_certificate(P, "B1", pi, greedy, {"x": "(0, 1]"})


def _bound() -> Certificate:
    v = {"s": Fraction(28, 11), "t": Fraction(2)}  # v(s) = 1/2 + 9/20 (v(s) + 2) is 28/11
    return {
        "kind": "value-bound",
        "model": model_json(returning()),
        "v": [[s, str(x)] for s, x in v.items()],
        "bound": str(v["s"]),
    }


def _histories() -> Certificate:
    P = recall()
    rewards = rewards_by_history(augment(P, "OA1"))[RED]
    return {
        "kind": "history-dependence",
        "model": model_json(P),
        "memory": "OA1",
        "histories": [[[encode(a) for a in h], str(r)] for h, r in rewards.items()],
        "observation": encode(RED[0]),
        "action": encode(RED[1]),
    }


def _sequences() -> Certificate:
    P, memory = toy()
    E = augment(P, memory)
    return sequences_certificate(P, memory, E, uneven_policy(E), 1)


def _step() -> Certificate:
    P = returning()
    pi = Policy.from_mapping(P, {"o": {"a": HALF, "b": HALF}})
    q = evaluate(P, pi, exact=True).q
    best = max(P.A, key=lambda a: q["o", a])
    moved = pi.toward(Policy.deterministic(P, {"o": best}), HALF)
    before, after = (evaluate(P, one, exact=True).value for one in (pi, moved))
    return step_certificate(P, pi, HALF, before, after)


def _fading() -> Certificate:
    """A discounted distribution, followed along a chain, never has more than the mass one."""
    theory = Theory(
        {
            "p": "sum[s1](p(s, s1)) == 1",
            "x0": "x(0, s) == mu(s)",
            "x+": "x(n+1, s1) == gamma*sum[s](x(n, s)*p(s, s1))",
            "mu": "m == 1 - sum[s](mu(s))",
            "m+": "m >= 0",
            "gamma+": "gamma >= 0",
            "gamma-": "1 - gamma >= 0",
        }
    )
    return theory.shows(
        "mass",
        "1 - sum[s](x(n, s)) >= 0",
        [
            ("unfold", "x+"),
            ("less", 1, (("gamma-", {}),)),
            ("less", 1, (("gamma+", {}), ("hypothesis", {}))),
        ],
        base=[("unfold", "x0"), ("add", "mu", "1"), ("less", 1, (("m+", {}),))],
    )


def _clique() -> Certificate:
    return clique_certificate(recall4(), "B2", [(), *(("o", a) for a in range(4))])


CERTIFICATES: dict[str, Callable[[], Certificate]] = {
    "oracle-loop": lambda: certify(sequence_task([[5, 4], [0, 6]]), "B1"),
    "oracle-cycle": lambda: certify_cycle(sequence_task([[0, 1], [1, 0]]), "none", Fraction(1, 4)),
    "every-k": lambda: limit_for_every_k([[0, 1], [2, 0]]),
    "policy-value": lambda: value_certificate(
        returning(), "O1", uniform(augment(returning(), "O1")), _worth(returning(), "O1")
    ),
    "q-values": lambda: q_certificate(
        returning(), "none", evaluate(returning(), uniform(returning()), exact=True)
    ),
    "greedy-step": _step,
    "falling-step": _fall,
    "td-values": lambda: td_certificate(
        recall(),
        "OA1",
        td_values(augment(recall(), "OA1"), blue(augment(recall(), "OA1")), exact=True),
    ),
    "value-bound": _bound,
    "same-sequences": _sequences,
    "memory-update": lambda: bits_certificates(
        recall4(), is_sufficiently_expressive(recall4(), "B3")
    )[0],
    "clique": _clique,
    "beliefs-outnumber": lambda: pigeons_certificate(
        recall4(), "B2", is_sufficiently_expressive(recall4(), "B2").clique
    ),
    "history-dependence": _histories,
    "identity": lambda: identity_certificate(
        "a quotient", "(x**2 - y**2)/(2*x - 2*y)", "x/2 + y/2"
    ),
    "polynomial-positive": lambda: {
        "kind": "polynomial-positive",
        "polynomial": "x**2*y - x*y + y/3 + 1/7",
        "box": {"x": "[0, 1]", "y": "(0, oo)"},
        "strict": True,
    },
    "excluded": lambda: exclusion_certificate(
        ["x > 0", "x - 1 <= 0", "c >= 0", "c + x - 1 <= 0", "8*c + 5*x - 2 >= 0",
         "4*c*x - 4*c + 5*x**2/2 - 7*x/2 + 1 > 0"]
    ),
    "greedy-family": _family,
    "critical-points": lambda: critical_certificate(
        returning(), "none", critical_points(augment(returning(), "none"))
    ),
    "fixed-points": lambda: fixed_points_certificate(returning(), "none", _settled(returning())),
    "fixed-point-bounds": lambda: set_bounds_certificate(
        returning(), "none", QLearning(epsilon=Fraction(1, 10))
    ),
    "fixed-point-regions": lambda: regions_of(paid_at_once([[0, 2], [0, 0]])),
    "sum-claim": _fading,
}  # fmt: skip


def _worth(P: POMDP, memory: str) -> Any:
    E = augment(P, memory)
    return evaluate(E, uniform(E), exact=True).value


# ---------------------------------------------------------------------- the second opinion


def _setting(c: Certificate) -> tuple[POMDP, POMDP, Policy]:
    P = model_from_json(c["model"])
    E = P if c["memory"] == "none" else augment(P, c["memory"])
    return P, E, policy_from_json(E, c["policy"])


def _is_value(c: Certificate) -> bool:
    _, E, pi = _setting(c)
    return bool(evaluate(E, pi, exact=True).value == Fraction(c["value"]))


def _are_q_values(c: Certificate) -> bool:
    _, E, pi = _setting(c)
    found = evaluate(E, pi, exact=True, weights="discounted" if c["discounted"] else "visits")
    given = {(decode(o), decode(a)): Fraction(x) for o, a, x in c["q"]}
    here = {(o, a): found.q[o, a] for o in E.O for a in E.A if found.q[o, a] is not None}
    return here == given and found.value == Fraction(c["value"])


def _are_td_values(c: Certificate) -> bool:
    _, E, pi = _setting(c)
    found = td_values(E, pi, n=c["n"], exact=True)
    given = {(decode(o), decode(a)): Fraction(x) for o, a, x in c["q"]}
    return given == {(o, a): found.q[o, a] for o in E.O for a in E.A if found.q[o, a] is not None}


def _is_step(c: Certificate) -> bool:
    _, E, pi = _setting(c)
    q = evaluate(E, pi, exact=True, weights="discounted" if c["discounted"] else "visits").q
    moved = pi.toward(pi.greedy(q.array), Fraction(c["step"]))
    values = [evaluate(E, one, exact=True).value for one in (pi, moved)]
    return values == [Fraction(c["before"]), Fraction(c["after"])]


def _falls(c: Certificate) -> bool:
    _, E, pi = _setting(c)
    rate = _rate(E, pi, c["weights"])
    return bool(rate == sympy.Rational(c["rate"]) and rate < 0)


def _is_loop(c: Certificate) -> bool:
    if c["status"] == "checked":
        return _are_iterates(c)
    found = certify(model_from_json(c["model"]), c["memory"], Fraction(c["step"]), c["ties"])
    stronger = found["claim"] == c["claim"] or c["claim"] == "limit"
    return stronger and found["value"] == c["value"]


def _are_iterates(c: Certificate) -> bool:
    P = model_from_json(c["model"])
    E = P if c["memory"] == "none" else augment(P, c["memory"])
    pi, order = uniform(E), tie_order(E.A, c["ties"])
    for _ in range(c["iterates"]):
        found = evaluate(E, pi, exact=True)
        if found.value > Fraction(c["highest"]):
            return False
        q, goal = found.q, {o: {a: pi[o, a] for a in E.A} for o in E.O}
        for o in E.O:
            if found.reached[o]:
                best = max(q[o, a] for a in E.A)
                first = next(E.A[int(j)] for j in order if q[o, E.A[int(j)]] == best)
                goal[o] = {first: Fraction(1)}
        pi = pi.toward(Policy.from_mapping(E, goal), Fraction(c["step"]))
    better = policy_from_json(E, c["better"]["policy"])
    worth = evaluate(E, better, exact=True).value
    return bool(worth == Fraction(c["better"]["value"]) > Fraction(c["highest"]))


def _is_cycle(c: Certificate) -> bool:
    found = certify_cycle(model_from_json(c["model"]), c["memory"], Fraction(c["step"]), c["ties"])
    low, high = (Fraction(found[name]) for name in ("lowest", "highest"))
    return (
        Fraction(c["lowest"]) <= low + Fraction(2, 10**6)
        and high - Fraction(2, 10**6) <= Fraction(c["highest"])
        and (c["claim"] == "cycle" or Fraction(c["better"]["value"]) > Fraction(c["highest"]))
    )


def _is_every_k(c: Certificate) -> bool:
    found = limit_for_every_k(
        [[Fraction(x) for x in row] for row in c["rewards"]], Fraction(c["step"])
    )
    return found is not None and (found["claim"], found["value"]) == (c["claim"], c["value"])


def _bounds(c: Certificate) -> bool:
    P = model_from_json(c["model"])
    seen = task_like(P, "seen", omega=lambda s: {s: 1}, S=P.S)
    return float(best_history(seen).value) <= float(Fraction(c["bound"])) + 1e-9


def _separates(c: Certificate) -> bool:
    P = model_from_json(c["model"])
    f = {(decode(m), decode(o), decode(a)): decode(w) for m, o, a, w in c["f"]}
    if not c["starts with mu"]:
        from proofs.appendix_a2_optimal import without_mu

        P = without_mu(P)
    first = next(w for _, w in augment(P, c["memory"]).A)
    return bool(verify_f(P, c["memory"], lambda m, o, a: f.get((m, o, a), first)))


def _is_too_small(c: Certificate) -> bool:
    return not is_sufficiently_expressive(model_from_json(c["model"]), c["memory"])


def _depends(c: Certificate) -> bool:
    E = augment(model_from_json(c["model"]), c["memory"])
    found = rewards_by_history(E)[decode(c["observation"]), decode(c["action"])]
    given = {tuple(map(decode, h)): Fraction(r) for h, r in c["histories"]}
    return len(set(given.values())) > 1 and all(found[h] == r for h, r in given.items())


def _are_same_sequences(c: Certificate) -> bool:
    P, E = model_from_json(c["model"]), model_from_json(c["compiled"])
    table = {
        (*map(decode, key[:4]), Fraction(key[4]), decode(key[5])): {
            decode(n): Fraction(x) for n, x in key[6]
        }
        for key in c["memory"]["Gamma"]
    }
    eta = {decode(m): Fraction(x) for m, x in c["memory"]["eta"]}
    states = list(dict.fromkeys([*eta, *(n for row in table.values() for n in row)]))
    writes = [decode(w) for w in c["memory"]["W"]]
    memory = Memory("table", states, writes, lambda *key: table[key], eta)
    pi = policy_from_json(E, c["policy"])
    one, other = (sequences(x, pi, c["horizon"]) for x in (alone(E), pair(P, memory)))
    return one == other


def _is_identity(c: Certificate) -> bool:
    return bool(sympy.cancel(sympy.sympify(c["left"]) - sympy.sympify(c["right"])) == 0)


def _is_positive(c: Certificate) -> bool:
    sign = "<=" if c["strict"] else "<"
    return solve_conditions([*box_conditions(c["box"]), f"{c['polynomial']} {sign} 0"]) is None


def _is_family(c: Certificate) -> bool:
    """At many points of the box the greedy actions are those of the certificate."""
    P, draw = model_from_json(c["model"]), random.Random(0)
    E = augment(P, c["memory"])
    order = tie_order(E.A, c["ties"])
    goal = {decode(o): decode(a) for o, a in c["greedy"]}
    for _ in range(12):
        at = {}
        for name, shown in c["box"].items():
            low, high = shown[1:-1].split(", ")
            top = Fraction(low) + 5 if high == "oo" else Fraction(high)
            at[name] = Fraction(low) + (top - Fraction(low)) * Fraction(draw.randint(1, 40), 40)
        rows = {
            decode(o): {decode(a): Fraction(str(sympy.sympify(x).subs(at))) for a, x in row}
            for o, row in c["policy"]
        }
        q = evaluate(E, Policy.from_mapping(E, rows), exact=True).q
        for o, a in goal.items():
            best = max(q[o, b] for b in E.A)
            if a != next(E.A[int(j)] for j in order if q[o, E.A[int(j)]] == best):
                return False
    return True


def _settled(
    P: POMDP, epsilon: Fraction = Fraction(1, 10), memory: str = "none", name: str = "Q-learning"
) -> Any:
    E = P if memory == "none" else augment(P, memory)
    learner = QLearning(epsilon=epsilon) if name == "Q-learning" else Sarsa(lam=0, epsilon=epsilon)
    return equilibria(E, replace(learner, gamma=P.gamma), exact=True, symmetry=False)


def _are_critical_points(c: Certificate) -> bool:
    """Whether each point is among those that the search finds."""
    E = augment(model_from_json(c["model"]), c["memory"])
    left = list(critical_points(E))
    for point in c["points"]:
        rows = [
            (_seen(E, decode(o)), [_done(E, decode(a)) for a in acts])
            for o, acts in point["supports"]
        ]
        sides = iter([[Fraction(x) for x in side] for side in point["box"]])
        box = [(o, a, *next(sides)) for o, acts in rows for a in acts[:-1]]
        low, high = (Fraction(x) for x in point["value"])
        match = next(
            (
                one
                for one in left
                if (one.kind, one.strict) == (point["kind"], point["strict"])
                and all({a for a in E.A if one.policy[o, a]} == set(acts) for o, acts in rows)
                and all(x <= Fraction(one.policy[o, a]) <= y for o, a, x, y in box)
                and float(low) - 1e-12 <= float(one.value) <= float(high) + 1e-12
            ),
            None,
        )
        if match is None:
            return False
        left.remove(match)
    return True


def _seen(E: POMDP, o: Any) -> Any:
    return o if o in E.O else ("-", o)


def _done(E: POMDP, a: Any) -> Any:
    return a if a in E.A else (a, "-")


def _are_fixed_points(c: Certificate) -> bool:
    P = model_from_json(c["model"])
    if c["learner"] not in ("Q-learning", "Sarsa(0)"):
        return False
    found = _settled(P, Fraction(c["epsilon"]), c["memory"], c["learner"])
    given = sorted((Fraction(value), strict) for _, strict, value in c["fixed"])
    return given == sorted((e.value, e.strict) for e in found)


def _formula(shown: str) -> Any:
    """A formula in text; `gamma` is a symbol there and no function."""
    return sympy.sympify(shown, locals={"gamma": sympy.Symbol("gamma")})


def _symbolic_model(data: Any) -> POMDP:
    """A model from JSON whose rewards and discount may be formulas."""
    p = {
        (decode(s), decode(a)): {(decode(t), number(_formula(r))): Fraction(x) for t, r, x in row}
        for s, a, row in data["p"]
    }
    omega = {decode(s): {decode(o): Fraction(x) for o, x in row} for s, row in data["omega"]}
    return POMDP.from_functions(
        name=data["name"],
        A=[decode(a) for a in data["actions"]],
        p=lambda s, a: p[s, a],
        omega=lambda s: omega[s],
        mu={decode(s): Fraction(x) for s, x in data["mu"]},
        gamma=number(_formula(data["gamma"])),
        terminal={decode(s) for s in data["terminal"]},
    )


def are_regions(c: Certificate) -> bool:
    """Every cell that the workbench finds has a sample point with the same signs of the curves, and
    there the same policies are fixed points, worth the same; in rationals so is every sample."""
    P = _symbolic_model(c["model"])
    names = sympy.symbols(c["names"])
    learner = QLearning() if c["learner"] == "Q-learning" else Sarsa(lam=0)
    epsilon = _formula(c["epsilon"])
    E = augment(P, c["memory"])
    rows = [E.O.index(_seen(E, decode(o))) for o in c["rows"]]
    actions = [E.A.index(_done(E, decode(a))) for a in c["actions"]]
    curves = [_formula(f) for f in c["curves"]]

    def digits(g: int) -> tuple[int, ...]:
        return tuple(actions[g // len(actions) ** i % len(actions)] for i in range(len(rows)))

    def signs(point: dict[Any, Any]) -> tuple[bool, ...]:
        return tuple(bool(f.subs(point) > 0) for f in curves)

    told: dict[tuple[bool, ...], set[tuple[int, ...]]] = {}
    for shown, settled in c["cells"]:
        point = {s: sympy.Rational(x) for s, x in zip(names, shown, strict=True)}
        here = {digits(c["fixed"][k][0]) for k in settled}
        if told.setdefault(signs(point), here) != here:
            return False
        at = {s: Fraction(int(x.p), int(x.q)) for s, x in point.items()}
        numbers = equilibria(
            _substituted(E, at), learner, epsilon=_put(number(epsilon), at), exact=True,
            symmetry=False,
        )  # fmt: skip
        if {tuple(e.policy.actions[rows].tolist()) for e in numbers} != here:
            return False
        for e in numbers:
            _, strict, value = next(
                f for f in c["fixed"] if digits(f[0]) == tuple(e.policy.actions[rows].tolist())
            )
            if e.strict != strict or _formula(value).subs(point) != e.value:
                return False
    found = subdivide(E, learner, epsilon=number(epsilon), symmetry=False)
    return all(
        told.get(signs(cell.sample))
        == {tuple(found.policies[k].actions[rows].tolist()) for k in cell.settled}
        for cell in found
    )


TRUTH: dict[str, Callable[[Certificate], bool]] = {
    "oracle-loop": _is_loop,
    "oracle-cycle": _is_cycle,
    "every-k": _is_every_k,
    "policy-value": _is_value,
    "q-values": _are_q_values,
    "greedy-step": _is_step,
    "falling-step": _falls,
    "td-values": _are_td_values,
    "value-bound": _bounds,
    "same-sequences": _are_same_sequences,
    "memory-update": _separates,
    "clique": _is_too_small,
    "beliefs-outnumber": _is_too_small,
    "history-dependence": _depends,
    "identity": _is_identity,
    "polynomial-positive": _is_positive,
    "excluded": lambda c: solve_conditions(c["conditions"]) is None,
    "greedy-family": _is_family,
    "critical-points": _are_critical_points,
    "fixed-points": _are_fixed_points,
    "fixed-point-bounds": _are_fixed_points,
    "fixed-point-regions": are_regions,
    "sum-claim": follows_in_models,
}
