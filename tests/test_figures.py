"""Pictures hold the numbers they were given, and their texts can be read: inside the figure and apart from one another."""

from fractions import Fraction
from functools import lru_cache
from itertools import combinations

import matplotlib
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib import pyplot
from matplotlib.patches import FancyArrowPatch
from strategies import families, pomdps

from pomdps import gravity, recall, recall4, recall_variant
from pomdps.classics import tiger
from pomdps.grids import FIGURE, Grid
from pomdps.mazes import t_maze
from workbench import (
    POMDP,
    Policy,
    augment,
    best_memoryless,
    evaluate,
    figures,
    reachable_beliefs,
    shortcuts,
    td_values,
    uniform,
)  # fmt: skip
from workbench.beliefs import explore_beliefs
from workbench.errors import TooLarge, UnknownLabel, WorkbenchError
from workbench.figures.graphs import Arrow, Canvas
from workbench.figures.tables import cell_text
from workbench.lambda_sweeps import sweep_lambda
from workbench.simplex import End, PolicySlice, _moved, policy_slice
from workbench.transition_diagram import action_label, memory_label, transition_diagram

matplotlib.use("agg")

EMPTY, ONE, TWO, THREE = ((None,), "o"), ((("o", 1),), "o"), ((("o", 2),), "o"), ((("o", 3),), "o")


@pytest.fixture(autouse=True)
def _close():
    yield
    pyplot.close("all")


def blue(E):
    """The blue policy of Figure 3."""
    return Policy.deterministic(E, {EMPTY: (1, "push"), ONE: (2, "push")}, otherwise=(3, "push"))


@lru_cache
def best(E):
    return best_memoryless(E, deterministic=True).policy


def diagram_of(task, memory):
    E = augment(task, memory)
    pi = blue(E) if (task.name, memory) == ("recall", "OA1") else best(E)
    return transition_diagram(E, pi, shortcuts(E, pi))


def texts(axes, gid=None):
    found = [text for text in axes.texts if text.get_text() and (gid is None or text.get_gid() == gid)]
    return [text.get_text() for text in found]


# ---------------------------------------------------------------------- the transition diagram as data


def test_the_diagram_of_recall_with_oa1_is_figure_3():
    diagram = diagram_of(recall(), "OA1")
    P = diagram.P
    drawn = {
        kind: [(x.start, x.end, [action_label(P, a) for a in x.actions]) for x in diagram.edges if x.kind == kind]
        for kind in ("policy", "strict", "weak", "other")
    }
    assert drawn["policy"] == [(EMPTY, ONE, ["1T"]), (ONE, TWO, ["2T"]), (TWO, THREE, ["3T"])]
    assert drawn["strict"] == [(EMPTY, TWO, ["2T"])]
    assert drawn["weak"] == []
    grey = {(start, end): labels for start, end, labels in drawn["other"] if start != end}
    assert grey == {
        (EMPTY, THREE): ["3T"], (ONE, THREE): ["3T"], (TWO, ONE): ["1T"], (THREE, ONE): ["1T"], (THREE, TWO): ["2T"],
    }  # fmt: skip
    assert [edge.ends for edge in diagram.edges if edge.kind == "policy"] == [False, False, True]
    assert diagram.nodes == (EMPTY, ONE, TWO, THREE)
    assert diagram.steps == {EMPTY: 0, ONE: 1, TWO: 2, THREE: 3}
    assert diagram.starts == (EMPTY,)


@given(pomdps(), families(), st.integers(0, 100))
def test_policy_edges_are_the_steps_that_can_happen(P, family, seed):
    E = augment(P, family)
    if not E.omega.is_deterministic:
        return
    rows = np.random.default_rng(seed).integers(0, len(E.A), len(E.O))
    pi = Policy.from_actions(E, rows)
    expected, seen = set(), set()
    waiting = list(E.mu)
    everything = set()
    while waiting:
        s = waiting.pop()
        if s in seen or s in E.terminal:
            continue
        seen.add(s)
        (o,) = E.omega(s)
        for a in pi.row(o):
            for s_next, _ in E.p(s, a):
                (o_next,) = E.omega(s_next)
                expected.add((o, a, o_next))
                waiting.append(s_next)
    for s in E.S:
        if s not in E.terminal:
            for a in E.A:
                everything |= {(next(iter(E.omega(s))), a, next(iter(E.omega(t)))) for t, _ in E.p(s, a)}
    diagram = transition_diagram(E, pi)
    found = {(x.start, a, x.end) for x in diagram.edges for a in x.actions if x.kind == "policy"}
    others = {(x.start, a, x.end) for x in diagram.edges for a in x.actions if x.kind == "other"}
    assert found == expected
    assert others <= everything
    met = {o for o, _, _ in expected}
    assert {x for x in everything if not (x[0] in met and pi[x[0], x[1]] > 0)} == others
    assert {x[2] for x in expected} | {o for s in E.mu for o in E.omega(s)} == set(diagram.steps)


