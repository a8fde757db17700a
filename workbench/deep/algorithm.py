"""The interface of an algorithm: start a run, make an update, ask the network.

Many updates are one call of a compiled loop, whose length is an argument: a block of a run, and the
shorter last one, run the same code.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import jax
import jax.numpy as jnp

from workbench.deep.networks import NetworkWeights
from workbench.deep.stepper import Array, Layout, StepTables


@dataclass(frozen=True)
class Algorithm:
    """A learner on a model of a certain layout."""

    learner: Any
    layout: Layout
    gamma: float

    heads: ClassVar[tuple[str, ...]] = ()
    """What the network says of a view; nothing, if what it says depends on more."""

    def start(self, tables: StepTables, key: Array) -> Any:
        """Start a run: the state from which updates go on."""
        raise NotImplementedError

    def update(self, tables: StepTables, training: Any) -> tuple[Any, Array, Array]:
        """Make one update. Return the run after it, and the rewards and episodes of its steps."""
        raise NotImplementedError

    def outputs(self, weights: NetworkWeights, tables: StepTables, view: Array) -> dict[str, Array]:
        """The outputs of the network for some views, by the names in `heads`."""
        raise NotImplementedError


@partial(jax.jit, static_argnums=0)
def start_run(algorithm: Algorithm, tables: StepTables, key: Array) -> Any:
    """Start a new run. It is compiled whole, since its few operations take longer one by one."""
    return algorithm.start(tables, key)


@partial(jax.jit, static_argnums=0)
def run_updates(
    algorithm: Algorithm, tables: StepTables, training: Any, count: int
) -> tuple[Any, Array, Array, Array]:
    """So many updates: the run after them, the rewards and episodes of their steps, and whether all
    weights are finite."""

    def one(_: int, carry: Any) -> Any:
        training, total, episodes = carry
        training, r, over = algorithm.update(tables, training)
        return training, total + r, episodes + over

    training, total, episodes = jax.lax.fori_loop(
        0, count, one, (training, jnp.float32(0), jnp.int32(0))
    )
    leaves = jax.tree.leaves(training.weights)
    finite = jnp.array([jnp.isfinite(leaf).all() for leaf in leaves]).all()
    return training, total, episodes, finite


@partial(jax.jit, static_argnums=0)
def network_outputs(
    algorithm: Algorithm, tables: StepTables, weights: NetworkWeights, view: Array
) -> dict[str, Array]:
    """The outputs of a network for some views."""
    return algorithm.outputs(weights, tables, view)
