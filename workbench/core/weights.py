"""Weighting: how often a policy meets each state, and what an observation tells about the state.

    P(s|o)  = d(s) omega(o|s) / sum_{s'} d(s') omega(o|s')    over the states that are not terminal
    q(o,a)  = sum_s P(s|o) q(s,a)

The paper does not say which d. A weight is an object that knows:

    visits        d = mu + P^T d            expected visits: every-visit Monte Carlo, Lemma C.1
    discounted    d = mu + gamma P^T d      the occupancy of the policy-gradient theorem
    stationary    the long-run share of time, episodes following one another
    first-visit   one d for each pair (o, a): the visits of an episode that is over once it has
                  taken a at o. First-visit Monte Carlo averages the returns after the first time in
                  each episode that a was taken at o (Sutton and Barto 2018, Section 5.2), and s is
                  then met with probability d(s) omega(o|s) pi(a|o). For an action that pi never
                  takes, d is the limit as its probability goes to 0: all visits.

To add one: a subclass of `Weighting` here, and its object in `WEIGHTS`.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.core.chain import Chain
from workbench.core.double_kernels import UNIT, observe
from workbench.core.errors import NotSolved, TooLarge, WorkbenchError
from workbench.core.fields import Dynamics, Field, Mask
from workbench.core.kernels import read_only
from workbench.core.linear import Solution, refusal

MOST_DOUBT = 0.5
"""An observation whose visits may be off by more than this share has no q(o, a)."""

_MOST_FIRST_VISITS = 10**7
"""Pairs (o, a) times transitions, each of which is a linear system: some minutes."""

Array = NDArray[Any]
Floats = NDArray[np.float64]


def known(x: Array) -> Mask:
    """Where numbers are defined and finite."""
    if x.dtype == object:
        return np.array([y is not None for y in x.ravel()], dtype=bool).reshape(x.shape)
    return np.isfinite(x)


@dataclass(frozen=True)
class Seen:
    """What a policy meets behind its observations.

    Attributes
    ----------
    d : `d[s]`, the weight of each state, infinite (None when exact) where it is; `d_error[s]`, a
        bound on its relative error; `visited[s]`, whether it has any.
    share : `share[k, 0]` = P(s|o) of entry k of omega, or `share[k, a]` = P(s|o,a); undefined where
        o is never seen, or for ever. `share_error[s, 0 or a]` bounds the error of its weight.
    total : `total[o]`, the weight of each observation; reached : `reached[o]`, whether it is seen
        in a state that is not terminal; endless : `endless[o]`, whether for ever.
    method : how d was found.
    """

    d: Array
    d_error: NDArray[np.float64]
    visited: Mask
    share: Array
    share_error: NDArray[np.float64]
    total: Array
    reached: Mask
    endless: Mask
    method: str

    def doubtful(self, q: Array, q_error: Floats) -> Mask:
        """`[o, a]`: reached, but floats found nothing about it, or count no visit."""
        if q.dtype == object:
            return np.zeros(q.shape, dtype=bool)
        faint = self.reached & ~self.endless & (self.total == 0)
        return np.isinf(q_error) & (np.isfinite(q) | faint[:, None])

    def observe(self, D: Dynamics, q_state: Array, q_state_error: Floats) -> tuple[Array, Floats]:
        """q(o,a) = sum_s P(s|o) q(s,a), and bounds on its errors."""
        return weighted_means(
            D.field, D.entry_s, D.entry_o, len(D.P.O), self.share, self.share_error, q_state,
            q_state_error,
        )  # fmt: skip


def weighted_means(
    field: Field, entry_s: NDArray[Any], entry_o: NDArray[Any], nO: int, share: Array,
    share_error: Floats, x: Array, x_error: Floats,
) -> tuple[Array, Floats]:  # fmt: skip
    """The mean of x[s, a] behind each o, by shares of its states, and bounds on its errors.

    Relative errors of shares are known. Where x is undefined at a state with a share, so is the
    mean.
    """
    shape = nO, x.shape[1]
    if not field.is_exact:
        q, error = np.empty(shape), np.empty(shape)
        entry_o = entry_o.astype(np.int32, copy=False)
        observe(*read_only(entry_s, entry_o, share, share_error, MOST_DOUBT, x, x_error), q, error)
        return q, error
    # in exact arithmetic 0 stands in for what is undefined until the end
    used = known(share) & np.asarray(share != 0, dtype=bool)
    defined, rows = known(x)[entry_s], x[entry_s]
    terms = np.where(used & defined, rows, field.one(0))
    terms = np.where(used, share, field.one(0)) * terms
    q = field.sums(entry_o, terms, nO)
    lacks = np.ones(shape, dtype=bool)
    for mask, value in ((used & True, False), (used & ~defined, True)):
        entry, a = np.nonzero(np.broadcast_to(mask, terms.shape))
        lacks[entry_o[entry], a] = value
    q[lacks] = None
    return q, np.zeros(shape)


def mean_over_actions(
    field: Field, pi: Array, given: float, q: Array, q_error: Floats
) -> tuple[Array, Floats]:
    """v(o) = sum_a pi(a|o) q(o,a), and bounds on its errors. pi may be off by a share `given`."""
    pairs = np.arange(q.size)
    columns = (x.reshape(-1, 1) for x in (pi, np.full(q.size, given), q, q_error))
    v, error = weighted_means(field, pairs, pairs // q.shape[1], len(q), *columns)
    return v[:, 0], error[:, 0]


class Weighting:
    """A way to weigh states. Subclasses say how often each is met.

    `words` is what a sentence calls it: P(s|o) by discounted visits.
    """

    name: str
    words: str

    def __repr__(self) -> str:
        return self.name

    def solve(self, chain: Chain) -> Seen:
        """What the policy meets behind its observations."""
        d, visited = self.occupancy(chain)
        return look_behind(chain.D, d, visited)

    def occupancy(self, chain: Chain) -> tuple[Solution, Mask]:
        """The weight of every state with a bound on its relative error, and which have one."""
        raise NotImplementedError

    def is_finite(self, chain: Chain) -> bool:
        """Whether the weights of all states are finite."""
        return True


class Visits(Weighting):
    name = words = "visits"

    def occupancy(self, chain: Chain) -> tuple[Solution, Mask]:
        return _expected_visits(chain, _endless(chain)), chain.visited

    def is_finite(self, chain: Chain) -> bool:
        return not (chain.visited & chain.stuck).any()


class Discounted(Weighting):
    name, words = "discounted", "discounted visits"

    def occupancy(self, chain: Chain) -> tuple[Solution, Mask]:
        D = chain.D
        if D.is_undiscounted:
            return WEIGHTS["visits"].occupancy(chain)
        found = chain.visits(np.zeros(D.shape[0], dtype=bool), discounted=True)
        if D.gamma != 0:
            return found, chain.visited
        first = np.asarray(D.mu != 0, dtype=bool)  # the first step alone has weight
        return replace(found, error=np.where(first, found.error, 0.0)), first

    def is_finite(self, chain: Chain) -> bool:
        return not chain.D.is_undiscounted or WEIGHTS["visits"].is_finite(chain)


class Stationary(Weighting):
    name, words = "stationary", "long-run shares of time"

    def occupancy(self, chain: Chain) -> tuple[Solution, Mask]:
        D, field = chain.D, chain.D.field
        classes = _endless(chain)
        d = _expected_visits(chain, classes)
        if not classes:  # every episode ends: shares of time are visits
            x = np.where(D.alive, d.x, field.zeros(len(d.x)))
            if (total := x.sum()) == 0:  # every episode starts at its end
                return replace(d, x=x), np.zeros(len(x), dtype=bool)
            error = np.where(D.alive, _error_of_shares(field, x, d.error), 0.0)
            return replace(d, x=x / total, error=error), chain.visited & D.alive
        x, error = field.zeros(len(d.x)), np.zeros(len(d.x))
        entered = _inflow(chain, classes, d.x)
        returns = chain.returns(classes)
        for members, weight, found in zip(classes, entered, returns, strict=True):
            if not field.is_exact and not np.isfinite(found.x).all():
                raise NotSolved(refusal(len(members), f"{D.P.name}: the system for shares of time"))
            x[members] = found.x * (weight / (found.x.sum() * entered.sum()))
            error[members] = _error_of_shares(field, found.x, found.error)
        if not field.is_exact:  # add errors of the flows into classes, sums without subtractions
            error = 3 * (error + np.max(np.where(np.isfinite(d.x), d.error, 0.0)))
            error += 8 * len(d.x) * UNIT
        return replace(d, x=x, error=error), np.asarray(x != 0, dtype=bool)


class FirstVisit(Weighting):
    name, words = "first-visit", "first visits"

    def occupancy(self, chain: Chain) -> tuple[Solution, Mask]:
        return WEIGHTS["visits"].occupancy(chain)

    def solve(self, chain: Chain) -> Seen:
        D, nA = chain.D, chain.pi.shape[1]
        seen = super().solve(chain)
        pairs = np.argwhere(seen.reached[:, None] & np.asarray(chain.pi != 0, dtype=bool))
        if len(pairs) * len(chain.indices) > _MOST_FIRST_VISITS:
            raise TooLarge(
                f"{D.P.name} under this policy has {len(pairs):,} pairs (o, a) and "
                f"{len(chain.indices):,} transitions: first-visit weights take a linear system for "
                'each pair. Use weights="visits"'
            )
        share = np.repeat(seen.share, nA, axis=1)
        error = np.repeat(seen.share_error, nA, axis=1)
        endless = seen.endless.copy()
        for o, a in pairs.tolist():
            one = Visits().solve(chain.stopping(o, a))
            behind = D.entry_o == o
            share[behind, a] = one.share[behind, 0]
            error[D.entry_s[behind], a] = one.share_error[D.entry_s[behind], 0]
            # at an o that recurs for ever each action in use is taken at some time: the chain stops
            endless[o] &= bool(one.endless[o])
        return replace(seen, share=share, share_error=error, endless=endless)

    def is_finite(self, chain: Chain) -> bool:
        return bool(np.asarray(chain.pi != 0, dtype=bool).all()) or WEIGHTS["visits"].is_finite(
            chain
        )


WEIGHTS: dict[str, Weighting] = {
    weights.name: weights for weights in (Visits(), Discounted(), Stationary(), FirstVisit())
}
"""The weights by their names."""


def weights_named(weights: Any) -> Weighting:
    """The weighting of a name. A weighting itself comes back as it is."""
    if isinstance(weights, Weighting):
        return weights
    if isinstance(weights, str) and weights in WEIGHTS:
        return WEIGHTS[weights]
    near = difflib.get_close_matches(str(weights), WEIGHTS, 1)
    hint = f": did you mean {near[0]!r}?" if near else ""
    raise WorkbenchError(f"weights must be one of {', '.join(WEIGHTS)}, not {weights!r}{hint}")


def look_behind(D: Dynamics, d: Solution, visited: Mask) -> Seen:
    """P(s|o) for weights d."""
    field, nO = D.field, len(D.P.O)
    counted = (visited & D.alive)[D.entry_s]
    reached, endless = np.zeros(nO, dtype=bool), np.zeros(nO, dtype=bool)
    reached[D.entry_o[counted]] = True
    endless[D.entry_o[counted & ~known(d.x)[D.entry_s]]] = True
    usable = np.flatnonzero(counted & ~endless[D.entry_o])
    weight = field.zeros(len(D.entry_o))
    weight[usable] = d.x[D.entry_s[usable]] * D.omega[usable]
    total = field.sums(D.entry_o, weight, nO)
    defined = reached & ~endless
    if not field.is_exact:
        defined &= total > 0  # else visits are too few for floats
    share = field.undefined(len(weight))
    places = np.flatnonzero(defined[D.entry_o])
    share[places] = weight[places] / total[D.entry_o[places]]
    error = np.where(visited, d.error, 0.0)
    columns = share[:, None], error[:, None]
    return Seen(d.x, error, visited, *columns, total, reached, endless, d.method)


def _endless(chain: Chain) -> list[NDArray[np.int64]]:
    """The recurrent classes that are visited."""
    if not (chain.visited & chain.stuck).any():
        return []
    return [members for members in chain.classes() if chain.visited[members[0]]]


def _expected_visits(chain: Chain, classes: list[NDArray[np.int64]]) -> Solution:
    """Expected visits d = mu + P^T d. They are infinite (None when exact) on recurrent classes."""
    # leave out states that are never visited: if some never end, the system would be singular
    dropped = ~chain.visited
    for members in classes:
        dropped[members] = True
    found = chain.visits(dropped)
    if not classes:
        return found
    x = found.x.copy()
    x[np.concatenate(classes)] = None if chain.D.field.is_exact else np.inf
    return replace(found, x=x)


def _error_of_shares(field: Field, x: Array, error: Any) -> Any:
    """Bounds on the relative errors of x / sum x, for those of x."""
    if field.is_exact:
        return 0.0
    used = x > 0
    mean = float((x[used] * np.minimum(error[used], 1.0)).sum() / x.sum())
    if mean > MOST_DOUBT:
        return np.where(used, np.inf, 0.0)
    # |a/b - a'/b'| / (a'/b') <= (e + m) / (1 - m), for a and b off by shares e and m
    return (error + mean) / (1 - mean) * (1 + 1e-12) + (len(x) + 8) * 2 * UNIT


def _inflow(chain: Chain, classes: list[NDArray[np.int64]], d: Array) -> Array:
    """The probability that an episode ends up in each recurrent class."""
    D, n = chain.D, len(classes)
    owner = np.full(len(d), -1)
    for i, members in enumerate(classes):
        owner[members] = i
    rows = np.repeat(np.arange(len(d)), np.diff(chain.indptr))
    entering = (owner[rows] < 0) & (owner[chain.indices] >= 0)
    flow = chain.data[entering] * d[rows[entering]]
    through = D.field.sums(owner[chain.indices[entering]], flow, n)
    starts = np.flatnonzero(owner >= 0)
    return D.field.sums(owner[starts], D.mu[starts], n) + through
