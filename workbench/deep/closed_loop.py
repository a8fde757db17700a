"""A deterministic policy of views, followed to every place that it gets to.

    S' = the (s, m, o) that are reached from mu, eta and omega when (a, w) = pi(m, o)
    p'((s', m', o'), r | (s, m, o)) = p(s', r | s, a) Gamma(m' | m, w, o, a) omega(o' | s')

<P, O6> may have 10^16 states, and a policy on it meets a few thousand of them. What it is worth is
a linear system over those, exactly as in `evaluate`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from workbench.core.errors import TooLarge
from workbench.core.evaluate import Evaluation, evaluate
from workbench.core.numbers import Numbers, frozen
from workbench.core.policy import uniform
from workbench.core.pomdp import POMDP, Distribution, Emissions, StateSet, Transitions
from workbench.core.rows import pick_rows, point_rows
from workbench.core.space import Label, Space
from workbench.deep.pair import MemoryPair, Views
from workbench.extras import need

if TYPE_CHECKING:
    import pandas as pd

MOST_REACHED = 200_000
"""A policy that gets to more places than this is not followed."""

ViewChoice = Callable[[Views], NDArray[np.integer]]
"""The joint action a |W| + w at each view."""


@dataclass(frozen=True, eq=False)
class ClosedLoop:
    """The chain that a task, a memory and a deterministic policy make together.

    Attributes
    ----------
    chain : it as a POMDP whose only action is to follow the policy; its states are (s, m, o), its
        observations (m, o).
    actions : what the policy does at each observation of the chain, (a, w).
    writes : whether what it writes there changes the memory.
    stored : what enters the memory there if something does: the observation, or the bits.
    """

    chain: POMDP
    actions: tuple[tuple[Label, Label], ...]
    writes: NDArray[np.bool_]
    stored: tuple[Label, ...]

    @cached_property
    def evaluation(self) -> Evaluation:
        """The chain, evaluated: its value is that of the policy.

        Undiscounted, a place from which neither the end nor a reward can be reached is worth 0.
        """
        chain = self.chain
        if chain.gamma == 1 and self._barren.any():
            chain = _ended_at(chain, self._barren)
        return evaluate(chain, uniform(chain))

    @property
    def value(self) -> float:
        return float(self.evaluation.value)

    @cached_property
    def average_reward(self) -> float:
        """The mean reward per step, in the long run or, if episodes end, over episodes."""
        weights = "visits" if len(self.chain.terminal) else "stationary"
        return float(evaluate(self.chain, uniform(self.chain), weights=weights).average_reward)

    @cached_property
    def _barren(self) -> NDArray[np.bool_]:
        """The states that are no end, and from which neither an end nor a reward is reached."""
        move, gained = self._matrices
        good = self.chain.terminal.mask | (gained != 0)
        while True:
            further = good | (move @ good > 0)
            if further.sum() == good.sum():
                return ~good
            good = further

    @cached_property
    def _matrices(self) -> tuple[Any, NDArray[np.float64]]:
        """p'(s' | s), sparse, and the expected reward of a step from each s."""
        from scipy.sparse import csr_array

        p, n = self.chain.p, len(self.chain.S)
        prob = p.prob.floats
        move = csr_array((prob, p.s_next, p.row_ptr), shape=(n, n))
        gained = csr_array((prob * p.r.floats, p.s_next, p.row_ptr), shape=(n, n)).sum(axis=1)
        return move, np.asarray(gained).ravel()

    def _acting(self, steps: int) -> Iterator[NDArray[np.float64]]:
        """For each of so many steps, `[s]`: the probability of acting there at that step."""
        move, _ = self._matrices
        back, at = move.T.tocsr(), self.chain.mu.prob.floats
        for _ in range(steps):
            at = np.where(self.chain.terminal.mask, 0.0, at)
            yield at
            at = back @ at

    def visits_within(self, steps: int) -> NDArray[np.float64]:
        """`[s]`: how often an episode that is cut off after so many steps is expected to act
        there."""
        found = np.zeros(len(self.chain.S))
        for at in self._acting(steps):
            found += at
        return found

    def reward_within(self, steps: int) -> float:
        """The expected sum of the rewards of an episode that is cut off after so many steps.

        Where only success pays, and pays 1, this is the probability of success in time.
        """
        return float(self.visits_within(steps) @ self._matrices[1])

    @property
    def _changes(self) -> NDArray[np.bool_]:
        """Whether the memory changes in each state, `[s]`. Every state shows one observation."""
        return self.writes[self.chain.omega.o]

    def writes_within(self, steps: int) -> float:
        """The share of the steps of episodes, cut off likewise, at which the memory changes."""
        visits = self.visits_within(steps)
        return float(visits[self._changes].sum() / visits.sum())

    def writes_by_age(self, steps: int) -> list[float]:
        """How often the memory changes at ages 1, 2 to 3, 4 to 7, ... of an episode. It is a share
        of the time steps, NaN where no episode is that long."""
        sums = np.zeros((int(steps).bit_length(), 2))
        for age, at in enumerate(self._acting(steps), 1):
            sums[age.bit_length() - 1] += at[self._changes].sum(), at.sum()
        return [float(c / n) if n > 1e-9 else np.nan for c, n in sums]

    def stored_within(self, steps: int) -> dict[Label, float]:
        """What is stored in episodes, cut off likewise, and how often: shares of the changes."""
        visits = self.visits_within(steps)
        found: dict[Label, float] = {}
        for s in np.flatnonzero(self._changes & (visits > 0)):
            what = self.stored[self.chain.omega.o[s]]
            found[what] = found.get(what, 0.0) + float(visits[s])
        total = sum(found.values())
        return {what: x / total for what, x in sorted(found.items(), key=lambda item: -item[1])}

    def to_frame(self) -> pd.DataFrame:
        """The actions and writes by memory and observation, the most visited first. Columns are
        `memory`, `observation`, `action`, `write`, `changes` (whether the write changes the memory)
        and `share` of the time steps."""
        pd = need("pandas", "frames")

        weights = "visits" if len(self.chain.terminal) else "stationary"
        visits = evaluate(self.chain, uniform(self.chain), weights=weights).o_visits.raw
        labels = [self.chain.O[i] for i in range(len(self.chain.O))]
        frame = pd.DataFrame(
            {
                "memory": [m for m, _ in labels],
                "observation": [o for _, o in labels],
                "action": [a for a, _ in self.actions],
                "write": [w for _, w in self.actions],
                "changes": self.writes,
                "share": visits / visits.sum(),
            }
        )
        frame = frame[self.chain.decides]  # nothing is done at the end
        return frame.sort_values("share", ascending=False, kind="stable", ignore_index=True)


def _ended_at(chain: POMDP, ends: NDArray[np.bool_]) -> POMDP:
    """The same chain with some more states terminal, which then have no outcomes."""
    p = chain.p
    counts = np.where(ends, 0, np.diff(p.row_ptr))
    _, kept = pick_rows(p.row_ptr, np.flatnonzero(~ends))
    rows = Transitions(
        p.S, p.A, frozen(point_rows(counts)), p.s_next[kept], p.r.take(kept), p.prob.take(kept)
    )
    terminal = StateSet(chain.S, frozen(chain.terminal.mask | ends))
    return replace(chain, p=rows, terminal=terminal)


def close_loop(pair: MemoryPair, choose: ViewChoice) -> ClosedLoop:
    """Follow a policy to every place that it gets to.

    Parameters
    ----------
    choose : the joint action at each of some views.
    """
    return _Walk(pair, choose).result()


class _Walk:
    """A breadth-first walk. A place is a state s and a view."""

    def __init__(self, pair: MemoryPair, choose: ViewChoice):
        self.pair, self.choose = pair, choose
        self.numbers: dict[bytes, int] = {}
        self.places: list[NDArray[np.int32]] = []
        self.chosen: list[NDArray[np.int64]] = []
        counts: list[NDArray[np.int64]] = []
        targets: list[NDArray[np.int64]] = []
        taken: list[NDArray[np.int64]] = []
        seen: list[NDArray[np.int64]] = []
        front, self.start = self._starts()
        while len(front):
            action = np.asarray(choose(front[:, 1:]), dtype=np.int64)
            self.chosen.append(action)
            count, k, e, after = self._outcomes(front, action)
            found = self._number(after)
            front = np.array(self.fresh, dtype=np.int32).reshape(-1, pair.slots + 1)
            counts.append(count)
            targets.append(found)
            taken.append(k)
            seen.append(e)
        self.counts, self.targets, self.taken, self.seen = map(
            np.concatenate, (counts, targets, taken, seen)
        )

    def _starts(self) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        P = self.pair.P
        o_ptr, e = pick_rows(P.omega.row_ptr, P.mu.support)
        first = np.zeros((len(e), self.pair.slots + 1), dtype=np.int32)
        first[:, 0] = np.repeat(P.mu.support, np.diff(o_ptr))
        first[:, 1] = P.omega.o[e]
        prob = P.mu.prob.floats[first[:, 0]] * P.omega.prob.floats[e]
        self._number(first)
        return first, prob

    def _number(self, places: NDArray[np.int32]) -> NDArray[np.int64]:
        """The numbers of some places. Those met for the first time become `fresh`."""
        self.fresh: list[NDArray[np.int32]] = []
        found = np.empty(len(places), dtype=np.int64)
        rows = np.ascontiguousarray(places)
        for i, row in enumerate(rows):
            key = row.tobytes()
            number = self.numbers.setdefault(key, len(self.numbers))
            if number == len(self.places):
                self.places.append(row.copy())
                self.fresh.append(self.places[-1])
                if number >= MOST_REACHED:
                    raise TooLarge(
                        f"the policy on {self.pair.name} gets to more than {MOST_REACHED:,} places "
                        "(s, m, o); simulate it instead"
                    )
            found[i] = number
        return found

    def _outcomes(
        self, places: NDArray[np.int32], action: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int32]]:
        """The number of outcomes of each place, their indices in p and omega, and where they
        lead."""
        P, nA, nW = self.pair.P, len(self.pair.P.A), len(self.pair.memory.W)
        s, view = places[:, 0].astype(np.int64), places[:, 1:]
        a, w = action // nW, action % nW
        goes_on = ~P.terminal.mask[s]
        p_ptr, k = pick_rows(P.p.row_ptr, (s * nA + a)[goes_on])
        o_ptr, e = pick_rows(P.omega.row_ptr, P.p.s_next[k])
        own = np.repeat(np.flatnonzero(goes_on), np.diff(p_ptr))  # the place of each k
        each = np.repeat(np.arange(len(k)), np.diff(o_ptr))  # the k of each e
        own = own[each]
        after = np.empty((len(e), self.pair.slots + 1), dtype=np.int32)
        after[:, 0] = P.p.s_next[k][each]
        after[:, 1] = P.omega.o[e]
        after[:, 2:] = self._written(view, a, w)[own]
        count = np.bincount(own, minlength=len(places)).astype(np.int64)
        return count, k[each], e, after

    def _written(
        self, view: NDArray[np.int32], a: NDArray[np.int64], w: NDArray[np.int64]
    ) -> NDArray[np.int32]:
        """The memory's slots after the writes."""
        if self.pair.overwrites:
            return w[:, None].astype(np.int32)
        if self.pair.buffer is None:
            return view[:, 1:]
        stored = self.pair.entries[view[:, 0], a][:, None]
        sources = np.concatenate([view[:, 1:], stored, np.zeros_like(stored)], axis=1)
        return np.take_along_axis(sources, self.pair.buffer.moves[w], axis=1).astype(np.int32)

    def result(self) -> ClosedLoop:
        pair, P = self.pair, self.pair.P
        places = np.stack(self.places)
        chosen = np.concatenate(self.chosen)
        views, first, which = np.unique(
            places[:, 1:], axis=0, return_index=True, return_inverse=True
        )
        which = which.ravel()
        labels = [pair.label(view) for view in views]
        O = Space(labels)
        S = Space((P.S[int(s)], *labels[i]) for s, i in zip(places[:, 0], which, strict=True))
        A = Space(["follow"])
        n = len(places)
        p = Transitions(
            S,
            A,
            frozen(point_rows(self.counts)),
            frozen(self.targets.astype(np.int32)),
            P.p.r.take(self.taken),
            P.p.prob.take(self.taken).times(P.omega.prob.take(self.seen)),
        )
        mu = np.zeros(n)
        mu[: len(self.start)] = self.start
        chain = POMDP(
            name=f"{pair.name}, closed",
            S=S,
            O=O,
            A=A,
            p=p,
            omega=Emissions(
                S,
                O,
                frozen(np.arange(n + 1)),
                frozen(which.astype(np.int32)),
                Numbers.full(n, 1),
            ),
            gamma=P.gamma,
            mu=Distribution(S, Numbers(floats=mu)),
            terminal=StateSet(S, P.terminal.mask[places[:, 0]]),
        )
        nW = len(pair.memory.W)
        actions = tuple((P.A[int(x // nW)], pair.memory.W[int(x % nW)]) for x in chosen[first])
        after = self._written(views, chosen[first] // nW, chosen[first] % nW)
        stored = tuple(
            w if pair.overwrites else o for (_, o), (_, w) in zip(labels, actions, strict=True)
        )
        return ClosedLoop(chain, actions, (after != views[:, 1:]).any(axis=1), stored)
