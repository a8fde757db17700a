"""The best deterministic memoryless policy by branch and bound.

A node fixes pi(o) for some observations. Its bound lets every other decision depend on the state:
an MDP in which the fixed observations have one action (`mdp`). What a policy and the MDP's best
policy are worth, the criterion knows: the return here, the average reward in
`research.average`. From the optimum v of the MDP a memoryless policy is read off: at each open
observation the action with the largest sum_s d(s) q(s, a), d the occupancy of the MDP's policy. Its
value J and the bound V differ by

    V - J = sum_o sum_{s in o} d_J(s) [ v(s) - q(s, pi(o)) ],          d_J its own occupancy,

a sum over the open observations that it reaches, so the node is branched at the observation that
contributes most; if nothing contributes, the policy attains the bound. Observations that no policy
under consideration reaches are never looked at. The node with the largest bound comes first.

Actions that do the same in every state of an observation are tried once, and so are writes of
interchangeable memory states (`symmetry`). A bound known from elsewhere, such as the best
history-based value of the task that a product is made of, caps all of them (`cap`).

In floats a node is closed where its bound exceeds the best value by no more than rounding explains.
Such nodes may hold policies that are better by less, so they are kept as doubts, with which a
search in rationals goes on (`in_rationals`).
"""

from __future__ import annotations

import heapq
import math
import time
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.core.assess import mean_over_starts
from workbench.core.chain import follow_policy
from workbench.core.errors import NotSolved
from workbench.core.fields import FLOATS, RATIONALS, Field, dynamics
from workbench.core.policy import Policy
from workbench.core.pomdp import POMDP
from workbench.optima.follow import (
    Followed,
    alternatives,
    first_order_gains,
    follow,
    follow_states,
    sort_changes,
)
from workbench.optima.mdp import (
    MDP,
    Actions,
    Mask,
    Optimum,
    explained_gap,
    from_states,
    in_rationals,
    optimal,
    require_end,
    upper_bound,
    visited_size,
)
from workbench.optima.mdp_kernels import surely_ending
from workbench.optima.symmetry import Interchangeable, interchangeable

OPEN = -1
"""The entry of a partial policy where nothing is fixed yet."""

_EXACT_STATES = 400
"""Bounds over more states than this are not taken in rationals, unless the search is exact."""

_FEW_NUMBERS = 400
"""Up to so many rewards and probabilities the last word is left to rationals."""

_UNREACHED = 1e-6
"""The weight, beside the occupancy, of states that the MDP's policy does not visit, when a policy
is read off it."""


@dataclass(frozen=True, eq=False)
class Informed:
    """What full information says about a task.

    Attributes
    ----------
    size : of the values that matter; noise : what rounding leaves of differences between them in
        one step.
    bound : no policy of a product is worth more; infinite where the search bounds it anew.
    unbounded : whether values are; optimum : that of the whole process, if it was found.
    """

    size: float
    noise: float
    bound: float
    unbounded: bool
    optimum: Optimum | None


