"""The fixed points of learners that act by a softmax of their values.

With b(a|o) proportional to exp(q(o,a) / tau) behaviour and weights change with q without jumps, so
that a fixed point exists (Perkins and Pendrith 2002 for Sarsa; Brouwer's theorem for any continuous
behaviour). It solves, with d the expected visits under b,

    f(o,a) = sum_s d(s) omega(o|s) [ R(s,a) + gamma sum_{o'} K(o'|s,a) v(o') - q(o,a) ] = 0
    d = mu + P_b^T d,    v(o) = max_a q(o,a)  (Q-learning)  or  sum_a b(a|o) q(o,a)  (Sarsa(0))

The unknowns are q(o, 0) and the leads q(o, a) - q(o, 0), on which alone b depends. Every fixed
point that is listed is certain: a box holds it and no other (`enclosures`). The list is
complete where boxes cover all tables: a box of tables bounds b, this bounds P_b from below and
above, hence d = (I - P_b^T)^-1 mu, hence the shares P(s|o), hence the table that they lead to, and
fixed points lie in both. As tau goes to 0 fixed points go to those of greedy learners, or to tables
at which rows tie.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import flint
import numpy as np

from workbench.core.errors import TooLarge, WorkbenchError, WrongType
from workbench.core.evaluate import evaluate
from workbench.core.fields import dynamics
from workbench.core.learners import Learner, OptionError, check_count
from workbench.core.numbers import Number, number, to_float
from workbench.core.policy import Policy
from workbench.core.pomdp import POMDP
from workbench.core.rows import own_rows
from workbench.equilibrium.greedy_cells import DenseTask, Floats
from workbench.equilibrium.learned_values import WRITTEN, target_of_whole_task
from workbench.optima.yardstick import best_cell
from workbench.plain_numbers import deadline
from workbench.research.enclosures import PRECISION, Box, ball, isolate
from workbench.research.greedy_bounds import extreme, value_range
from workbench.results.findings import Findings
from workbench.tables.sheet import BEST, Column, Sheet, Showing
from workbench.tables.table import Table

MOST_UNKNOWNS = 64
"""Tables with more entries that matter are not enclosed."""

MOST_BOXES = 2_000

_MOST_SHOWN = 12
"""Fixed points that a table lists."""

_STEPS = 600


@dataclass(frozen=True, eq=False)
class SoftEquilibrium:
    """A table that is the one its softmax behaviour leads to.

    Attributes
    ----------
    q : `q[o, a]` in floats; undefined in rows that no behaviour sees.
    radius : each entry of the true table is closer to q than this, and no other fixed point is.
    policy : the behaviour, in floats; value : what it is worth.
    rate : the largest real part of an eigenvalue of the mean field there; negative: it attracts.
    """

    P: POMDP
    q: Table
    radius: float
    policy: Policy
    value: float
    rate: float

    @property
    def stable(self) -> bool:
        return self.rate < 0

    def __repr__(self) -> str:
        pull = "attracting" if self.stable else "not attracting"
        return (
            f"softmax equilibrium of value {self.value:.6g}, {pull}, enclosed within "
            f"{self.radius:.1g}"
        )


def _rows(e: SoftEquilibrium) -> list[int]:
    """The observations that the behaviour sees, by their places."""
    return np.flatnonzero(~np.isnan(e.q.raw).all(axis=1)).tolist()


@dataclass(frozen=True, eq=False)
class SoftEquilibria(Findings[SoftEquilibrium], Showing):
    """The fixed points that were found, best first.

    Attributes
    ----------
    complete : whether it is certain that there are no others.
    looked_at : how many boxes of tables were looked at; left : how many stayed open.
    """

    P: POMDP
    learner: Learner
    temperature: Fraction
    found: tuple[SoftEquilibrium, ...]
    complete: bool
    looked_at: int
    left: int

    def sheet(self) -> Sheet:
        """A row for each fixed point, the best first."""
        columns = (
            Column("value", "what the softmax behaviour is worth"),
            BEST,
            Column("attracts", "whether a learner that is near comes nearer"),
            Column("radius", "no entry of the table is further off than this", right=True),
            Column("policy", self.found[0].policy.legend if self.found else ""),
        )
        best = best_cell(self.P)
        rows = tuple(
            (e.value, best, e.stable, f"{e.radius:.0e}", "\n".join(e.policy.lines(_rows(e))))
            for e in self.found[:_MOST_SHOWN]
        )
        open_ones = "1 region was" if self.left == 1 else f"{self.left:,} regions were"
        sure = "these are all" if self.complete else f"{open_ones} not decided"
        noun = "fixed point" if len(self) == 1 else "fixed points"
        said = f"{len(self)} {noun}; {sure}."
        title = f"Where {self.learner.kind} can settle on {self.P.name}"
        return Sheet(f"{title}, softmax of temperature {self.temperature}", columns, rows, said)

    def __repr__(self) -> str:
        part = "all there are" if self.complete else f"{self.left:,} boxes of tables left open"
        head = (
            f"{self.learner.kind} with a softmax of temperature {self.temperature} on "
            f"{self.P.name}: {len(self)} found, {part}; {self.looked_at:,} boxes looked at"
        )
        return "\n".join([head, *(f"  {e}" for e in self.found[:20])])


def soft_equilibria(
    P: POMDP,
    learner: Learner,
    temperature: Number | None = None,
    *,
    most: int = MOST_BOXES,
    max_seconds: float | None = None,
) -> SoftEquilibria:
    """Find the fixed points of a learner whose behaviour is a softmax of its table.

    Parameters
    ----------
    P : a POMDP in which every episode ends, without symbols.
    learner : `SoftQLearning(...)` or `SoftSarsa(lam=0, ...)`, whose long runs with small steps go
        to what attracts here; or `QLearning(...)` or `Sarsa(lam=0, ...)`, which say what is learned
        towards: their epsilon is not used.
    temperature : tau, a positive number; by default the learner's own.
    most : look at so many boxes of tables at most; `complete` says whether it was enough.
    max_seconds : of the search; boxes that it does not come to stay in `left`.

    >>> from workbench.core.learners import QLearning
    >>> from workbench.improvement.batch import sequence_task
    >>> P = sequence_task([[1, 0], [0, 0]])
    >>> found = soft_equilibria(P, QLearning(), 1)
    >>> len(found), found.complete, found[0].policy.prob.floats.round(3).tolist()
    (1, True, [[0.571, 0.429]])

    See also: `equilibria`, `SoftQLearning`, `SoftSarsa`.
    """
    P.require_all_actions("soft_equilibria")
    if not isinstance(learner, Learner):
        raise WrongType(f"softmax equilibria are those of a learner, not of {learner!r}")
    target = target_of_whole_task(learner)
    temperature = getattr(learner, "temperature", None) if temperature is None else temperature
    if temperature is None:
        raise OptionError(f"{learner!r} has no temperature: give one")
    if not target.is_one_step:
        raise WorkbenchError("softmax equilibria are those of one-step targets: lambda is 0 there")
    assert hasattr(learner, "gamma")
    if learner.gamma is not None:
        P = P.with_gamma(learner.gamma)
    if P.symbols:
        raise WorkbenchError(f"{P.name} holds symbols; softmax equilibria are those of numbers")
    tau = number(temperature)
    if not isinstance(tau, int | float | Fraction) or not 0 < tau <= sys.float_info.max:
        raise OptionError(f"the temperature is a positive number, not {temperature!r}")
    check_count("most", most)
    task = DenseTask(P, target, 1.0)
    if not task.ends:
        raise WorkbenchError(f"{P.name} has behaviours under which nothing ends")
    if len(task.rows) * task.nA > MOST_UNKNOWNS:
        raise TooLarge(
            f"the table of {P.name} has {len(task.rows) * task.nA} entries that matter; up to "
            f"{MOST_UNKNOWNS} are enclosed. Take a smaller memory"
        )
    system = SoftSystem(task, Fraction(tau))
    low, high = value_range(task)
    bounded = bool(np.isfinite([low, high]).all())
    size = len(task.rows) * task.nA
    spread = high - low if bounded else 0.0
    whole = [
        ball(-spread, spread) if i % task.nA else ball(low, high) if bounded else flint.arb(0)
        for i in range(size)
    ]
    start = system.coordinates(system.followed(np.zeros(size)))
    result = isolate(system, whole, most if bounded else 0, [start], until=deadline(max_seconds))
    kept = [_equilibrium(system, zero) for zero in result.zeros]
    return SoftEquilibria(
        P=P,
        learner=learner,
        temperature=Fraction(tau),
        found=tuple(sorted(kept, key=lambda e: -e.value)),
        complete=bounded and result.complete,
        looked_at=result.looked_at,
        left=len(result.left),
    )


class SoftSystem:
    """f, its slopes, and what bounds say about a box of tables."""

    def __init__(self, task: DenseTask, temperature: Fraction):
        self.task, self.temperature = task, temperature
        self.tau = float(temperature)
        self.shape = (len(task.rows), task.nA)
        self.n = len(task.mu)
        self.K = np.einsum("sat,to->sao", task.T, task.W)
        self.unit = 32 * (self.n + sum(self.shape)) * float(np.finfo(float).eps)

    # ------------------------------------------------------------------ floats

    def drift(self, q: Floats) -> Floats:
        """The mean field over the rates: where the table goes, in floats."""
        b = _softmax(q.reshape(self.shape) / self.tau)
        share, _, _ = self.task.shares(b[None])
        table = q.reshape(self.shape)
        v = table.max(axis=1) if self.task.target.greedy else (b * table).sum(axis=1)
        y = self.task.R + self.task.gamma * self.K @ v
        return np.asarray(np.einsum("so,sa->oa", share[0], y) - table).reshape(-1)

    def followed(self, q: Floats) -> Floats:
        """The table after many small steps towards what it leads to."""
        for k in range(_STEPS):
            move = self.drift(q)
            if not np.abs(move).max() > 1e-9 * self.tau:
                break
            q = q + move * (0.5 if k < _STEPS // 4 else 0.05)
        return q

    def rate(self, q: Floats) -> float:
        """The largest real part of an eigenvalue of the mean field dq/dt = d b (T q - q)."""
        size = 1e-6 * (self.tau + np.abs(q).max())
        b = _softmax(q.reshape(self.shape) / self.tau)
        _, total, _ = self.task.shares(b[None])
        rates = ((total[0] / total[0].sum())[:, None] * b).reshape(-1)
        J = np.empty((q.size, q.size))
        for i in range(q.size):
            e = np.zeros(q.size)
            e[i] = size
            J[:, i] = rates * (self.drift(q + e) - self.drift(q - e)) / (2 * size)
        return float(np.linalg.eigvals(J).real.max())

    # ------------------------------------------------------------------ a box of tables

    def coordinates(self, q: Floats) -> Box:
        """A table as a point: q(o, 0) of each row, then the leads q(o, a) - q(o, 0)."""
        x = q.reshape(self.shape).copy()
        x[:, 1:] -= x[:, :1]
        return [flint.arb(float(v)) for v in x.reshape(-1)]

    def table(self, x: Box) -> Box:
        """The table at a point."""
        nA = self.shape[1]
        return [v if i % nA == 0 else x[i - i % nA] + v for i, v in enumerate(x)]

    @property
    def radii(self) -> list[list[float]]:
        """Shapes of boxes to try. Behaviour depends on the leads alone, which may have to be the
        narrower ones (where rows tie the maximum has a kink)."""
        nO, nA = self.shape
        return [([1.0] + [narrow] * (nA - 1)) * nO for narrow in (1.0, 0.03, 0.001)]

    def contract(self, x: Box) -> Box | None:
        """The box, cut to the tables that its behaviours can lead to."""
        low = np.array([_down(v.lower()) for v in x]).reshape(self.shape)
        high = np.array([_up(v.upper()) for v in x]).reshape(self.shape)
        least, most = self.led_to(low, high)
        if (least > high).any() or (most < low).any():
            return None
        cut = np.maximum(low, least).reshape(-1), np.minimum(high, most).reshape(-1)
        return [
            v.intersection(ball(float(a), float(b))) if a <= b else v
            for v, a, b in zip(x, *cut, strict=True)
        ]

    def behaviours(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """Bounds on b over bounds on the leads, whose first column is 0."""
        found = []
        blur = 1e-12 * (1 + (np.abs(low).max() + np.abs(high).max()) / self.tau)
        same = np.eye(self.shape[1], dtype=bool)
        for own, other in ((low, high), (high, low)):
            apart = np.where(same, 0.0, (other[:, None, :] - own[:, :, None]) / self.tau)
            with np.errstate(over="ignore"):
                found.append(1 / np.exp(apart).sum(axis=2))
        return found[0] * (1 - blur), np.minimum(found[1] * (1 + blur), 1.0)

    def led_to(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """Bounds on the points that the behaviours of a box lead to, v from the box itself."""
        task, leads = self.task, (low.copy(), high.copy())
        for lead in leads:
            lead[:, 0] = 0.0
        b = self.behaviours(*leads)
        shares = self._shares(*b)
        if task.target.greedy:
            over = leads[0].max(axis=1), leads[1].max(axis=1)
        else:
            over = (
                -extreme(-leads[0][:, :, None], *b)[:, 0],
                extreme(leads[1][:, :, None], *b)[:, 0],
            )
        v = low[:, 0] + over[0], high[:, 0] + over[1]
        R, K = task.R.copy(), self.K.copy()
        R[:, 1:] -= R[:, :1]
        K[:, 1:] -= K[:, :1]
        up, down = np.maximum(K, 0), np.minimum(K, 0)
        ceiling = R + task.gamma * (up @ v[1] + down @ v[0])
        floor = R + task.gamma * (up @ v[0] + down @ v[1])
        wide = self.unit * (1 + np.abs(task.R).max() + np.abs(v[0]).max() + np.abs(v[1]).max())
        every = (self.shape[0], *R.shape)
        return (
            -extreme(-np.broadcast_to(floor, every), *shares) - wide,
            extreme(np.broadcast_to(ceiling, every), *shares) + wide,
        )

    def _shares(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """Bounds `[row, s]` on P(s|o): P_low <= P_b <= P_high entry by entry, and visits grow with
        P."""
        task = self.task
        least, most = (
            _visits(np.einsum("so,oa,sat->st", task.W, b, task.T), task.mu, sign)
            for b, sign in ((low, -1), (high, 1))
        )
        with np.errstate(invalid="ignore", divide="ignore"):
            least, most = task.W.T * least, np.where(task.W.T > 0, task.W.T * most, 0.0)
            up = most / (most + least.sum(axis=1, keepdims=True) - least)
            down = least / (least + most.sum(axis=1, keepdims=True) - most)
        behind = task.W.T > 0
        up = np.where(np.isnan(up), 1.0, up) * (1 + self.unit)
        down = np.where(np.isnan(down), 0.0, down) * (1 - self.unit)
        return np.where(behind, down, 0.0), np.where(behind, np.minimum(up, 1.0), 0.0)

    # ------------------------------------------------------------------ balls

    @cached_property
    def exact(self) -> dict[str, Any]:
        """The task in balls, R and K of all actions but the first as their lead over it."""
        found = _in_balls(self.task)
        for table in (found["R"], found["K"]):
            table[:, 1:] = table[:, 1:] - table[:, :1]
        return found

    def value(self, x: Box) -> list[Any]:
        parts = self._parts(x)
        weight = self.exact["W"] * parts["d"][:, None]
        return list(_sum("so,soa->oa", weight, parts["off"]).reshape(-1))

    def _parts(self, x: Box) -> dict[str, Any]:
        """The parts of f and its slopes.

        They are `lead[o, a]`, `b[o, a]`, `d[s]`, the inverse of I - P^T, and `off[s, o, a]`,
        how far a row would have to move if s were all behind it."""
        E, (nO, nA), n = self.exact, self.shape, self.n
        lead = np.array(x, dtype=object).reshape(nO, nA)
        base = lead[:, 0].copy()
        lead[:, 0] = flint.arb(0)
        tau = flint.arb(flint.fmpq(self.temperature.numerator, self.temperature.denominator))
        b = np.array([_soft_row(list(row), tau) for row in lead], dtype=object)
        step = _sum("sa,sat->st", _sum("so,oa->sa", E["W"], b), E["T"])
        back = flint.arb_mat(n, n, list((np.eye(n, dtype=int) - step.T).reshape(-1)))
        inverse = np.array(back.inv().entries(), dtype=object).reshape(n, n)
        if self.task.target.greedy:
            v = base + [_largest(list(row)) for row in lead]
        else:
            v = base + (b * lead).sum(axis=1)
        # what q(o, 0), or the lead of a, would be in s alone
        y = E["R"] + E["gamma"] * _sum("sao,o->sa", E["K"], v)
        table = lead.copy()
        table[:, 0] = base
        off = y[:, None, :] - table[None]
        return {"lead": lead, "b": b, "tau": tau, "inverse": inverse, "d": inverse @ E["mu"],
                "off": off}  # fmt: skip

    def slopes(self, x: Box) -> Any:
        E, (nO, nA) = self.exact, self.shape
        parts = self._parts(x)
        b, d, lead = parts["b"], parts["d"], parts["lead"]
        # what more of b(p, a) adds to the visits; then what more of the coordinate (p, c) does, of
        # which c = 0 moves no behaviour
        turned = _sum("sp,sat->tpa", E["W"] * d[:, None], E["T"])
        turned = (parts["inverse"] @ turned.reshape(self.n, -1)).reshape(turned.shape)
        by = b[:, :, None] * (np.eye(nA, dtype=int) - b[:, None, :]) / parts["tau"]
        by[:, :, 0] = flint.arb(0)
        more = _sum("spa,pac->spc", turned, by)
        dv = np.full((nO, nA), flint.arb(1), dtype=object)
        for p, c in np.ndindex(nO, nA - 1):
            if self.task.target.greedy:
                dv[p, c + 1] = _may_be_largest(list(lead[p]), c + 1)
            else:
                dv[p, c + 1] = b[p, c + 1] + (lead[p] * by[p, :, c + 1]).sum()
        weight = E["W"] * d[:, None]
        J = _sum("soa,spc->oapc", E["W"][:, :, None] * parts["off"], more)
        J = J + E["gamma"] * _sum("so,sap->oap", weight, E["K"])[..., None] * dv
        J = J.reshape(nO * nA, nO * nA) - np.diag(np.repeat(weight.sum(axis=0), nA))
        return flint.arb_mat(nO * nA, nO * nA, list(J.reshape(-1)))


def _in_balls(task: DenseTask) -> dict[str, Any]:
    """The arrays of a dense task in balls, from the exact numbers of its POMDP."""
    P = task.P
    D = dynamics(P, WRITTEN)
    alive = np.flatnonzero(~P.terminal.mask)
    nS, nA, zero = len(P.S), task.nA, flint.fmpq(0)
    T = np.full((nS * nA, nS), zero, dtype=object)
    np.add.at(T, (own_rows(P.p.row_ptr), P.p.s_next), D.prob)
    W = np.full((nS, len(P.O)), zero, dtype=object)
    W[D.entry_s, D.entry_o] = D.omega
    T, W = T.reshape(nS, nA, nS)[alive][:, :, alive], W[alive][:, task.rows]
    found = {"T": T, "W": W, "R": D.R[alive], "K": _sum("sat,to->sao", T, W), "mu": D.mu[alive]}
    with flint.ctx.workprec(PRECISION):
        balls: dict[str, Any] = {
            key: np.vectorize(flint.arb, otypes=[object])(x) for key, x in found.items()
        }
        return {**balls, "gamma": flint.arb(D.gamma)}


def _sum(subscripts: str, *tables: Any) -> Any:
    """Einstein's sum, of numbers that are objects."""
    return np.einsum(subscripts, *tables, optimize=True)


