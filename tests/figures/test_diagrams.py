"""The transition diagram of Figure 3, as data and as a picture."""

import numpy as np
import pytest
from drawn import EMPTY, ONE, THREE, TWO, arrows, best, blue, diagram_of, texts
from hypothesis import given
from hypothesis import strategies as st
from matplotlib import pyplot
from matplotlib.patches import FancyArrowPatch
from strategies import families, pomdps

from pomdps import gravity, recall, recall4
from workbench import (
    Policy,
    augment,
    figures,
    shortcuts,
    uniform,
)
from workbench.core.errors import TooLarge, WorkbenchError
from workbench.evaluation.transition_diagram import action_label, transition_diagram
from workbench.figures.canvas import Arrow, Canvas, snake

# ---------------------------------------------------------------------- the transition diagram as
# data


def test_the_diagram_of_recall_with_oa1_is_figure_3():
    diagram = diagram_of(recall(), "OA1")
    P = diagram.P
    drawn = {
        kind: [
            (x.start, x.end, [action_label(P, a) for a in x.actions])
            for x in diagram.edges
            if x.kind == kind
        ]
        for kind in ("policy", "strict", "weak", "other")
    }
    assert drawn["policy"] == [(EMPTY, ONE, ["1T"]), (ONE, TWO, ["2T"]), (TWO, THREE, ["3T"])]
    assert drawn["strict"] == [(EMPTY, TWO, ["2T"])]
    assert drawn["weak"] == []
    grey = {(start, end): labels for start, end, labels in drawn["other"] if start != end}
    assert grey == {
        (EMPTY, THREE): ["3T"],
        (ONE, THREE): ["3T"],
        (TWO, ONE): ["1T"],
        (THREE, ONE): ["1T"],
        (THREE, TWO): ["2T"],
    }
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
                everything |= {
                    (next(iter(E.omega(s))), a, next(iter(E.omega(t)))) for t, _ in E.p(s, a)
                }
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
    assert action_label(augment(gravity(), "none"), ("up", "-")) == "up"
    assert action_label(augment(gravity(), "K1"), ("up", "push")) == "up"


# ---------------------------------------------------------------------- the transition diagram as a
# picture


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
            ", ".join(action_label(diagram.P, a) for a in edge.actions)
            + (" end" if edge.ends else "")
            for edge in edges
        ]
        assert texts(axes, kind) == expected
    for shortcut in shortcuts(diagram.P, blue(diagram.P) if memory == "OA1" else best(diagram.P)):
        (node,) = (
            edge
            for edge in diagram.edges
            if edge.start == shortcut.o and shortcut.a in edge.actions
        )
        assert node.kind == shortcut.kind


def test_other_transitions_are_labelled_where_that_can_be_read():
    axes = figures.memory_diagram(diagram_of(recall(), "OA1"))
    assert sorted(texts(axes, "other")) == sorted(
        ["3T", "3T", "1T", "1T", "2T", "o/w", "o/w", "o/w", "o/w"]
    )
    assert texts(axes, "node") == ["∅", "o 1", "o 2", "o 3"]
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
        text.get_gid(): text.get_bbox_patch().get_edgecolor()[3] > 0
        for text in axes.texts
        if text.get_bbox_patch()
    }
    assert framed["strict"]
    assert framed["weak"]
    assert not framed["policy"]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == [
        "the policy",
        "strict shortcut",
        "weak shortcut",
        "other transitions",
    ]


def test_nodes_the_policy_does_not_meet_have_dashed_frames():
    diagram = diagram_of(recall(), "B2")
    axes = figures.memory_diagram(diagram)
    boxes = [x for x in axes.patches if x.get_gid() == "node"]
    assert [box.get_linestyle() == "solid" for box in boxes] == [
        node in diagram.steps for node in diagram.nodes
    ]


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
    for diagram in (
        diagram_of(recall(), "OA1"),
        diagram_of(recall(), "B2"),
        diagram_of(gravity(), "O1"),
    ):
        axes = figures.memory_diagram(diagram)
        boxes = [x.get_extents() for x in axes.patches if x.get_gid() == "node"]
        for arrow in (
            x for x in axes.patches if isinstance(x, FancyArrowPatch) and x.get_gid() != "start"
        ):
            path = axes.transData.transform(arrow.get_path().vertices[:41])
            near = [i for i, box in enumerate(boxes) if box.expanded(1.5, 1.5).contains(*path[0])]
            assert near
            inside = [box.padded(-4) for box in boxes]
            assert not any(box.contains(x, y) for box in inside for x, y in path[3:-3])


def test_small_axes_get_smaller_text():
    figure = pyplot.figure(figsize=(7, 4))
    axes = figures.memory_diagram(diagram_of(recall(), "OA1"), figure.add_axes((0, 0, 0.5, 0.5)))
    whole = figures.memory_diagram(diagram_of(recall(), "OA1"))
    inches = whole.get_figure().get_size_inches()
    scale = min(3.5 / inches[0], 2.0 / inches[1])
    small, large = (
        {text.get_text(): text.get_fontsize() for text in one.texts if text.get_text()}
        for one in (axes, whole)
    )
    assert small == pytest.approx({word: size * scale for word, size in large.items()})


def test_an_arrow_avoids_boxes_and_labels():
    canvas = Canvas(width=6, height=3)
    for key, x in (("a", 1), ("b", 3), ("c", 5)):
        canvas.node(key, key, x, 1.5)
    canvas.arrow(Arrow("a", "c", "over", {}, {}))
    _, points, label = canvas._routes[0]
    assert not canvas.boxes["b"].holds(points, 0.05).any()
    canvas.arrow(Arrow("a", "c", "again", {}, {}))
    other = canvas._routes[1][2]
    assert (
        abs(label.x - other.x) >= (label.width + other.width) / 2
        or abs(label.y - other.y) >= label.height
    )


def test_arrows_can_go_round_a_turn_one_inside_the_other():
    layers = [["a", "b"], ["c", "d"]]
    first, second = snake(layers, dict.fromkeys("abcd", (1.0, 0.2)), gap=(1.0, 0.5), width=2.0)
    assert first.places["a"][1] > first.places["b"][1]
    assert second.places["d"][1] > second.places["c"][1]  # b to d within a to c
    (row,) = snake(layers, dict.fromkeys("abcd", (1.0, 0.2)), gap=(1.0, 0.5), width=5.0)
    assert row.places["c"][1] > row.places["d"][1]
