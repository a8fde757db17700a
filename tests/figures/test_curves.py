"""Lambda sweeps, slices of the policy simplex, belief graphs and curves hold the numbers they were
given."""

from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from drawn import EMPTY, ONE, TWO, arrows, best, meet, meet_slice, texts
from matplotlib import pyplot
from matplotlib.collections import LineCollection
from matplotlib.text import Text
from toy_tasks import small_task

from pomdps import recall, recall4, recall_variant
from pomdps.classics import tiger
from pomdps.mazes import t_maze
from workbench import (
    Policy,
    augment,
    evaluate,
    figures,
    reachable_beliefs,
    td_values,
    uniform,
)
from workbench.agents.beliefs import explore_beliefs
from workbench.core.errors import TooLarge, WorkbenchError
from workbench.evaluation.lambda_sweep import sweep_lambda
from workbench.figures.value_dots import value_curves, value_dots
from workbench.improvement.slice import PolicySlice, SliceEnd, _moved, policy_slice

# ---------------------------------------------------------------------- lambda sweeps


def test_greedy_leaves_the_shortcut_where_the_two_values_cross():
    """gamma (1 - lam) (1 + gamma lam) = gamma^2 when the last action keeps the memory."""
    E = augment(recall(), "OA1")
    pi = Policy.deterministic(E, {EMPTY: (1, "push"), ONE: (2, "push")}, otherwise=(3, "keep"))
    sweep = sweep_lambda(E, pi, points=7)
    (crossing,) = sweep.crossings
    assert (crossing.o, crossing.before, crossing.after) == (EMPTY, (2, "push"), (1, "push"))
    assert crossing.lam == pytest.approx(
        (-0.05 + np.sqrt(0.05**2 + 4 * 0.95 * 0.05)) / (2 * 0.95), abs=1e-8
    )
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
    assert [one.get_title() for one in axes] == ["q at ∅", "q at o 1", "q at o 2"]
    curves = {x.get_label(): x for x in axes[0].lines if x.get_gid() == "curve"}
    assert set(curves) == {
        "1 keep, 2 keep, 3 keep",
        "1 push",
        "2 push",
    }  # 3 push leads where pi never is
    for label, a in (
        ("1 push", (1, "push")),
        ("2 push", (2, "push")),
        ("1 keep, 2 keep, 3 keep", (3, "keep")),
    ):
        assert curves[label].get_ydata() == pytest.approx(sweep.q[:, 0, E.A.index(a)])
        assert curves[label].get_xdata().tolist() == sweep.lam.tolist()
    assert curves["1 push"].get_linewidth() > curves["2 push"].get_linewidth()
    assert len({str(x.get_linestyle()) + str(x._dash_pattern) for x in curves.values()}) == 3
    assert sorted(texts(axes[0], "name")) == sorted(curves)
    true = sorted(x.get_ydata()[0] for x in axes[0].lines if x.get_gid() == "true")
    assert true == pytest.approx([0, 0, 0.9025])
    (mark,) = (x for x in axes[0].lines if x.get_gid() == "crossing")
    assert (mark.get_xdata()[0], mark.get_ydata()[0]) == (
        sweep.crossings[0].lam,
        sweep.crossings[0].q,
    )
    assert not [x for x in axes[1].lines if x.get_gid() == "crossing"]


def test_sweeps_refuse_what_they_cannot_draw():
    P = recall()
    with pytest.raises(WorkbenchError, match="at least 2 points"):
        sweep_lambda(P, uniform(P), points=1)
    E = augment(P, "OA1")
    with pytest.raises(WorkbenchError, match="as many axes, not 1"):
        figures.lambda_sweep(
            sweep_lambda(E, uniform(E), points=2), axes=pyplot.figure().add_subplot()
        )


def test_panels_of_a_sweep_are_wide_enough_for_curves_and_names():
    E = augment(recall(), "OA1")
    pi = Policy.deterministic(E, {EMPTY: (1, "push"), ONE: (2, "push")}, otherwise=(3, "keep"))
    axes = figures.lambda_sweep(sweep_lambda(E, pi, points=3))
    figure = axes.ravel()[0].get_figure()
    figure.canvas.draw()
    for one in axes.ravel()[:3]:
        assert one.get_position().width * figure.get_figwidth() > 1.2  # inches
        inside = one.get_tightbbox().x1 / figure.dpi
        assert inside <= figure.get_figwidth()


