"""Episodes that follow one another."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from toy_tasks import small_task

from tests.support.strategies import pomdps
from workbench import POMDP
from workbench.core.errors import WorkbenchError
from workbench.core.repetition import repeat_episodes

F = Fraction


def again(P: POMDP, s, a) -> dict:
    """p' by its formula."""
    total: dict = {}
    for (t, r), x in P.p(s, a).items():
        for u, y in P.mu.items() if t in P.terminal else [(t, 1)]:
            total[u, r] = total.get((u, r), 0) + x * y
    return total


@given(st.data())
def test_outcomes_that_end_lead_to_the_start(data):
    P = data.draw(pomdps())
    R = repeat_episodes(P)
    assert list(R.S) == [s for s in P.S if s not in P.terminal]
    assert not len(R.terminal)
    for s in R.S:
        assert R.omega(s) == P.omega(s)
        for a in P.A:
            assert R.p(s, a) == again(P, s, a)
            assert sum(R.p(s, a).values()) == 1
    assert dict(R.mu) == dict(P.mu)


def test_ends_that_lead_to_one_start_are_added_up_in_floats_too():
    P = small_task(
        "ends",
        lambda s, a: {("won", 1): 0.25, ("lost", 1): 0.25, ("s", 1): 0.5},
        "s",
        A=["go"],
        terminal={"won", "lost"},
    )
    assert repeat_episodes(P).p("s", "go") == {("s", 1.0): 1.0}


def test_a_task_that_goes_on_is_itself():
    P = small_task("on", lambda s, a: {("s", 1): 1}, "s", A=["go"], gamma=F(1, 2))
    assert repeat_episodes(P) is P


def test_episodes_that_take_no_time_are_refused():
    P = small_task(
        "at once", lambda s, a: {("end", 1): 1}, {"s": F(1, 2), "end": F(1, 2)}, A=["go"]
    )
    with pytest.raises(
        WorkbenchError, match="start in the terminal state end, and such an episode takes no time"
    ):
        repeat_episodes(P)
