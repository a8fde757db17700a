"""Proximal policy optimisation with an LSTM: Appendices D.2 and D.3.

The LSTM stands between the feed-forward layers and the heads; its state (c, h) starts at 0 in each
episode. An update is that of `ppo`, except that minibatches are whole sequences of n steps: the
LSTM is run again over a sequence, from the state in which it began when the steps were taken, and
gradients flow back through these n steps and no further (truncated back-propagation).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from workbench.deep.advantage import advantages
from workbench.deep.algorithm import Algorithm
from workbench.deep.networks import (
    NetworkWeights,
    lstm_inputs,
    lstm_step,
    pick,
    start_layer,
    start_lstm,
    start_network,
    trunk,
)
from workbench.deep.ppo import (
    Experience,
    clipped_adam,
    descend,
    policy_and_value,
    ppo_loss,
)
from workbench.deep.stepper import (
    Array,
    ModelCopies,
    StepTables,
    begin_copies,
    choose_actions,
    step_copies,
    words_and_chances,
)

LSTMState = tuple[Array, Array]
"""c and h of the LSTM, `[copy, cell]`."""


class RecurrentTraining(NamedTuple):
    """All that a run needs to go on; `state` is the LSTM's, before the next observation."""

    weights: NetworkWeights
    optimiser: Any
    copies: ModelCopies
    key: Array
    state: LSTMState


def forget_ended(state: LSTMState, over: Array) -> LSTMState:
    """The state, empty where an episode was over."""
    kept = 1.0 - over[:, None]
    return state[0] * kept, state[1] * kept


def replay_sequence(
    weights: NetworkWeights, tables: StepTables, view: Array, over: Array, state: LSTMState
) -> tuple[Array, Array]:
    """log pi and v over sequences `[t, copy]`, from the state in which they began."""
    inputs = lstm_inputs(weights["lstm"], trunk(weights, tables, view))

    def one(state: LSTMState, at: tuple[Array, Array]) -> tuple[LSTMState, Array]:
        state = lstm_step(weights["lstm"], state, at[0])
        return forget_ended(state, at[1]), state[1]

    return policy_and_value(weights, jax.lax.scan(one, state, (inputs, over), unroll=8)[1])


class Recurrent(Algorithm):
    """PPO whose network has an LSTM: what it says depends on the history."""

    def start(self, tables: StepTables, key: Array) -> RecurrentTraining:
        learner = self.learner
        own, inner, policy, value, first, rest = jax.random.split(key, 6)
        weights = start_network(own, self.layout, learner.hidden, {})
        weights["lstm"] = start_lstm(inner, learner.hidden[-1], learner.cells)
        weights["heads"] = {
            "h": start_layer(policy, learner.cells, self.layout.actions, 0.01),
            "v": start_layer(value, learner.cells, 1, learner.value_start),
        }
        words = jax.random.bits(first, (learner.environments,), jnp.uint32)
        empty = jnp.zeros((learner.environments, learner.cells))
        return RecurrentTraining(
            weights,
            clipped_adam(learner).init(weights),
            begin_copies(self.layout, tables, words),
            rest,
            (empty, empty),
        )

    def look(
        self, weights: NetworkWeights, tables: StepTables, view: Array, state: LSTMState
    ) -> tuple[LSTMState, Array, Array]:
        """The LSTM's state after a view, log pi and v."""
        inputs = lstm_inputs(weights["lstm"], trunk(weights, tables, view))
        state = lstm_step(weights["lstm"], state, inputs)
        return state, *policy_and_value(weights, state[1])

    def collect(
        self, tables: StepTables, training: RecurrentTraining, key: Array
    ) -> tuple[ModelCopies, LSTMState, Experience, Array, Array]:
        """n steps of every copy, as in `ppo`."""
        learner, weights = self.learner, training.weights
        words, chances = words_and_chances(key, learner.n, learner.environments)

        def one(
            carry: tuple[ModelCopies, LSTMState], random: tuple[Array, Array]
        ) -> tuple[Any, Any]:
            copies, state = carry
            state, log_pis, v = self.look(weights, tables, copies.view, state)
            action = choose_actions(jnp.exp(log_pis), random[1])
            after, seen = step_copies(self.layout, tables, copies, action, random[0])
            gained = seen.r
            if learner.max_episode_steps is not None:
                left = self.gamma * self.look(weights, tables, seen.view, state)[2]
                gained = gained + jnp.where(seen.cut, left, 0.0)
            over = seen.ended | seen.cut
            kept = (copies.view, action, pick(log_pis, action), v)
            return (after, forget_ended(state, over)), (kept, gained, seen.r, over)

        (copies, state), (kept, gained, r, over) = jax.lax.scan(
            one, (training.copies, training.state), (words, chances)
        )
        view, action, log_pi, v = kept
        v_last = self.look(weights, tables, copies.view, state)[2]
        A = advantages(gained, v, over, v_last, self.gamma, learner.lam)
        return copies, state, Experience(view, action, log_pi, v, A), r, over

    def update(
        self, tables: StepTables, training: RecurrentTraining
    ) -> tuple[RecurrentTraining, Array, Array]:
        learner = self.learner
        key, own, deal = jax.random.split(training.key, 3)
        copies, state, taken, r, over = self.collect(tables, training, own)

        def loss_of(weights: NetworkWeights, part: tuple[Experience, Array, LSTMState]) -> Array:
            seen, over, state = part
            found = replay_sequence(weights, tables, seen.view, over, state)
            return ppo_loss(learner, *found, seen)

        def epoch(carry: Any, key: Array) -> tuple[Any, None]:
            order = jax.random.permutation(key, learner.environments)
            shape = (learner.minibatches, learner.per_minibatch)

            def by_time(x: Array) -> Array:
                picked = x[:, order].reshape(learner.n, *shape, *x.shape[2:])
                return jnp.moveaxis(picked, 1, 0)

            def by_copy(x: Array) -> Array:
                return x[order].reshape(*shape, *x.shape[1:])

            dealt = (
                jax.tree.map(by_time, taken),
                by_time(over),
                jax.tree.map(by_copy, training.state),
            )
            return descend(learner, carry, loss_of, dealt), None

        (weights, optimiser), _ = jax.lax.scan(
            epoch, (training.weights, training.optimiser), jax.random.split(deal, learner.epochs)
        )
        return RecurrentTraining(weights, optimiser, copies, key, state), r.sum(), over.sum()