def test_the_line_to_a_name_crosses_no_other_name():
    E = augment(recall(), "OA1")
    pi = Policy.deterministic(E, {EMPTY: (1, "push"), ONE: (2, "push")}, otherwise=(3, "push"))
    pi = pi.toward(uniform(E), 0.01)
    (axes,) = figures.lambda_sweep(sweep_lambda(E, pi, o=[EMPTY], points=3)).ravel()
    axes.get_figure().canvas.draw()
    names = [text for text in axes.texts if text.get_gid() == "name"]
    assert len(names) == 6
    for one in names:
        line = one.arrow_patch.get_path().transformed(one.arrow_patch.get_transform())
        for other in names:
            box = Text.get_window_extent(other)  # without its own line
            assert other is one or not line.intersects_bbox(box, filled=False)


def test_many_actions_with_one_curve_are_counted():
    E = augment(recall(), "B2")
    axes = figures.lambda_sweep(sweep_lambda(E, best(E), o=[("10", "o")], points=3)).ravel()[0]
    labels = [x.get_label() for x in axes.lines if x.get_gid() == "curve"]
    assert any(label.endswith("+4") for label in labels)


# ---------------------------------------------------------------------- slices of the simplex


def ends_right(x, y):
    """In the limit of small steps: each is right while the other is above 2/3; whoever is above
    first pulls the other along."""
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
        assert found.basin[j, i] == int(ends_right(found.at[i], found.at[j])), (
            found.at[i],
            found.at[j],
        )
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
    assert axes.get_xlabel() == "π(0 push | ∅)"


def test_the_rest_of_a_row_keeps_its_proportions():
    table = np.array([[0.2, 0.2, 0.6], [0.0, 1.0, 0.0]])
    assert _moved(table, [(0, 0), (1, 1)], (0.6, 0.4)) == pytest.approx(
        np.array([[0.6, 0.1, 0.3], [0.3, 0.4, 0.3]])
    )
    assert _moved(table, [(0, 0), (0, 2)], (0.25, 0.5))[0] == pytest.approx([0.25, 0.25, 0.5])


def test_ends_are_told_apart():
    assert str(SliceEnd("limit cycle", 1.5614)) == "about 1.56 (limit cycle)"
    assert str(SliceEnd("budget", 0.5)) == "about 0.5 (budget)"
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
    flow, basin, ends = (
        np.ones((31, 31, 2)),
        np.zeros((31, 31), int),
        (SliceEnd("fixed", Fraction(1)),),
    )
    fine = PolicySlice(P, uniform(P), (0, "left"), (1, "left"), 0.1, at, flow, ends, basin)
    (quiver,) = figures.policy_flow(fine).collections
    assert quiver.N == 10 * 10


# ---------------------------------------------------------------------- beliefs


@pytest.mark.parametrize("P", [recall(), recall4(), t_maze(1)], ids=lambda P: P.name)
def test_a_belief_graph_draws_every_node_and_edge(P):
    graph = reachable_beliefs(P)
    axes = figures.belief_graph(graph)
    pairs = {
        (n, edge.node)
        for n, by_action in enumerate(graph.edges)
        for edges in by_action
        for edge in edges
    }
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
    P = small_task(
        "six",
        lambda s, a: {("end", 0): 1},
        {s: Fraction(1, 4) if s < 2 else Fraction(1, 8) for s in range(6)},
        A=["go"],
    )
    assert texts(figures.belief_graph(reachable_beliefs(P)), "node") == [
        "0: 1/4\n1: 1/4\n2: 1/8\n3: 1/8\n+2 more"
    ]


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


# ---------------------------------------------------------------------- steps on an axis


def curves_of(rewards, steps):
    ends = np.linspace(steps / 4, steps, 4).astype(np.int64)
    return SimpleNamespace(ends=ends, per_100=np.array(rewards, dtype=float))


@pytest.mark.parametrize(
    ("steps", "label", "end"),
    [
        (2_000, "steps", 2_000),
        (40_000, "steps (thousands)", 40),
        (3_000_000, "steps (millions)", 3),
    ],
)
def test_a_short_run_has_an_axis_of_its_own_size(steps, label, end):
    run = curves_of([[0, 1, 2, 3]], steps)
    drawn = [
        figures.learning_curves({"B1": run}),
        figures.greedy_values(run.ends, run.per_100[0], "B1"),
        figures.greedy_raster(run.ends, run.per_100),
    ]
    for axes in drawn:
        assert axes.get_xlabel() == label
        assert axes.get_xlim() == (0, end)
        pyplot.close(axes.get_figure())


