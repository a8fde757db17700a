"""Tables and grids hold the numbers they were given; the texts of all pictures are inside the
figure and apart."""

from fractions import Fraction
from itertools import combinations

import matplotlib
import numpy as np
import pytest
from drawn import EMPTY, best, blue, diagram_of, grid_arrows, grid_dots, meet_slice, texts
from toy_tasks import small_task

from pomdps import gravity, recall, recall4, recall_variant
from pomdps.drawing import Drawing
from pomdps.grids import FIGURE, Grid
from pomdps.mazes import t_maze
from workbench import (
    Policy,
    QLearning,
    augment,
    evaluate,
    figures,
    reachable_beliefs,
    td_values,
    uniform,
)
from workbench.core.augment import memory_states
from workbench.core.errors import TooLarge, UnknownLabel, WorkbenchError
from workbench.equilibrium.phase_plane import phase_plane, run_path
from workbench.evaluation.lambda_sweep import sweep_lambda
from workbench.text import shown

# ---------------------------------------------------------------------- texts can be read


def pictures():
    E1, E4 = augment(recall(), "OA1"), augment(recall4(), "B1")
    O1 = augment(gravity(), "O1")
    yield "recall OA1", lambda: figures.memory_diagram(diagram_of(recall(), "OA1"))
    yield (
        "recall OA1 undiscounted",
        lambda: figures.memory_diagram(diagram_of(recall(gamma=1), "OA1")),
    )
    yield "recall B2", lambda: figures.memory_diagram(diagram_of(recall(), "B2"))
    yield "recall4 B1", lambda: figures.memory_diagram(diagram_of(recall4(), "B1"))
    yield "recall4 OA1", lambda: figures.memory_diagram(diagram_of(recall4(), "OA1"))
    yield "variant OA1", lambda: figures.memory_diagram(diagram_of(recall_variant(), "OA1"))
    yield "gravity O1", lambda: figures.memory_diagram(diagram_of(gravity(), "O1"))
    yield "q recall4 B1", lambda: figures.q_table(evaluate(E4, uniform(E4), exact=True))
    yield "q gravity", lambda: figures.q_table(evaluate(gravity(), uniform(gravity())))
    yield "pi recall OA1", lambda: figures.policy_table(Policy.random(E1, 1))
    yield "pi recall4 B2", lambda: figures.policy_table(uniform(augment(recall4(), "B2")))
    yield "grid O1", lambda: figures.grid_policy(evaluate(O1, best(O1)), Grid(FIGURE))
    yield "grid", lambda: figures.grid_policy(evaluate(gravity(), uniform(gravity())), Grid(FIGURE))
    yield "sweep OA1", lambda: figures.lambda_sweep(sweep_lambda(E1, blue(E1), points=5))
    yield "sweep B1", lambda: figures.lambda_sweep(sweep_lambda(E4, best(E4), points=5))
    yield "beliefs recall", lambda: figures.belief_graph(reachable_beliefs(recall()))
    yield "beliefs variant", lambda: figures.belief_graph(reachable_beliefs(recall_variant()))
    yield "beliefs t-maze", lambda: figures.belief_graph(reachable_beliefs(t_maze(1)))
    yield "flow", lambda: figures.policy_flow(meet_slice(3))
    yield "phases", lambda: figures.phase_portrait(*variant_phases())


def variant_phases():
    P, learner = recall_variant(), QLearning(epsilon=0.1, step=0.01, initial=0)
    q = np.array([[-4.6, -4.6]])
    plane = phase_plane(P, learner, ("o", 0), ("o", 1), q, (-14, 1), (-14, 1), points=21)
    return plane, [run_path(P, learner, 2000, points=10)], {"a tie": q}


def test_a_phase_portrait_holds_the_run_and_the_point_it_was_given():
    plane, runs, points = variant_phases()
    axes = figures.phase_portrait(plane, runs, points)
    lines = {line.get_gid(): line for line in axes.lines}
    assert np.array_equal(lines["run"].get_xdata(), runs[0][:, 0, 0])
    assert lines["point"].get_ydata().tolist() == [-4.6]
    shown = [text.get_text() for text in axes.get_legend().get_texts()]
    assert shown == ["o → 0", "o → 1", "a run", "a tie"]
    with pytest.raises(WorkbenchError, match=r"has the shape \(1, 2\), not \(3, 3\)"):
        figures.phase_portrait(plane, points={"x": np.zeros((3, 3))})


