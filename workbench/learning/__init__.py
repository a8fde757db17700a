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
| `MonteCarlo` | every-visit Monte Carlo control | `textbook_kernels` |
| `RLearning` | R-learning, for average reward | `textbook_kernels` |
| `SoftQLearning` | Q-learning that acts by a softmax | `textbook_kernels` |

Each kernel's module states the update and the order in which it draws its random words;
`sampling_kernels` states what is done with a word. A run is a function of (POMDP, record, steps,
seed) alone, to the last bit.

A learner of one's own is a subclass of `Learner` with a name, three functions for the loop of
`learner_kernels`, and a target if its table settles where one of the known ones does.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from workbench.core.learners import LEARNERS, Learner, OptionError

# Imported so that LEARNERS holds every learner, for `learner_by_name`.
from workbench.learning import actor_critic, textbook_learners
from workbench.text import did_you_mean

__all__ = ["LEARNERS", "actor_critic", "learner_by_name", "textbook_learners"]


def learner_by_name(name: str, **settings: Any) -> Learner:
    """A learner by its name on the command line, with some settings changed.

    >>> learner_by_name("sarsa", lam=0)
    Sarsa(lam=0, epsilon=0.01, step=0.1, gamma=None, initial=1.0, max_episode_steps=None,
    trace_cutoff=1e-08)
    """
    if name not in LEARNERS:
        meant = did_you_mean(name, LEARNERS)
        raise OptionError(f"unknown learner {name!r}{meant}: choose one of {', '.join(LEARNERS)}")
    kind = LEARNERS[name]
    known = [field.name for field in fields(kind)]
    for setting in settings:
        if setting not in known:
            raise OptionError(f"{name} has no setting {setting!r}; it has {', '.join(known)}")
    return kind(**settings)
