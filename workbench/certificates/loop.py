"""Exact certificates of where the oracle loop (Section 5.2) ends.

The loop runs in rationals, phase by phase. While greedy stays tau the iterates lie on x pi + (1-x)
tau, where pi is the policy at which the phase began and x the product of 1 - step since then. There
every q(o, a) is a rational function of x, and "tau is greedy" is one inequality between polynomials
for each row and action, decided by counting roots (Sturm):

    a phase of k steps     tau is greedy for (1-step)^(k-1) <= x <= 1
    the last phase         tau is greedy for 0 < x <= 1: from there the loop goes to tau for every
                           sequence of steps whose product of 1 - step tends to 0

A certificate is plain JSON: the task, the memory's name, the step, the phases, the limit and its
value, and either a policy that is worth more (the loop is *stuck*) or a bound that the limit meets
(it is *optimal*). Its `status` is "proved". Where greedy keeps changing, as in a limit cycle, there
is no last phase: then the iterates computed are compared with a better policy, and the status is
"checked", since nothing is said about those that follow. `cycle.certify_cycle` proves more.

`checker.recheck` verifies a certificate from its text alone and shares no code with this module.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import flint
import numpy as np
import sympy
from numpy.typing import NDArray

from workbench.core.assess import look_at
from workbench.core.augment import augment
from workbench.core.chain import exact_value
from workbench.core.errors import NotExact, TooLarge, WorkbenchError, WrongType
from workbench.core.evaluate import evaluate
from workbench.core.exact import RationalFunctions
from workbench.core.fields import FLOATS, RATIONALS, dynamics
from workbench.core.horizon import has_finite_horizon
from workbench.core.improve import start_loop
from workbench.core.numbers import Number, Numbers, number
from workbench.core.oracle_loop import completed, mixed
from workbench.core.policy import Policy, uniform
from workbench.core.pomdp import POMDP
from workbench.core.ties import TIES, greedy_actions, tie_order
from workbench.memories import Family
from workbench.optima.best_history import best_history
from workbench.optima.best_informed import best_informed
from workbench.optima.best_memoryless import best_memoryless
from workbench.optima.mdp import from_states, optimal
from workbench.progress import Waiting, check_time
from workbench.results.json import encode, model_json, policy_json

Actions = NDArray[np.int64]
TableArray = NDArray[Any]

MOST_STATES = 400
"""Products with more states are refused: the numbers of a certificate are exact."""

_DENOMINATOR = 10**6
"""Stochastic policies that are worth more than the limit are written with denominators up to
this."""


@dataclass(frozen=True)
class Phase:
    """Several iterates towards one greedy policy. `steps` is None for the last phase, which has no
    end."""

    greedy: Actions
    steps: int | None


def certify(
    P: POMDP,
    memory: Family | str,
    step: Number = Fraction(1, 50),
    ties: str = "last",
    *,
    most_phases: int = 60,
    checked_iterates: int = 120,
) -> dict[str, Any]:
    """A certificate of where the oracle loop ends, from the uniform policy and with a constant
    rational step.

    Parameters
    ----------
    P : a small exact POMDP; memory : one of the paper's, by name as a rule.
    most_phases : so many changes of the greedy policy are followed before the loop counts as one
        without a limit.
    checked_iterates : for a loop without a limit, how many iterates are compared with a better
        policy.

    Returns
    -------
    JSON with `status` "proved" or "checked", `claim` "stuck", "optimal", "limit" (its value is
    proved, but not whether there is a better policy) or "below" (checked iterates only), and
    `value`.

    >>> from workbench.improvement.batch import sequence_task
    >>> half, most = Fraction(1, 2), Fraction(3, 4)
    >>> P = sequence_task(
    ...     [[-5, half, 1, half], [0, half, -half, most], [0, half, -5, half], [0, half, -5, half]]
    ... )
    >>> found = certify(P, "B1")
    >>> found["status"], found["claim"], found["value"], found["better"]["value"]
    ('proved', 'stuck', '3/4', '1')
    """
    E, step = checked_arguments(P, memory, step, ties)
    start = RATIONALS.enter(uniform(E).prob).copy()
    base = {
        "kind": "oracle-loop",
        "model": model_json(P),
        "memory": str(memory),
        "step": str(step),
        "ties": ties,
    }
    with Waiting(f"exact loop on {E.name}") as waiting:
        phases, pi = follow_loop(E, start, step, ties, most_phases, waiting)
        if phases[-1].steps is not None:
            return base | _checked_below(E, P, step, ties, checked_iterates, waiting)
    greedy = phases[-1].greedy
    limit = completed(E, greedy, Policy(E, Numbers.of(RATIONALS.leave(pi))))
    value = exact_value(E, limit)
    found = {
        "phases": [[phase.steps, choices(E, phase.greedy)] for phase in phases],
        "status": "proved",
        "value": str(value),
    }
    if (better := better_policy(E, value)) is not None:
        return base | found | {"claim": "stuck", "better": better}
    if (bound := met_bound(P, value)) is not None:
        return base | found | {"claim": "optimal", "bound": bound}
    return base | found | {"claim": "limit"}


def checked_arguments(P: Any, memory: Any, step: Any, ties: str) -> tuple[POMDP, Fraction]:
    """The product, and the step as a fraction."""
    if not isinstance(P, POMDP):
        raise WrongType(f"expected a POMDP, not {P!r}")
    if not isinstance(memory, Family | str):
        raise WrongType(
            f"a certificate names one of the paper's memories, such as 'B1', not {memory!r}"
        )
    if P.symbols:
        raise NotExact(f"{P.name} holds symbols; a certificate is about numbers")
    P.require_exact()
    if ties not in TIES:
        raise WorkbenchError(f"ties must be one of {', '.join(TIES)}, not {ties!r}")
    step = number(step)
    if not isinstance(step, Fraction | int):
        raise NotExact(f"a certificate needs a rational step, not {step!r}: use a Fraction")
    if not 0 < step < 1:
        raise WorkbenchError(f"a certificate needs a constant step in (0, 1), not {step}")
    E = augment(P, memory)
    if len(E.S) > MOST_STATES:
        raise TooLarge(
            f"{E.name} has {len(E.S):,} states; certificates are made for at most {MOST_STATES:,}"
        )
    return E, Fraction(step)


def choices(E: POMDP, greedy: Actions) -> list[Any]:
    """What greedy does, as JSON: pairs of an observation and an action."""
    return [[encode(E.O[int(o)]), encode(E.A[int(greedy[o])])] for o in np.flatnonzero(greedy >= 0)]


# ---------------------------------------------------------------------- the loop in rationals


def follow_loop(
    E: POMDP, pi: TableArray, step: Fraction, ties: str, most_phases: int, waiting: Waiting
) -> tuple[list[Phase], TableArray]:
    """The phases of the loop, and the policy at which the last one began. There is no last one
    after `most_phases`."""
    order, keep = tie_order(E.A, ties), 1 - RATIONALS.one(step)
    D = dynamics(E, RATIONALS)
    phases: list[Phase] = []
    while len(phases) < most_phases:
        greedy = greedy_actions(look_at(D, pi, "visits").q, order)
        steps = phase_length(E, pi, greedy, order, float(1 - step), keep)
        phases.append(Phase(greedy, steps))
        if steps is None:
            return phases, pi
        pi = mixed(pi, greedy, keep**steps)
        waiting.report(len(phases) / most_phases, f"{len(phases)} changes of the greedy policy")
    return phases, pi


def phase_length(
    E: POMDP, pi: TableArray, greedy: Actions, order: Actions, keep_float: float, keep: Any
) -> int | None:
    """How many iterates may move towards `greedy` at once. None if it stays greedy all the way to
    itself."""
    gaps = differences(E, pi, mixed(pi, greedy, RATIONALS.one(0)), greedy, order)
    if all(is_positive(gap, strict) for gap, strict in gaps):
        return None
    leaves = max(_largest_root(gap) for gap, _ in gaps)
    steps = max(1, math.floor(math.log(leaves) / math.log(keep_float)) if 0 < leaves < 1 else 1)
    while steps > 1 and not all(
        is_positive(gap, strict, keep ** (steps - 1)) for gap, strict in gaps
    ):
        steps = steps // 2 if steps > 8 else steps - 1
    return steps


def differences(
    E: POMDP, pi: TableArray, goal: TableArray, greedy: Actions, order: Actions
) -> list[tuple[Any, bool]]:
    """Polynomials with the signs of q(o, greedy) - q(o, a) along x pi + (1-x) goal. Each says
    whether > 0 is needed."""
    field = RationalFunctions([sympy.Symbol("x")])
    x = field.one(field.symbols[0])
    table = np.empty(pi.shape, dtype=object)
    for o, a in np.ndindex(pi.shape):
        table[o, a] = x * (pi[o, a] - goal[o, a]) + goal[o, a]
    q = look_at(dynamics(E, field), table, "visits").q
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    found: dict[tuple[str, bool], tuple[Any, bool]] = {}
    for o in np.flatnonzero(greedy >= 0):
        best = greedy[o]
        for a in range(len(order)):
            if a != best:
                gap = q[o, best] - q[o, a]
                num, den = univariate(gap.num), univariate(gap.den)
                strict = bool(rank[a] < rank[best])
                found.setdefault((str(num * den), strict), (num * den, strict))
    return list(found.values())


def univariate(polynomial: Any) -> Any:
    """A flint polynomial in one variable from one of the multivariate kind."""
    coefficients: dict[int, Any] = {int(powers[0]): c for powers, c in polynomial.terms()}
    return flint.fmpq_poly(
        [coefficients.get(i, flint.fmpq(0)) for i in range(max(coefficients, default=0) + 1)]
    )


# ---------------------------------------------------------------------- signs


def is_positive(p: Any, strict: bool, low: Any = 0) -> bool:
    """Whether p > 0 (not strict: >= 0) for low <= x <= 1. With low = 0 it means 0 < x <= 1.

    Zeros of p inside the interval count as a failure in both cases; not strict, p may vanish at 1
    or altogether.

    >>> p = flint.fmpq_poly([0, 1, -1])  # x (1 - x)
    >>> is_positive(p, strict=False), is_positive(p, strict=True), is_positive(-p, strict=False)
    (True, False, False)
    """
    check_time()
    if p.degree() < 0:
        return not strict
    while p[0] == 0:
        p = p.right_shift(1)
    towards_one = flint.fmpq_poly([1, -1])
    while p(1) == 0:
        if strict:
            return False
        p = p // towards_one
    return bool(p(1) > 0 and p(low) > 0 and _roots_between(p, low) == 0)


def _roots_between(p: Any, low: Any) -> int:
    """The number of distinct roots of p in (low, 1), by Sturm's theorem. p vanishes at neither
    end."""
    chain = [p, p.derivative()]
    while chain[-1].degree() > 0:
        check_time()  # coefficients may have thousands of digits
        rest = -(chain[-2] % chain[-1])
        if rest.degree() < 0:
            break
        chain.append(rest)

    def changes(x: Any) -> int:
        signs = [y > 0 for y in (f(x) for f in chain) if y != 0]
        return sum(a != b for a, b in pairwise(signs))

    return changes(low) - changes(1)


def _largest_root(p: Any) -> float:
    """The largest root of p in (0, 1) as a float, 0 if there is none. It is a guess, which exact
    signs confirm afterwards."""
    best = 0.0
    for root, _ in p.numer().complex_roots() if p.degree() > 0 else []:
        if abs(float(root.imag.mid())) < 1e-12 and 0 < float(root.real.mid()) < 1:
            best = max(best, float(root.real.mid()))
    return best


# ---------------------------------------------------------------------- what the limit is compared
# with


def better_policy(E: POMDP, value: Number) -> dict[str, Any] | None:
    """A memoryless policy that is worth more than `value`, exactly. It is deterministic if there is
    one."""
    best = best_memoryless(E, exact=True)
    if best.value > value:
        return {"policy": policy_json(best.policy), "value": str(best.value)}
    ascent = best_memoryless(E, deterministic=False, seed=0)  # a guess; fractions decide
    rounded = Policy(
        E, Numbers.of(np.array([_rounded(row) for row in ascent.policy.prob.floats], dtype=object))
    )
    worth = evaluate(E, rounded, exact=True).value
    return {"policy": policy_json(rounded), "value": str(worth)} if worth > value else None


def _rounded(row: NDArray[np.float64]) -> list[Fraction]:
    """Nearby fractions that sum to one."""
    exact = [Fraction(float(x)).limit_denominator(_DENOMINATOR) for x in row]
    top = int(np.argmax(row))
    exact[top] += 1 - sum(exact)
    return exact


def met_bound(P: POMDP, value: Number) -> dict[str, Any] | None:
    """A bound on all policies, whatever they remember, that `value` meets."""
    if best_informed(P, exact=True) == value:
        return {
            "kind": "states",
            "v": [[encode(s), str(x)] for s, x in _informed_values(P).items()],
        }
    if has_finite_horizon(P) and best_history(P, exact=True).value == value:
        return {"kind": "histories"}
    return None


def _informed_values(P: POMDP) -> dict[Any, Fraction]:
    """What each state that can be reached is worth to somebody who sees it."""
    M = from_states(P, RATIONALS)
    v = optimal(M, first=optimal(from_states(P, FLOATS)).policy).v
    return {P.S[int(s)]: Fraction(RATIONALS.back(x)) for s, x in zip(M.behind, v, strict=True)}


def _checked_below(
    E: POMDP, P: POMDP, step: Fraction, ties: str, iterates: int, waiting: Waiting
) -> dict[str, Any]:
    """The loop's first iterates, none of which is worth as much as a better policy."""
    loop = start_loop(E, uniform(E), step, ties, exact=True)
    highest = None
    for n in range(iterates):
        loop.advance(1, looks=False)
        value = loop.values[0, -1]
        highest = value if highest is None or value > highest else highest
        waiting.report(n / iterates, f"{n} iterates")
    bound = Fraction(math.ceil(RATIONALS.back(highest) * _DENOMINATOR), _DENOMINATOR)
    found = {"status": "checked", "iterates": iterates, "highest": str(bound)}
    better = better_policy(E, bound)
    return found | (
        {"claim": "iterates"} if better is None else {"claim": "below", "better": better}
    )
