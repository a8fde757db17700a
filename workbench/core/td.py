"""Fixed points of temporal-difference learning on observations (Section 5.1).

Learning that bootstraps treats an observation as if it were a state. Its targets, for o seen in s
and action a there:

    one step      r + gamma v(o')
    n steps       n rewards along pi, then gamma^n v(o_n)
    TD(lambda)    (1 - lambda) sum_n lambda^(n-1) (the n-step target); lambda = 1 is Monte Carlo

and its fixed point is the q that equals its own expected target under the states that pi meets
behind o:

    q(o,a) = sum_s P_pi(s|o) [ R(s,a) + gamma sum_{s'} p(s'|s,a) w(s') ]
    v(o)   = sum_a pi(a|o) q(o,a)

    u(s)  = sum_o omega(o|s) v(o),  0 in terminal states                   what is bootstrapped from
    n     : w = w_{n-1},  w_0 = u,  w_{k+1} = r_pi + gamma P_pi w_k
    lambda: w = (1 - lambda) u + lambda (r_pi + gamma P_pi w)

All of it is one sparse system, over states and observations, whose rows sum to at most one: a fixed
point fails to exist only where gamma is 1 and nothing ever ends. A target is an object; to add one:
a subclass of `TDTarget` that says what w is.

Where observations are states this is q_pi; elsewhere it need not be, and the paper's Figure 3 is
such a place. An entry is undefined (NaN, or None when exact) if its target reads with positive
probability an observation that is never visited.

>>> from fractions import Fraction
>>> from workbench.core.policy import uniform
>>> from workbench.core.pomdp import POMDP
>>> P = POMDP.from_functions(
...     name="two coins",
...     A=[0, 1],
...     p=lambda s, a: {(s + 1, s * a): 1},
...     omega=lambda s: {"o": 1},
...     mu={0: 1},
...     gamma=Fraction(1, 2),
...     terminal={2},
... )
>>> [
...     td_values(P, uniform(P), exact=True, **how).q["o", 1]
...     for how in ({"n": 1}, {"n": 2}, {"lam": Fraction(1, 2)})
... ]
[Fraction(7, 12), Fraction(5, 8), Fraction(17, 28)]
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workbench.core.chain import Mask, dynamics, field_of, follow_policy
from workbench.core.double_kernels import UNIT
from workbench.core.errors import (
    NeverEnds,
    NotExact,
    NotSolved,
    TooLarge,
    WorkbenchError,
    WrongType,
)
from workbench.core.evaluate import check_arguments, describe_undefined, mix_actions
from workbench.core.fields import Field
from workbench.core.linear import ONE, LinearSystem, refusal
from workbench.core.numbers import Number, is_symbolic, number
from workbench.core.policy import Policy
from workbench.core.pomdp import POMDP
from workbench.core.rows import keep_entries, own_rows, pick_rows
from workbench.core.table import Table, Vector
from workbench.core.walk_kernels import reachable, reverse_edges
from workbench.core.weights import Weighting, known, weights_named
from workbench.core.words import escape_html

_LAYERS, _MOST_DENSE, _MOST_UNKNOWNS = 8, 1_000, 5_000_000
"""An n-step target with more layers of states than the first is a power of the chain, found by
squaring, if it has at most the second many states; more unknowns than the third are refused."""

Array = NDArray[Any]


class Found(NamedTuple):
    """v(o) and w(s), with 0 where they are undefined, bounds on their errors, the masks of the
    undefined ones, and how they were found."""

    v: Array
    v_error: NDArray[np.float64]
    lacks_o: Mask
    w: Array
    w_error: NDArray[np.float64]
    lacks_s: Mask
    method: str


class Entries(NamedTuple):
    """Entries of a matrix, block by block of the unknowns: values at (rows, columns)."""

    rows: Array
    columns: Array
    values: Array


class _Begin(NamedTuple):
    """The first step from the units that make up observations: transitions from unit `rows` to
    state `columns`, gamma times their probabilities, and these times their rewards; for each unit
    its observation `owner` and its part `outer` of it."""

    rows: Array
    columns: Array
    values: Array
    rewards: Array
    owner: Array
    outer: Array


class Bootstrap:
    """What a policy meets: its chain, what lies behind observations, and the first step from there.

    Attributes
    ----------
    table : the policy of a target's first action; Q-learning puts a greedy one here.
    share : P(s|o) by entry of omega, or P(s|o,a); used : the entries that have one.
    lacks : `[o]`, whether there is none.
    observed : `[o]`, the weight of each observation as a share of all; observed_error : its bound.
    """

    def __init__(self, field: Field, P: POMDP, pi: Policy, weights: str | Weighting):
        self.P, self.field, self.weights = P, field, weights_named(weights)
        self.D = dynamics(P, field)
        self.table = field.enter(pi.prob)
        self.chain = follow_policy(self.D, pi)
        self.seen = self.weights.solve(self.chain)
        self.share, total = self.seen.share, self.seen.total
        present = known(self.share) & np.asarray(self.share != 0, dtype=bool)
        self.used = np.flatnonzero(present.any(axis=1))
        self.lacks = np.ones(len(P.O), dtype=bool)
        self.lacks[self.D.entry_o[self.used]] = False
        everything = total.sum()
        self.observed = total / everything if everything != 0 else field.undefined(len(P.O))

    @cached_property
    def observed_error(self) -> float:
        """A bound on the relative errors of `observed`: a ratio of sums, so twice that of terms."""
        if self.field.is_exact:
            return 0.0
        most = float(np.max(self.seen.d_error, initial=0.0)) + 4 * len(self.P.S) * UNIT
        return 2 * most / (1 - most) if most < 0.5 else np.inf

    @cached_property
    def step(self) -> Entries:
        """gamma P_pi."""
        chain = self.chain
        return Entries(own_rows(chain.indptr), chain.indices, chain.data * self.D.gamma)

    @cached_property
    def omega(self) -> Entries:
        """omega(o|s) for the states that are not terminal."""
        D = self.D
        alive = np.flatnonzero(D.alive[D.entry_s])
        return Entries(D.entry_s[alive], D.entry_o[alive], D.omega[alive])

    @cached_property
    def _begin(self) -> _Begin:
        """The first step from each observation."""
        D, s, o = self.D, self.D.entry_s[self.used], self.D.entry_o[self.used]
        share, table = self.share[self.used], self.table[o]
        share = np.where(known(share), share, self.field.one(0))
        entry, a = np.nonzero(np.asarray(share * table != 0, dtype=bool))
        row_ptr, k = pick_rows(self.P.p.row_ptr, s[entry] * len(self.P.A) + a)
        counts = np.diff(row_ptr)
        if share.shape[1] == 1:  # P(s|o): one mean over actions for each entry (s, o)
            unit, inner, outer, owner = entry, table[entry, a], share[:, 0], o
        else:  # P(s|o,a): each action has its own mean
            unit, owner = np.arange(len(entry)), o[entry]
            inner, outer = np.full(len(entry), self.field.one(1)), (share * table)[entry, a]
        values = np.repeat(inner, counts) * D.prob[k]
        rows = np.repeat(unit, counts)
        return _Begin(rows, self.P.p.s_next[k], values * D.gamma, values * D.r[k], owner, outer)

    def solve(
        self, blocks: dict[tuple[int, int], Entries], layers: int, sides: list[Array],
        leave: list[Any], given: list[Any],
    ) -> Found:  # fmt: skip
        """The fixed point of a target: `layers` blocks of unknowns w(s), the last of which is w,
        and v(o). The target says how the layers depend on each other and on v, the block `layers`.

        In floats the means y of R + gamma p w over actions are unknowns too, so that v is a mean of
        y by P(s|o) and what P(s|o) is off by costs no more than what y varies by.
        """
        field, nS, nO, begin = self.field, len(self.P.S), len(self.P.O), self._begin
        n, top = layers * nS + nO, (layers - 1) * nS
        rows, columns, values = begin.rows, begin.columns + top, begin.values
        if field.is_exact:
            rows, values = layers * nS + begin.owner[rows], begin.outer[rows] * values
            sides = [
                *sides,
                field.sums(rows - layers * nS, begin.outer[begin.rows] * begin.rewards, nO),
            ]
        else:
            units, rows = len(begin.owner), rows + n
            first = np.bincount(begin.rows, begin.rewards, units)
            sizes = np.bincount(begin.rows, abs(begin.rewards), units)
            sides = [*sides, np.zeros((3, nO)), np.stack([first, 0 * first, sizes])]
            rows = np.concatenate([rows, layers * nS + begin.owner])
            columns = np.concatenate([columns, n + np.arange(units)])
            values = np.concatenate([values, begin.outer])
            n += units
        if n > _MOST_UNKNOWNS:
            raise TooLarge(
                f"an n-step fixed point of {self.P.name} has {n:,} unknowns, more than "
                f"{_MOST_UNKNOWNS:,}: take fewer steps, or lam"
            )
        indptr, indices, values = _compressed(
            np.concatenate([rows, *(part.rows + i * nS for (i, _), part in blocks.items())]),
            np.concatenate([columns, *(part.columns + j * nS for (_, j), part in blocks.items())]),
            np.concatenate([values, *(part.values for part in blocks.values())]), field, n,
        )  # fmt: skip
        w, v = slice(top, layers * nS), slice(layers * nS, layers * nS + nO)
        back = reverse_edges(indptr, indices)
        lacks = reachable(*back, layers * nS + np.flatnonzero(self.lacks))
        if self.D.is_undiscounted:
            over = np.flatnonzero(np.tile(~self.D.alive, layers))
            if (lost := np.flatnonzero((~reachable(*back, over) & ~lacks)[v])).size:
                raise NeverEnds(
                    f"gamma is 1 and no episode ends after o={self.P.O.text(self.P.O[lost[-1]])}, "
                    "so that its value is not determined; give a gamma below 1, or a policy that "
                    "ends"
                )
        side = np.concatenate(sides, axis=-1)
        side[..., lacks] = field.one(0)
        kept = ~lacks[own_rows(indptr)]
        indptr, indices, values = keep_entries(indptr, kept), indices[kept], values[kept]
        if field.is_exact:
            none = np.zeros(n)
            system = LinearSystem(indptr, indices, values, field.one(1), none, none, none)
        else:
            out, doubt, spread = np.zeros(n), np.full(n, self.chain.given), np.zeros(n)
            out[: layers * nS] = np.concatenate([np.where(self.D.alive, x, 1.0) for x in leave])
            out[n - units :] = 1 - self.D.gamma
            out[lacks] = 1.0
            doubt[: layers * nS] = np.concatenate([np.broadcast_to(x, nS) for x in given])
            doubt[layers * nS :] += (np.diff(indptr)[layers * nS :] + len(self.P.A) + 12) * UNIT
            spread[v] = self._doubt_of_shares()
            entries = np.stack([values, 0 * values])
            system = LinearSystem(indptr, indices, entries, ONE, out, doubt, spread)
        found = field.solve_system(system, side, self.P.name)
        if not np.isfinite(found.error).all():
            raise NotSolved(refusal(n, f"{self.P.name}: the system for a fixed point of TD"))
        x, error = found.x, found.error
        return Found(x[v], error[v], lacks[v], x[w], error[w], lacks[w], found.method)

    def _doubt_of_shares(self) -> NDArray[np.float64]:
        """By which share the weights behind each observation may be off, relative to each other."""
        most = np.zeros(len(self.P.O))
        behind = self.seen.share_error[self.D.entry_s[self.used]].max(axis=1)
        np.maximum.at(most, self.D.entry_o[self.used], np.minimum(behind, 0.5))
        return most / (1 - most)

    def _side(self, x: Array, sizes: Any) -> Array:
        """Numbers as a right side; in floats with the sizes of what was added up."""
        return x if self.field.is_exact else np.stack([x, 0 * x, sizes()])

    def rewards(self, factor: Any) -> Array:
        """A multiple of r_pi as a right side."""
        if self.field.is_exact:
            return factor * self.chain.side
        return self._side(factor * self.chain.r, lambda: abs(factor) * self.chain.side[2])

    def nothing(self) -> Array:
        return self._side(self.field.zeros(len(self.P.S)), lambda: np.zeros(len(self.P.S)))

    def q_values(self, found: Found) -> tuple[Array, NDArray[np.float64]]:
        """q(o,a) = sum_s P(s|o) [R(s,a) + gamma sum p(s'|s,a) w(s')], and bounds on its errors."""
        q_state = self.D.action_values(found.w, found.w_error, found.lacks_s)
        return self.seen.observe(self.D, *q_state)

    def first(self, v: Array, v_error: float) -> tuple[Number, float]:
        """sum_o P(o is the first observation) v(o), and a bound on its error."""
        D, field = self.D, self.field
        entry = np.flatnonzero((np.asarray(D.mu != 0, dtype=bool) & D.alive)[D.entry_s])
        values = v[D.entry_o[entry]]
        if not known(values).all():
            return field.undefined(1)[0], 0.0
        terms = D.mu[D.entry_s[entry]] * D.omega[entry] * values
        total = field.back(terms.sum() if len(terms) else field.one(0))
        if field.is_exact:
            return total, 0.0
        return total, v_error + (len(terms) + 8) * UNIT * float(np.abs(terms).sum())


def _compressed(
    rows: Array, columns: Array, values: Array, field: Field, n: int
) -> tuple[Array, Array, Array]:
    """Entries in compressed rows, those of one place added up and zeros dropped: the pattern is the
    graph of what depends on what."""
    keys = rows.astype(np.int64) * n + columns
    places, group = np.unique(keys, return_inverse=True)
    values = field.sums(group, values, len(places))
    kept = np.asarray(values != 0, dtype=bool)
    places, values = places[kept], values[kept]
    indptr = np.searchsorted(places, np.arange(n + 1) * n)
    return indptr, (places % n).astype(np.int32), values


# ---------------------------------------------------------------------- targets


class TDTarget:
    """What a value is updated towards; `solve` finds the values that equal their own expected
    target."""

    def solve(self, met: Bootstrap) -> Found:
        raise NotImplementedError


class NStep(TDTarget):
    """n rewards, then the value of the observation that is met."""

    def __init__(self, n: int):
        if isinstance(n, bool) or not isinstance(n, int | np.integer):
            raise WrongType(f"n is a number of steps, not {n!r}")
        if n < 1:
            raise WorkbenchError(f"n must be at least 1, not {n}")
        self.n = int(n)

    def __str__(self) -> str:
        return "one-step TD" if self.n == 1 else f"{self.n}-step TD"

    def solve(self, met: Bootstrap) -> Found:
        n, nS = self.n - 1, len(met.P.S)
        given, discount = met.chain.given + 4 * UNIT, 1 - met.D.gamma
        if n > _LAYERS and nS <= _MOST_DENSE:
            step, side, sums = _power(met, n)
            given, layers = n * (given + (nS + 4) * UNIT), [(step, side, 1 - sums, given)]
        else:
            layers = [(met.step, met.rewards(met.field.one(1)), discount, given)] * n
        blocks = {(0, len(layers) + 1): met.omega}
        for i, (step, _, _, _) in enumerate(layers):
            blocks[i + 1, i] = step
        _, sides, leave, givens = zip(*[(0, met.nothing(), 0.0, given), *layers], strict=True)
        return met.solve(blocks, len(layers) + 1, list(sides), list(leave), list(givens))


class Lambda(TDTarget):
    """The mixture (1 - lambda) sum_n lambda^(n-1) of n-step targets."""

    def __init__(self, lam: Number):
        self.lam = number(lam)
        if not is_symbolic(self.lam) and not 0 <= self.lam <= 1:
            raise WorkbenchError(f"lam must lie in [0, 1], not {self.lam}")

    def __str__(self) -> str:
        return f"TD({self.lam})"

    def solve(self, met: Bootstrap) -> Found:
        if self.lam == 1:
            return _monte_carlo(met)
        lam = met.field.one(self.lam)
        step, omega = met.step, met.omega
        blocks = {
            (0, 0): step._replace(values=step.values * lam),
            (0, 1): omega._replace(values=omega.values * (1 - lam)),
        }
        given, leave = met.chain.given + 8 * UNIT, lam * (1 - met.D.gamma)
        return met.solve(blocks, 1, [met.rewards(lam)], [leave], [given])


def _monte_carlo(met: Bootstrap) -> Found:
    """lambda = 1: nothing is bootstrapped, w is v_pi."""
    solved, undefined = met.chain.values()
    error = np.broadcast_to(solved.error, len(undefined))
    found = Found(met.field.zeros(0), error, met.lacks, solved.x, error, undefined, solved.method)
    q, q_error = met.q_values(found)
    v = mix_actions(met.D, met.table, q)
    lacks = ~known(v)
    taken = np.asarray(met.table != 0, dtype=bool)
    each = np.where(taken & ~lacks[:, None], q_error, 0.0).max(axis=1)
    v[lacks] = met.field.one(0)
    if not met.field.is_exact:
        size = np.abs(np.where(taken & ~lacks[:, None], met.table * q, 0.0)).sum(axis=1)
        each = each * (1 + 1e-9) + (len(met.P.A) + 8) * UNIT * size
    return found._replace(v=v, v_error=each, lacks_o=lacks)


def _power(met: Bootstrap, n: int) -> tuple[Entries, Array, NDArray[np.float64]]:
    """n steps as one: (gamma P)^n, the rewards along the way, and the sums of rows."""
    nS, field = len(met.P.S), met.field
    width = nS + (1 if field.is_exact else 2)
    whole = field.zeros((width, width))
    np.add.at(whole, met.step[:2], met.step.values)
    side = met.rewards(field.one(1))
    # rewards are a column: an affine map is linear in one dimension more
    whole[:nS, nS:] = side[:, None] if field.is_exact else side[[0, 2]].T
    # what is over stays over, so that the end of an episode is seen in the power as well
    for i in [*np.flatnonzero(~met.D.alive), *range(nS, width)]:
        whole[i, i] = field.one(1)
    whole = np.linalg.matrix_power(whole, n)
    whole[:nS][~met.D.alive] = field.one(0)
    rows, columns = np.nonzero(np.asarray(whole[:nS, :nS] != 0, dtype=bool))
    block = Entries(rows, columns, whole[rows, columns])
    if field.is_exact:
        return block, whole[:nS, nS], np.zeros(nS)
    side = np.stack([whole[:nS, nS], np.zeros(nS), whole[:nS, nS + 1]])
    return block, side, np.minimum(whole[:nS, :nS].sum(axis=1), 1.0)


def td_target(n: Any, lam: Any) -> TDTarget:
    """The target of `td_values(n=n, lam=lam)`."""
    target = NStep(n)
    if lam is None:
        return target
    if n != 1:
        raise WorkbenchError(f"give n={n} or lam={lam}, not both")
    return Lambda(lam)


# ---------------------------------------------------------------------- with labels


@dataclass(frozen=True, eq=False)
class TDValues:
    """What bootstrapping converges to.

    Attributes
    ----------
    n, lam : the target; one of them is None.
    q : `q[o, a]`; v : `v[o]`.
    value : the return that v promises, sum_o v(o) P(o first). With weights="discounted" and n = 1
        it is the true return.
    reached : `reached[o]`, whether o is seen in a state that is not terminal.
    share : `share[o]`, the part of the weight that o has among all observations.
    error : a bound on the errors of each v(o) and of `value`, that of P_pi(s|o) included; 0 in
        exact arithmetic.
    q_error : `q_error[o, a]`, a bound on the error of each q; infinite where it is undefined.
    note : a sentence on what is undefined and why, or "".
    endless : whether some P(s|o) do not exist, since visits are infinite.
    share_error : a bound on the relative error of each share; 0 in exact arithmetic.
    """

    P: POMDP
    pi: Policy
    weights: str
    n: int | None
    lam: Number | None
    value: Number
    q: Table
    v: Vector
    reached: Vector
    share: Vector
    error: float
    q_error: Table
    method: str
    note: str
    endless: bool
    share_error: float

    @property
    def target(self) -> str:
        """The target in words."""
        return str(td_target(self.n or 1, self.lam))

    def __repr__(self) -> str:
        bound = ""
        if self.q.raw.dtype != object:
            known_q = self.q_error.raw[~np.isnan(self.q.raw)]
            bound = f", |error| of q(o, a) <= {np.max(known_q, initial=0.0):.1g}"
        first = f"{self.P.name}: {self.target}, weights={self.weights!r}{bound}"
        return "\n".join([first, self.q.text(), *([self.note] if self.note else [])])

    def _repr_html_(self) -> str:
        words = escape_html(f"{self.P.name}: {self.target} ({self.weights})")
        return f"<p>{words}</p>{self.q._repr_html_()}<p>{escape_html(self.note)}</p>"

    def to_frame(self) -> Any:
        """q(o, a) as a pandas frame."""
        return self.q.to_frame()


def td_values(
    P: POMDP,
    pi: Policy,
    n: int = 1,
    lam: Number | None = None,
    exact: bool = False,
    weights: str | Weighting = "visits",
) -> TDValues:
    """The fixed point of n-step TD or of TD(lambda) on observations.

    Parameters
    ----------
    P : the POMDP, augmented or not.
    pi : a policy for it.
    n : how many rewards the target holds before it bootstraps.
    lam : lambda in [0, 1], instead of n; a symbol gives rational functions in it.
    exact : rationals instead of floats; symbols anywhere give rational functions in any case.
    weights : which P_pi(s|o), as for `evaluate`.
    """
    weighing = check_arguments(P, pi, weights)
    target = td_target(n, lam)
    lam = target.lam if isinstance(target, Lambda) else None
    field = field_of(P, pi, exact, *([] if lam is None else [lam]))
    if field.is_exact and isinstance(lam, float):
        raise NotExact(
            f"exact arithmetic needs an exact lambda, not the float {lam!r}: use a Fraction"
        )
    met = Bootstrap(field, P, pi, weighing)
    found = target.solve(met)
    q, q_error = met.q_values(found)
    v, doubtful = found.v.copy(), np.zeros(q.shape, dtype=bool)
    v[found.lacks_o] = field.undefined(1)[0]
    if not field.is_exact:
        doubtful = np.isinf(q_error) & (known(q) | met.seen.is_faint[:, None])
        q[doubtful] = np.nan
        v[np.isinf(found.v_error)] = np.nan
    largest = float(np.max(found.v_error, where=~found.lacks_o, initial=0.0))
    value, value_error = met.first(v, largest)
    tagged = field if field.is_exact else None
    return TDValues(
        P=P,
        pi=pi,
        weights=weighing.name,
        n=int(n) if lam is None else None,
        lam=lam,
        value=value,
        q=Table(q, P.O, P.A, tagged, "q(o, a)"),
        v=Vector(v, P.O, tagged, "v(o)"),
        reached=Vector(met.seen.reached, P.O, None, "reached"),
        share=Vector(met.observed, P.O, tagged, weighing.name),
        error=max(largest, value_error),
        q_error=Table(q_error, P.O, P.A, None, "error of q(o, a)"),
        note=describe_undefined(met.chain, weighing, doubtful),
        method=found.method,
        endless=bool(met.seen.endless.any()),
        share_error=met.observed_error,
    )
