"""The paper's memories, definition by definition, and memories of one's own."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import families, pomdps

from pomdps import gravity, recall
from workbench import Memory, memories
from workbench.core.errors import ModelError, TooLarge, UnknownLabel, WorkbenchError, WrongType
from workbench.memories import parse_memory


@given(pomdps(most_observations=3, most_actions=3), st.integers(1, 3))
def test_sizes_are_the_formulas_of_the_definitions(P, k):
    nO, nA = len(P.O), len(P.A)
    sizes = {
        memories.none: (1, 1),
        memories.B(k): (2**k, 2**k),
        memories.K(k): ((nO + 1) ** k, 1),
        memories.O(k): ((nO + 1) ** k, 2),
        memories.OA(k): ((nO * nA + 1) ** k, 2),
    }
    for family, (M, W) in sizes.items():
        memory = family.on(P)
        assert (len(memory.M), len(memory.W)) == (M, W)


@given(pomdps(), families(3), st.data())
def test_every_row_of_gamma_is_a_distribution_over_memory_states(P, family, data):
    memory = family.on(P)
    m = data.draw(st.sampled_from(list(memory.M)))
    w, o, a = (data.draw(st.sampled_from(list(x))) for x in (memory.W, P.O, P.A))
    row = memory.Gamma(m, w, o, a, 0, P.O[0])
    assert sum(row.values()) == 1
    assert all(m_next in memory.M for m_next in row)
    assert sum(memory.eta.values()) == 1


@given(pomdps(), st.integers(1, 3), st.data())
def test_k_is_o_that_always_writes_and_oa_without_actions_is_o(P, k, data):
    K, O, OA = (family(k).on(P) for family in (memories.K, memories.O, memories.OA))
    full = data.draw(st.sampled_from(list(OA.M)))
    forgotten = tuple(None if cell is None else cell[0] for cell in full)
    w = data.draw(st.sampled_from(["keep", "push"]))
    o, a = data.draw(st.sampled_from(list(P.O))), data.draw(st.sampled_from(list(P.A)))
    assert K.Gamma(forgotten, "push", o, a, 0, o) == O.Gamma(forgotten, "push", o, a, 0, o)
    (after_full,) = OA.Gamma(full, w, o, a, 0, o)
    (after,) = O.Gamma(forgotten, w, o, a, 0, o)
    assert after == tuple(None if cell is None else cell[0] for cell in after_full)


def test_a_buffer_pushes_the_current_observation_and_drops_the_oldest():
    P = gravity()
    O2 = memories.O(2).on(P)
    assert O2.eta == {(None, None): 1}
    assert O2.Gamma((None, None), "push", (0, 0), "right", 0, (1, 0)) == {(None, (0, 0)): 1}
    assert O2.Gamma(((0, 0), (1, 0)), "push", (2, 0), "right", 0, (3, 0)) == {((1, 0), (2, 0)): 1}
    assert O2.Gamma(((0, 0), (1, 0)), "keep", (2, 0), "right", 0, (3, 0)) == {((0, 0), (1, 0)): 1}
    OA1 = memories.OA(1).on(P)
    assert OA1.Gamma((None,), "push", (2, 0), "up", 1, (3, 0)) == {(((2, 0), "up"),): 1}


def test_a_binary_memory_becomes_what_is_written():
    B2 = memories.B(2).on(recall())
    assert list(B2.M) == list(B2.W) == ["00", "01", "10", "11"]
    assert B2.eta == {"00": 1}
    assert B2.Gamma("01", "10", "o", 1, 0, "o") == {"10": 1}


def test_none_is_an_ordinary_memory():
    none = memories.none.on(recall())
    assert (list(none.M), list(none.W)) == (["-"], ["-"])
    assert none.Gamma("-", "-", "o", 1, 0, "o") == {"-": 1}


@pytest.mark.parametrize("name", ["none", "B1", "K3", "O2", "OA2"])
def test_a_name_and_its_family_are_one(name):
    assert parse_memory(name).name == name
    assert repr(parse_memory(name)) == name


def test_writes_are_ordered_lower_first():
    assert list(memories.O(1).on(recall()).W) == ["keep", "push"]
    assert list(memories.K(1).on(recall()).W) == ["push"]


@pytest.mark.parametrize("name", ["OA", "A2", "O0", "B-1", "", "oa2", "O1.5", "B99999"])
def test_a_name_that_means_nothing_is_refused(name):
    with pytest.raises(WorkbenchError, match=r"memory|memory states"):
        parse_memory(name)


def test_bad_memories_are_refused_by_name():
    with pytest.raises(WrongType, match=r"not 1\.5"):
        memories.B(1.5)
    with pytest.raises(WorkbenchError, match="a size of at least 1, not 0"):
        memories.OA(0)
    with pytest.raises(TooLarge, match="take at most B24"):
        memories.B(60)
    with pytest.raises(TooLarge, match=r"OA20 on gravity has 101\^20 memory states"):
        memories.OA(20).on(gravity())
    with pytest.raises(WrongType, match="such as 'OA2'"):
        parse_memory(2)
    with pytest.raises(UnknownLabel, match="eta of mine: unknown label 2"):
        Memory("mine", M=[0, 1], W=["-"], Gamma=lambda *x: {0: 1}, eta={2: 1})
    with pytest.raises(ModelError, match="eta of mine sums to 1/2"):
        Memory("mine", M=[0, 1], W=["-"], Gamma=lambda *x: {0: 1}, eta={0: Fraction(1, 2)})
    with pytest.raises(ModelError, match="eta of mine has no memory states"):
        Memory("mine", M=[0, 1], W=["-"], Gamma=lambda *x: {0: 1}, eta={})
    with pytest.raises(WrongType, match="Gamma must be a function"):
        Memory("mine", M=[0, 1], W=["-"], Gamma={}, eta={0: 1})
    with pytest.raises(UnknownLabel, match="O1 has the writes keep, push, not write"):
        memories.O(1).on(recall()).Gamma((None,), "write", "o", 1, 0, "o")