def _equilibrium(system: SoftSystem, zero: Box) -> SoftEquilibrium:
    task = system.task
    P = task.P
    table = system.table(zero)
    middle = np.array([float(v.mid()) for v in table])
    raw = np.full((len(P.O), task.nA), np.nan)
    raw[task.rows] = middle.reshape(system.shape)
    prob = np.full((len(P.O), task.nA), 1 / task.nA)
    prob[task.rows] = _softmax(middle.reshape(system.shape) / system.tau)
    policy = Policy(P, prob / prob.sum(axis=1, keepdims=True))
    # the middle is rounded to a float: its unit is part of the radius
    radius = max(float(v.rad()) + abs(float(v.mid())) * 2**-52 for v in table)
    return SoftEquilibrium(
        P=P,
        q=Table(raw, P.O, P.A, None, "q(o, a)"),
        radius=radius,
        policy=policy,
        value=to_float(evaluate(P, policy).value),
        rate=system.rate(middle),
    )


def _softmax(x: Floats) -> Floats:
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return np.asarray(e / e.sum(axis=1, keepdims=True))


def _visits(step: Floats, mu: Floats, sign: int) -> Floats:
    """A bound from below (sign -1) or above (1) on d = mu + step^T d, step nonnegative. It is 0 or
    infinity where that is not certain."""
    n = len(mu)
    nothing = np.full(n, 0.0 if sign < 0 else np.inf)
    try:
        d, h = np.linalg.solve(np.eye(n) - step.T, np.stack([mu, np.ones(n)], axis=1)).T
    except np.linalg.LinAlgError:
        return nothing
    # h > step^T h proves that the series of the powers of step converges
    if not (h.min() > 0 and (h - step.T @ h).min() > 0.5):
        return nothing
    off = np.abs(mu + step.T @ d - d).max() + 8 * n * np.finfo(float).eps * (1 + np.abs(d).max())
    return np.asarray(np.maximum(d + sign * 2 * off * h, 0.0))


def _soft_row(row: list[Any], tau: Any) -> list[Any]:
    return [
        1 / sum((((z - x) / tau).exp() for j, z in enumerate(row) if j != i), flint.arb(1))
        for i, x in enumerate(row)
    ]


def _largest(row: list[Any]) -> Any:
    best = row[0]
    for x in row[1:]:
        best = best.max(x)
    return best


def _may_be_largest(row: list[Any], c: int) -> Any:
    """A ball that holds the slopes of the maximum in entry c."""
    others = [x for j, x in enumerate(row) if j != c]
    if all(row[c] > x for x in others):
        return flint.arb(1)
    if any(x > row[c] for x in others):
        return flint.arb(0)
    return ball(0, 1)


def _down(x: Any) -> float:
    return float(np.nextafter(float(x), -np.inf))


def _up(x: Any) -> float:
    return float(np.nextafter(float(x), np.inf))