@pytest.mark.parametrize("draw", [pytest.param(draw, id=name) for name, draw in pictures()])
def test_no_text_touches_another_or_leaves_the_figure(draw):
    drawn = np.atleast_1d(np.asarray(draw(), dtype=object)).ravel()
    figure = drawn[0].get_figure()
    figure.canvas.draw()
    assert figure.get_figwidth() == pytest.approx(7, abs=0.01)
    boxes = [
        (text.get_text(), matplotlib.text.Text.get_window_extent(text))
        for text in visible_texts(figure)
    ]
    assert boxes
    for name, box in boxes:
        assert figure.bbox.padded(1).containsx(box.x0), name
        assert figure.bbox.padded(1).containsx(box.x1), name
        assert figure.bbox.padded(1).containsy(box.y0), name
        assert figure.bbox.padded(1).containsy(box.y1), name
    for (one, a), (other, b) in combinations(boxes, 2):
        overlap = min(a.x1, b.x1) - max(a.x0, b.x0), min(a.y1, b.y1) - max(a.y0, b.y0)
        assert min(overlap) <= 1, (one, other)


def visible_texts(figure):
    """All texts that a reader sees."""
    found = [figure._supxlabel] if figure._supxlabel else []
    for axes in figure.axes:
        found += [*axes.texts, axes.title]
        if legend := axes.get_legend():
            found += [*legend.get_texts(), legend.get_title()]
        if axes.axison:
            for axis, (low, high) in (
                (axes.xaxis, axes.get_xlim()),
                (axes.yaxis, sorted(axes.get_ylim())),
            ):
                found.append(axis.label)
                ticks = zip(axis.get_ticklabels(), axis.get_ticklocs(), strict=True)
                found += [label for label, place in ticks if low <= place <= high]
    return [text for text in found if text.get_text().strip()]


# ---------------------------------------------------------------------- tables


def test_a_q_table_shows_the_fractions_of_lemma_c4():
    E = augment(recall4(), "B1")
    found = evaluate(E, uniform(E), exact=True)
    axes = figures.q_table(found)
    placed = {
        (round(t.get_position()[1]), round(t.get_position()[0])): t.get_text() for t in axes.texts
    }
    assert placed == {
        (i, j): str(found.q[o, a]) for i, o in enumerate(E.O) for j, a in enumerate(E.A)
    }
    assert placed[0, 0] == "-11/12"
    assert np.allclose(axes.images[0].get_array(), evaluate(E, uniform(E)).q.raw)
    assert [t.get_text() for t in axes.get_yticklabels()] == ["0", "1"]
    assert [t.get_text() for t in axes.get_xticklabels()][:2] == ["0:0", "0:1"]


def test_undefined_cells_are_hatched_and_empty_and_the_policys_cells_framed():
    E = augment(recall(), "OA1")
    pi = blue(E)
    axes = figures.q_table(evaluate(E, pi), pi=pi)
    hatched = [x for x in axes.patches if x.get_gid() == "undefined"]
    assert len(hatched) == len(E.A)  # the row of memory 3
    assert all(x.get_hatch() for x in hatched)
    assert {x.get_xy()[1] for x in hatched} == {2.5}
    assert not [t for t in axes.texts if round(t.get_position()[1]) == 3]
    framed = {
        (round(x.get_y() + 0.44), round(x.get_x() + 0.47))
        for x in axes.patches
        if x.get_gid() == "chosen"
    }
    assert framed == {
        (i, E.A.index(a)) for i, a in enumerate([(1, "push"), (2, "push"), (3, "push")])
    }


def test_td_values_are_tables_too():
    E = augment(recall(), "OA1")
    axes = figures.q_table(td_values(E, blue(E), exact=True), rows=[EMPTY])
    assert (
        dict(zip([t.get_position() for t in axes.texts], texts(axes), strict=True))[3, 0] == "19/20"
    )


