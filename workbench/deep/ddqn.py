"""Double deep Q-learning with replay: Appendix D.6.2.

Each step of the copies is kept, the oldest one forgotten; then, on a batch drawn from what is kept,

    y = r + gamma q_target(view', b),   b greedy in q(view', .)       y = r after the end
    L = E[ huber( q(view, a) - y ) ]                      huber(x) = x^2/2 up to 1, |x| - 1/2 beyond

Actions are epsilon-greedy in q, the first among equals. The target network becomes the learned one
every `target_every` updates. An episode that was cut off has not ended: y goes on from what was
seen last.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

from workbench.deep.algorithm import Algorithm
from workbench.deep.networks import NetworkWeights, head, pick, start_network, trunk
from workbench.deep.settings import DDQN
from workbench.deep.stepper import (
    Array,
    ModelCopies,
    StepTables,
    begin_copies,
    step_copies,
    words_and_chances,
)


class Replay(NamedTuple):
    """The replay buffer, `[place, ...]`."""

    view: Array
    action: Array
    r: Array
    ended: Array
    view_next: Array


class QTraining(NamedTuple):
    """The state of a training run. `moves` counts the time steps of the environments."""

    weights: NetworkWeights
    optimiser: Any
    copies: ModelCopies
    key: Array
    target: NetworkWeights
    replay: Replay
    moves: Array


def q_optimiser(learner: DDQN) -> Any:
    """Adam, with the constants of its authors, on gradients that are cut by their norm."""
    return optax.chain(
        optax.clip_by_global_norm(learner.max_gradient), optax.adam(learner.learning_rate)
    )


def target_values(q_next: Array, q_target: Array, r: Array, ended: Array, gamma: float) -> Array:
    """y, from q(view', .) of the learned network and of the target network, `[sample, a]`."""
    return r + gamma * jnp.where(ended, 0.0, pick(q_target, q_next.argmax(axis=1)))


def td_loss(q: Array, action: Array, y: Array) -> Array:
    """L, from q(view, .)."""
    return optax.losses.huber_loss(pick(q, action), y).mean()


def explore(chances: Array, epsilon: float, best: Array, actions: int) -> Array:
    """Epsilon-greedy: one number in [0, 1) decides whether to explore and, rescaled, what to
    try."""
    tried = (chances / max(epsilon, 1e-9) * actions).astype(jnp.int32)
    return jnp.where(chances < epsilon, jnp.minimum(tried, actions - 1), best)


class Replayed(Algorithm):
    """DDQN."""

    heads = ("q",)

    def start(self, tables: StepTables, key: Array) -> QTraining:
        learner, layout = self.learner, self.layout
        own, first, rest = jax.random.split(key, 3)
        weights = start_network(own, layout, learner.hidden, {"q": (layout.actions, 1.0)})
        words = jax.random.bits(first, (learner.environments,), jnp.uint32)
        n = learner.capacity
        kept = Replay(
            jnp.zeros((n, layout.slots), jnp.int32),
            jnp.zeros(n, jnp.int32),
            jnp.zeros(n),
            jnp.zeros(n, bool),
            jnp.zeros((n, layout.slots), jnp.int32),
        )
        return QTraining(
            weights,
            q_optimiser(learner).init(weights),
            begin_copies(layout, tables, words),
            rest,
            weights,
            kept,
            jnp.int32(0),
        )

    def outputs(self, weights: NetworkWeights, tables: StepTables, view: Array) -> dict[str, Array]:
        return {"q": head(weights, "q", trunk(weights, tables, view))}

    def q(self, weights: NetworkWeights, tables: StepTables, view: Array) -> Array:
        """q(view, .)."""
        return self.outputs(weights, tables, view)["q"]

    def improve_on(
        self, tables: StepTables, training: QTraining, key: Array
    ) -> tuple[NetworkWeights, Any]:
        """One step of Adam on a batch drawn from what is kept."""
        learner = self.learner
        held = jnp.minimum(training.moves * learner.environments, learner.capacity)
        places = jax.random.randint(key, (learner.batch,), 0, held)
        sample = jax.tree.map(lambda x: x[places], training.replay)
        y = target_values(
            self.q(training.weights, tables, sample.view_next),
            self.q(training.target, tables, sample.view_next),
            sample.r,
            sample.ended,
            self.gamma,
        )

        def loss_of(weights: NetworkWeights) -> Array:
            return td_loss(self.q(weights, tables, sample.view), sample.action, y)

        slope = jax.grad(loss_of)(training.weights)
        moves, optimiser = q_optimiser(learner).update(slope, training.optimiser)
        return optax.apply_updates(training.weights, moves), optimiser

    def update(self, tables: StepTables, training: QTraining) -> tuple[QTraining, Array, Array]:
        learner, layout, n = self.learner, self.layout, self.learner.environments
        key, own, sampled = jax.random.split(training.key, 3)
        words, chances = words_and_chances(own, n)
        copies = training.copies
        best = self.q(training.weights, tables, copies.view).argmax(axis=1).astype(jnp.int32)
        action = explore(chances, learner.epsilon, best, layout.actions)
        after, seen = step_copies(layout, tables, copies, action, words)
        at = (training.moves * n) % learner.capacity
        fresh = Replay(copies.view, action, seen.r, seen.ended, seen.view)
        replay = jax.tree.map(
            lambda kept, new: jax.lax.dynamic_update_slice_in_dim(kept, new, at, 0),
            training.replay,
            fresh,
        )
        training = training._replace(copies=after, key=key, replay=replay, moves=training.moves + 1)
        weights, optimiser = jax.lax.cond(
            training.moves * n > learner.learn_after,
            lambda: self.improve_on(tables, training, sampled),
            lambda: (training.weights, training.optimiser),
        )
        renewed = training.moves % learner.target_every == 0
        target = jax.tree.map(
            lambda new, old: jnp.where(renewed, new, old), weights, training.target
        )
        training = training._replace(weights=weights, optimiser=optimiser, target=target)
        return training, seen.r.sum(), (seen.ended | seen.cut).sum()
