"""Agent states: memories whose states are discovered, families of the literature, and products."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from strategies import families, pomdps

from pomdps import recall, recall4, t_maze, tiger
from workbench import Memory, augment, best_history, best_memoryless, evaluate, memories, uniform
from workbench.agents.beliefs import belief
from workbench.agents.simulate import alone, pair, sequences
from workbench.agents.step_limit import with_step_limit
from workbench.core.errors import NotExact, TooLarge, WorkbenchError, WrongType

F = Fraction


def law(P, memory, steps=3):
    E = augment(P, memory)
    return sequences(alone(E), uniform(E), steps)


@given(pomdps(), families())
@settings(max_examples=12)
def test_a_discovered_memory_is_the_listed_one_where_one_can_get(P, family):
    listed = family.on(P)
    found = Memory.discovered("found", listed.W, listed.Gamma, listed.eta)
    assert set(found.on(P).M) <= set(listed.M)
    E, D = augment(P, family), augment(P, found)
    assert {m for m, _ in E.O} == set(found.on(P).M)
    assert [set(x) for x in (E.S, E.O)] == [set(x) for x in (D.S, D.O)]
    assert sequences(alone(E), uniform(E), 2) == sequences(alone(D), uniform(D), 2)


@given(pomdps(), families(), families())
@settings(max_examples=8)
def test_a_product_of_memories_runs_both(P, one, two):
    E = augment(P, one * two)
    process = pair(P, one * two)
    assert sequences(alone(E), uniform(E), 2) == sequences(process, uniform(E), 2)
    for (m, n), _ in E.O:
        assert m in one.on(P).M
        assert n in two.on(P).M


def test_a_memory_that_does_not_close_is_refused_by_name():
    count = Memory.discovered("count", ["-"], lambda m, *_: {m + 1: 1}, {0: 1}, limit=50)
    with pytest.raises(TooLarge) as found:
        augment(tiger(), count)
    assert str(found.value) == (
        "the memory count does not close on tiger: more than 50 memory states, which is its limit, "
        "the last one 50: give a larger limit if it is finite"
    )
    with pytest.raises(
        TooLarge, match=r"trace1/2 does not close on tiger.*round it, such as trace1/2@2"
    ):
        augment(tiger(), memories.trace(F(1, 2), limit=200))
    assert len(augment(tiger(), memories.trace(F(1, 2), precision=1)).O) < 200


def test_what_an_open_ended_belief_holds_is_not_written_out():
    """Its fractions have thousands of digits at the default limit."""
    with pytest.raises(TooLarge, match=r"…: keep the first few alone, such as belief3$") as found:
        augment(tiger(), memories.belief(limit=200))
    assert len(str(found.value)) < 300
    digits = Memory.discovered("digits", ["-"], lambda m, *_: {m * 10**900: 1}, {1: 1}, limit=6)
    with pytest.raises(TooLarge, match=r"the last one of very long numbers \(int\)"):
        augment(tiger(), digits)


@pytest.mark.parametrize("limit", [0, True, 1.5])
def test_a_limit_is_a_positive_integer(limit):
    with pytest.raises(WrongType, match=f"the limit of count is a positive integer, not {limit}"):
        Memory.discovered("count", ["-"], lambda m, *_: {m: 1}, {0: 1}, limit=limit)


def test_a_discovered_memory_asks_its_gamma_once_for_each_argument():
    asked = []

    def Gamma(*given):
        asked.append(given)
        return {given[0]: 1}

    augment(recall4(), Memory.discovered("still", ["-"], Gamma, {0: 1}))
    assert len(asked) == len(set(asked))


@pytest.mark.parametrize(
    ("name", "states", "writes"),
    [
        ("clock3", 3, 1),
        ("counter4", 4, 1),
        ("F3", 3, 3),
        ("window1", 5, 1),
        ("clock2*B1", 4, 2),
        ("belief2", 9, 1),
    ],
)
def test_families_by_name(name, states, writes):
    memory = memories.parse_memory(name).on(recall4())
    assert (memory.name, len(memory.M), len(memory.W)) == (name, states, writes)


def test_b_and_f_are_the_same_controllers_where_sizes_agree():
    P = recall4()
    for k in (1, 2):
        values = [
            evaluate(augment(P, m), uniform(augment(P, m)), exact=True).value
            for m in (memories.B(k), memories.F(2**k))
        ]
        assert values[0] == values[1]
        assert best_memoryless(augment(P, memories.F(2**k)), exact=True).value == 1


def test_three_nodes_are_enough_for_recall_where_two_are_not():
    values = {
        m: best_memoryless(augment(recall(gamma=1), m), exact=True).value
        for m in ("F2", "F3", "B2")
    }
    assert values == {"F2": 0, "F3": 1, "B2": 1}


def test_a_clock_makes_policies_periodic():
    E = augment(recall4(), "clock2")
    assert best_memoryless(E, exact=True).value == 1
    assert best_memoryless(augment(recall4(), "none"), exact=True).value < 1


def test_a_window_is_oa_that_always_pushes():
    P = recall4()
    window, OA = augment(P, "window1"), memories.OA(1).on(P)
    forced = Memory("forced", OA.M, ["push"], OA.Gamma, OA.eta)
    assert law(P, "window1") == law(P, forced)
    assert {w for _, w in window.A} == {"push"}


def test_a_trace_is_what_its_recursion_says():
    P, lam = with_step_limit(t_maze(2), 4), F(2, 3)
    memory = memories.trace(lam).on(P)
    z = memory.M[0]
    assert z == (0,) * len(P.O)
    for o in (P.O[0], P.O[2], P.O[2]):
        (z,) = memory.Gamma(z, "-", o, P.A[0], 0, P.O[1])
    assert z[0] == lam**2 * (1 - lam)
    assert z[2] == (1 - lam) + lam * (1 - lam)
    values = {m: best_memoryless(augment(P, m), exact=True).value for m in ("none", "trace2/3")}
    assert values["none"] < values["trace2/3"] == best_history(P).value


def test_a_belief_memory_with_the_observation_is_the_belief():
    P = t_maze(3)
    memory = memories.belief().on(P)
    m, history = memory.M[0], []
    assert dict(m) == {s: x for s, x in P.mu.items() if x}
    for o, a in ((next(iter(P.omega(next(iter(P.mu))))), P.A[0]),):
        history += [o, a]
        (m,) = memory.Gamma(m, "-", o, a, 0, None)
    o_next = next(o for o in P.O if any(P.omega(s).get(o, 0) for s in m))
    seen = {s: x * P.omega(s).get(o_next, 0) for s, x in m.items()}
    total = sum(seen.values())
    assert {s: x / total for s, x in seen.items() if x} == dict(belief(P, (*history, o_next)))


@pytest.mark.parametrize("P", [t_maze(3), recall4(), recall(gamma=F(19, 20))], ids=lambda P: P.name)
def test_with_beliefs_memoryless_policies_are_as_good_as_histories(P):
    E = augment(P, memories.belief())
    assert best_memoryless(E, exact=True).value == best_history(P).value


def test_a_belief_of_some_depth_closes_where_beliefs_do_not():
    with pytest.raises(TooLarge, match="belief does not close on tiger: more than 100 "):
        augment(tiger(), memories.belief(limit=100))
    E = augment(tiger(), memories.belief(2, limit=100))
    assert {t for (t, _), _ in E.O} == {0, 1, 2}
    P = tiger(hears=0.85)
    with pytest.raises(NotExact):
        augment(P, "belief")


def test_a_reward_machine_reads_events():
    P = recall4()
    machine = memories.reward_machine(
        {("start", 0): "zero"}, lambda o, a, r, o_next: a, "start", name="was it zero"
    )
    E = augment(P, machine)
    assert {m for m, _ in E.O} == {"start", "zero"}
    assert best_memoryless(E, exact=True).value == 1


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: memories.clock(0), "at least 1, not 0"),
        (lambda: memories.clock(True), "positive integer, not True"),
        (lambda: memories.trace(1), r"lies in \[0, 1\), not 1"),
        (lambda: memories.trace(F(1, 2), precision=0), "at least one decimal"),
        (lambda: memories.function(3), "not 3"),
        (lambda: memories.parse_memory("clock"), "unknown memory 'clock'"),
        (lambda: memories.parse_memory("clock2*"), "unknown memory ''"),
    ],
)
def test_wrong_sizes_are_refused(make, message):
    with pytest.raises((WorkbenchError, WrongType), match=message):
        make()
