"""How often a memory adds local maxima."""

from fractions import Fraction as F

import pytest

from workbench import augment, critical_points
from workbench.lab.frequencies import small_tables
from workbench.lab.optimum_frequencies import MEMORIES, count_maxima
from workbench.lab.optimum_statements import MoreLocalOptima
from workbench.lab.sequences import discounted_sequence_task

TWO = discounted_sequence_task([[2, 0], [0, 1]])
ONE = discounted_sequence_task([[0, 1], [2, 1]])
"""The first has a maximum at each action; the second has one in all."""


@pytest.mark.slow
def test_counts_are_those_of_the_points_themselves():
    found = count_maxima([TWO, ONE], ["none", "K1", "OA1"])
    for memory, count in found.items():
        worse = strict = judged = 0
        for P in (TWO, ONE):
            points = critical_points(augment(P, memory))
            judged += points.complete
            values = [
                (float(point.value), point.strict)
                for point in points
                if point.kind == "maximum" and points.complete
            ]
            below = [x for x in values if x[0] < max(values)[0] - 1e-9]
            worse += bool(below)
            strict += any(s for _, s in below)
        assert (count.worse.hits, count.strict.hits, count.worse.of) == (worse, strict, judged)
        assert count.not_judged == 2 - judged
    assert found["none"].worse.hits == 1
    assert found["none"].most == 2
    assert found["none"].added.hits == 0
    assert "worse 50.0%" in repr(found["none"])


def test_added_is_what_the_statement_says():
    tables = small_tables(1, 2, 2)
    tasks = [discounted_sequence_task(table.astype(int)) for table in tables[:6]]
    found = count_maxima(tasks, ["K1"])["K1"]
    said = [MoreLocalOptima(memory="K1").exactly(P).holds for P in tasks]
    assert found.added.hits == sum(x is True for x in said)


def test_too_many_faces_are_not_judged():
    found = count_maxima([TWO], ["none", "B1"], max_faces=5)
    assert found["B1"].not_judged == 1
    assert found["none"].not_judged == 0
    assert set(MEMORIES) == {"none", "K1", "B1", "O1", "OA1"}


@pytest.mark.parametrize("unit", [F(1, 2**40), F(2**40)])
def test_counts_do_not_depend_on_the_unit_of_reward(unit):
    table = [[2 * unit, 0], [0, unit]]
    found = count_maxima([discounted_sequence_task(table)], ["none"])["none"]
    assert (found.worse.hits, found.most) == (1, 2)
