"""The loop on tables that the theorems of our own are checked with, and random tables inside and
outside the regions."""

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proofs.ledger import LEDGER, load, section_of
from proofs.ledger.places import NOTEBOOKS
from proofs.own import shares
from proofs.own.bits import predicted
from proofs.own.tables import gap_to_best, loop_limits, table_task, tables_up_to, two_step_task
from workbench import augment, evaluate, improve, uniform
from workbench.improvement.batch import sequence_task
from workbench.lab.exhibits import THEOREMS
from workbench.lab.frequencies import random_tables

REWARDS = st.lists(st.integers(0, 9), min_size=4, max_size=4)


@given(REWARDS, st.sampled_from([1, 2]), st.sampled_from([0.1, 0.02]))
@settings(max_examples=25, deadline=None)
def test_the_loop_from_the_formulas_takes_the_steps_of_improve(numbers, k, step):
    table = np.array(numbers).reshape(2, 2)
    E = augment(table_task(table.tolist()), f"B{k}")
    run = improve(E, uniform(E), step=step, budget=12)
    slow = np.asarray(run.values)
    for n in range(min(len(slow), 8)):
        fast = loop_limits(table[None], 2**k, step, n).item()
        assert fast == pytest.approx(slow[n], abs=1e-9)


def exact_end(table, k, step, iterates):
    """The value after some steps, in rationals: no tie is decided by a tolerance."""
    E = augment(table_task(table), f"B{k}")
    pi = uniform(E)
    for _ in range(iterates):
        pi = pi.toward(pi.greedy(evaluate(E, pi, exact=True).q.array), step)
    return evaluate(E, pi, exact=True).value


@given(st.integers(1, 3), st.integers(1, 3), st.integers(0, 3))
@settings(max_examples=8, deadline=None)
def test_a_table_of_the_region_is_stuck_and_without_memory_it_is_not(loss, room, low):
    d_a, b_minus_c = loss, 3 * loss + room
    b = low + b_minus_c
    a = b + d_a
    table = [[a, b], [low, a + d_a]]
    assert predicted(table, 2)[0] == a
    step = Fraction(1, 40 * d_a)
    assert step / (1 - step) * d_a < Fraction(room, 4)  # the bound of T.bits on the step
    slow = exact_end(table, 1, step, 12)
    assert slow == pytest.approx(loop_limits(np.array([table]), 2, float(step), 12).item())
    end = loop_limits(np.array([table]), 2, float(step), 200 * d_a).item()
    assert end < a + d_a - 0.5
    E = augment(table_task(table), "none")
    assert improve(E, uniform(E), step=0.1).value == pytest.approx(a + d_a)


def test_the_smallest_tables_of_the_corollaries():
    stuck = [t.tolist() for t in tables_up_to(6) if predicted(t, 2)[0] == 5 == t.max() - 1]
    assert [[5, 4], [0, 6]] in stuck
    smaller = [t for t in tables_up_to(5) if _is_first_region(t, 2)]
    assert smaller == []
    assert not _is_first_region(np.array([[3, 2], [0, 4]]), 2)
    assert _is_first_region(np.array([[3, 2], [0, 4]]), 4)


def _is_first_region(table, K):
    value, _ = predicted(table, K)
    return value < table.max() and value == int(value)


@pytest.mark.parametrize("seed", range(100, 112))
def test_oa1_reaches_the_best_value_on_two_steps(seed):
    P = two_step_task(seed)
    assert gap_to_best(P, "OA1") == pytest.approx(0, abs=1e-6)


@pytest.fixture
def few_tables(monkeypatch):
    """Shares of twelve tables instead of a thousand."""
    monkeypatch.setattr(shares, "COUNT", 12)
    for counted in (shares.against_none, shares.ends):
        counted.cache_clear()
    yield 12
    for counted in (shares.against_none, shares.ends):
        counted.cache_clear()


@pytest.mark.parametrize(("memory", "length"), [("B1", 2), ("K1", 3)])
def test_shares_count_where_the_loop_ends_lower_and_higher_than_without_memory(
    few_tables, memory, length
):
    lower, higher = shares.against_none(memory, length)
    tables = random_tables("normal", 2, length, few_tables, seed=shares.SEED + length)
    ends = {}
    for name in ("none", memory):
        tasks = [augment(sequence_task(table.tolist()), name) for table in tables]
        ends[name] = np.array([float(improve(E, uniform(E), step=0.02).value) for E in tasks])
    difference = ends[memory] - ends["none"]
    assert lower.hits == (difference < -1e-3).sum()
    assert higher.hits == (difference > 1e-3).sum() > 0


# ---------------------------------------------------------------------- shown as well as proved


NO_TABLE = {"T.soft"}
"""Theorems whose task is no table of rewards, which is what an exhibit is made of."""


def own_theorems():
    return [id for id in load() if id.startswith("T.")]


@pytest.mark.parametrize("id", own_theorems())
def test_every_own_theorem_has_steps_a_passage_of_its_notebook_and_an_exhibit(id):
    """What the gallery's page and the notebook show is tied to the theorem by its id."""
    claim = LEDGER[id]
    assert claim.steps
    assert claim.twins
    assert id in NO_TABLE or id in THEOREMS.values()
    path = Path("notebooks") / f"{NOTEBOOKS[section_of(id)]}.ipynb"
    cells = json.loads((Path(__file__).parents[2] / path).read_text())["cells"]
    texts = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"]
    assert any(f"`{id}`" in text for text in texts), f"{path} does not speak of {id}"


def test_no_exhibit_belongs_to_a_theorem_that_is_not_there():
    assert set(THEOREMS.values()) == set(own_theorems()) - NO_TABLE