class ReturnCriterion:
    """The expected return: what a policy is worth, and how full information bounds it.

    Attributes
    ----------
    M : the process of states over floats.
    Mx : the process over the rationals, made when it is needed; has_rationals : whether there is
        one.
    """

    name = "return"
    until = math.inf
    """No iteration goes on once the clock (`time.monotonic`) passes it."""

    def __init__(self, P: POMDP):
        self.P = P
        self.M = self.process(P, FLOATS)
        self._rational = P if P.is_exact else None

    @property
    def always_defined(self) -> bool:
        """Whether every policy has a value."""
        return not self.M.undiscounted

    def process(self, P: POMDP, field: Field) -> MDP:
        """The decision process over the states of a task."""
        return from_states(P, field)

    def informed(self) -> Informed:
        """Full information is worth the same with every memory, so a product asks its task."""
        origin = self.P.origin
        process = self.M if origin is None else self.process(origin.P, FLOATS)
        found = optimal(process)
        require_end(self.P, found)
        size = visited_size(process, found)
        noise = explained_gap(process, size, 1.0)
        endless = found.value == math.inf
        if origin is None:  # the search bounds it anew, at its root
            return Informed(size, noise, math.inf, endless, found)
        return Informed(size, noise, upper_bound(process, found), endless, None)

    def worth(self, pi: Policy) -> tuple[float, float]:
        """The value of a policy by `evaluate`, with its error bound. Minus infinity where floats
        find nothing."""
        D = dynamics(self.P, FLOATS)
        try:
            solved, _ = follow_policy(D, pi).values()
        except NotSolved:
            return -math.inf, math.inf
        value, error = mean_over_starts(D, solved.x, solved.error)
        return float(value), error

    @property
    def has_rationals(self) -> bool:
        return self._rational is not None

    def read_decimals(self) -> bool:
        """Replace floats by the decimals that they print as. Returns False if those are no
        model."""
        self._rational = in_rationals(self.P)
        return self._rational is not None

    @cached_property
    def Mx(self) -> MDP:
        assert self._rational is not None
        return self.process(self._rational, RATIONALS)

    def follow(self, choice: Actions) -> Followed:
        """Value and occupancy of a policy, in floats."""
        return follow(self.M, choice)

    def exact_value(self, choice: Actions) -> Any:
        return _fraction(follow(self.Mx, choice).value)

    def climb(
        self, options: list[NDArray[np.int64]], choice: Actions, value: float, until: float
    ) -> Actions:
        """A policy that no promising change of one row makes better, or the last one when the clock
        passes `until`. Each change is tried by an evaluation, the most promising first."""
        while time.monotonic() <= until:
            room = self.explained(choice, self.follow(choice))
            for o, a in self.promising(options, choice, room):
                if time.monotonic() > until:
                    return choice
                changed = choice.copy()
                changed[o] = a
                worth = self.follow(changed).value
                if worth > value + room:
                    choice, value = changed, worth
                    break
            else:
                break
        return choice

    def promising(
        self, options: list[NDArray[np.int64]], choice: Actions, room: float
    ) -> list[tuple[int, int]]:
        """Changes (o, a) whose first-order gain is more than `room`, by falling gain."""
        gain = first_order_gains(self.M, choice, len(options))
        return sort_changes(gain, options, choice, np.unique(self.M.seen), room)

    def explained(self, choice: Actions, followed: Followed) -> float:
        """How far rounding may put a bound above the value of a policy."""
        paid = self.M.sizes[followed.states, choice[self.M.seen[followed.states]]]
        size = max(abs(followed.value), float(np.max(paid, initial=0.0)))
        return explained_gap(self.M, size, float(followed.d.sum()))

    def optimum(self, allowed: Mask, warm: Actions | None, exact: bool = False) -> Optimum:
        """The best policy with full information, among the actions allowed."""
        return optimal(self.Mx if exact else self.M, allowed, warm)

    def upper_bound(self, found: Optimum) -> float:
        """An upper bound, as a float, on the value of all allowed policies. It is infinite if none
        could be certified."""
        return upper_bound(self.M, found)

    def weights(self, policy: Actions) -> NDArray[np.float64]:
        """How much each state counts when a memoryless policy is read off."""
        found = follow_states(self.M, policy)
        d = np.zeros(len(policy))
        d[found.states] = found.d
        return d

    def scores(self, found: Optimum) -> NDArray[np.float64]:
        """Scores `[i, a]` of the actions. Minus infinity where one is not allowed."""
        return np.where(found.allowed, self.M.q(found.v), -np.inf)


@dataclass(order=True)
class PolicyNode:
    """A partial policy, ordered for the heap: largest bound first, then the deepest."""

    rank: tuple[float, int, int]
    bound: Any = field(compare=False)
    choice: Actions = field(compare=False)
    branch: int = field(compare=False)
    policy: Actions = field(compare=False)
    branched: bool = field(compare=False, default=False)


