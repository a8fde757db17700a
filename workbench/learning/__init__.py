"""Learners at compiled speed: Section 5.1, Appendices D.1 and D.6.1.

`learn(P, learner, steps=..., seeds=...)` runs a learner on a POMDP, augmented or not, and returns a
`Run`:

| record | algorithm | kernel |
|---|---|---|
| `QLearning` | Q-learning | `value_kernels` |
| `DoubleQLearning` | Double Q-learning | `value_kernels` |
| `MonteCarlo` | every-visit Monte Carlo control | `value_kernels` |
| `RLearning` | R-learning, for average reward | `value_kernels` |
| `Sarsa` | true online Sarsa(lambda) | `sarsa_kernels` |
| `NStepSarsa` | n-step Sarsa | `window_kernels` |
| `Prediction` | the same for a fixed policy | `sarsa_kernels` |
| `ActorCritic` | n-step actor-critic with a sliding window | `actor_kernels` |

Each kernel's module states the update and the order in which it draws its random words;
`random_kernels` states what is done with a word. A run is a function of (POMDP, record, steps,
seed) alone, to the last bit.
"""
