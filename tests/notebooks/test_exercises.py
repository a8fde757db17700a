"""Every exercise of the notebooks accepts its solutions and refuses what is nearly one.

`solutions_NN.py` holds, for each exercise of notebook NN, right answers and wrong ones.
"""

import importlib
import re
import sys
from pathlib import Path

import nbformat
import pytest

FOLDER = Path(__file__).parents[2] / "notebooks"
sys.path.insert(0, str(FOLDER))

from exercises import check  # noqa: E402

NOTEBOOKS = {path.name[:2]: path for path in sorted(FOLDER.glob("*.ipynb"))}
JUDGED = [
    path.stem.removeprefix("notebook_")
    for path in sorted((FOLDER / "exercises").glob("notebook_*.py"))
]
EXERCISES = [(number, i) for number in JUDGED for i in (1, 2)]


@pytest.mark.parametrize(("number", "i"), EXERCISES)
def test_right_answers_are_right_and_wrong_ones_wrong(number, i):
    solutions = importlib.import_module(f"solutions_{number}")
    right, wrong = solutions.RIGHT[i], solutions.WRONG[i]
    assert len(right) >= 1
    assert len(wrong) >= 2
    for answer in right:
        found = check(f"{int(number)}.{i}", answer)
        assert found.right, found
    for answer in wrong:
        found = check(f"{int(number)}.{i}", answer)
        assert found.right is False
        assert found.reason, f"{answer} is refused without a reason"


@pytest.mark.parametrize(("number", "i"), EXERCISES)
def test_an_answer_of_the_wrong_kind_is_wrong_and_dots_are_no_answer(number, i):
    name = f"{int(number)}.{i}"
    for answer in (object(), 7, "seven", [1, [2]], (1, 2, 3), {"x": None}, lambda: None):
        found = check(name, answer)
        if found.right:
            continue  # some of them are right answers to something
        assert not re.search(r"Error|object is not|unpack|subscriptable|argument", found.reason)
        assert found.reason
    assert check(name, ...).right is None


@pytest.mark.parametrize("number", NOTEBOOKS)
def test_a_notebook_asks_the_two_exercises_that_are_judged(number):
    source = "\n".join(cell.source for cell in nbformat.read(NOTEBOOKS[number], as_version=4).cells)
    asked = re.findall(r"check\(\"(\d+)\.(\d)\"", source)
    expected = [(str(int(number)), "1"), (str(int(number)), "2")] if number in JUDGED else []
    assert asked == expected
    assert (number in JUDGED) is (int(number) < 90)


def test_an_exercise_that_is_not_there_is_named():
    with pytest.raises(ValueError, match=r"no exercise '4\.7'"):
        check("4.7", 1)
