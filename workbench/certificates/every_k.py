"""The limit of the oracle loop with B(k) on a two-step task, for every k. It extends the argument
of Lemma C.5.

Let r[a][b] be the reward of a, then b; n the number of actions; y = 2^-k; and let p^m(a, w) be the
policy in memory state m. By Lemma C.1 the q-values, times the visits of their row and up to what
all actions of the row share, are

    in 0, after <a,w>           sum_i r[i][a] p^0(i, 0)  +  sum_i p^w(i) r[a][i]
                                p^w(i): the sum over what is written
    in m, not 0, after a        sum_i r[i][a] p^0(i, m)

They are linear in the policy. The uniform policy is linear in y, greedy policies do not depend on
it, and by symmetry three kinds of memory states are enough: 0, the last word, and the others, which
are never written as long as greedy prefers the last word to them. So along x pi + (1-x) tau every
difference of q-values is

    x (alpha y + beta) + (1-x) gamma

and keeps its sign for low <= x <= 1 and all 0 < y <= u if it does at the two ends of x; a linear
function c + s y is positive on (0, u] if and only if c >= 0 and c + s u > 0. That decides, phase by
phase as in `certificates`, for all k with 2^-k <= u at once, which policy is greedy and for how
many steps; a last phase (low = 0) ends the proof. k below that get a certificate each.

A limit that is greedy from the first iterate on needs no more than this: r[f][g] is the largest
entry of its row and of its column and no smaller than any in column f, where g has the largest
column mean and f the largest row mean (the column means, times y, break ties); it is stuck if
r[f][g] is not the largest reward. Then the steps do not matter.

A second argument ("stays") leaves open what happens in the other memory states. Let f and g be
greedy at the uniform policy as above, r[f][f] the largest entry of row f, and r[f][g] smaller.
After one step e towards <f, last>, with the weight X = 1 - e on the uniform policy, 0 prefers <f,
0> to <f, last>. From then on p^0 has weight X on the uniform policy and c on <f, 0>, and every
other row is X times uniform plus 1 - X times some z with z(g) > 0. Whatever z is, 0 prefers <f, 0>
to <f, w>, since r[f][f] > sum_i z(i) r[f][i]; and to <a, w>, a not f, by at least

    X (y (C_f - C_a) + R_f - R_a)  +  c (r[f][f] - r[f][a])  +  (1 - X) (r[f][f] - max_i r[a][i])

(R_a and C_a the means of row and column a), which is linear along the way: it is enough that it is
positive after the first step and not negative at the end, 2 r[f][f] >= r[f][a] + max_i r[a][i].
Then the loop goes to "f, then f" for every later sequence of steps: it never comes to use its
memory.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from workbench.certificates.loop import certify
from workbench.core.errors import NotExact, WorkbenchError
from workbench.core.numbers import number
from workbench.improvement.batch import sequence_task

MOST_BELOW = 3
"""So many small k may be certified one by one."""

MOST_PHASES = 40

Linear = tuple[Fraction, Fraction]
"""c + s y as (c, s)."""

ZERO = Fraction(0)


@dataclass(frozen=True)
class Greedy:
    """The greedy choices in memory state 0, in the last one, and in the others. In 0 it also says
    whether the last word is written (else 0)."""

    first: int
    writes_last: bool
    last: int
    others: int


@dataclass(frozen=True)
class LumpedState:
    """A policy for all k at once: p^0(i, 0) and p^0(i, last) linear in y. It holds the actions in
    0, in the last state, and in the others."""

    to_0: tuple[Linear, ...]
    to_last: tuple[Linear, ...]
    in_0: tuple[Fraction, ...]
    in_last: tuple[Fraction, ...]
    in_others: tuple[Fraction, ...]

    @classmethod
    def uniform(cls, n: int) -> LumpedState:
        share, even = ((ZERO, Fraction(1, n)),) * n, (Fraction(1, n),) * n
        return cls(share, share, even, even, even)

    def toward(self, tau: Greedy, keep: Fraction) -> LumpedState:
        """keep times itself, plus 1 - keep times tau."""
        n = len(self.in_0)

        def moved(row: tuple[Linear, ...], place: int | None) -> tuple[Linear, ...]:
            return tuple(
                (keep * c + (1 - keep if i == place else ZERO), keep * s)
                for i, (c, s) in enumerate(row)
            )

        def shifted(row: tuple[Fraction, ...], place: int) -> tuple[Fraction, ...]:
            return tuple(keep * row[i] + (1 - keep if i == place else ZERO) for i in range(n))

        return LumpedState(
            moved(self.to_0, None if tau.writes_last else tau.first),
            moved(self.to_last, tau.first if tau.writes_last else None),
            shifted(self.in_0, tau.first),
            shifted(self.in_last, tau.last),
            shifted(self.in_others, tau.others),
        )

    def values(self, r: list[list[Fraction]]) -> dict[str, list[tuple[tuple[int, str], Linear]]]:
        """By row the q-values times visits, in the order in which ties are broken."""
        n = range(len(r))

        def seen(row: tuple[Linear, ...], a: int) -> Linear:
            return sum((r[i][a] * row[i][0] for i in n), ZERO), sum(
                (r[i][a] * row[i][1] for i in n), ZERO
            )

        def then(row: tuple[Fraction, ...], a: int) -> Linear:
            c, s = seen(self.to_0, a)
            return c + sum((row[i] * r[a][i] for i in n), ZERO), s

        written = (("last", self.in_last), ("others", self.in_others), ("0", self.in_0))
        others = [
            (ZERO, sum((r[i][a] for i in n), ZERO)) for a in n
        ]  # nobody but the uniform policy writes them
        return {
            "0": [((a, w), then(row, a)) for w, row in written for a in n],
            "last": [((a, ""), seen(self.to_last, a)) for a in n],
            "others": [((a, ""), others[a]) for a in n],
        }

    def greedy(self, r: list[list[Fraction]]) -> Greedy | None:
        """The greedy choices for all large enough k. None if one writes a word of the other memory
        states, which then differ."""
        first, last, others = (
            max(row, key=lambda entry: entry[1])[0]
            for row in self.values(r).values()  # max takes the first among equals
        )
        return (
            None
            if first[1] == "others"
            else Greedy(first[0], first[1] == "last", last[0], others[0])
        )


def holds(r: list[list[Fraction]], state: LumpedState, tau: Greedy, u: Fraction) -> bool:
    """Whether tau is greedy at a policy for all 0 < y <= u."""
    best = {
        "0": (tau.first, "last" if tau.writes_last else "0"),
        "last": (tau.last, ""),
        "others": (tau.others, ""),
    }
    for name, row in state.values(r).items():
        place = next(i for i, (action, _) in enumerate(row) if action == best[name])
        c, s = row[place][1]
        for i, (_, (d, t)) in enumerate(row):
            end = (c - d) + (s - t) * u
            if i != place and (c < d or end < 0 or (i < place and end == 0)):
                return False
    return True


def holds_on_the_way(r: list[list[Fraction]], state: LumpedState, tau: Greedy, u: Fraction) -> bool:
    """Whether tau is greedy on the whole segment x state + (1-x) tau. That is, for all 0 < x <= 1
    and 0 < y <= u."""
    if not holds(r, state, tau, u):
        return False
    end = state.toward(tau, ZERO).values(
        r
    )  # here only >= 0 is asked for: at x = 0 ties need not go the right way
    best = {
        "0": (tau.first, "last" if tau.writes_last else "0"),
        "last": (tau.last, ""),
        "others": (tau.others, ""),
    }
    return all(dict(row)[best[name]][0] >= c for name, row in end.items() for _, (c, _) in row)


def limit_for_every_k(
    rewards: Sequence[Sequence[Any]], step: Any = Fraction(1, 50)
) -> dict[str, Any] | None:
    """Prove where the loop ends with B(k) for every k, ties to the higher write. None if the
    argument does not apply.

    Returns
    -------
    JSON that `checker.recheck` verifies: `argument` "phases" (with the steps, then what greedy
    does in 0, in the last state, elsewhere) or "stays" (with the action that is repeated), `value`,
    `claim` "stuck" or "optimal", `from_k` (the argument is about every k from here on) and `below`
    (certificates for smaller k).

    >>> limit_for_every_k([[0, 1], [2, 0]])["claim"]
    'optimal'
    """
    r, size = _exact(rewards), _step(step)
    for from_k in range(1, MOST_BELOW + 2):
        u = Fraction(1, 2**from_k)
        if (f := stays(r, size, u)) is not None:
            value = r[f][f]
            how: dict[str, Any] = {"argument": "stays", "first": f}
            break
        if (phases := _phases(r, size, u)) is not None:
            tau = phases[-1][1]
            value = r[tau.first][tau.last if tau.writes_last else tau.first]
            shown = [
                [steps, [t.first, "last" if t.writes_last else "0"], t.last, t.others]
                for steps, t in phases
            ]
            how = {"argument": "phases", "phases": shown}
            break
    else:
        return None
    claim = "stuck" if value < max(max(row) for row in r) else "optimal"
    P = sequence_task(r)
    below = {k: certify(P, f"B{k}", size) for k in range(1, from_k)}
    if any(certificate["claim"] != claim for certificate in below.values()):
        return None
    return {
        "kind": "every-k",
        "status": "proved",
        "claim": claim,
        "rewards": [[str(x) for x in row] for row in r],
        "ties": "last",
        "step": str(size),
        **how,
        "value": str(value),
        "from_k": from_k,
        "below": [[k, certificate] for k, certificate in below.items()],
    }


def stuck_for_every_k(
    rewards: Sequence[Sequence[Any]], step: Any = Fraction(1, 50)
) -> dict[str, Any] | None:
    """Prove that the loop is stuck with B(k) for every k. None if this argument gives no proof.

    >>> half, most = Fraction(1, 2), Fraction(3, 4)
    >>> found = stuck_for_every_k(
    ...     [[-5, half, 1, half], [0, half, -half, most], [0, half, -5, half], [0, half, -5, half]]
    ... )
    >>> found["phases"], found["value"], found["from_k"]
    ([[None, [1, 'last'], 3, 3]], '3/4', 1)
    >>> found = stuck_for_every_k([[5, 4], [0, 6]])
    >>> found["argument"], found["value"], found["from_k"]
    ('stays', '5', 1)
    """
    found = limit_for_every_k(rewards, step)
    return found if found is not None and found["claim"] == "stuck" else None


def stays(r: list[list[Fraction]], step: Fraction, u: Fraction) -> int | None:
    """The action f that the loop ends up repeating, by the second argument, for all 0 < y <= u."""
    n, even = range(len(r)), LumpedState.uniform(len(r))
    tau = even.greedy(r)
    if tau is None or not tau.writes_last or not holds(r, even, tau, u):
        return None
    f, g = tau.first, tau.others
    if r[f][f] < max(r[f]) or r[f][g] == r[f][f]:
        return None
    R = [sum(row, ZERO) / len(r) for row in r]
    C = [sum((r[i][a] for i in n), ZERO) / len(r) for a in n]
    for a in n:
        lost = r[f][f] - max(r[a])
        c, s = (1 - step) * (R[f] - R[a]) + step * lost, (1 - step) * (C[f] - C[a])
        if a != f and (c < 0 or c + s * u <= 0 or r[f][f] - r[f][a] + lost < 0):
            return None
    return f


def _phases(
    r: list[list[Fraction]], step: Fraction, u: Fraction
) -> list[tuple[int | None, Greedy]] | None:
    """The phases of the loop for all 0 < y <= u. The last one has no number of iterates."""
    state, phases, keep = LumpedState.uniform(len(r)), list[tuple[int | None, Greedy]](), 1 - step
    while len(phases) < MOST_PHASES:
        tau = state.greedy(r)
        if tau is None or not holds(r, state, tau, u):
            return None
        if holds_on_the_way(r, state, tau, u):
            return [*phases, (None, tau)]
        steps = _how_many(r, state, tau, u, keep)
        phases.append((steps, tau))
        state = state.toward(tau, keep**steps)
    return None


def _how_many(
    r: list[list[Fraction]], state: LumpedState, tau: Greedy, u: Fraction, keep: Fraction
) -> int:
    """The most steps, within a thousand, that tau stays greedy for: differences are linear in x, so
    bisection finds them."""
    few, many = 1, min(1_000, math.ceil(math.log(1e-6) / math.log(keep)))
    while few < many:
        middle = (few + many + 1) // 2
        few, many = (
            (middle, many)
            if holds(r, state.toward(tau, keep ** (middle - 1)), tau, u)
            else (few, middle - 1)
        )
    return few


def _step(step: Any) -> Fraction:
    size = number(step)
    if not isinstance(size, Fraction | int):
        raise NotExact(f"a proof needs a rational step, not {step!r}: use a Fraction")
    if not 0 < size < 1:
        raise WorkbenchError(f"a step lies in (0, 1) here, not {step}")
    return Fraction(size)


def _exact(rewards: Sequence[Sequence[Any]]) -> list[list[Fraction]]:
    r = [[number(x) for x in row] for row in rewards]
    if not r or any(len(row) != len(r) for row in r):
        raise WorkbenchError("rewards[a][b] have as many rows as columns")
    for row in r:
        for x in row:
            if not isinstance(x, Fraction | int):
                raise NotExact(f"a proof needs exact rewards, not {x!r}: use Fractions")
    return [[Fraction(x) for x in row] for row in r]