def test_a_diagram_needs_a_memory():
    P = recall()
    with pytest.raises(WorkbenchError, match="recall has no memory"):
        transition_diagram(P, uniform(P))


def test_short_labels_are_the_papers():
    E = augment(gravity(), "O1")
    assert action_label(E, ("up", "push")) == "up T"
    assert action_label(E, ("up", "-")) == "up"
    assert memory_label(E, ((4, 0),)) == "(4, 0)"
    assert memory_label(augment(t_maze(1), "OA1"), (("corridor", "up"),)) == "(corridor, up)"


# ---------------------------------------------------------------------- the transition diagram as a picture


def arrows(axes, kind):
    return [x for x in axes.patches if isinstance(x, FancyArrowPatch) and x.get_gid() == kind]


@pytest.mark.parametrize(
    ("task", "memory"), [(recall(), "OA1"), (recall(), "B2"), (recall4(), "B1"), (recall(), "OA2")]
)
def test_every_edge_is_drawn_with_its_labels(task, memory):
    diagram = diagram_of(task, memory)
    axes = figures.memory_diagram(diagram)
    for kind in ("policy", "strict", "weak"):
        edges = [edge for edge in diagram.edges if edge.kind == kind]
        assert len(arrows(axes, kind)) == len(edges)
        expected = [
            ", ".join(action_label(diagram.P, a) for a in edge.actions) + (" end" if edge.ends else "")
            for edge in edges
        ]
        assert texts(axes, kind) == expected
    for shortcut in shortcuts(diagram.P, blue(diagram.P) if memory == "OA1" else best(diagram.P)):
        (node,) = (edge for edge in diagram.edges if edge.start == shortcut.o and shortcut.a in edge.actions)
        assert node.kind == shortcut.kind


def test_other_transitions_are_labelled_where_that_can_be_read():
    axes = figures.memory_diagram(diagram_of(recall(), "OA1"))
    assert sorted(texts(axes, "other")) == sorted(["3T", "3T", "1T", "1T", "2T", "o/w", "o/w", "o/w", "o/w"])
    assert texts(axes, "node") == ["∅", "1", "2", "3"]
    axes = figures.memory_diagram(diagram_of(recall(), "B2"))
    assert texts(axes, "other") == []
    assert len(arrows(axes, "other")) >= 10


def test_kinds_differ_in_more_than_colour():
    axes = figures.memory_diagram(diagram_of(recall(), "B2"))
    policy, strict, weak = (arrows(axes, kind)[0] for kind in ("policy", "strict", "weak"))
    assert policy.get_linestyle() == strict.get_linestyle() == "solid"
    assert weak.get_linestyle() != "solid"
    assert policy.get_linewidth() > strict.get_linewidth() > weak.get_linewidth()
    framed = {
        text.get_gid(): text.get_bbox_patch().get_edgecolor()[3] > 0 for text in axes.texts if text.get_bbox_patch()
    }
    assert framed["strict"]
    assert framed["weak"]
    assert not framed["policy"]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == [
        "the policy", "strict shortcut", "weak shortcut", "other transitions",
    ]  # fmt: skip


def test_nodes_the_policy_does_not_meet_have_dashed_frames():
    diagram = diagram_of(recall(), "B2")
    axes = figures.memory_diagram(diagram)
    boxes = [x for x in axes.patches if x.get_gid() == "node"]
    assert [box.get_linestyle() == "solid" for box in boxes] == [node in diagram.steps for node in diagram.nodes]


