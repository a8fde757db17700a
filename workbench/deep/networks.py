"""Feed-forward tanh networks of views, and the LSTM cell: Appendices D.2, D.3 and D.6.2.

    x_1     = tanh( sum_slot X_slot[symbol] W_slot + b )       the first layer, a look-up
    x_{i+1} = tanh( x_i W_i + b_i )
    outputs = x W + b                                          one head for each of them

X_slot holds the binary features of a slot's symbols (`features`), so X_slot W_slot is a small table
that is computed once for a whole batch, and each view only picks a row of it for each slot: the
same numbers as a layer on the long binary vector, for much less work. A batch smaller than the
table looks its features up instead.

NetworkWeights start orthogonal, as in OpenAI baselines: scaled by sqrt(2) in the trunk, 0.01 in the
head of the policy, 1 elsewhere; biases at 0.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import jax
import jax.numpy as jnp

from workbench.deep.stepper import Array, Layout, StepTables

NetworkWeights = dict[str, Any]
"""A tree of arrays."""


def orthogonal(key: Array, rows: int, columns: int, scale: float) -> Array:
    return jax.nn.initializers.orthogonal(scale)(key, (rows, columns), jnp.float32)


def start_network(
    key: Array, layout: Layout, hidden: tuple[int, ...], heads: dict[str, tuple[int, float]]
) -> NetworkWeights:
    """A new network.

    Parameters
    ----------
    heads : the number of outputs of each head, and the scale of its first weights.
    """
    first, *keys = jax.random.split(key, len(hidden) + len(heads))
    whole = orthogonal(first, sum(layout.widths), hidden[0], math.sqrt(2))
    bounds = [sum(layout.widths[:i]) for i in range(layout.slots + 1)]
    return {
        "slots": [whole[bounds[i] : bounds[i + 1]] for i in range(layout.slots)],
        "b": jnp.zeros(hidden[0]),
        "layers": [
            start_layer(keys[i], hidden[i], hidden[i + 1], math.sqrt(2))
            for i in range(len(hidden) - 1)
        ],
        "heads": {
            name: start_layer(k, hidden[-1], outputs, scale)
            for k, (name, (outputs, scale)) in zip(
                keys[len(hidden) - 1 :], heads.items(), strict=True
            )
        },
    }


def start_layer(key: Array, rows: int, columns: int, scale: float) -> NetworkWeights:
    return {"W": orthogonal(key, rows, columns, scale), "b": jnp.zeros(columns)}


def trunk(weights: NetworkWeights, tables: StepTables, view: Array) -> Array:
    """The last hidden layer, for views `[..., slot]`."""
    x = weights["b"]
    batch = math.prod(view.shape[:-1])
    for slot, (W, X) in enumerate(zip(weights["slots"], tables.features, strict=True)):
        seen = view[..., slot]
        if X is None:
            x = x + W[seen]
        elif batch < len(X):
            x = x + X[seen] @ W
        else:
            x = x + (X @ W)[seen]
    x = jnp.tanh(x)
    for layer in weights["layers"]:
        x = jnp.tanh(x @ layer["W"] + layer["b"])
    return x


def head(weights: NetworkWeights, name: str, x: Array) -> Array:
    layer = weights["heads"][name]
    return x @ layer["W"] + layer["b"]


def pick(rows: Array, action: Array) -> Array:
    """The entry of each row at its action."""
    return jnp.take_along_axis(rows, action[..., None], axis=-1)[..., 0]


def start_lstm(key: Array, inputs: int, cells: int) -> NetworkWeights:
    """A new LSTM cell: gates input, forget, output and candidate, side by side."""
    first, second = jax.random.split(key)
    return {
        "x": orthogonal(first, inputs, 4 * cells, 1.0),
        "h": orthogonal(second, cells, 4 * cells, 1.0),
        "b": jnp.zeros(4 * cells),
    }


def lstm_inputs(lstm: NetworkWeights, x: Array) -> Array:
    """The gates' share of the inputs: one product of matrices for a whole sequence."""
    return x @ lstm["x"] + lstm["b"]


def lstm_step(
    lstm: NetworkWeights, state: tuple[Array, Array], inputs: Array
) -> tuple[Array, Array]:
    """One step of an LSTM: c' = f c + i tanh(g), h' = o tanh(c'). The gates i, f, o are logistic in
    the inputs and h."""
    c, h = state
    i, f, o, g = jnp.split(inputs + h @ lstm["h"], 4, axis=-1)
    c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
    return c, jax.nn.sigmoid(o) * jnp.tanh(c)


def count_weights(
    widths: tuple[int, ...], hidden: tuple[int, ...], outputs: int, cells: int = 0
) -> int:
    """Count the weights of a network of these sizes."""
    sizes = (sum(widths), *hidden)
    dense = sum((n + 1) * m for n, m in pairwise(sizes))
    last = cells or hidden[-1]
    return dense + (hidden[-1] + cells + 1) * 4 * cells + (last + 1) * outputs
