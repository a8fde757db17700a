"""Learners at compiled speed: Section 5.1, Appendices D.1 and D.6.1.

`learn(P, learner, steps=..., seeds=...)` runs a learner on a POMDP, augmented or not, and returns a
`Run`:

| record | algorithm | kernel |
|---|---|---|
| `QLearning` | Q-learning | `learner_kernels` |
| `ExpectedSarsa` | Expected Sarsa | `learner_kernels` |
| `Sarsa`, `SoftSarsa` | true online Sarsa(lambda) | `learner_kernels` |
| `Prediction` | the same for a fixed policy | `learner_kernels` |
| `ActorCritic` | n-step actor-critic | `actor_kernels` |
| `NStepSarsa` | n-step Sarsa | `textbook_kernels` |
| `DoubleQLearning` | Double Q-learning | `textbook_kernels` |
| `MonteCarlo` | every-visit Monte Carlo control | `textbook_kernels` |
| `RLearning` | R-learning, for average reward | `textbook_kernels` |
| `SoftQLearning` | Q-learning that acts by a softmax | `textbook_kernels` |

Each kernel's module states the update and the order in which it draws its random words;
`sampling_kernels` states what is done with a word. A run is a function of (POMDP, record, steps,
seed) alone, to the last bit.

A learner of one's own is a subclass of `Learner` with a name, three functions for the loop of
`learner_kernels`, and a target if its table settles where one of the known ones does.
"""

# so that every learner is known by its name
from workbench.learning import actor_critic, textbook_learners

__all__ = ["actor_critic", "textbook_learners"]
