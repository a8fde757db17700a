"""The table that a learner converges to while its behaviour stays as it is.

With the behaviour b = epsilon-greedy of g and the weights P_b(s|o) that it makes,

    Q-learning       q(o,a) = sum_s P_b(s|o) [ R(s,a) + gamma sum_{s'} p(s'|s,a) v(o(s')) ],
                     v(o) = q(o, g(o))
    Sarsa(lambda)    the fixed point of TD(lambda) under b:      `td_values(P, b, lam=lambda)`
    n-step Sarsa     the fixed point of n-step TD under b:       `td_values(P, b, n=n)`
    Monte Carlo      the true q_b(o,a):                          `evaluate(P, b).q`

Q-learning's v(o) is max_a q(o,a); where g is greedy on q that is q(o, g(o)), and where it is not, g
is no fixed point either way (if q(o, g(o)) solved its own system and were greedy, it would be the
max's fixed point, which is unique). So every one of these tables is the solution of a *linear*
system. Expected Sarsa has Sarsa(0)'s fixed points: its target is the mean of Sarsa's over the next
action. A learner says itself which of these it has (`Learner.target`).

The weights are the long-run shares of time; where every episode ends they are those of the
expected visits.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.core.bootstrap import Bootstrap
from workbench.core.errors import WrongType
from workbench.core.fields import RATIONALS, Field
from workbench.core.learners import Learner, OptionError, Target
from workbench.core.linear_kernels import reachable
from workbench.core.numbers import Number, Numbers, is_symbolic, number, read_decimal
from workbench.core.policy import Policy, uniform
from workbench.core.pomdp import POMDP
from workbench.core.rows import keep_entries, merge_rows, own_rows
from workbench.core.td import Lambda, NStep


def target_of(learner: Any) -> Target:
    """The target of a learner that acts epsilon-greedily, as it says itself."""
    if not isinstance(learner, Learner) or not hasattr(learner, "epsilon"):
        hint = "such as QLearning(...), Sarsa(...) or MonteCarlo(...)"
        raise WrongType(f"equilibria are those of a greedy learner, {hint}; not of {learner!r}")
    return target_of_whole_task(learner)


def target_of_whole_task(learner: Learner) -> Target:
    """The target of a learner that cuts no episodes off."""
    target, cut = learner.target, getattr(learner, "max_episode_steps", None)
    if cut is not None:
        raise OptionError(
            f"the fixed points are those of the whole task, but {learner.kind} cuts episodes off "
            f"after max_episode_steps={cut}; leave it out"
        )
    return target


def check_epsilon(epsilon: Any) -> Number:
    """epsilon as a number in [0, 1], or an expression in symbols."""
    found = number(epsilon)
    if not is_symbolic(found) and not 0 <= found <= 1:
        raise OptionError(f"epsilon must lie in [0, 1], not {epsilon}")
    return found


def exploring(P: POMDP, greedy: Policy, epsilon: Number) -> Policy:
    """The epsilon-greedy policy (1 - epsilon) greedy + epsilon / |A|."""
    return greedy.toward(uniform(P), epsilon)


class Learned:
    """What a learner converges to on P, over a field, for one greedy policy after the other."""

    def __init__(self, P: POMDP, target: Target, epsilon: Number, field: Field):
        self.P, self.target, self.epsilon, self.field = P, target, epsilon, field

    def met(self, greedy: Policy) -> Bootstrap:
        """What the behaviour meets, with the target's policy for the first step."""
        behaviour = exploring(self.P, greedy, self.epsilon)
        met = Bootstrap(self.field, self.P, behaviour, "stationary")
        if self.target.greedy:
            met.table = self.field.enter(greedy.prob)
        return met

    def q(self, greedy: Policy) -> NDArray[Any]:
        """The table `[o, a]` as elements of the field. Undefined for rows that are never visited.

        A mixed `greedy` is a mixture of greedy policies whose values are equal where it mixes.
        """
        met, lam = self.met(greedy), self.target.lam
        target = NStep(self.target.n) if lam == 0 else Lambda(lam)
        return met.q_values(target.solve(met))[0]


class _Written(type(RATIONALS)):  # type: ignore[misc]
    """Rationals that read a float as the binary fraction that it is."""

    def enter(self, numbers: Numbers) -> NDArray[Any]:
        if numbers.codes is None:
            exact = [Fraction(x) for x in numbers.floats.ravel().tolist()]
            return super().enter(Numbers.of(exact)).reshape(numbers.shape)
        return super().enter(numbers)

    def one(self, x: Number) -> Any:
        return super().one(Fraction(x) if isinstance(x, float) else x)


WRITTEN = _Written()


class Decided(Learned):
    """Tables in rationals, whose entries are compared with certainty. In an exact model a float
    epsilon or lambda is the decimal that it is printed as."""

    def __init__(self, P: POMDP, target: Target, epsilon: Number):
        if P.is_exact:
            epsilon = as_decimal(epsilon)
            target = replace(target, lam=as_decimal(target.lam))
        super().__init__(P, target, epsilon, RATIONALS if P.is_exact else WRITTEN)

    def in_floats(self, x: Any) -> float:
        return np.nan if x is None else float(self.field.back(x))


def as_decimal(x: Number) -> Number:
    """The fraction that a float is printed as. Other numbers stay."""
    return read_decimal(x) if isinstance(x, float) else x


def deciding_states(P: POMDP) -> NDArray[np.bool_]:
    """The states that some behaviour reaches and that are not terminal."""
    row_ptr = merge_rows(P.p.row_ptr, len(P.A))
    possible = P.p.prob.floats > 0 if not P.p.prob.symbols else np.ones(len(P.p.s_next), dtype=bool)
    kept = keep_entries(row_ptr, possible)
    found = reachable(kept, P.p.s_next[possible], P.mu.support) & ~P.terminal.mask
    return np.asarray(found, dtype=bool)


def deciding_rows(P: POMDP) -> NDArray[np.int64]:
    """The observations that some behaviour sees in a state that is not terminal."""
    states = own_rows(P.omega.row_ptr)
    emits = P.omega.prob.floats > 0 if not P.omega.prob.symbols else np.ones(len(states), bool)
    return np.unique(P.omega.o[deciding_states(P)[states] & emits]).astype(np.int64)
