"""Working-memory tasks: what is paid, against rules written down again; sizes and best values."""

from fractions import Fraction
from itertools import product

import pytest

from pomdps import TASKS, alternation, delayed_match, n_back, one_two_ax, sequence_disambiguation
from workbench import augment, best_history, best_memoryless
from workbench.core.errors import WorkbenchError

F = Fraction
NAMES = ("delayed_match", "alternation", "sequence_disambiguation", "n_back", "one_two_ax")


@pytest.mark.parametrize("name", NAMES)
def test_best_values(name):
    assert best_history(TASKS[name].make()).value == TASKS[name].known["best"]


def streams(P, length):
    """Every stream of observations and the rewards of each action at its last one; tasks whose
    actions do not change what comes."""
    for s in P.mu:
        walks = [((s,), P.omega(s))]
        for _ in range(length):
            walks = [
                ((*past, t), {})
                for past, _ in walks
                for t in {t for (t, _), x in P.p(past[-1], P.A[0]).items() if x}
            ]
        for past, _ in walks:
            seen = [next(iter(P.omega(s))) for s in past]
            yield seen, {a: {r for _, r in P.p(past[-1], a)} for a in P.A}


@pytest.mark.parametrize("n", [1, 2, 3])
def test_n_back_pays_for_the_letter_of_n_steps_ago(n):
    for seen, paid in streams(n_back(n), 4):
        same = seen[-1] == seen[-1 - n]
        assert paid == {"same": {int(same)}, "different": {int(not same)}}


def test_1_2_ax_pays_on_targets_only():
    for seen, paid in streams(one_two_ax(), 3):
        digits = [x for x in seen[:-1] if x in "12"]
        last = digits[-1] if digits else None
        target = (last, *seen[-2:]) in {("1", "A", "X"), ("2", "B", "Y")}
        assert paid == {"wait": {0}, "press": {1 if target else -1}}


@pytest.mark.parametrize(("delay", "match"), list(product((0, 1, 3), (True, False))))
def test_delayed_match_pays_for_the_sample(delay, match):
    P = delayed_match(delay, match)
    for seen, paid in streams(P, delay + 1):
        assert seen[1:-1] == ["nothing"] * delay
        same = seen[0].split()[1] == seen[-1].split()[1]
        right = "same" if same == match else "different"
        assert paid == {a: {int(a == right)} for a in P.A}


def test_sequences_differ_in_their_first_letter_only():
    P = sequence_disambiguation(3)
    for seen, paid in streams(P, 4):
        assert seen[1:] == ["C", "D", "E", "choose"]
        assert paid == {"left": {int(seen[0] == "A")}, "right": {int(seen[0] == "B")}}


def test_alternation_is_solved_by_the_last_action_and_not_by_the_last_observation():
    P = alternation()
    values = {
        m: best_memoryless(augment(P, m), exact=True).value for m in ("none", "K1", "window1")
    }
    assert values == {"none": 0, "K1": F(9, 10), "window1": 9}


@pytest.mark.parametrize(
    "make", [lambda: delayed_match(-1), lambda: n_back(0), lambda: sequence_disambiguation(21)]
)
def test_wrong_sizes_are_refused(make):
    with pytest.raises(WorkbenchError):
        make()


@pytest.mark.parametrize("name", ["alternation", "n_back", "one_two_ax"])
def test_a_drawing_of_what_is_remembered_has_a_cell_for_each_state(name):
    record = TASKS[name]
    P = record.make()
    cells = [record.drawing.place(s, next(iter(P.omega(s)))) for s in P.S]
    assert sorted(cells) == sorted(record.drawing.grid.cells)
    marks = {cell: sign for sign, cell in record.drawing.grid.signs}
    if name != "alternation":
        assert all(
            marks[cell] == next(iter(P.omega(s))) for s, cell in zip(P.S, cells, strict=True)
        )


@pytest.mark.parametrize("name", ["delayed_match", "sequence_disambiguation"])
def test_time_runs_along_the_lanes_of_a_drawing(name):
    record = TASKS[name]
    P = record.make()
    for s in P.S:
        if s not in P.terminal:
            assert record.drawing.place(s, None) == (s[1], int(s[0] == "A"))
    longer = record.make(5)  # beyond the drawing
    assert record.drawing.place(longer.S[-2], None) is None
