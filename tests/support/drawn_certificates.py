"""Certificates about tasks drawn with a seed, so that the frozen verdicts meet chance, loops,
several observations, potentials and ties."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from fractions import Fraction

from certified import Certificate, _settled
from toy_tasks import small_task

from workbench import (
    POMDP,
    Policy,
    QLearning,
    Sarsa,
    augment,
    critical_points,
    evaluate,
    is_sufficiently_expressive,
    td_values,
)
from workbench.certificates.critical import critical_certificate
from workbench.certificates.cycle import certify_cycle
from workbench.certificates.every_k import limit_for_every_k
from workbench.certificates.fixed_points import fixed_points_certificate
from workbench.certificates.loop import certify
from workbench.certificates.set_bounds import set_bounds_certificate
from workbench.certificates.values import (
    bits_certificates,
    q_certificate,
    step_certificate,
    td_certificate,
    update_certificate,
    value_certificate,
)
from workbench.core.errors import WorkbenchError
from workbench.improvement.batch import sequence_task

F, A, STATES = Fraction, ("a", "b"), ("s", "t", "u")


def drawn_task(seed: int) -> POMDP:
    """Three states behind two observations, one of them seen by chance.

    Even seeds have steps that come back; odd ones go on to later states only.
    """
    rng = random.Random(seed)

    def row(s: str) -> dict[tuple[str, int], Fraction]:
        later = [*STATES[STATES.index(s) + 1 :], "end"]
        first = rng.choice(STATES if seed % 2 == 0 else later), rng.randint(-2, 3)
        second = rng.choice(later), rng.randint(-2, 3)
        x = F(rng.randint(1, 3), 4)
        return {first: x, second: 1 - x} if first != second else {first: F(1)}

    p = {(s, a): row(s) for s in STATES for a in A}
    share = F(rng.randint(1, 3), 4)
    omega = {"s": {"o": F(1)}, "t": {"o": share, "x": 1 - share}, "u": {"x": F(1)}, "end": {"o": 1}}
    return small_task(
        f"drawn {seed}",
        lambda s, a: p[s, a],
        {"s": F(2, 3), "t": F(1, 3)},
        A=A,
        omega=lambda s: omega[s],
        gamma=F(3, 4),
    )


def drawn_policy(E: POMDP, seed: int) -> Policy:
    """A policy with probabilities in ninths, some of them 0."""
    rng, rows = random.Random(seed), {}
    for o in E.O:
        weights = [rng.randint(0, 3) for _ in E.A]
        weights[rng.randrange(len(weights))] += 1
        rows[o] = {a: F(x, sum(weights)) for a, x in zip(E.A, weights, strict=True)}
    return Policy.from_mapping(E, rows)


def _step(seed: int) -> Certificate:
    P = drawn_task(seed)
    pi, step = drawn_policy(P, seed), F(1 + seed % 3, 4)
    q = evaluate(P, pi, exact=True, weights="discounted").q
    best = {o: max(P.A, key=lambda a: q[o, a]) for o in P.O}
    moved = pi.toward(Policy.deterministic(P, best), step)
    before, after = (evaluate(P, one, exact=True).value for one in (pi, moved))
    return step_certificate(P, pi, step, before, after, discounted=True)


def _makers(seed: int) -> Iterator[tuple[str, Callable[[], Certificate | None]]]:
    P, learner = drawn_task(seed), (QLearning, lambda **given: Sarsa(lam=0, **given))[seed % 2]
    memory = ("B1", "O1", "K1", "OA1")[seed % 4]
    E = augment(P, memory)
    pi, plain = drawn_policy(E, seed), drawn_policy(P, seed)
    weights = ("discounted", "visits")[seed % 2]
    yield (
        "policy-value",
        lambda: value_certificate(P, memory, pi, evaluate(E, pi, exact=True).value),
    )
    yield "q-values", lambda: q_certificate(P, memory, evaluate(E, pi, exact=True, weights=weights))
    yield "greedy-step", lambda: _step(seed)
    yield (
        "td-values",
        lambda: td_certificate(P, "none", td_values(P, plain, n=1 + seed % 3, exact=True)),
    )
    yield "fixed-points", lambda: fixed_points_certificate(P, "none", _settled(P, F(1, 5)))
    yield (
        "fixed-points of K1",
        lambda: fixed_points_certificate(P, "K1", _settled(P, F(1, 5), "K1")),
    )
    yield "fixed-point-bounds", lambda: set_bounds_certificate(P, "none", learner(epsilon=F(1, 5)))
    yield (
        "fixed-point-bounds of K1",
        lambda: set_bounds_certificate(P, "K1", learner(epsilon=F(1, 5))),
    )
    yield "oracle-loop", lambda: certify(P, "none", F(1, 5))
    yield (
        "oracle-loop of a few iterates",
        lambda: certify(P, memory, F(1, 3), most_phases=1, checked_iterates=3),
    )
    yield "oracle-cycle", lambda: certify_cycle(P, "none", F(1, 2))
    yield "critical-points", lambda: critical_certificate(P, "none", critical_points(P))
    yield "memory-update", lambda: bits_certificates(P, is_sufficiently_expressive(P, "B2"))[0]
    yield (
        "memory-update of O1",
        lambda: update_certificate(P, "O1", is_sufficiently_expressive(P, "O1").f or {}),
    )
    rng = random.Random(seed)
    table = [[rng.randint(0, 5) for _ in range(3)] for _ in range(3)]
    yield "every-k", lambda: limit_for_every_k(table)
    yield (
        "fixed-point-bounds of B1",
        lambda: set_bounds_certificate(
            sequence_task([row[:2] for row in table[:2]]), "B1", learner(epsilon=F(1, 5))
        ),
    )


def drawn_certificates(seeds: int) -> Iterator[tuple[str, Certificate]]:
    """Those that can be made, each with its kind, a comma and what it is about."""
    for seed in range(seeds):
        for name, make in _makers(seed):
            kind = name.split(" ")[0]
            try:
                made = make()
            except (WorkbenchError, IndexError) as error:
                print("none:", seed, name, str(error)[:90])
                continue
            if made is not None:
                yield f"{kind}, drawn {seed}{name.removeprefix(kind)}", made