def test_a_policy_table_leaves_zeros_empty():
    E = augment(recall4(), "B1")
    pi = Policy.from_mapping(E, {("0", "o"): {(0, "1"): Fraction(1, 3), (2, "0"): Fraction(2, 3)}})
    axes = figures.policy_table(pi, rows=[("0", "o")])
    assert {t.get_position(): t.get_text() for t in axes.texts} == {(1, 0): "1/3", (4, 0): "2/3"}
    assert axes.images[0].get_array()[0, 4] == pytest.approx(2 / 3)


def test_wide_tables_stand_up_and_huge_ones_are_refused():
    E = augment(recall4(), "B3")
    axes = figures.policy_table(uniform(E))
    assert axes.images[0].get_array().shape == (32, 8)
    assert axes.get_yticklabels()[1].get_text() == "0:001"
    big = augment(gravity(), "O1")
    with pytest.raises(TooLarge, match="name some rows"):
        figures.policy_table(uniform(big))


@pytest.mark.parametrize(
    ("x", "text"),
    [
        (Fraction(1, 3), "1/3"),
        (Fraction(12345, 67891), "0.182"),
        (0.25, "0.25"),
        (1e-17, "0"),
        (None, ""),
        (np.nan, ""),
    ],
)
def test_cells_keep_short_fractions(x, text):
    assert shown(x, digits=3, longest=7, undefined="", noise=5e-13) == text


def test_numbers_stand_out_from_their_cell():
    E = augment(recall4(), "B1")
    axes = figures.q_table(evaluate(E, uniform(E)))
    (image,) = axes.images
    for text in axes.texts:
        j, i = (round(x) for x in text.get_position())
        red, green, blue_, _ = image.cmap(image.norm(image.get_array()[i, j]))
        assert (0.2126 * red + 0.7152 * green + 0.0722 * blue_ < 0.5) == (
            text.get_color() == "white"
        )


# ---------------------------------------------------------------------- grids


def drawn_arrows(axes):
    """{(x, y) of the cell: {(dx, dy): length}}."""
    found = {}
    for x, y, dx, dy in grid_arrows(axes):
        length = np.hypot(dx, dy)
        direction = (round(dx / length), round(dy / length))
        found.setdefault((int(x), int(y)), {})[direction] = length / 0.44
    return found


MOVES = {"up": (0, 1), "down": (0, -1), "left": (-1, 0), "right": (1, 0)}


def test_arrows_are_as_long_as_probabilities():
    P = gravity()
    pi = Policy.random(P, 3)
    (axes,) = figures.grid_policy(evaluate(P, pi), Grid(FIGURE)).ravel()
    found = drawn_arrows(axes)
    assert len(found) == 24  # all cells but the cookie's
    for cell, row in found.items():
        expected = {MOVES[a]: x for a, x in pi.row(cell).items() if x >= 0.02}
        assert row == pytest.approx(expected)


def test_panels_are_the_memory_states_that_are_reached():
    E = augment(gravity(), "B1")
    pi = best(E)
    found = evaluate(E, pi)
    axes = figures.grid_policy(found, Grid(FIGURE)).ravel()
    assert [one.get_title() for one in axes] == ["memory 0", "memory 1"]
    for m, one in zip(("0", "1"), axes, strict=True):
        cells = {
            o: E.A[int(pi.actions[i])]
            for i, (n, o) in enumerate(E.O)
            if n == m and found.reached.raw[i]
        }
        assert drawn_arrows(one) == {
            cell: {MOVES[a]: pytest.approx(1)} for cell, (a, _) in cells.items()
        }
        assert set(grid_dots(one)) == {cell for cell, (_, w) in cells.items() if w != m}
        assert set(texts(one, "write")) <= {"1" if m == "0" else "0"}
    keep = augment(gravity(), "O1")
    stays = Policy.deterministic(keep, {}, otherwise=("right", "keep"))
    axes = figures.grid_policy(evaluate(keep, stays), Grid(FIGURE)).ravel()
    assert [one.get_title() for one in axes] == ["memory ∅"]
    assert grid_dots(axes[0]) == {}


def test_dots_have_the_area_of_the_probability_of_a_write():
    E = augment(gravity(), "O1")
    table = Policy.deterministic(
        E, {((None,), (1, 0)): ("right", "push")}, otherwise=("right", "keep")
    ).prob.floats.copy()
    start = E.O.index(((None,), (0, 0)))
    table[start] = 0
    table[start, [E.A.index(("right", "push")), E.A.index(("right", "keep"))]] = 1 / 4, 3 / 4
    axes = figures.grid_policy(evaluate(E, Policy(E, table)), Grid(FIGURE)).ravel()
    (first,) = (one for one in axes if one.get_title() == "memory ∅")
    area = grid_dots(first)
    assert area[0, 0] / area[1, 0] == pytest.approx(1 / 4)


