"""Optima, fixed points and critical points of known tasks are what they were."""

import json

import frozen_optima as frozen
import pytest

KNOWN = json.loads(frozen.FILE.read_text())
QUICK = ("recall4", "recall_variant", "load_unload", "n_back", "parr95.95.POMDP")
SECONDS = 4 * frozen.SECONDS
"""More than was given then: what was certain must not be lost to a busy machine."""


@pytest.mark.parametrize(
    "name", [pytest.param(x, marks=[] if x in QUICK else [pytest.mark.slow]) for x in KNOWN]
)
def test_nothing_is_lost(name):
    P = frozen.tasks()[name]()
    lost = {}
    for what, question in frozen.questions(name, P, SECONDS):
        if complaint := frozen.complaint(KNOWN[name][what], frozen.answer(question)):
            lost[what] = complaint
    assert lost == {}


def test_a_difference_is_seen():
    known = KNOWN["recall4"]["deterministic return"]
    assert not frozen.complaint(known, known)
    assert frozen.complaint(known, {**known, "lower": 0.25, "upper": 0.25})
    assert frozen.complaint(known, {**known, "certain": False})
    assert frozen.complaint(known, {"error": "NotSolved"})
    points = KNOWN["recall4"]["critical"]
    assert frozen.complaint(points, {**points, "points": points["points"][1:]})
