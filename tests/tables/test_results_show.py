"""Results that are pictures first show a table as well: in Jupyter, as text and as a frame."""

import pytest

from pomdps import recall, recall4
from workbench import (
    QLearning,
    augment,
    best_memoryless,
    phase_plane,
    policy_slice,
    shortcuts,
    sweep_lambda,
    transition_diagram,
)


def _on_recall(make):
    E = augment(recall(), "OA1")
    return make(E, best_memoryless(E).policy)


RESULTS = {
    "diagram": (
        lambda: _on_recall(lambda E, pi: transition_diagram(E, pi, shortcuts(E, pi))),
        "makes 3 transitions; strict shortcuts make 1 and weak ones 0",
        ["from", "to", "actions", "kind"],
    ),
    "lambda": (
        lambda: _on_recall(lambda E, pi: sweep_lambda(E, pi, points=5)),
        "The greedy action changes at lambda 0.205 (∅)",
        ["o", "a", "TD(0)", "TD(0.5)", "TD(1)"],
    ),
    "slice": (
        lambda: policy_slice(augment(recall4(), "B1"), points=2),
        "From 3 policies the loop ends in 2 different ways",
        ["value", "ended", "starts"],
    ),
    "plane": (
        lambda: phase_plane(recall4(), QLearning(epsilon=0.1), points=3),
        "policies are greedy somewhere on the plane of q(o, 0) and q(o, 1)",
        ["greedy policy", "share"],
    ),
}


@pytest.mark.parametrize("name", RESULTS)
def test_a_picture_shows_its_table_too(name):
    make, sentence, columns = RESULTS[name]
    result = make()
    assert sentence in " ".join(result.sheet().text().split())
    assert max(map(len, result.sheet().text().splitlines())) <= 80
    assert f">{columns[-1]}</th>" in result._repr_html_()
    assert list(result.to_frame().columns) == columns


def test_the_shares_of_a_plane_and_of_a_slice_add_up():
    for name, column in (("slice", "starts"), ("plane", "share")):
        assert RESULTS[name][0]().to_frame()[column].sum() == pytest.approx(1)


def test_lambda_shows_the_values_of_its_ends():
    found = RESULTS["lambda"][0]()
    frame = found.to_frame()
    assert frame["TD(0)"].tolist() == pytest.approx(found.q[0].ravel().tolist(), nan_ok=True)
    assert frame["TD(1)"].tolist() == pytest.approx(found.q[-1].ravel().tolist(), nan_ok=True)
