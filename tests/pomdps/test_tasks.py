"""The paper's tasks: sizes, drawings, rewards and known answers, each against an independent
count."""

from fractions import Fraction
from itertools import product

import pytest
from drawn import grid_arrows

import pomdps
from pomdps import TASKS, gravity, recall, recall4, recall_variant
from pomdps.grids import FIGURE, MOVES, Grid
from pomdps.recalls import RECALL4_REWARDS, VARIANT_REWARDS
from pomdps.task import task as enter
from workbench import POMDP, augment, evaluate, figures, uniform
from workbench.core.errors import ModelError, UnknownLabel, WorkbenchError

F = Fraction
KNOWN = TASKS["gravity"].known


def returns(P, actions):
    """The rewards of a deterministic task along a sequence of actions."""
    (s,) = P.mu
    rewards = []
    for a in actions:
        (((s, r), _),) = P.p(s, a).items()
        rewards.append(r)
    assert s in P.terminal
    return rewards


def best(P, horizon):
    """The best total reward over all sequences: with one observation that is the best any history
    can do."""
    return max(
        sum(P.gamma**t * r for t, r in enumerate(returns(P, x)))
        for x in product(P.A, repeat=horizon)
    )


@pytest.mark.parametrize("task", [recall, recall_variant, recall4])
def test_best_values_of_the_recall_tasks(task):
    P, known = task(), TASKS[task.__name__].known["best"]
    assert best(P, 2 if task is recall4 else 3) == (known(P.gamma) if callable(known) else known)


def test_recall_pays_for_one_two_three_only():
    P = recall()
    assert list(P.A) == [1, 2, 3]
    paid = {x for x in product(P.A, repeat=3) if sum(returns(P, x))}
    assert paid == {(1, 2, 3)}
    assert returns(P, (1, 2, 3)) == [0, 0, 1]


def test_the_variant_pays_the_table_of_appendix_b():
    P = recall_variant()
    assert len(VARIANT_REWARDS) == 8
    for x, r in VARIANT_REWARDS.items():
        assert returns(P, x) == [0, 0, r]
    assert [VARIANT_REWARDS[x] for x in product((0, 1), repeat=3)] == [
        0,
        2,
        3,
        1,
        -100,
        -100,
        -10,
        -10,
    ]


def test_recall4_pays_the_table_of_figure_7():
    P = recall4()
    assert [[float(r) for r in row] for row in RECALL4_REWARDS] == [
        [-5, 0.5, 1, 0.5],
        [0, 0.5, -0.5, 0.75],
        [0, 0.5, -5, 0.5],
        [0, 0.5, -5, 0.5],
    ]
    for a1, a2 in product(P.A, repeat=2):
        assert returns(P, (a1, a2)) == [0, RECALL4_REWARDS[a1][a2]]
        assert returns(recall4(scale=F(7, 2)), (a1, a2)) == [0, F(7, 2) * RECALL4_REWARDS[a1][a2]]


def test_gravity_is_the_drawing():
    P, grid = gravity(), Grid(FIGURE)
    assert (grid.width, grid.height) == (5, 5)
    assert grid.marks == {"A": (0, 0), "B": (4, 0), "C": (0, 4)}
    inner = {
        (c, m)
        for c in grid.cells
        for m in ((0, 1), (1, 0))
        if grid.has_wall(c, m) and c[0] + m[0] < 5 and c[1] + m[1] < 5
    }
    assert inner == {
        ((x, 0), (0, 1)) for x in range(1, 5)
    }  # the wall along y = 1 from x = 1 to x = 5
    assert (len(P.S), len(P.O), len(P.A)) == (
        KNOWN["states"],
        KNOWN["observations"],
        KNOWN["actions"],
    )
    assert list(P.A) == ["up", "down", "left", "right"]
    assert dict(P.mu) == {((0, 0), "on"): 1}
    assert set(P.terminal) == {((0, 4), "on"), ((0, 4), "off")}


