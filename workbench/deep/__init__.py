"""Neural learners on exact models: Section 6, Appendices D.2 to D.6 (extra `deep`: jax and optax).

`learn(E, PPO(...), steps=..., seeds=...)` runs a network on a POMDP, augmented or not, and returns
a `NeuralRun`, which is a `Run`: because the model is exact, the network is a table over (m, o) and
its value is computed, not estimated.

| record | algorithm | module |
|---|---|---|
| `PPO` | proximal policy optimisation, feed-forward | `ppo` |
| `RecurrentPPO` | the same with an LSTM, truncated back-propagation | `lstm` |
| `DDQN` | double deep Q-learning with replay | `ddqn` |

`stepper` steps many copies of a model at once inside `jax.jit`; `pair` holds a task and a memory
that are too many to multiply out; `closed_loop` follows a greedy network to every place that it
gets to, and so evaluates it exactly there as well.

The records (`settings`) need no jax; whatever trains does, and names the extra where it is missing.
"""
