"""A family of one's own, a stack with pop, goes wherever the paper's go."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from reference import augmented, same_model
from strategies import pomdps

from pomdps import recall4, tiger
from workbench import (
    Memory,
    QLearning,
    augment,
    evaluate,
    improve,
    learn,
    memories,
    uniform,
)
from workbench.core.errors import WorkbenchError
from workbench.core.families import FAMILIES, About, BufferFamily, Family, register
from workbench.core.space import Space
from workbench.explorer.export import export_model

gymnasium = pytest.importorskip("gymnasium")


@pytest.fixture(autouse=True, scope="module")
def families():
    """Two families for this module: a buffer, and a rule of which only labels are told."""

    @register
    class Stack(BufferFamily):
        kind = "stack"
        writes = ("keep", "pop", "push")
        about = About("stack(k)", "", "(O + empty)^k", "keep, pop, push", "pop drops the newest")

        def rearrange(self, m, w, entry):
            return (None, *m[:-1]) if w == "pop" else super().rearrange(m, w, entry)

    @register
    class Parity(Family):
        kind = "parity"
        about = About("parity(k)", "", "{0, ..., k-1}", "still, add", "adds the place of o")

        def states(self, O, A):
            self.__dict__["O"] = O
            return Space(range(self.k))

        def list_writes(self):
            return Space(["still", "add"])

        @property
        def start(self):
            return 0

        def update(self, m, w, o, a):
            return (m + self.__dict__["O"].index(o) + 1) % self.k if w == "add" else m

    yield
    FAMILIES.pop("stack")
    FAMILIES.pop("parity")


NAMES = ("stack1", "stack2", "parity3", "clock2*stack1", "stack1*B1")


def slow(P, name):
    """The same memory as a Python function, which the walk asks."""
    m = memories.parse_memory(name).on(P)
    return Memory(m.name, m.M, m.W, m.Gamma, m.eta)


@settings(max_examples=30)
@given(pomdps())
def test_the_walk_of_a_rule_is_the_walk_that_asks_gamma(P):
    for name in NAMES:
        fast, asked = augment(P, name), augment(P, slow(P, name))
        assert fast.origin.memory.step is not None
        assert asked.origin.memory.step is None
        assert same_model(fast, asked)
        assert same_model(fast, augmented(P, slow(P, name)))
        assert list(fast.S) == list(asked.S)
        assert list(fast.O) == list(asked.O)


@pytest.mark.parametrize("name", NAMES)
def test_values_loop_learner_and_export_agree_with_the_slow_walk(name):
    fast, asked = augment(recall4(), name), augment(recall4(), slow(recall4(), name))
    values = [evaluate(E, uniform(E), exact=True).q.array.tolist() for E in (fast, asked)]
    assert values[0] == values[1]
    runs = [improve(E, uniform(E), step=0.1) for E in (fast, asked)]
    assert (runs[0].value, runs[0].ended) == (runs[1].value, runs[1].ended)
    learned = [learn(E, QLearning(), seeds=2, steps=2_000) for E in (fast, asked)]
    assert np.array_equal(learned[0].rewards, learned[1].rewards)
    assert json.dumps(export_model(fast)) == json.dumps(export_model(asked))


def test_around_an_environment_a_stack_holds_what_its_rule_says():
    from workbench import MemoryWrapper

    env = MemoryWrapper(gymnasium.make("FrozenLake-v1", is_slippery=False), "stack2")
    seen, _ = env.reset(seed=0)
    assert seen["memory"] == ((0, 0), (0, 0))
    family, label, o = env.family, env.family.start, seen["observation"]
    for a, w in ((2, 2), (2, 2), (1, 0), (0, 1), (0, 2), (2, 1), (2, 1)):
        label = family.update(label, family.writes[w], o, a)
        seen, *_ = env.step({"action": a, "write": w})
        o = seen["observation"]
        assert seen["memory"] == tuple((0, 0) if x is None else (1, x) for x in label)
        assert seen in env.observation_space
    assert label == (None, None)


def test_a_misspelt_name_is_told_the_nearest_of_one_s_own_too():
    with pytest.raises(WorkbenchError, match=r"unknown memory 'stak2' \(did you mean stack2\?\)"):
        augment(tiger(), "stak2")
    with pytest.raises(WorkbenchError, match="there is a family 'stack' already"):
        register(FAMILIES["stack"])


def test_a_proposed_name_is_one_of_a_memory():
    for name, told in (("non5", r" \(did you mean none\?\)"), ("Ob 3", r" \(did you mean O3\?\)")):
        with pytest.raises(WorkbenchError, match=f"unknown memory '{name}'{told}"):
            augment(tiger(), name)
    with pytest.raises(WorkbenchError) as told_nothing:
        augment(tiger(), "Ok0")  # there is no O0
    assert "did you mean" not in str(told_nothing.value)