def test_the_force_pulls_down_only_while_it_is_on_and_only_against_up():
    P = gravity()
    assert P.p(((2, 2), "on"), "up") == {
        (((2, 3), "on"), 0): F(1, 10),
        (((2, 1), "on"), 0): F(9, 10),
    }
    assert P.p(((2, 2), "off"), "up") == {(((2, 3), "off"), 0): 1}
    for force in ("on", "off"):
        assert P.p(((2, 2), force), "left") == {(((1, 2), force), 0): 1}
        assert P.p(((2, 0), force), "up")  # under the wall both ways are blocked
        assert {s for s, _ in P.p(((2, 0), force), "up")} == {((2, 0), force)}
    assert P.p(((0, 3), "on"), "up") == {
        (((0, 4), "on"), 1): F(1, 10),
        (((0, 2), "on"), 0): F(9, 10),
    }
    assert P.p(((1, 4), "off"), "left") == {(((0, 4), "off"), 1): 1}


def test_the_button_toggles_on_entry_and_by_request_on_every_arrival():
    enter, arrive = gravity(), gravity(press="arrive")
    for P in (enter, arrive):
        assert P.p(((3, 0), "on"), "right") == {(((4, 0), "off"), 0): 1}
        assert P.p(((3, 0), "off"), "right") == {(((4, 0), "on"), 0): 1}
    assert enter.p(((4, 0), "off"), "right") == {(((4, 0), "off"), 0): 1}
    assert arrive.p(((4, 0), "off"), "right") == {(((4, 0), "on"), 0): 1}


def test_twelve_steps_are_the_fewest_and_their_discount_is_the_best_value():
    """Breadth-first over states with the force known: an upper bound on any policy, reached by
    pressing first."""
    P = gravity()
    frontier, steps, seen = {((0, 0), "on")}, 0, set()
    while not any(s in P.terminal for s in frontier):
        seen |= frontier
        frontier = {
            t for s in frontier for a in MOVES for (t, _), x in P.p(s, a).items() if x == 1
        } - seen
        steps += 1
    assert steps == KNOWN["steps"]
    assert KNOWN["best"] == P.gamma ** (steps - 1)


def test_bad_arguments_are_refused_by_name():
    with pytest.raises(WorkbenchError, match="press must be 'enter' or 'arrive', not 'push'"):
        gravity(press="push")
    with pytest.raises(WorkbenchError, match=r"p_down must lie in \[0, 1\], not 2"):
        gravity(p_down=2)


def test_the_strength_of_the_force_is_exact_even_when_written_as_a_float():
    assert gravity(p_down=0.9).p(((2, 2), "on"), "up")[((2, 1), "on"), 0] == F(9, 10)
    assert gravity(p_down=1).p(((0, 0), "on"), "up") == {
        (((0, 0), "on"), 0): 1
    }  # and so (2, 2) is out of reach


# ---------------------------------------------------------------------- records


def test_every_name_of_the_package_is_a_function_and_has_a_record():
    for name, record in TASKS.items():
        assert getattr(pomdps, name) is record.make
        assert record.name == name
        assert record.title
        assert record.text.endswith(".")
        assert record.source
        assert "states" in record.known
    assert list(TASKS) == sorted(TASKS)
    with pytest.raises(
        AttributeError,
        match="no attribute 'recal'; tasks: alternation, belief_corridor, cheese_maze, ",
    ):
        _ = pomdps.recal


@pytest.mark.parametrize("name", [name for name in TASKS if not TASKS[name].extra])
def test_sizes_in_records_are_those_of_the_tasks(name):
    record = TASKS[name]
    P = record.make()
    arguments = {"t_maze": (5,), "load_unload": (5,)}.get(name, ())
    for what, space in (("states", P.S), ("observations", P.O), ("actions", P.A)):
        if (known := record.known.get(what)) is not None:
            assert len(space) == (known(*arguments) if callable(known) else known)
    assert P.is_exact


def test_a_task_needs_defaults_and_a_name_of_its_own():
    words = {"title": "t", "text": "t.", "source": "s"}
    with pytest.raises(ModelError, match="two tasks are called recall"):
        enter(**words)(recall)
    with pytest.raises(ModelError, match="needs needs a default for n"):

        @enter(**words)
        def needs(n: int) -> POMDP:
            raise NotImplementedError

    assert "needs" not in TASKS


