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
    """The state of a training run. `state` is the LSTM's, before the next observation."""

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
    W, n = weights["lstm"]["h"], inputs.shape[1]
    groups = n // _AT_ONCE if n % _AT_ONCE == 0 and jax.default_backend() == "cpu" else 1

    def parts(x: Array, axis: int) -> Array:
        split = x.reshape(*x.shape[:axis], groups, n // groups, *x.shape[axis + 1 :])
        return jnp.moveaxis(split, axis, 0)

    dealt = (parts(inputs, 1), parts(over, 1), (parts(state[0], 0), parts(state[1], 0)))
    hidden = jax.lax.map(lambda part: hidden_states(W, *part), dealt)
    together = jnp.moveaxis(hidden, 0, 1).reshape(*inputs.shape[:2], -1)
    return policy_and_value(weights, together)


_AT_ONCE = 4
"""Sequences whose LSTM is run at once on a CPU: XLA compiles products of so few rows in line, and
calls a library for more, which packs the whole of W at each step and takes twice as long."""


@jax.custom_vjp
def hidden_states(W: Array, inputs: Array, over: Array, state: LSTMState) -> Array:
    """`h[t, copy]` of an LSTM over sequences, whose state is forgotten where an episode was over.

    Its derivative is our own: jax would add up that of W step by step, which is one product of
    matrices over all steps, and takes a third of the time of an update.
    """
    return _run_forwards(W, inputs, over, state)[0]


def _run_forwards(W: Array, inputs: Array, over: Array, state: LSTMState) -> tuple[Array, Any]:
    """The hidden states, and what the derivative needs."""

    def one(state: LSTMState, at: tuple[Array, Array]) -> tuple[LSTMState, Any]:
        c, h = state
        i, f, o, g = jnp.split(at[0] + h @ W, 4, axis=-1)
        i, f, o, g = jax.nn.sigmoid(i), jax.nn.sigmoid(f), jax.nn.sigmoid(o), jnp.tanh(g)
        after = f * c + i * g
        squashed = jnp.tanh(after)
        new = o * squashed
        return forget_ended((after, new), at[1]), (new, (i, f, o, g, c, h, squashed))

    found: tuple[Array, Any] = jax.lax.scan(one, state, (inputs, over), unroll=8)[1]
    return found


def _forwards(W: Array, inputs: Array, over: Array, state: LSTMState) -> tuple[Array, Any]:
    hidden, kept = _run_forwards(W, inputs, over, state)
    return hidden, (W, over, kept)


def _backwards(saved: Any, slope: Array) -> tuple[Array, Array, None, LSTMState]:
    W, over, kept = saved
    turned = W.T

    def one(slopes: LSTMState, at: Any) -> tuple[LSTMState, Array]:
        own, over, (i, f, o, g, c, _, squashed) = at
        dc, dh = forget_ended(slopes, over)
        dh = dh + own
        dc = dc + dh * o * (1 - squashed**2)
        gates = (dc * g * i * (1 - i), dc * c * f * (1 - f), dh * squashed * o * (1 - o))
        d = jnp.concatenate([*gates, dc * i * (1 - g**2)], axis=-1)
        return (dc * f, d @ turned), d

    nothing = jnp.zeros_like(slope[0])
    start, d = jax.lax.scan(one, (nothing, nothing), (slope, over, kept), reverse=True, unroll=8)
    h = kept[5]
    return jnp.tensordot(h, d, axes=((0, 1), (0, 1))), d, None, start


hidden_states.defvjp(_forwards, _backwards)


class Recurrent(Algorithm):
    """PPO whose network has an LSTM, so its outputs depend on the history."""

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
