"""Proposition A.2: how much memory of each family is enough, where the print fails, and what is
true instead."""

from __future__ import annotations

import itertools
from collections import Counter
from fractions import Fraction

import pytest
import reference_histories as reference
from hypothesis import assume, given
from hypothesis import strategies as st
from reference_expressive import separating_update
from strategies_beliefs import HALF, crisp, pointed
from toy_tasks import small_task

from workbench import POMDP, memories
from workbench.agents.beliefs import explore_beliefs, reachable_beliefs
from workbench.sufficiency.expressive import is_sufficiently_expressive
from workbench.sufficiency.update import verify_f


def push(m, o, a):
    return "push"


def bits(n: int) -> int:
    """ceil(log2 n)."""
    return max(n - 1, 0).bit_length()


def printed_bits(P: POMDP) -> int:
    """The k of Proposition A.2(1) as printed."""
    return sum(map(bits, (len(P.O), len(P.A), reachable_beliefs(P).u)))


def enough_bits(P: POMDP) -> int:
    """The same with a code for the start."""
    return bits(len(P.O) * len(P.A) * reachable_beliefs(P).u + 1)


# ---------------------------------------------------------------------- (1) B(k)


def four_states() -> POMDP:
    """Two observations, one action, four beliefs with each observation; the start and the eight
    beliefs go on in nine ways.

    Beliefs at x are (1, 0), (0, 1), (1/3, 2/3), (2/3, 1/3) over x1, x2, and the same at y. From x
    the belief stays as it is, whichever is seen next; from y it stays as it is if x is seen next,
    and turns round if y is. Start: 1/3 at x, 1 at y.
    """
    after = {"x1": ("x1", "y1"), "x2": ("x2", "y2"), "y1": ("x1", "y2"), "y2": ("x2", "y1")}
    return small_task(
        "four states",
        lambda s, a: {(s_next, 0): HALF for s_next in after[s]},
        {"x1": Fraction(1, 6), "x2": Fraction(1, 3), "y1": HALF},
        A=["go"],
        omega=lambda s: {s[0]: 1},
        gamma=HALF,
    )


def eight_states() -> POMDP:
    """Four observations, one action, two beliefs with each, all certain: the start and the eight
    states go on differently."""
    S = [(o, i) for o in range(4) for i in range(2)]
    ways = list(itertools.islice(itertools.product(range(2), repeat=4), 9))

    def spread(way):
        return {(o, i): Fraction(1, 4) for o, i in enumerate(way)}

    return small_task(
        "eight states",
        lambda s, a: {(t, 0): x for t, x in spread(ways[1 + S.index(s)]).items()},
        spread(ways[0]),
        A=["go"],
        omega=lambda s: {s[0]: 1},
        gamma=HALF,
    )


@pytest.mark.parametrize("task", [four_states, eight_states])
def test_the_printed_number_of_bits_is_not_always_enough(task):
    """Nine ways to go on, any two of which lead to different beliefs with one observation, and the
    bound gives 8 codes."""
    P = task()
    graph = reachable_beliefs(P)
    assert len(graph) == len(P.O) * len(P.A) * graph.u == 8
    assert printed_bits(P) == 3
    found = is_sufficiently_expressive(P, "B3")
    assert not found
    assert (found.memory_states, len(found.clique)) == (8, 9)
    check_ways_to_go_on(P, found.clique)
    assert enough_bits(P) == 4
    assert is_sufficiently_expressive(P, "B4")


def check_ways_to_go_on(P: POMDP, clique) -> None:
    """Any two members lead, under some observation, to different beliefs."""
    longest = max(len(H) for H in clique) // 2
    b = reference.beliefs(P, longest)
    for one, other in itertools.combinations(clique, 2):
        assert any((*one, o) in b and (*other, o) in b and b[*one, o] != b[*other, o] for o in P.O)


@pytest.mark.parametrize("task", [four_states, eight_states])
def test_z3_finds_that_three_bits_are_too_few_as_well(task):
    assert separating_update(task(), "B3") is None
    assert separating_update(task(), "B4") is not None


random_tasks = (
    pointed()
    | pointed(per_observation=3, actions=1)
    | pointed(per_observation=4, actions=1)
    | crisp()
)


@given(random_tasks)
def test_with_a_code_for_the_start_there_are_always_enough_bits(P):
    assume(0 < len(explore_beliefs(P, limit=40)) <= 40)
    k = enough_bits(P)
    assert printed_bits(P) <= k <= printed_bits(P) + 1
    assert k == 0 or is_sufficiently_expressive(P, memories.B(k))
    powers = all(n & (n - 1) == 0 for n in (len(P.O), len(P.A), reachable_beliefs(P).u))
    assert powers or k <= printed_bits(P)


@given(random_tasks)
def test_as_many_memory_states_as_choices_of_one_belief_for_each_observation_are_enough(P):
    """So the printed bound cannot fail with one observation, nor below eight beliefs."""
    graph = explore_beliefs(P, limit=40)
    assume(graph.complete and len(graph))
    choices = 1
    for count in Counter(graph.o).values():
        choices *= count
    k = (choices - 1).bit_length()
    assume(k <= 8)
    assert is_sufficiently_expressive(P, memories.B(k) if k else "none")
    if len(P.O) == 1 or len(graph) < 8:
        k = printed_bits(P)
        assert is_sufficiently_expressive(P, memories.B(k) if k else "none")


