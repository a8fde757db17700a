"""Learners by the names that the command line uses."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from workbench.core.learners import LEARNERS, Learner, OptionError
from workbench.core.words import did_you_mean

__all__ = ["LEARNERS", "learner_by_name", "one_step_learner"]


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


def one_step_learner(name: str, **settings: Any) -> Learner:
    """A learner by its name, with lambda 0 where it has one that is not given.

    >>> one_step_learner("sarsa").described
    'Sarsa(0)'
    """
    has_lam = name in LEARNERS and any(field.name == "lam" for field in fields(LEARNERS[name]))
    return learner_by_name(name, **({"lam": 0} if has_lam else {}) | settings)