def test_large_diagrams_are_layered_and_too_large_ones_refused():
    diagram = diagram_of(gravity(), "O1")
    axes = figures.memory_diagram(diagram)
    assert len(texts(axes, "node")) == 13  # a best policy takes 12 steps
    assert len(texts(axes, "policy")) == 12
    assert arrows(axes, "other") == []
    E = augment(gravity(), "O1")
    with pytest.raises(TooLarge, match="can be read up to 40"):
        figures.memory_diagram(transition_diagram(E, uniform(E)))


def test_arrows_run_from_node_to_node_and_through_no_other():
    for diagram in (diagram_of(recall(), "OA1"), diagram_of(recall(), "B2"), diagram_of(gravity(), "O1")):
        axes = figures.memory_diagram(diagram)
        boxes = [x.get_extents() for x in axes.patches if x.get_gid() == "node"]
        for arrow in (x for x in axes.patches if isinstance(x, FancyArrowPatch) and x.get_gid() != "start"):
            path = axes.transData.transform(arrow.get_path().vertices[:41])
            near = [i for i, box in enumerate(boxes) if box.expanded(1.5, 1.5).contains(*path[0])]
            assert near
            inside = [box.padded(-4) for box in boxes]
            assert not any(box.contains(x, y) for box in inside for x, y in path[3:-3])


def test_small_axes_get_smaller_text():
    figure = pyplot.figure(figsize=(7, 4))
    axes = figures.memory_diagram(diagram_of(recall(), "OA1"), figure.add_axes((0, 0, 0.5, 0.5)))
    assert {text.get_fontsize() for text in axes.texts if text.get_text()} == {5.0}


def test_an_arrow_avoids_boxes_and_labels():
    canvas = Canvas(width=6, height=3)
    for key, x in (("a", 1), ("b", 3), ("c", 5)):
        canvas.node(key, key, x, 1.5)
    canvas.arrow(Arrow("a", "c", "over", {}, {}))
    _, points, label = canvas._routes[0]
    assert not canvas.boxes["b"].holds(points, 0.05).any()
    canvas.arrow(Arrow("a", "c", "again", {}, {}))
    other = canvas._routes[1][2]
    assert abs(label.x - other.x) >= (label.width + other.width) / 2 or abs(label.y - other.y) >= label.height


# ---------------------------------------------------------------------- texts can be read


def pictures():
    E1, E4 = augment(recall(), "OA1"), augment(recall4(), "B1")
    O1 = augment(gravity(), "O1")
    yield "recall OA1", lambda: figures.memory_diagram(diagram_of(recall(), "OA1"))
    yield "recall OA1 undiscounted", lambda: figures.memory_diagram(diagram_of(recall(gamma=1), "OA1"))
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


@pytest.mark.parametrize("draw", [pytest.param(draw, id=name) for name, draw in pictures()])
def test_no_text_touches_another_or_leaves_the_figure(draw):
    drawn = np.atleast_1d(np.asarray(draw(), dtype=object)).ravel()
    figure = drawn[0].get_figure()
    figure.canvas.draw()
    assert figure.get_figwidth() == pytest.approx(7, abs=0.01)
    boxes = [(text.get_text(), matplotlib.text.Text.get_window_extent(text)) for text in visible_texts(figure)]
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
            for axis, (low, high) in ((axes.xaxis, axes.get_xlim()), (axes.yaxis, sorted(axes.get_ylim()))):
                found.append(axis.label)
                ticks = zip(axis.get_ticklabels(), axis.get_ticklocs(), strict=True)
                found += [label for label, place in ticks if low <= place <= high]
    return [text for text in found if text.get_text().strip()]


# ---------------------------------------------------------------------- tables


def test_a_q_table_shows_the_fractions_of_lemma_c4():
    E = augment(recall4(), "B1")
    found = evaluate(E, uniform(E), exact=True)
    axes = figures.q_table(found)
    placed = {(round(t.get_position()[1]), round(t.get_position()[0])): t.get_text() for t in axes.texts}
    assert placed == {(i, j): str(found.q[o, a]) for i, o in enumerate(E.O) for j, a in enumerate(E.A)}
    assert placed[0, 0] == "-11/12"
    assert np.allclose(axes.images[0].get_array(), evaluate(E, uniform(E)).q.raw)
    assert [t.get_text() for t in axes.get_yticklabels()] == ["(0, o)", "(1, o)"]
    assert [t.get_text() for t in axes.get_xticklabels()][:2] == ["(0, 0)", "(0, 1)"]


