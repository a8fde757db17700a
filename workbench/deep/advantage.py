"""Generalised advantage estimation (Schulman et al. 2016).

    delta_t = r_t + gamma v_{t+1} - v_t                   v_{t+1} = 0 after the end
    A_t     = delta_t + gamma lam A_{t+1}                 A_{t+1} = 0 after the end, or a cut

An episode that was cut off goes on from the value of what was seen last, which `step`'s caller adds
to the reward; here a cut is an end.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp

from workbench.deep.stepper import Array


def advantages(r: Array, v: Array, over: Array, v_last: Array, gamma: float, lam: float) -> Array:
    """A_t, for arrays `[t, copy]`.

    Parameters
    ----------
    over : whether the episode ended, or was cut off, at step t.
    v_last : `v_last[copy]`, the value of what is seen after the last step.
    """
    goes_on = 1.0 - over

    def back(
        carry: tuple[Array, Array], at: tuple[Array, Array, Array]
    ) -> tuple[tuple[Array, Array], Array]:
        A, v_next = carry
        r, v, on = at
        A = r + gamma * on * v_next - v + gamma * lam * on * A
        return (A, v), A

    _, found = jax.lax.scan(back, (jnp.zeros_like(v_last), v_last), (r, v, goes_on), reverse=True)
    return found
