"""Runs are what they were: digests of rewards, episodes, policies and tables, kept in a file.

Each line of `tests/data/learner_runs.txt` is a task, a memory, a learner and the digest of its run,
made when each kernel was a loop of its own.
"""

from pathlib import Path

import pytest

import pomdps
from workbench import augment, uniform
from workbench.cli.self_test_command import run_digest
from workbench.core import learners
from workbench.core.steps import decreasing, per_visit
from workbench.learning import actor_critic, textbook_learners
from workbench.learning.learn import learn

LINES = (Path(__file__).parent.parent / "data" / "learner_runs.txt").read_text().splitlines()
CELLS = [line.split("|") for line in LINES]


@pytest.mark.parametrize(("task", "memory"), sorted({(task, memory) for task, memory, *_ in CELLS}))
def test_runs_are_the_same_to_the_last_bit_as_they_were(task, memory):
    E = augment(getattr(pomdps, task)(), memory)
    names = {**vars(learners), **vars(actor_critic), **vars(textbook_learners)}
    names |= {"uniform": uniform, "E": E}
    names |= {"decreasing": decreasing, "per_visit": per_visit}
    for learner, was in [(text, was) for *where, text, was in CELLS if where == [task, memory]]:
        run = learn(E, eval(learner, names), steps=20_011, seeds=[3, 2**60], every=997)
        assert run_digest(run) == was, learner