class BranchSearch:
    """Branch and bound over one decision process.

    Parameters
    ----------
    criterion : the process, what its policies are worth, and how they are bounded.
    observations : how many there are.
    tolerance : nodes whose bound exceeds the best value by no more, or by no more than rounding
        explains, are closed; absolute, not used if `exact`.
    exact : compare values and bounds as rationals.
    informed : the optimum of the process with nothing fixed, if it is known already.
    until : no step is begun, in climbs as in branches, once the clock (`time.monotonic`) passes it.

    Attributes
    ----------
    root : the bound without any observation fixed, which stochastic policies respect as well.
    cap : no policy is worth more, whatever the nodes say, a float or a Fraction; infinite unless it
        is known.
    best, value : the best policy so far and its value, a Fraction in an exact search; minus
        infinity before any.
    nodes : how many partial policies were bounded.
    certified : False once floats certified no bound of some node, so that only `cap` is certain.
    """

    def __init__(
        self,
        criterion: ReturnCriterion,
        observations: int,
        symmetry: Interchangeable | None,
        tolerance: float,
        exact: bool,
        informed: Optimum | None = None,
        until: float = math.inf,
    ):
        self.criterion = criterion
        self.M = criterion.M
        self.exact = exact
        self.observations = observations
        self.symmetry = symmetry
        self.tolerance = tolerance
        self.best: Actions | None = None
        self.value: Any = -math.inf
        self.nodes = 0
        self.certified = True
        self.cap: Any = math.inf
        self._informed = informed
        self.until = until
        self._begun = False
        self._root: Any = math.inf
        self._closed: Any = -math.inf
        self._heap: list[PolicyNode] = []
        self._doubts: list[tuple[Any, Actions, Actions]] = []
        self._explained = 0.0

    @cached_property
    def options(self) -> list[NDArray[np.int64]]:
        """For each observation the actions that differ in what they do."""
        return alternatives(self.criterion.Mx if self.exact else self.M, self.observations)

    @cached_property
    def _is_option(self) -> NDArray[np.bool_]:
        table = np.zeros((self.observations, self.M.shape[1]), dtype=bool)
        for o, actions in enumerate(self.options):
            table[o, actions] = True
        return table

    def _sum_by_observation(self, table: NDArray[Any]) -> NDArray[np.float64]:
        """The sums of the rows `table[i]` over the states that show each observation."""
        total = np.zeros((self.observations, table.shape[1]))
        np.add.at(total, self.M.seen, table)
        return total

    # ------------------------------------------------------------------ the search

    @property
    def root(self) -> Any:
        self._begin()
        return self._root

    def _begin(self) -> None:
        """Bound the empty policy. On a large product this alone may take minutes, so it is put off
        until it is needed: a good policy and a cap may settle the question without it."""
        if not self._begun:
            root = self._bound(np.full(self.observations, OPEN), None, self._informed)
            self._heap = [] if root is None else [root]
            self._begun = True
            self._root = self.bound

    @property
    def bound(self) -> Any:
        """No deterministic memoryless policy is worth more."""
        if not self._begun or not self.certified:
            return max(self.value, self.cap)
        open_nodes = (node.bound for node in self._heap if not node.branched)
        return max(self.value, min(self.cap, max([self._closed, *open_nodes])))

    @property
    def highest(self) -> Any:
        """The bound to within the tolerance, at no cost."""
        if not self._begun:
            return self.cap
        first = (node.bound for node in self._heap[:1])
        return max(self.value, min(self.cap, max([self._closed, *first])))

    @property
    def allowance(self) -> float:
        """How far a bound may exceed the best value and still count as equal. It is the tolerance,
        or what rounding explains, and 0 in an exact search."""
        return 0 if self.exact or self.best is None else self.blur

    @property
    def blur(self) -> float:
        """What floats do not tell apart near the best value."""
        return max(self.tolerance, self._explained)

    @property
    def finished(self) -> bool:
        """Whether no open node can hold anything better."""
        if self._settles(self.cap):
            return True
        if not self._begun:
            return False
        while self._heap and (self._heap[0].branched or self._settles(self._heap[0].bound)):
            node = heapq.heappop(self._heap)
            if not node.branched:
                self._close(node.bound, node.choice, node.policy)
        return not self._heap

    def run_one(self) -> None:
        """Branch the most promising node, unless the clock passes `until` on the way.

        To be called when not `finished`. The node stays open until all that may follow from it is
        bounded and kept, so that an interruption leaves a bound that holds.
        """
        if not self._begun:
            self._begin()
            return
        node = self._heap[0]
        tried = self.options[node.branch]
        if self.symmetry is not None:
            tried = tried[self.symmetry.worth_trying(node.choice, node.branch)[tried]]
        children = []
        for a in tried.tolist():
            if time.monotonic() > self.until:
                return
            choice = node.choice.copy()
            choice[node.branch] = a
            if (child := self._bound(choice, node.policy)) is not None:
                children.append(child)
        for child in children:
            heapq.heappush(self._heap, child)
        node.branched = True

    def lower_cap(self, bound: Any) -> None:
        """Take note of a number that no policy's value exceeds."""
        if bound < self.cap:
            self.cap = bound if isinstance(bound, Fraction) else float(bound)

    @property
    def is_decidable(self) -> bool:
        """Whether rationals take little time, or are worth more since floats leave a gap."""
        if self.best is None or self.M.shape[0] > _EXACT_STATES:
            return False
        few = self.M.R.size + len(self.M.prob) <= _FEW_NUMBERS
        return few or (self.criterion.has_rationals and not self.is_met)

    @property
    def is_met(self) -> bool:
        """Whether the best policy meets the bound, but for rounding that is smaller than every
        reward of the task."""
        if not self._settles(self.bound):
            return False
        paid = self.M.sizes[self.M.sizes > 0]
        return self.exact or bool(self._explained < np.min(paid, initial=math.inf))

    def in_rationals(self) -> BranchSearch | None:
        """The same search in rationals, from what floats found. None if the model is none as
        decimals."""
        assert self.best is not None
        if not self.criterion.has_rationals and not self.criterion.read_decimals():
            return None
        again = BranchSearch(
            self.criterion, self.observations, self.symmetry, self.tolerance, True, until=self.until
        )
        again.cap, again.nodes, again._explained = self.cap, self.nodes, self._explained
        again.best, again.value = self.best, self.criterion.exact_value(self.best)
        told = [len(tried) for tried in self.options]
        if not (self.certified and self._begun) or told != [len(x) for x in again.options]:
            return again  # from the start: bounds were not certain, or actions not told apart
        again._begun = True
        for bound, choice, policy in sorted(self._doubts, key=lambda doubt: -doubt[0]):
            if not again._settles(bound) and (node := again._bound(choice, policy)) is not None:
                heapq.heappush(again._heap, node)
        return again

    def _close(self, bound: Any, choice: Actions, policy: Actions) -> None:
        self._closed = max(self._closed, bound)
        if not self.exact and bound >= self.value - self.allowance:
            self._doubts.append((bound, choice, policy))

    def offer(self, choice: Actions, climb: bool = True) -> None:
        """Compare a policy with the best so far. Returns whether to climb from it."""
        followed = self.criterion.follow(choice)
        if climb:
            self._offer_followed(choice, followed)
        else:
            self._keep(choice, followed)

    def climb_from(self, choice: Actions) -> None:
        """Look for a better policy by local search from any policy, be it worse than the best."""
        followed = self.criterion.follow(choice)
        if followed.value > -math.inf:
            self._keep(choice, followed)
            self._climb(choice, followed.value)

    def _climb(self, choice: Actions, value: float) -> None:
        higher = self.criterion.climb(self.options, choice, value, self.until)
        if higher is not choice:
            self._keep(higher, self.criterion.follow(higher))

    def _keep(self, choice: Actions, followed: Followed) -> None:
        value = followed.value
        if value == -math.inf:
            return
        if value < float(self.value) and not self.exact:
            return
        explained = self.criterion.explained(choice, followed)
        worth: Any = value
        if self.exact:
            # floats sort out what is clearly worse; only the rest is worth an exact evaluation
            if value < float(self.value) - max(self.tolerance, explained):
                return
            worth = self.criterion.exact_value(choice)
        if worth > self.value:
            self.best, self.value, self._explained = choice, worth, explained

    def _settles(self, bound: Any) -> bool:
        """Whether a node with this bound cannot hold anything better than the best, beyond the
        tolerance."""
        return bool(bound <= self.value + self.allowance)

    # ------------------------------------------------------------------ one node

    def _bound(
        self, choice: Actions, warm: Actions | None, known: Optimum | None = None
    ) -> PolicyNode | None:
        """Bound a partial policy, and read a policy off the bound. Returns the node if it is still
        open."""
        self.nodes += 1
        allowed = forced(self.M, choice)
        found = self.criterion.optimum(allowed, warm) if known is None else known
        if found.value == -math.inf:
            return None  # no policy of this node ends
        if found.value == math.inf:
            return self._node(choice, math.inf, self._looping(found, choice), found.policy)
        bound = self._certified_bound(found, allowed)
        if self._settles(bound):
            self._close(bound, choice, found.policy)
            return None
        branch = self._read_off(found, choice)
        # the policy read off may have raised the best value so far that the bound no longer matters
        if not self.exact:
            bound = self._sharpened(bound, found, allowed)
        elif not self._settles(bound):
            found = self.criterion.optimum(allowed, found.policy, exact=True)
            if found.value == math.inf:  # a loop pays too little for floats to see it
                return self._node(choice, math.inf, self._looping(found, choice), found.policy)
            bound = _fraction(found.value)
            if not self._settles(bound) and branch == OPEN:
                branch = self._read_off(_in_floats(found), choice)
        if self._settles(bound) or branch == OPEN:
            self._close(bound, choice, found.policy)
            return None
        return self._node(choice, bound, branch, found.policy)

    def _node(self, choice: Actions, bound: Any, branch: int, policy: Actions) -> PolicyNode:
        depth = int((choice >= 0).sum())
        height = float(bound)
        if height < math.inf and self.tolerance > 0:
            # nodes that differ by rounding errors only go by depth: else ties are searched breadth
            # first, and the heap fills with copies of one partial policy
            height = math.floor(height / self.tolerance)
        return PolicyNode((-height, -depth, self.nodes), bound, choice, branch, policy)

    def _certified_bound(self, found: Optimum, allowed: NDArray[np.bool_]) -> float:
        bound = self.criterion.upper_bound(found)
        if bound < math.inf:
            return self._sharpened(bound, found, allowed)
        if self.criterion.has_rationals:  # at gamma = 1, loops without reward defeat floats
            return self._rational_bound(found, allowed)
        self.certified = False
        return float(found.value)

    def _sharpened(self, bound: float, found: Optimum, allowed: NDArray[np.bool_]) -> float:
        """A bound in rationals where only the allowance for rounding keeps the node open."""
        if self.exact or self._settles(bound) or not self._settles(found.value):
            return bound
        small = self.criterion.has_rationals and self.M.shape[0] <= _EXACT_STATES
        return self._rational_bound(found, allowed) if small else bound

    def _rational_bound(self, found: Optimum, allowed: NDArray[np.bool_]) -> float:
        found = self.criterion.optimum(allowed, found.policy, exact=True)
        return float_above(_fraction(found.value))

    def _read_off(self, found: Optimum, choice: Actions) -> int:
        """Offer the memoryless policy nearest to the MDP's. Returns the observation to branch at,
        or `OPEN` if none."""
        M = self.M
        d, q = self.criterion.weights(found.policy), self.criterion.scores(found)
        # two readings of where the MDP's policy is not memoryless: by votes, in which it cheats on
        # an observation outright, and by regret, in which a memoryless policy pays for not cheating
        conflict, agreed = self._conflicts(d, found.policy, choice)
        candidate = self._nearest(q, d, choice)
        followed = self.criterion.follow(candidate)
        self._offer_followed(candidate, followed)
        regret = np.zeros(len(choice))
        if followed.d.size:
            states = followed.states
            lost = found.v[states] - q[states, candidate[M.seen[states]]]
            np.add.at(regret, M.seen[states], followed.d * np.where(np.isfinite(lost), lost, 0.0))
            regret[choice >= 0] = 0.0  # what is fixed cannot be branched at again
        if not followed.d.size or regret.max() <= 0:
            consistent = np.where(choice >= 0, choice, np.where(agreed >= 0, agreed, candidate))
            if conflict.max() <= 0:  # the MDP's own policy is memoryless: nothing is left open
                self._offer_followed(consistent, self.criterion.follow(consistent))
                return OPEN
            return int(np.argmax(conflict))
        return int(np.argmax(regret))

    def _offer_followed(self, candidate: Actions, followed: Followed) -> None:
        better = followed.value > float(self.value)
        self._keep(candidate, followed)
        if better and not self._settles(self.cap):
            self._climb(candidate, followed.value)

    def _conflicts(
        self, d: NDArray[np.float64], policy: Actions, choice: Actions
    ) -> tuple[NDArray[np.float64], Actions]:
        """For each open observation, the occupancy of the minority's actions. It also gives the
        action on which all agree, if any."""
        votes = np.zeros((len(choice), self.M.shape[1]))
        np.add.at(votes, (self.M.seen, policy), d)
        total, most = votes.sum(axis=1), votes.max(axis=1)
        split = (votes > 0).sum(axis=1) > 1
        conflict = np.where(split & (choice < 0), total - most, 0.0)
        agreed = np.where((votes > 0).sum(axis=1) == 1, np.argmax(votes, axis=1), OPEN)
        return conflict, agreed

    def _nearest(self, q: NDArray[np.float64], d: NDArray[np.float64], choice: Actions) -> Actions:
        """At each open observation the action with the largest weighted q."""
        # a state that the MDP's policy avoids may well be met by the memoryless one: without some
        # weight there, the choice at its observation would be arbitrary
        weight = (d + _UNREACHED)[:, None]
        lost = ~np.isfinite(q)  # with gamma = 1, where an action leads to a state that cannot end
        score = self._sum_by_observation(weight * np.where(lost, 0.0, q))
        if lost.any():
            spoiled = self._sum_by_observation(weight * lost)
            score = np.where(spoiled > 0, -1e300 * (spoiled / spoiled.max()), score)
        return np.where(
            choice >= 0, choice, np.argmax(np.where(self._is_option, score, -np.inf), axis=1)
        )

    def _looping(self, found: Optimum, choice: Actions) -> int:
        """An open observation on a loop of positive reward."""
        only = np.zeros(self.M.shape, dtype=bool)
        only[np.arange(len(found.policy)), found.policy] = found.alive
        inside, _, _ = surely_ending(self.M.row_ptr, self.M.successors, self.M.ends, only)
        # the loop that pays for ever must pass an open decision: were all fixed, no policy of the
        # node would end, and the node would have been closed before
        lost = np.flatnonzero(found.alive & ~inside & (choice[self.M.seen] < 0))
        return int(np.argmax(np.bincount(self.M.seen[lost], minlength=len(choice))))


def search_over_states(
    criterion: ReturnCriterion,
    tolerance: float,
    exact: bool,
    informed: Optimum | None = None,
    until: float = math.inf,
) -> BranchSearch:
    """The search that lets open decisions depend on the state."""
    P = criterion.P
    symmetry = interchangeable(P)
    return BranchSearch(criterion, len(P.O), symmetry, tolerance, exact, informed, until)


def forced(M: MDP, choice: Actions) -> NDArray[np.bool_]:
    """The actions `[i, a]` that a partial policy leaves: one where the observation is fixed, all
    elsewhere."""
    said = choice[M.seen]
    allowed = np.ones(M.shape, dtype=bool)
    fixed = np.flatnonzero(said >= 0)
    allowed[fixed] = False
    allowed[fixed, said[fixed]] = True
    return allowed


def float_above(x: Any) -> float:
    """The smallest float that is not below a number."""
    near = float(x)
    return near if near >= x else math.nextafter(near, math.inf)


def _fraction(x: Any) -> Any:
    return x if isinstance(x, float) else RATIONALS.back(x)


def _in_floats(found: Optimum) -> Optimum:
    return replace(
        found,
        value=float(_fraction(found.value)),
        v=np.array([float(_fraction(x)) for x in found.v]),
    )
