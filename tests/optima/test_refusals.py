"""What has no best policy, or is too large for one to be certified, is refused or said by name,
with what would fit."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from toy_tasks import small_task

from pomdps import gravity
from workbench import POMDP, best_history, best_memoryless, critical_points, evaluate, uniform
from workbench.core.errors import NeverEnds, TooLarge, Unbounded, WorkbenchError
from workbench.core.fields import FLOATS
from workbench.optima.best_informed import best_informed
from workbench.optima.mdp import from_states
from workbench.research.policy_boxes import is_boxable, too_large_for_boxes
from workbench.research.stochastic_search import require_bound
from workbench.sufficiency.census import count_task

F = Fraction


def task(name: str, p, mu="s") -> POMDP:
    """Actions "stay" and "go", one look, gamma 1, to "end"."""
    return small_task(name, p, mu, A=("stay", "go"))


def clock() -> POMDP:
    return task("clock", lambda s, a: {((s + 1) % 3, -1): 1}, mu={0: 1})


def blind() -> POMDP:
    """Only who sees the state knows the way out of it."""

    def p(s, a):
        return {("end" if a == s else "pit", 0): 1} if s != "pit" else {("pit", 0): 1}

    return task("blind", p, mu={"stay": F(1, 2), "go": F(1, 2)})


def paying(stay=1, go=0) -> POMDP:
    return task("paying", lambda s, a: {("s", stay): 1} if a == "stay" else {("end", go): 1})


def at_once() -> POMDP:
    return task("at once", lambda s, a: {("end", 1): 1}, mu={"s": F(1, 2), "end": F(1, 2)})


# ---------------------------------------------------------------------- no policy ends


@pytest.mark.parametrize("options", [{}, {"deterministic": False}])
def test_no_policy_ends(options):
    with pytest.raises(NeverEnds, match=r"no policy of clock ends .* give a gamma below 1"):
        best_memoryless(clock(), **options)
    with pytest.raises(NeverEnds, match=r"policy of blind .*ends with probability one; give a"):
        best_memoryless(blind(), **options)


@pytest.mark.parametrize("best", [best_history, best_informed])
def test_no_policy_of_the_history_or_the_state_ends(best):
    with pytest.raises(NeverEnds, match=r"no policy of clock ends .* give a gamma below 1"):
        best(clock())
    assert best(clock().with_gamma(F(1, 2))) is not None


def test_no_policy_ends_so_that_nothing_is_critical():
    with pytest.raises(NeverEnds, match=r"no memoryless policy of clock ends .* below 1"):
        critical_points(clock())
    with pytest.raises(NeverEnds, match=r"no memoryless policy of blind ends"):
        critical_points(blind())


def test_a_trap_for_some_policies_is_named():
    def p(s, a):
        return {("end" if a == "go" else "pit", 0): 1} if s == "s" else {("pit", 0): 1}

    with pytest.raises(NeverEnds, match=r"trap that take every action never end from s=pit, "):
        critical_points(task("trap", p))


def test_their_average_rewards_are_defined_all_the_same():
    assert best_memoryless(clock(), criterion="average").value == -1
    assert best_memoryless(clock(), deterministic=False, criterion="average").value == -1
    assert best_history(clock(), criterion="average").value == -1


# ---------------------------------------------------------------------- no bound


def test_a_loop_that_pays_has_no_best_policy():
    with pytest.raises(Unbounded, match=r"return of paying has no bound: a loop through s=s pays"):
        best_memoryless(paying(), deterministic=False)
    assert best_memoryless(paying()).value == 0  # a deterministic policy stays for ever or goes
    assert best_history(paying()).value == np.inf
    assert best_memoryless(paying(), deterministic=False, criterion="average").value == 1


def test_the_return_grows_towards_the_loop():
    """What the refusal says: mixtures with more and more of the loop are worth ever more."""
    P = paying(stay=F(1, 8), go=-1)
    never = np.array([[1.0, 0.0]])
    worth = [
        evaluate(P, uniform(P).toward(best_memoryless(P, criterion="average").policy, 1 - e)).value
        for e in (1e-1, 1e-3, 1e-5)
    ]
    assert worth[0] < worth[1] < worth[2]
    with pytest.raises(Unbounded, match=r"pays 0.125 a step"):
        require_bound(P, never)


@pytest.mark.parametrize("stay", [0, -1])
def test_a_loop_that_pays_nothing_is_no_reason(stay):
    P = paying(stay=stay, go=1)
    require_bound(P, np.array([[1.0, 0.0]]))
    found = best_memoryless(P, deterministic=False)
    assert found.value == pytest.approx(1)


def test_a_loop_that_pays_is_bounded_where_another_may_take_more():
    """Whether the loops of both rooms balance is not for the gains alone to say."""

    def p(s, a):
        if s == "s":
            return {("left", 0): F(1, 2), ("right", 0): F(1, 2)}
        r = 1 if s == "left" else -2
        return {(s, r): 1} if a == "stay" else {("end", 0): 1}

    P = task("two rooms", p)
    require_bound(P, np.array([[1.0, 0.0]]))
    assert best_memoryless(P, deterministic=False, max_boxes=50).value == pytest.approx(0, abs=1e-6)


def test_a_loop_that_nobody_comes_to_and_one_that_is_never_left_are_no_reason():
    def p(s, a):
        if s == "s":
            return {("end" if a == "go" else "pit", 0): 1}
        return {("pit", 1): 1}

    require_bound(task("pit", p), np.array([[1.0, 0.0]]))  # nothing ends from the pit
    ending = task("out", lambda s, a: {("end" if a == "go" else "s", 1): 1})
    require_bound(ending, np.array([[0.0, 1.0]]))  # who goes does not loop


# ---------------------------------------------------------------------- no time


@pytest.mark.parametrize("best", [best_memoryless, best_history])
def test_episodes_without_steps_have_no_average(best):
    with pytest.raises(WorkbenchError, match=r"at once may start in the terminal state end, .*mu"):
        best(at_once(), criterion="average")


def test_episodes_without_steps_have_no_average_for_stochastic_policies():
    with pytest.raises(WorkbenchError, match=r"at once may start in the terminal state end"):
        best_memoryless(at_once(), deterministic=False, criterion="average")
    assert best_memoryless(at_once()).value == F(1, 2)


# ---------------------------------------------------------------------- too many rows


def test_too_many_rows_are_counted_and_what_fits_is_said():
    with pytest.raises(
        TooLarge, match=r"gravity has more than 2,000 faces to look at: \d+ rows of up to 4 actions"
    ):
        critical_points(gravity())


def many(n: int) -> POMDP:
    return small_task(
        "many",
        lambda s, a: {((s + 1 + a) % n, int(s % 3 == a)): 1},
        0,
        omega=lambda s: {s // 2: 1},
        gamma=F(1, 2),
    )


def test_a_process_too_large_for_boxes_says_what_fits():
    P = many(460)
    M = from_states(P, FLOATS)
    assert not is_boxable(M)
    assert too_large_for_boxes(M) == (
        "460 states are too many to bound policies box by box: with 2 actions up to 447 fit"
    )
    assert is_boxable(from_states(many(447), FLOATS))
    assert not is_boxable(from_states(many(448), FLOATS))
    found = best_memoryless(P, deterministic=False, starts=0, max_seconds=0.2)
    assert not found.certified
    assert "with 2 actions up to 447 fit" in found.how
    assert found.bound >= found.value
    averaged = best_memoryless(P, deterministic=False, criterion="average", max_seconds=0.2)
    assert "full information: 460 states are too many" in averaged.how
    assert averaged.bound >= averaged.value


def test_a_census_notes_what_has_no_bound():
    row = count_task(paying(), seconds=2)
    assert "stochastic: gamma is 1 and the return of paying has no bound" in row.note
