"""Proximal policy optimisation on many copies of a model: Section 6, Appendices D.2 and D.3.

An update lets every copy take n steps with pi(a|view) = softmax of the network's head, computes
advantages A (`advantage`) and returns G = A + v, and improves, in minibatches,

    L = - E[ min( rho A, clip(rho, 1 - c, 1 + c) A ) ]             rho = pi(a|view) / pi_old(a|view)
        + value_weight 1/2 E[ max( (v - G)^2, (v_clipped - G)^2 ) ]     v_clipped within c of v_old
        - entropy E[ H(pi) ]

with A normalised in each minibatch, gradients cut by their norm, and Adam.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

from workbench.deep.advantage import advantages
from workbench.deep.algorithm import Algorithm
from workbench.deep.networks import NetworkWeights, head, pick, start_network, trunk
from workbench.deep.settings import PPO
from workbench.deep.stepper import (
    Array,
    ModelCopies,
    StepTables,
    begin_copies,
    choose_actions,
    step_copies,
    words_and_chances,
)


class Experience(NamedTuple):
    """The experience of an update, `[t, copy]` or `[sample]`."""

    view: Array
    action: Array
    log_pi: Array
    v: Array
    A: Array


class PPOTraining(NamedTuple):
    """The state from which a run goes on."""

    weights: NetworkWeights
    optimiser: Any
    copies: ModelCopies
    key: Array


def clipped_adam(learner: PPO) -> Any:
    """Adam on gradients that are cut by their norm."""
    return optax.chain(
        optax.clip_by_global_norm(learner.max_gradient),
        optax.adam(learner.learning_rate, eps=1e-5),
    )


def policy_and_value(weights: NetworkWeights, x: Array) -> tuple[Array, Array]:
    """log pi and v, from the last layer before the heads."""
    return jax.nn.log_softmax(head(weights, "h", x)), head(weights, "v", x)[..., 0]


def surrogate(log_pi: Array, log_pi_old: Array, A: Array, clip: float) -> Array:
    """The objective of PPO: E[ min( rho A, clip(rho) A ) ]."""
    rho = jnp.exp(log_pi - log_pi_old)
    return jnp.minimum(rho * A, jnp.clip(rho, 1 - clip, 1 + clip) * A).mean()


def value_error(v: Array, v_old: Array, G: Array, clip: float) -> Array:
    """1/2 E[ max( (v - G)^2, (v_clipped - G)^2 ) ]."""
    clipped = v_old + jnp.clip(v - v_old, -clip, clip)
    return 0.5 * jnp.maximum((v - G) ** 2, (clipped - G) ** 2).mean()


def ppo_loss(learner: PPO, log_pis: Array, v: Array, taken: Experience) -> Array:
    """L, from log pi(. | view) and v(view) of what was seen."""
    log_pi = pick(log_pis, taken.action)
    A = (taken.A - taken.A.mean()) / (taken.A.std() + 1e-8)
    entropy = -(jnp.exp(log_pis) * log_pis).sum(axis=-1).mean()
    return (
        -surrogate(log_pi, taken.log_pi, A, learner.clip)
        + learner.value_weight * value_error(v, taken.v, taken.A + taken.v, learner.clip)
        - learner.entropy * entropy
    )


def descend(
    learner: PPO, carry: tuple[NetworkWeights, Any], loss_of: Callable[..., Array], dealt: Any
) -> tuple[NetworkWeights, Any]:
    """A step of Adam for each of the minibatches that `dealt` holds along its first axis."""
    rule = clipped_adam(learner)

    def one(carry: Any, minibatch: Any) -> tuple[Any, None]:
        weights, optimiser = carry
        slope = jax.grad(loss_of)(weights, minibatch)
        moves, optimiser = rule.update(slope, optimiser)
        return (optax.apply_updates(weights, moves), optimiser), None

    found: tuple[NetworkWeights, Any] = jax.lax.scan(one, carry, dealt)[0]
    return found


class FeedForward(Algorithm):
    """PPO whose network sees the view alone."""

    heads = ("h", "v")

    def start(self, tables: StepTables, key: Array) -> PPOTraining:
        own, first, rest = jax.random.split(key, 3)
        heads = {"h": (self.layout.actions, 0.01), "v": (1, self.learner.value_start)}
        weights = start_network(own, self.layout, self.learner.hidden, heads)
        words = jax.random.bits(first, (self.learner.environments,), jnp.uint32)
        copies = begin_copies(self.layout, tables, words)
        return PPOTraining(weights, clipped_adam(self.learner).init(weights), copies, rest)

    def outputs(self, weights: NetworkWeights, tables: StepTables, view: Array) -> dict[str, Array]:
        x = trunk(weights, tables, view)
        return {"h": head(weights, "h", x), "v": head(weights, "v", x)[..., 0]}

    def look(self, weights: NetworkWeights, tables: StepTables, view: Array) -> tuple[Array, Array]:
        """log pi(. | view) and v(view)."""
        return policy_and_value(weights, trunk(weights, tables, view))

    def collect(
        self, tables: StepTables, training: PPOTraining, key: Array
    ) -> tuple[ModelCopies, Experience, Array, Array]:
        """n steps of every copy: where they are then, what was seen, the rewards, and which
        episodes were over."""
        learner, weights = self.learner, training.weights
        words, chances = words_and_chances(key, learner.n, learner.environments)

        def one(copies: ModelCopies, random: tuple[Array, Array]) -> tuple[ModelCopies, Any]:
            log_pis, v = self.look(weights, tables, copies.view)
            action = choose_actions(jnp.exp(log_pis), random[1])
            after, seen = step_copies(self.layout, tables, copies, action, random[0])
            gained = seen.r
            if learner.max_episode_steps is not None:
                left = self.gamma * self.look(weights, tables, seen.view)[1]
                gained = gained + jnp.where(seen.cut, left, 0.0)
            kept = (copies.view, action, pick(log_pis, action), v)
            return after, (kept, gained, seen.r, seen.ended | seen.cut)

        copies, (kept, gained, r, over) = jax.lax.scan(one, training.copies, (words, chances))
        view, action, log_pi, v = kept
        v_last = self.look(weights, tables, copies.view)[1]
        A = advantages(gained, v, over, v_last, self.gamma, learner.lam)
        return copies, Experience(view, action, log_pi, v, A), r, over

    def update(self, tables: StepTables, training: PPOTraining) -> tuple[PPOTraining, Array, Array]:
        learner = self.learner
        key, own, deal = jax.random.split(training.key, 3)
        copies, taken, r, over = self.collect(tables, training, own)
        flat = jax.tree.map(lambda x: x.reshape(learner.quantum, *x.shape[2:]), taken)

        def loss_of(weights: NetworkWeights, samples: Experience) -> Array:
            return ppo_loss(learner, *self.look(weights, tables, samples.view), samples)

        def epoch(carry: Any, key: Array) -> tuple[Any, None]:
            order = jax.random.permutation(key, learner.quantum)
            shape = (learner.minibatches, learner.per_minibatch)
            dealt = jax.tree.map(lambda x: x[order].reshape(*shape, *x.shape[1:]), flat)
            return descend(learner, carry, loss_of, dealt), None

        (weights, optimiser), _ = jax.lax.scan(
            epoch, (training.weights, training.optimiser), jax.random.split(deal, learner.epochs)
        )
        return PPOTraining(weights, optimiser, copies, key), r.sum(), over.sum()