def test_undefined_cells_are_hatched_and_empty_and_the_policys_cells_framed():
    E = augment(recall(), "OA1")
    pi = blue(E)
    axes = figures.q_table(evaluate(E, pi), pi=pi)
    hatched = [x for x in axes.patches if x.get_gid() == "undefined"]
    assert len(hatched) == len(E.A)  # the row of memory 3
    assert all(x.get_hatch() for x in hatched)
    assert {x.get_xy()[1] for x in hatched} == {2.5}
    assert not [t for t in axes.texts if round(t.get_position()[1]) == 3]
    framed = {(round(x.get_y() + 0.44), round(x.get_x() + 0.47)) for x in axes.patches if x.get_gid() == "chosen"}
    assert framed == {(i, E.A.index(a)) for i, a in enumerate([(1, "push"), (2, "push"), (3, "push")])}


def test_td_values_are_tables_too():
    E = augment(recall(), "OA1")
    axes = figures.q_table(td_values(E, blue(E), exact=True), rows=[EMPTY])
    assert dict(zip([t.get_position() for t in axes.texts], texts(axes), strict=True))[3, 0] == "19/20"


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
    assert axes.get_yticklabels()[1].get_text() == "(0, 001)"
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
    assert cell_text(x) == text


def test_numbers_stand_out_from_their_cell():
    E = augment(recall4(), "B1")
    axes = figures.q_table(evaluate(E, uniform(E)))
    (image,) = axes.images
    for text in axes.texts:
        j, i = (round(x) for x in text.get_position())
        red, green, blue_, _ = image.cmap(image.norm(image.get_array()[i, j]))
        assert (0.2126 * red + 0.7152 * green + 0.0722 * blue_ < 0.5) == (text.get_color() == "white")


# ---------------------------------------------------------------------- grids


def drawn_arrows(axes):
    """{(x, y) of the cell: {(dx, dy): length}}."""
    found = {}
    for text in axes.texts:
        if text.get_gid() == "arrow":
            (x0, y0), (x1, y1) = text.get_position(), text.xy
            length = np.hypot(x1 - x0, y1 - y0)
            direction = (round((x1 - x0) / length), round((y1 - y0) / length))
            found.setdefault((int(x0), int(y0)), {})[direction] = length / 0.44
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
        cells = {o: E.A[int(pi.actions[i])] for i, (n, o) in enumerate(E.O) if n == m and found.reached.raw[i]}
        assert drawn_arrows(one) == {cell: {MOVES[a]: pytest.approx(1)} for cell, (a, _) in cells.items()}
        dots = {(int(x.get_xdata()[0]), int(x.get_ydata()[0])) for x in one.lines if x.get_gid() == "write"}
        assert dots == {cell for cell, (_, w) in cells.items() if w != m}
        assert set(texts(one, "write")) <= {"1" if m == "0" else "0"}
    keep = augment(gravity(), "O1")
    stays = Policy.deterministic(keep, {}, otherwise=("right", "keep"))
    axes = figures.grid_policy(evaluate(keep, stays), Grid(FIGURE)).ravel()
    assert [one.get_title() for one in axes] == ["memory ∅"]
    assert not [x for x in axes[0].lines if x.get_gid() == "write"]


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
    size = {
        (int(x.get_xdata()[0]), int(x.get_ydata()[0])): x.get_markersize()
        for x in first.lines
        if x.get_gid() == "write"
    }
    assert size[0, 0] / size[1, 0] == pytest.approx(1 / 2)