def test_recall_with_another_sequence():
    P = recall(sequence=(3, 3, 1, 2), gamma=1)
    assert returns(P, (3, 3, 1, 2)) == [0, 0, 0, 1]
    assert best(P, 4) == 1
    assert sum(sum(returns(P, actions)) for actions in product((1, 2, 3), repeat=4)) == 1
    for wrong in ((), (1, 4)):
        with pytest.raises(WorkbenchError, match="consists of the actions 1, 2, 3"):
            recall(sequence=wrong)


def test_the_variant_and_recall4_with_other_rewards():
    P = recall_variant(rewards={(1, 1, 1): 9})
    assert returns(P, (1, 1, 1)) == [0, 0, 9]
    assert returns(P, (1, 0, 0)) == returns(recall_variant(), (1, 0, 0))
    with pytest.raises(UnknownLabel, match="no sequence of three actions"):
        recall_variant(rewards={(1, 1): 9})
    table = [[4 * i + j for j in range(4)] for i in range(4)]
    for i, j in product(range(4), repeat=2):
        assert returns(recall4(rewards=table, scale=2), (i, j)) == [0, 2 * table[i][j]]
    with pytest.raises(WorkbenchError, match="four rows"):
        recall4(rewards=table[:3])


# ---------------------------------------------------------------------- drawings


DRAWN = [
    # MemoryS7 has the same kind of drawing, and a hundredth of the states
    pytest.param(name, marks=pytest.mark.slow) if name == "red_blue_doors" else name
    for name, record in TASKS.items()
    if record.drawing is not None
]

REMEMBERED = {"alternation", "n_back", "one_two_ax"}
"""Drawn by what has to be remembered, which changes as a whole."""


@pytest.mark.parametrize("name", DRAWN)
def test_moves_of_a_task_are_steps_on_its_drawing(name):
    """Every state that is not at an end stands on a cell, and no step leaps over one, unless the
    task begins anew or goes on elsewhere from a goal."""
    record = TASKS[name]
    P, drawing = record.make(), record.drawing
    leaps = set()
    for s in P.S:
        if s in P.terminal:
            continue
        here = drawing.place(s, next(iter(P.omega(s))))
        assert here in drawing.grid.cells
        for a in P.A:
            for t, _ in P.p(s, a):
                there = drawing.place(t, next(iter(P.omega(t))))
                if there is None or t in P.terminal:
                    continue
                step = (there[0] - here[0], there[1] - here[1])
                if abs(step[0]) + abs(step[1]) > 1:
                    leaps.add(here)
                elif step != (0, 0):
                    assert not drawing.grid.has_wall(here, step)
    goals = {
        "cheese_maze": {"C"},
        "four_by_three": {"+", "-"},
        "hallway_keys": {"G"},
    }.get(name, set())
    marks = {cell for sign, cell in drawing.grid.signs if sign in goals}
    beside = {
        (x + dx, y + dy) for x, y in marks for dx, dy in ((0, 0), (1, 0), (-1, 0), (0, 1), (0, -1))
    }
    assert leaps <= beside or name in REMEMBERED
    assert set(P.A) <= set(drawing.moves)
    assert str(drawing).endswith(drawing.key)


@pytest.mark.parametrize("name", DRAWN)
@pytest.mark.parametrize("memory", ["none", "B1"])
def test_every_drawn_task_has_a_picture_of_a_policy(name, memory):
    record = TASKS[name]
    P = record.make()
    E = P if memory == "none" else augment(P, memory)
    found = evaluate(E, uniform(E), weights="visits" if len(P.terminal) else "discounted")
    axes = figures.grid_policy(found, record.drawing).ravel()
    cells = {(int(x), int(y)) for x, y, _, _ in grid_arrows(axes[0])}
    visited = {
        record.drawing.place(s, next(iter(P.omega(s)))) for s in P.S if s not in P.terminal
    } - {None}
    assert cells == visited
