"""The hallway worlds of Section 6 against a second description of them and against dynamic
programming."""

from __future__ import annotations

from fractions import Fraction
from functools import partial

import pytest
import reference_hallway as reference

from pomdps import TASKS, hallway_cookie, hallway_keys
from pomdps.hallway import ENDING_KEYS
from workbench import evaluate, uniform
from workbench.agents.step_limit import with_step_limit
from workbench.core.errors import WorkbenchError

KNOWN = {name: task.known for name, task in TASKS.items()} | {"hallway_keys that ends": ENDING_KEYS}
WORLDS = {
    "hallway_cookie": (hallway_cookie, reference.cookie_step),
    "hallway_keys": (hallway_keys, reference.keys_step),
    "hallway_keys that ends": (
        partial(hallway_keys, ends=True),
        partial(reference.keys_step, ends=True),
    ),
}


def dynamics(P, step):
    return lambda s, a: {} if s in P.terminal else step(s, a)


@pytest.mark.parametrize("name", WORLDS)
@pytest.mark.parametrize("slip", [Fraction(1, 20), Fraction(0)])
def test_every_row_is_that_of_the_description_by_boxes(name, slip):
    make, step = WORLDS[name]
    P = make(slip=slip)
    assert len(P.terminal) == ("ends" in name)
    for s in P.S:
        for a in P.A:
            assert P.p(s, a) == dynamics(P, partial(step, slip=slip))(s, a), (s, a)


@pytest.mark.parametrize("cells", ["COOKIE_CELLS", "KEYS_CELLS"])
def test_the_drawing_has_the_cells_of_the_boxes(cells):
    P = hallway_cookie() if cells == "COOKIE_CELLS" else hallway_keys(ends=True)
    assert {s[0] for s in P.S} == getattr(reference, cells)
    assert len(getattr(reference, cells)) == KNOWN[P.name]["cells"]


@pytest.mark.parametrize("name", WORLDS)
def test_the_agent_sees_its_cell_and_its_room(name):
    P = WORLDS[name][0]()
    for s in P.S:
        (o,) = P.omega(s)
        room = reference.room(s[0])
        if name == "hallway_cookie":
            assert o == (s[0], s[1] if s[1] and reference.room(s[1]) == room else None)
        else:
            keys = tuple(key for key in s[2] if reference.room(key) == room)
            assert o == (s[0], s[1], keys, s[3] if room == "east" else ())


def test_the_cookie_is_under_the_agent_for_the_step_in_which_it_is_eaten():
    P = hallway_cookie(slip=0)
    assert P.p(((1, 2), (1, 1)), "left") == {(((1, 1), (1, 1)), 1): 1}
    assert P.p(((1, 1), (1, 1)), "left") == {(((1, 1), None), 0): 1}  # a bump, and it is gone


def test_a_bump_at_the_button_does_not_press_it():
    assert hallway_cookie(slip=0).p(((8, 13), (1, 1)), "right") == {(((8, 13), (1, 1)), 0): 1}


@pytest.mark.parametrize("name", WORLDS)
def test_best_values_with_full_information_and_by_history(name):
    make, step = WORLDS[name]
    P = make()
    p, r = reference.tables(list(P.S), list(P.A), dynamics(P, step))
    v = reference.best_values(p, r, 0.99)
    assert sum(float(P.mu[s]) * v[P.S.index(s)] for s in P.mu) == pytest.approx(
        KNOWN[name]["best with full information"], abs=5e-7
    )
    beliefs, rows = reference.belief_mdp(P, step)
    p, r = reference.tables(beliefs, list(P.A), lambda b, a: rows[b, a])
    assert reference.best_values(p, r, 0.99)[0] == pytest.approx(KNOWN[name]["best"], abs=5e-7)
    if not len(P.terminal):
        per = KNOWN[name].get("steps per cookie") or KNOWN[name]["steps per coffee"]
        assert 1 / reference.best_average(p, r) == pytest.approx(per, abs=1e-5)


@pytest.mark.parametrize("name", ["hallway_cookie", "hallway_keys"])
def test_cycles_without_slips_are_path_lengths(name):
    make, step = WORLDS[name]
    P, still = make(slip=0), partial(step, slip=Fraction(0))
    full = reference.tables(list(P.S), list(P.A), still)
    beliefs, rows = reference.belief_mdp(P, still)
    assert 1 / reference.best_average(*full) == pytest.approx(KNOWN[name]["cycle"], abs=1e-5)
    history = reference.tables(beliefs, list(P.A), lambda b, a: rows[b, a])
    assert 1 / reference.best_average(*history) == pytest.approx(
        float(KNOWN[name]["cycle by history"]), abs=1e-5
    )


def test_stationary_weights_hold_on_continuing_tasks():
    P = hallway_cookie()
    found = evaluate(P, uniform(P), weights="stationary")
    share = found.visits.array
    assert share.sum() == pytest.approx(1)
    inflow = sum(
        share[i] * float(x) / 4
        for i, s in enumerate(P.S)
        for a in P.A
        for (s_next, _), x in P.p(s, a).items()
        if s_next == ((8, 2), None)
    )
    assert inflow == pytest.approx(share[P.S.index(((8, 2), None))])
    assert found.average_reward == pytest.approx(0.000292699, abs=1e-9)


def test_renewal_the_two_versions_of_keys_pay_the_same_per_step_of_a_policy():
    going_on, ending = hallway_keys(), hallway_keys(ends=True)
    rates = [
        evaluate(P, uniform(P), weights="stationary").average_reward for P in (going_on, ending)
    ]
    assert rates[0] == pytest.approx(rates[1], rel=1e-9)


def test_a_step_limit_makes_the_task_episodic():
    P = with_step_limit(hallway_cookie(gamma=1), 40)
    expected = 0.0
    share = {((8, 2), None): 1.0}
    for _ in range(40):
        moved: dict = {}
        for s, x in share.items():
            for a in P.A:
                for (s_next, r), y in reference.cookie_step(s, a).items():
                    moved[s_next] = moved.get(s_next, 0) + x * float(y) / 4
                    expected += x * float(y) / 4 * r
        share = moved
    assert expected > 0
    assert evaluate(P, uniform(P)).value == pytest.approx(expected, rel=1e-9, abs=0)


def test_a_slip_that_is_no_probability_is_refused():
    with pytest.raises(WorkbenchError, match="slip"):
        hallway_cookie(slip=2)