@st.composite
def deterministic_tasks(draw: st.DrawFn) -> POMDP:
    """Moves and observations are certain, the start is not."""
    S, A = range(draw(st.integers(2, 7))), ["l", "r"][: draw(st.integers(1, 2))]
    p = {(s, a): draw(st.sampled_from(S)) for s in S for a in A}
    omega = {s: draw(st.sampled_from("xy")) for s in S}
    weights = draw(st.lists(st.integers(1, 3), min_size=len(S), max_size=len(S)))
    return small_task(
        "certain",
        lambda s, a: {(p[s, a], 0): 1},
        {s: Fraction(w, sum(weights)) for s, w in zip(S, weights, strict=True)},
        A=A,
        omega=lambda s: {omega[s]: 1},
        gamma=HALF,
    )


@given(deterministic_tasks())
def test_the_printed_number_of_bits_is_enough_where_moves_and_observations_are_certain(P):
    """A counterexample needs |O||A|u + 1 ways to go on that all collide. With certain moves
    supports never grow, so along a cycle nothing is split and a way to go on speaks of one
    observation x only; all others then have to speak of x, and with a belief that no cycle at x
    holds; but the moves at x are all on cycles."""
    k = printed_bits(P)
    assert is_sufficiently_expressive(P, memories.B(k) if k else "none")


# ---------------------------------------------------------------------- (2) OA(k)


@given(pointed() | crisp(), st.integers(1, 3))
def test_pushing_always_fails_only_between_histories_with_the_same_last_k_pairs_and_all_of_them(
    P, k
):
    """OA(k) is expressive if the belief depends on the last k pairs and the current observation,
    whichever way histories shorter than that are read: their buffers still hold an empty cell, and
    with it the whole history."""
    clash = verify_f(P, memories.OA(k), push).collision
    if clash is not None:
        H1, H2 = clash.history_1, clash.history_2
        assert None not in clash.m
        assert min(len(H1), len(H2)) > 2 * k
        assert H1[-2 * k - 1 :] == H2[-2 * k - 1 :]


# ---------------------------------------------------------------------- (3) O(k) and K(k)


def depends_on_observations(P: POMDP, k: int, long_only: bool, actions: int = 5) -> bool:
    """Whether b(H) is determined by the current observation and the k before it (all there are, if
    fewer)."""
    known: dict = {}
    for H, b in reference.beliefs(P, actions).items():
        if long_only and len(H) // 2 < k:
            continue
        window = H[::2][-k - 1 :]
        if known.setdefault(window, b) != b:
            return False
    return True


def first_step_hidden() -> POMDP:
    """The first action is remembered by the state for one step; from the second step on everything
    is seen."""

    def p(s, a):
        return {(f"s{a}" if s == "start" else "z", 0): 1}

    return small_task(
        "first step hidden", p, "start", omega=lambda s: {"y" if s == "z" else "x": 1}, gamma=HALF
    )


def test_short_histories_break_proposition_a2_3_unless_they_are_meant_too():
    """From two earlier observations on the belief depends on these and the current one only, yet no
    O(k), K(k) is enough."""
    P = first_step_hidden()
    assert depends_on_observations(P, 2, long_only=True)
    assert not depends_on_observations(P, 2, long_only=False)
    for name in ("K2", "O2", "K3", "O3"):
        assert not is_sufficiently_expressive(P, name)
    assert is_sufficiently_expressive(P, "OA1")


@given(pointed(actions=1) | pointed() | crisp(), st.integers(1, 2), st.sampled_from(["K", "O"]))
def test_o_and_k_are_enough_if_beliefs_depend_on_the_last_k_and_current_observations(P, k, kind):
    """The current observation need not be among the k. Pushing always, K and O hold what the belief
    depends on."""
    clash = verify_f(P, f"{kind}{k}", push).collision
    if (
        clash is not None
    ):  # then the hypothesis fails: two histories with the same observations and different beliefs
        H1, H2 = clash.history_1[::2], clash.history_2[::2]
        assert H1[-k - 1 :] == H2[-k - 1 :]
        assert (len(H1) > k) == (len(H2) > k)
    else:
        assert depends_on_observations(P, k, long_only=False, actions=3)
        assert is_sufficiently_expressive(P, f"{kind}{k}")


def test_o_can_be_expressive_where_the_belief_depends_on_what_lies_further_back():
    """One observation at the start tells everything, and O(1) keeps it; K(k) forgets it. The
    condition is not necessary."""
    P = small_task(
        "lamp",
        lambda s, a: {((s[0], min(s[1] + 1, 4)), 0): 1},
        {("red", 0): HALF, ("green", 0): HALF},
        A=["go"],
        omega=lambda s: {s[0] if s[1] == 0 else "dark": 1},
        gamma=HALF,
    )
    Q = small_task(
        "short lamp",
        lambda s, a: {((s[0], 1), 0): 1},
        dict(P.mu),
        A=["go"],
        omega=P.omega.__call__,
        gamma=HALF,
    )
    assert is_sufficiently_expressive(Q, "O1")
    assert not is_sufficiently_expressive(Q, "K2")
    assert not depends_on_observations(Q, 2, long_only=False)