def test_of_many_memory_states_the_most_visited_are_shown():
    E = augment(gravity(), "O1")
    found = evaluate(E, uniform(E))
    axes = figures.grid_policy(found, Grid(FIGURE), most=3)
    time_in = {}
    for s, visits in zip(E.S, found.visits.raw, strict=True):
        if s not in E.terminal:
            time_in[s[1]] = time_in.get(s[1], 0) + visits
    top = sorted(time_in, key=time_in.get)[-3:]
    assert {one.get_title() for one in axes.ravel()} == {f"memory {memory_label(E, m)}" for m in top}
    assert "the 3 most visited of" in axes.ravel()[0].get_figure()._supxlabel.get_text()


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
    P = POMDP.from_functions(
        name="corridor", A=["left", "right"], mu={0: 1}, gamma=1, terminal={3}, omega=lambda s: {"wall" if s == 0 else "dark": 1},
        p=lambda s, a: {(s + 1 if a == "right" else max(s - 1, 0), 0): 1},
    )  # fmt: skip
    pi = Policy.from_mapping(P, {"wall": {"right": 1}, "dark": {"right": Fraction(3, 4), "left": Fraction(1, 4)}})
    (axes,) = figures.grid_policy(
        evaluate(P, pi), Grid(corridor), seen=lambda cell: "wall" if cell[0] == 0 else "dark"
    ).ravel()
    found = drawn_arrows(axes)
    for cell in ((1, 0), (2, 0)):
        assert found[cell] == {(1, 0): pytest.approx(0.75), (-1, 0): pytest.approx(0.25)}
    with pytest.raises(UnknownLabel, match="no direction is given for the action left"):
        figures.grid_policy(evaluate(P, pi), Grid(corridor), moves={"right": (1, 0)})
    E = augment(P, "B1")
    with pytest.raises(WorkbenchError, match="give as many axes, not 1"):
        figures.grid_policy(evaluate(E, uniform(E)), Grid(corridor), axes=[axes])


# ---------------------------------------------------------------------- lambda sweeps


def test_greedy_leaves_the_shortcut_where_the_two_values_cross():
    """gamma (1 - lam) (1 + gamma lam) = gamma^2 when the last action keeps the memory."""
    E = augment(recall(), "OA1")
    pi = Policy.deterministic(E, {EMPTY: (1, "push"), ONE: (2, "push")}, otherwise=(3, "keep"))
    sweep = sweep_lambda(E, pi, points=7)
    (crossing,) = sweep.crossings
    assert (crossing.o, crossing.before, crossing.after) == (EMPTY, (2, "push"), (1, "push"))
    assert crossing.lam == pytest.approx((-0.05 + np.sqrt(0.05**2 + 4 * 0.95 * 0.05)) / (2 * 0.95), abs=1e-8)
    assert crossing.q == pytest.approx(0.95**2)
    assert sweep.o == (EMPTY, ONE, TWO)
    assert np.allclose(sweep.q[-1], evaluate(E, pi).q.raw[:3], equal_nan=True)
    assert np.allclose(sweep.q[0], td_values(E, pi).q.raw[:3], equal_nan=True)
    assert np.allclose(sweep.q[2], td_values(E, pi, lam=1 / 3).q.raw[:3], equal_nan=True)


def test_values_that_only_meet_at_the_end_do_not_cross():
    E = augment(recall(), "B2")
    sweep = sweep_lambda(E, best(E), points=7)
    assert [crossing.o for crossing in sweep.crossings] == [("00", "o")]


def test_a_sweep_draws_each_curve_once_with_its_true_value_and_crossings():
    E = augment(recall(), "OA1")
    pi = Policy.deterministic(E, {EMPTY: (1, "push"), ONE: (2, "push")}, otherwise=(3, "keep"))
    sweep = sweep_lambda(E, pi, points=7)
    axes = figures.lambda_sweep(sweep).ravel()
    assert [one.get_title() for one in axes] == ["q at ∅", "q at 1", "q at 2"]
    curves = {x.get_label(): x for x in axes[0].lines if x.get_gid() == "curve"}
    assert set(curves) == {"1F, 2F, 3F", "1T", "2T"}  # 3T leads where pi never is
    for label, a in (("1T", (1, "push")), ("2T", (2, "push")), ("1F, 2F, 3F", (3, "keep"))):
        assert curves[label].get_ydata() == pytest.approx(sweep.q[:, 0, E.A.index(a)])
        assert curves[label].get_xdata().tolist() == sweep.lam.tolist()
    assert curves["1T"].get_linewidth() > curves["2T"].get_linewidth()
    assert len({str(x.get_linestyle()) + str(x._dash_pattern) for x in curves.values()}) == 3
    assert sorted(texts(axes[0], "name")) == sorted(curves)
    true = sorted(x.get_ydata()[0] for x in axes[0].lines if x.get_gid() == "true")
    assert true == pytest.approx([0, 0, 0.9025])
    (mark,) = (x for x in axes[0].lines if x.get_gid() == "crossing")
    assert (mark.get_xdata()[0], mark.get_ydata()[0]) == (sweep.crossings[0].lam, sweep.crossings[0].q)
    assert not [x for x in axes[1].lines if x.get_gid() == "crossing"]


