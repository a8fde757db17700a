"""Appendix A.1: the compiled product is the environment with its memory."""

import sys
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import augmented, same_model
from strategies import families, policies, pomdps, strange_memories

from pomdps import gravity, recall, recall4
from workbench import Memory, Policy, augment, evaluate, memories, uniform
from workbench.agents.simulate import alone, pair, sequences
from workbench.core.errors import ModelError, UnknownLabel, WrongType
from workbench.core.linear_kernels import strong_components
from workbench.core.rows import merge_rows, own_rows
from workbench.core.space import Subset

any_memory = st.one_of(families(), strange_memories())


@given(pomdps(), any_memory)
def test_the_product_is_the_one_of_appendix_a1(P, memory):
    fast, slow = augment(P, memory), augmented(P, memory)
    assert same_model(fast, slow)
    assert list(fast.S) == list(slow.S)  # discovery order too
    assert list(fast.O) == list(slow.O)


def test_a_rule_in_indices_starts_where_its_memory_does():
    P = recall4()
    bits = memories.B(1).on(P)
    eta = {"0": Fraction(1, 3), "1": Fraction(2, 3)}
    late = Memory("late", bits.M, bits.W, bits.Gamma, eta, step=bits.step)
    assert late.step is not None
    assert same_model(augment(P, late), augmented(P, late))
    alone = Memory("late", bits.M, bits.W, bits.Gamma, {"1": 1}, step=bits.step)
    assert same_model(augment(P, alone), augmented(P, alone))


@settings(max_examples=25)
@given(pomdps(most_states=3), any_memory, st.data())
def test_agent_cannot_tell_the_product_from_the_pair(P, memory, data):
    """A1.equivalent: the same distribution over observations, actions and rewards, up to a horizon,
    exactly."""
    E = augment(P, memory)
    pi = data.draw(policies(E))
    assert sequences(alone(E), pi, 3) == sequences(pair(P, memory), pi, 3)


@given(pomdps(), families(), st.data())
def test_a_policy_that_ignores_its_memory_is_worth_what_it_is_worth_without_one(P, family, data):
    pi = data.draw(policies(P))
    E = augment(P, family)
    w = E.A[-1][1]
    ignoring = Policy.from_mapping(
        E, {(m, o): {(a, w): x for a, x in pi.row(o).items()} for m, o in E.O}
    )
    assert evaluate(E, ignoring, exact=True).value == evaluate(P, pi, exact=True).value


@given(pomdps())
def test_no_memory_changes_nothing_but_labels(P):
    E = augment(P, memories.none)
    assert len(E.A) == len(P.A)
    assert evaluate(E, uniform(E), exact=True).value == evaluate(P, uniform(P), exact=True).value


@given(pomdps(most_states=3), families(1), families(1))
def test_an_augmented_pomdp_can_be_augmented_again(P, one, other):
    twice = augment(augment(P, one), other)
    assert same_model(twice, augmented(augmented(P, one), other).relabel(name="x"))
    assert twice.is_exact


def test_exact_parts_make_an_exact_product_and_floats_do_not():
    assert augment(gravity(), "OA1").is_exact
    assert not augment(gravity(gamma=0.95), "OA1").is_exact
    noisy = Memory("noisy", [0, 1], ["-"], lambda *x: {0: 0.5, 1: 0.5}, {0: 1})
    assert not augment(recall(), noisy).is_exact


@pytest.mark.parametrize(
    ("memory", "states", "terminal", "observations"),
    [
        # 48 states that are not terminal times the buffers that can occur
        ("none", 48, 2, 25),
        ("O1", 48 * 25, 50, 625),
        ("O2", 48 * (1 + 24 + 24**2), 1_202, 15_025),
        ("OA1", 48 * (1 + 95), 194, 2_401),  # pushing ((1, 4), left) always ends the episode
        ("B4", 48 * 16, 32, 400),
    ],
)
def test_sizes_of_gravity_with_a_memory(memory, states, terminal, observations):
    E = augment(gravity(), memory)
    assert (len(E.S) - len(E.terminal), len(E.terminal), len(E.O)) == (
        states,
        terminal,
        observations,
    )


def test_a_large_product_holds_places_and_no_labels():
    E = augment(gravity(), "O2")
    assert isinstance(E.S, Subset)
    assert isinstance(E.O, Subset)
    s, m, o = E.S[12_345]
    assert E.S.index((s, m, o)) == 12_345
    assert E.p.prob.codes.dtype == np.uint8


def test_a_memory_may_read_rewards_and_the_next_observation():
    counts = Memory(
        "wins",
        M=[0, 1, 2],
        W=["-"],
        Gamma=lambda m, w, o, a, r, o_next: {min(2, m + (r > 0)): 1},
        eta={0: 1},
    )
    E = augment(recall4(), counts)
    assert {m for _, m, _ in E.S} == {0, 1}
    assert {m for s, m, _ in E.S if s != "end"} == {0}


def test_bad_arguments_are_refused_by_name():
    P = recall()
    with pytest.raises(WrongType, match="augment needs a POMDP"):
        augment("recall", "B1")
    with pytest.raises(WrongType, match="not 3"):
        augment(P, 3)
    lossy = Memory("lossy", [0, 1], ["-"], lambda *x: {0: Fraction(1, 2)}, {0: 1})
    with pytest.raises(
        ModelError, match=r"Gamma\(\. \| m=0, w=-, o=o, a=1, r=0, o_next=o\) of lossy sums to 1/2"
    ):
        augment(P, lossy)
    lost = Memory("lost", [0, 1], ["-"], lambda *x: {2: 1}, {0: 1})
    with pytest.raises(UnknownLabel, match="of lost: unknown label 2"):
        augment(P, lost)
    rude = Memory("rude", [0, 1], ["-"], lambda *x: 1, {0: 1})
    with pytest.raises(WrongType, match="of rude must be a distribution"):
        augment(P, rude)


def test_an_error_inside_gamma_names_its_arguments():
    def Gamma(m, w, o, a, r, o_next):
        return {m + "x": 1}

    broken = Memory("broken", M=[0], W=["-"], Gamma=Gamma, eta={0: 1})
    with pytest.raises(
        ModelError,
        match=r"Gamma\(. \| m=0, w=-, o=o, a=1, r=0, o_next=o\) of broken raised TypeErr",
    ):
        augment(recall(), broken)


def test_the_walk_that_hashes_codes_is_the_walk_with_a_slot_for_each(monkeypatch):
    P = gravity()
    dense = augment(P, "O1")
    monkeypatch.setattr(sys.modules["workbench.core.augment"], "_MOST_SLOTS", 0)
    monkeypatch.setattr(sys.modules["workbench.core.augment"], "_PIECE", 7)
    hashed = augment(P, "O1")
    assert np.array_equal(dense.S.places, hashed.S.places)
    assert np.array_equal(dense.p.s_next, hashed.p.s_next)


@given(pomdps())
def test_a_component_has_a_larger_number_than_those_it_leads_to(P):
    """Exact systems are solved in that order; scipy keeps it without saying so."""
    row_ptr = merge_rows(P.p.row_ptr, len(P.A))
    count, component = strong_components(row_ptr, P.p.s_next)
    assert (component[own_rows(row_ptr)] >= component[P.p.s_next]).all()
    assert count == len(set(component.tolist()))