def test_of_many_memory_states_the_most_visited_are_shown():
    E = augment(gravity(), "O1")
    found = evaluate(E, uniform(E))
    axes = figures.grid_policy(found, Grid(FIGURE), most=3)
    time_in = {}
    for s, visits in zip(E.S, found.visits.raw, strict=True):
        if s not in E.terminal:
            time_in[s[1]] = time_in.get(s[1], 0) + visits
    top = sorted(time_in, key=time_in.get)[-3:]
    assert {one.get_title() for one in axes.ravel()} == {
        f"memory {memory_states(E).text(m)}" for m in top
    }
    assert "the 3 most visited of" in axes.ravel()[0].get_figure()._supxlabel.get_text()


def test_arrows_turn_with_an_agent_that_has_a_heading():
    """Two cells; whoever looks east goes ahead, whoever looks north turns left."""

    def p(s, a):
        x, heading = s
        return {((1, heading) if x == 0 and a == "ahead" else "end", 0): 1}

    P = small_task(
        "two ways",
        p,
        {(0, "east"): 0.5, (0, "north"): 0.5},
        A=["ahead", "left"],
        omega=lambda s: {s if s == "end" else s[1]: 1},
        gamma=0.5,
    )
    drawing = Drawing(
        "..",
        "",
        Grid.of_blocks(".."),
        lambda s, o: None if s == "end" else (s[0], 0),
        {"ahead": (1, 0), "left": (0, 1)},
        lambda s: (1, 0) if s[1] == "east" else (0, 1),
    )
    pi = Policy.from_mapping(P, {"east": {"ahead": 1}, "north": {"left": 1}})
    (axes,) = figures.grid_policy(evaluate(P, pi, weights="discounted"), drawing).ravel()
    assert set(drawn_arrows(axes)[0, 0]) == {(1, 0), (-1, 0)}


def test_walls_and_marks_are_drawn():
    (axes,) = figures.grid_policy(evaluate(gravity(), uniform(gravity())), Grid(FIGURE)).ravel()
    walls = [tuple(zip(*x.get_data(), strict=True)) for x in axes.lines if x.get_gid() == "wall"]
    assert len(set(walls)) == 4 * 5 + 4  # the border, and four above the corridor
    assert ((1, 1), (2, 1)) in {tuple((int(x), int(y)) for x, y in wall) for wall in walls}
    assert sorted(texts(axes, "mark")) == ["A", "B", "C"]
    hatches = [x.get_hatch() for x in axes.patches if x.get_gid() == "mark"]
    assert len(set(hatches)) == 3


def test_cells_that_look_alike_show_the_same_arrows():
    corridor = "+---+---+---+\n| A         |\n+---+---+---+"
    P = small_task(
        "corridor",
        lambda s, a: {(s + 1 if a == "right" else max(s - 1, 0), 0): 1},
        0,
        A=["left", "right"],
        omega=lambda s: {"wall" if s == 0 else "dark": 1},
        terminal={3},
    )
    pi = Policy.from_mapping(
        P, {"wall": {"right": 1}, "dark": {"right": Fraction(3, 4), "left": Fraction(1, 4)}}
    )
    (axes,) = figures.grid_policy(
        evaluate(P, pi), Grid(corridor), place=lambda s, o: (s, 0)
    ).ravel()
    found = drawn_arrows(axes)
    for cell in ((1, 0), (2, 0)):
        assert found[cell] == {(1, 0): pytest.approx(0.75), (-1, 0): pytest.approx(0.25)}
    with pytest.raises(UnknownLabel, match="no direction is given for the action left"):
        figures.grid_policy(evaluate(P, pi), Grid(corridor), moves={"right": (1, 0)})
    E = augment(P, "B1")
    with pytest.raises(WorkbenchError, match="give as many axes, not 1"):
        figures.grid_policy(evaluate(E, uniform(E)), Grid(corridor), axes=[axes])