def test_sweeps_refuse_what_they_cannot_draw():
    P = recall()
    with pytest.raises(WorkbenchError, match="at least 2 points"):
        sweep_lambda(P, uniform(P), points=1)
    E = augment(P, "OA1")
    with pytest.raises(WorkbenchError, match="as many axes, not 1"):
        figures.lambda_sweep(sweep_lambda(E, uniform(E), points=2), axes=pyplot.figure().add_subplot())


def test_many_actions_with_one_curve_are_counted():
    E = augment(recall(), "B2")
    axes = figures.lambda_sweep(sweep_lambda(E, best(E), o=[("10", "o")], points=3)).ravel()[0]
    labels = [x.get_label() for x in axes.lines if x.get_gid() == "curve"]
    assert any(label.endswith("+4") for label in labels)


# ---------------------------------------------------------------------- slices of the simplex


def meet():
    """Two steps: 2 for left and left, 1 for right and right, else nothing; the second step sees only that it is second."""
    return POMDP.from_functions(
        name="meet", A=["left", "right"], mu={(): 1}, gamma=1, terminal={"end"},
        p=lambda s, a: {((*s, a), 0): 1} if not s else {("end", {"left": 2, "right": 1}[a] if a == s[0] else 0): 1},
        omega=lambda s: {len(s) if s != "end" else 2: 1},
    )  # fmt: skip


def meet_slice(points):
    P = meet()
    return policy_slice(P, uniform(P), x=(0, "right"), y=(1, "right"), points=points, step=0.01)


def ends_right(x, y):
    """In the limit of small steps: each is right while the other is above 2/3; whoever is above first pulls the other along."""
    while not (x > 2 / 3 and y > 2 / 3):
        if x <= 2 / 3 and y <= 2 / 3:
            return False
        if x > 2 / 3:  # x falls, y rises
            x, y = y, x
        t = np.log((1 - x) / (1 / 3))  # until x is at 2/3
        return bool(y * np.exp(-t) > 2 / 3)
    return True


def test_basins_of_a_meeting_game_are_as_computed_by_hand():
    found = meet_slice(9)
    assert [str(end) for end in found.ends] == ["2", "1"]
    for j, i in np.ndindex(9, 9):
        assert found.basin[j, i] == int(ends_right(found.at[i], found.at[j])), (found.at[i], found.at[j])
        toward = np.array([found.at[j] > 2 / 3, found.at[i] > 2 / 3], dtype=float)
        assert found.flow[j, i] == pytest.approx(toward - [found.at[i], found.at[j]])


def test_a_slice_of_one_row_is_a_triangle():
    E = augment(recall_variant(), "OA1")
    e = ((None,), "o")
    found = policy_slice(E, uniform(E), x=(e, (0, "push")), y=(e, (0, "keep")), points=4, step=0.2)
    inside = np.add.outer(found.at, found.at) <= 1
    assert ((found.basin >= 0) == inside).all()
    assert (np.isnan(found.flow[..., 0]) == ~inside).all()
    axes = figures.policy_flow(found)
    assert len([x for x in axes.patches if x.get_gid() == "basin"]) == inside.sum()
    assert axes.get_xlabel() == "π(0T | ∅)"


def test_the_rest_of_a_row_keeps_its_proportions():
    table = np.array([[0.2, 0.2, 0.6], [0.0, 1.0, 0.0]])
    assert _moved(table, [(0, 0), (1, 1)], (0.6, 0.4)) == pytest.approx(np.array([[0.6, 0.1, 0.3], [0.3, 0.4, 0.3]]))
    assert _moved(table, [(0, 0), (0, 2)], (0.25, 0.5))[0] == pytest.approx([0.25, 0.25, 0.5])


def test_ends_are_told_apart():
    assert str(End("limit cycle", 1.5614)) == "about 1.56 (limit cycle)"
    assert str(End("budget", 0.5)) == "about 0.5 (budget)"
    with pytest.raises(WorkbenchError, match="are the same one"):
        policy_slice(meet(), uniform(meet()), x=(0, "left"), y=(0, "left"))
    with pytest.raises(WorkbenchError, match="at least 2 points"):
        policy_slice(meet(), uniform(meet()), x=(0, "left"), y=(1, "left"), points=1)


