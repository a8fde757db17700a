"""The phase portrait of the explorer's page: its regions, arrows and runs are the package's."""

import json

import numpy as np
import pytest
from test_laboratory import Engine, tasks

from workbench import QLearning, Sarsa, augment, equilibria
from workbench.equilibrium.phase_plane import phase_plane, run_path

py_mini_racer = pytest.importorskip(
    "py_mini_racer", reason="needs mini-racer, a JavaScript engine: extra test"
)


@pytest.fixture(scope="module")
def js():
    return Engine()


def fields(learner, entries, gamma=None):
    """A script that makes the fields of a learner on two entries."""
    kind = "sarsa" if isinstance(learner, Sarsa) else "qlearning"
    settings = {"kind": kind, "epsilon": learner.epsilon, "lambda": getattr(learner, "lam", 0)}
    model = "P" if gamma is None else f"W.withGamma(P, {gamma})"
    return f"new W.CellFields({model}, {json.dumps(settings)}, {json.dumps(entries)})"


CASES = [
    ("recall_variant", "none", QLearning(epsilon=0.1), None),
    ("recall", "OA1", QLearning(epsilon=0.1), None),
    ("recall4", "B1", QLearning(epsilon=0.3), 0.8),
    ("recall_variant", "B2", Sarsa(epsilon=0.2, lam=0), None),
    ("recall4", "OA1", Sarsa(epsilon=0.1, lam=0.5), None),
    ("recall", "O1", Sarsa(epsilon=0.5, lam=1), 0.5),
    ("t_maze", "B1", QLearning(epsilon=0.1), None),
    ("gravity", "none", Sarsa(epsilon=0.1, lam=0.9), None),
]


@pytest.mark.parametrize(("task", "memory", "learner", "gamma"), CASES)
def test_regions_and_arrows_are_those_of_the_package(js, task, memory, learner, gamma):
    E = augment(tasks()[task], memory)
    if gamma is not None:
        E = E.with_gamma(gamma)
    js.load(tasks()[task], memory)
    rng = np.random.default_rng(len(E.S))
    base = rng.integers(-4, 5, (len(E.O), len(E.A))) / 4  # with ties, which go to the first action
    rows = np.flatnonzero(E.decides).tolist()
    for first, second in ((rows[0], rows[-1]), (rows[0], rows[0])):
        entries = [[first, 0], [second, len(E.A) - 1]]
        x, y = ((E.O[o], E.A[a]) for o, a in entries)
        expected = phase_plane(E, learner, x, y, base, (-1, 2), (-2, 1), points=7)
        found = js(
            f"W.tablePlane({fields(learner, entries, gamma)}, {base.ravel().tolist()}, "
            f"{expected.at_x.tolist()}, {expected.at_y.tolist()})"
        )
        assert np.array_equal(found["region"], expected.region)
        np.testing.assert_allclose(found["flow"], expected.flow, rtol=1e-9, atol=1e-12)
        for actions, policy in zip(found["policies"], expected.policies, strict=True):
            assert {E.O[o]: E.A[actions[o]] for o in rows} == policy


@pytest.mark.parametrize(
    ("learner", "name"),
    [(QLearning(epsilon=0.1, step=0.05), "qlearning"), (Sarsa(epsilon=0.2, lam=0.5), "sarsa")],
)
def test_a_path_is_the_packages_run_at_evenly_spread_steps(js, learner, name):
    E = augment(tasks()["recall"], "OA1")
    js.load(tasks()["recall"], "OA1")
    settings = {"epsilon": learner.epsilon, "step": learner.step, "gamma": float(E.gamma)}
    settings["lambda"] = getattr(learner, "lam", 0)
    made = f"new W.Path(W.makeLearner(P, '{name}', {json.dumps(settings)}, 7))"
    found = js(
        f"(() => {{ const path = {made}; path.most = 8; path.run(13); path.run(51); path.run(3); "
        "return {every: path.every, tables: path.tables, pairs: path.of([1, 0])}; })()"
    )
    assert found["every"] == 16  # the 9th table makes every second one go, three times
    expected = run_path(E, learner, 64, seed=7, points=4)
    assert np.array_equal(np.array(found["tables"]), expected.reshape(5, -1))
    now = run_path(E, learner, 67, seed=7, points=1)[-1].ravel()
    pairs = [pair for table in expected.reshape(5, -1) for pair in (table[1], table[0])]
    assert found["pairs"] == [*pairs, now[1], now[0]]


def test_the_table_that_a_policy_leads_to_is_the_fixed_points(js):
    E = augment(tasks()["recall"], "OA1")
    js.load(tasks()["recall"], "OA1")
    (one,) = equilibria(E, QLearning(epsilon=0.1))
    found = js("W.settling(P, 'qlearning', 0.1).fixed")
    rows = np.flatnonzero(E.decides)
    table = np.array(found[0]["q"], dtype=float).reshape(len(E.O), len(E.A))
    np.testing.assert_allclose(table[rows], one.q.raw[rows], atol=1e-12)


@pytest.mark.parametrize(
    ("task", "settings", "message"),
    [
        ("recall", {"kind": "actor-critic", "epsilon": 0.1}, "no greedy policies"),
        ("recall", {"kind": "qlearning", "epsilon": 0}, "never updated"),
        ("load_unload", {"kind": "qlearning", "epsilon": 0.1}, "tasks whose episodes end"),
    ],
)
def test_what_has_no_mean_field_is_told(js, task, settings, message):
    js.load(tasks()[task], "none")
    with pytest.raises(py_mini_racer.JSEvalException, match=message):
        js(f"new W.CellFields(P, {json.dumps({'lambda': 0} | settings)}, [[0, 0], [0, 1]])")