def test_costs_are_not_cut_off_and_rewards_stand_on_zero():
    costs = figures.learning_curves({"none": curves_of([[-300, -100, -40, -20]], 2_000)})
    assert costs.get_ylim()[0] < -300
    rewards = figures.learning_curves({"none": curves_of([[1, 2, 3, 4]], 2_000)})
    assert rewards.get_ylim()[0] == 0
    below = figures.learning_curves({"none": curves_of([[1, 2, 3, 4]], 2_000)}, optimum=-1.0)
    assert below.get_ylim()[0] < -1
    for axes in (costs, rewards, below):
        pyplot.close(axes.get_figure())


def test_rewards_are_counted_by_episode_over_the_seeds_that_ended_one():
    rewards, episodes = np.array([[1.0, 2, 6], [3, 4, 8]]), np.array([[2, 0, 0], [3, 2, 0]])
    ends = np.array([100, 200, 300])
    run = SimpleNamespace(ends=ends, per_100=rewards, rewards=rewards, episodes=episodes)
    axes = figures.learning_curves({"none": run}, optimum=1.0, by_episode=True)
    assert axes.get_lines()[0].get_ydata()[:2].tolist() == [0.75, 2.0]
    assert np.isnan(axes.get_lines()[0].get_ydata()[2])
    assert axes.get_ylabel() == "reward per episode"
    pyplot.close(axes.get_figure())


def test_exact_values_stand_by_their_memory_between_the_lines():
    measured = {"none": [[0.2, 0.48], [0.1, 0.47]], "LSTM": [[np.nan, np.nan]]}
    runs = {name: SimpleNamespace(measured=np.array(rows)) for name, rows in measured.items()}
    _, axes = pyplot.subplots()
    value_dots(runs, {"best": 0.93, "without": 0.4827}, axes)
    dots, nothing, *lines = axes.get_lines()
    assert dots.get_ydata().tolist() == [0.48, 0.47]
    assert len(nothing.get_ydata()) == 0
    assert [line.get_ydata()[0] for line in lines] == [0.93, 0.4827]
    assert [text.get_text() for text in axes.texts] == ["no value", "best", "without"]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["None", "LSTM"]
    pyplot.close(axes.get_figure())


def test_exact_values_during_training_are_drawn_where_they_were_measured():
    nan = np.nan
    measured = {"O3": [[nan, 0.2, nan, 0.9], [nan, 0.4, nan, nan]], "LSTM": [[nan] * 4]}
    ends = np.array([1, 2, 3, 4]) * 1_000_000
    runs = {
        name: SimpleNamespace(measured=np.array(rows), ends=ends) for name, rows in measured.items()
    }
    _, axes = pyplot.subplots()
    value_curves(runs, {"best": 0.93}, axes)
    median, best = axes.get_lines()
    assert median.get_xdata().tolist() == [2, 4]
    assert median.get_ydata() == pytest.approx([0.3, 0.9])
    assert best.get_ydata()[0] == 0.93
    pyplot.close(axes.get_figure())


def test_the_best_with_a_memory_is_a_line_across_its_column_or_a_bar_between_bounds():
    measured = {"none": [[0.48]], "K3": [[0.46]], "LSTM": [[np.nan]]}
    runs = {name: SimpleNamespace(measured=np.array(rows)) for name, rows in measured.items()}
    _, axes = pyplot.subplots()
    value_dots(runs, {}, axes, {"none": (0.48, 0.48), "K3": (0.6, 0.93)})
    found = [c for c in axes.collections if isinstance(c, LineCollection)]
    lines = [[part.tolist() for part in c.get_segments()] for c in found]
    assert [[y for (_, y), _ in part] for part in lines] == [[0.48], [0.6, 0.93]]
    (left, _), (right, _) = lines[1][0]
    assert 0.5 < left < 1 < right < 1.5  # the second column, and no other
    (bar,) = [c for c in axes.collections if c not in found]
    _, low, _, high = bar.get_datalim(axes.transData).extents
    assert (low, high) == pytest.approx((0.6, 0.93))
    pyplot.close(axes.get_figure())