def test_a_flow_picture_holds_every_basin_and_arrow():
    found = meet_slice(5)
    axes = figures.policy_flow(found)
    cells = [x for x in axes.patches if x.get_gid() == "basin"]
    for cell in cells:
        i, j = (round(x * 5) for x in cell.get_xy())
        assert (cell.get_hatch() or "") == ("" if found.basin[j, i] == 0 else "....")
    assert len(cells) == 25
    (quiver,) = axes.collections
    assert quiver.N == 25
    signs = np.sign(np.column_stack([quiver.U, quiver.V]))
    assert (signs == np.sign(found.flow.reshape(25, 2))).all()
    assert [t.get_text() for t in axes.get_legend().get_texts()] == ["value 2", "value 1"]
    assert axes.get_xlabel() == "π(right | 0)"


def test_a_fine_slice_has_fewer_arrows_than_points():
    at = (np.arange(31) + 0.5) / 31
    P = meet()
    flow, basin, ends = np.ones((31, 31, 2)), np.zeros((31, 31), int), (End("fixed", Fraction(1)),)
    fine = PolicySlice(P, uniform(P), (0, "left"), (1, "left"), 0.1, at, flow, ends, basin)
    (quiver,) = figures.policy_flow(fine).collections
    assert quiver.N == 10 * 10


# ---------------------------------------------------------------------- beliefs


@pytest.mark.parametrize("P", [recall(), recall4(), t_maze(1)], ids=lambda P: P.name)
def test_a_belief_graph_draws_every_node_and_edge(P):
    graph = reachable_beliefs(P)
    axes = figures.belief_graph(graph)
    pairs = {(n, edge.node) for n, by_action in enumerate(graph.edges) for edges in by_action for edge in edges}
    assert len(arrows(axes, "belief")) == len(pairs)
    assert len(texts(axes, "node")) == len(graph)
    for node, text in zip(graph.nodes, texts(axes, "node"), strict=False):
        assert all(str(x) in text for x in node.b.values() if x != 1)
    assert sum(x.get_gid() == "start" for x in axes.texts) == len(graph.starts)


def test_belief_labels_name_actions_and_observations():
    axes = figures.belief_graph(reachable_beliefs(recall()))
    assert sorted(texts(axes, "belief")) == sorted(["1", "2, 3", "2", "1, 3", "any"])
    axes = figures.belief_graph(reachable_beliefs(t_maze(1)))
    assert "right / corridor" in texts(axes, "belief")


def test_beliefs_that_were_not_walked_have_dashed_frames_and_many_are_refused():
    graph = explore_beliefs(tiger(), limit=6)
    axes = figures.belief_graph(graph)
    boxes = [x for x in axes.patches if x.get_gid() == "node"]
    assert sum(box.get_linestyle() == "solid" for box in boxes) == len(graph.edges) < len(graph)
    with pytest.raises(TooLarge, match="read up to 30"):
        figures.belief_graph(explore_beliefs(tiger(), limit=40))


def test_large_beliefs_name_some_states_and_count_the_rest():
    P = POMDP.from_functions(
        name="six", A=["go"], p=lambda s, a: {("end", 0): 1}, omega=lambda s: {"o": 1}, gamma=1, terminal={"end"},
        mu={s: Fraction(1, 4) if s < 2 else Fraction(1, 8) for s in range(6)},
    )  # fmt: skip
    assert texts(figures.belief_graph(reachable_beliefs(P)), "node") == ["0: 1/4\n1: 1/4\n2: 1/8\n3: 1/8\n+2 more"]


# ---------------------------------------------------------------------- curves


def test_curves_of_different_lengths_are_all_in_view():
    class Loop:
        def __init__(self, values):
            self.values = np.array(values)

    axes = figures.oracle_values({"B1": Loop([0, 1, 2, 3]), "OA1": Loop([0, 1])}, optimum=3)
    assert axes.get_xlim() == (0, 4)
    assert [t.get_text() for t in axes.get_legend().get_texts()] == ["B1", "OA1", "optimum"]
    given = pyplot.figure().add_subplot()
    assert figures.oracle_values({"B1": Loop([0, 1])}, given) is given
    assert given.get_legend() is None
