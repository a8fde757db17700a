"""Certificates of Kuhn-Tucker points hold, and nothing in them can be changed."""

import copy
import json
from fractions import Fraction

import pytest
from hypothesis import given, settings

from pomdps import recall, recall4, recall_variant, short_corridor
from tests.support.strategies import pomdps
from workbench import POMDP, augment, critical_points
from workbench.certificates.critical import critical_certificate
from workbench.checker.recheck import recheck
from workbench.checker.spoiled import Spoiled
from workbench.core.errors import WorkbenchError


def certificate_of(P: POMDP, memory: str = "none") -> dict:
    found = critical_points(augment(P, memory))
    return json.loads(json.dumps(critical_certificate(P, memory, found)))


@pytest.mark.parametrize(
    ("P", "memory", "said"),
    [
        (recall4(), "none", "1 strict maximum"),
        (short_corridor(), "none", "1 strict maximum"),
        (recall_variant(), "none", "1 minimum, 2 strict maximum"),
        (recall_variant(), "K1", "1 strict maximum"),
        (recall(), "none", "1 strict maximum"),  # two free probabilities
    ],
    ids=str,
)
def test_points_are_found_again_in_fractions(P, memory, said):
    assert said in recheck(certificate_of(P, memory))


@pytest.mark.slow
@given(pomdps(most_states=3))
@settings(max_examples=15)
def test_certificates_of_random_tasks_hold(P):
    found = critical_points(P)
    if all(point.kind == "degenerate" for point in found):
        with pytest.raises(WorkbenchError, match="degenerate"):
            critical_certificate(P, "none", found)
        return
    text = recheck(json.loads(json.dumps(critical_certificate(P, "none", found))))
    for kind in ("minimum", "saddle"):
        assert (f" {kind}" in text) == bool(found.of_kind(kind))


def shifted(side: list) -> list:
    return [str(Fraction(x) + Fraction(1, 1000)) for x in side]


SPOILED = {
    "another kind": lambda c: c["points"][0].update(kind="saddle"),
    "not strict": lambda c: c["points"][0].update(strict=False),
    "another box": lambda c: c["points"][0].update(box=[shifted(c["points"][0]["box"][0])]),
    "no box": lambda c: c["points"][0].update(box=[]),
    "another value": lambda c: c["points"][0].update(value=["0", "1/2"]),
    "another return": lambda c: c["points"][0]["return"].__setitem__(0, "y0_0"),
    "another slope": lambda c: c["points"][0]["outside"][0].__setitem__(2, ["z", "1"]),
    "a slope left out": lambda c: c["points"][0]["outside"].pop(),
    "a row left out": lambda c: c["points"][0].update(supports=[]),
    "a support twice": lambda c: c["points"][0]["supports"][0].__setitem__(1, [1, 1]),
    "no points": lambda c: c.update(points=[]),
    "a point twice": lambda c: c["points"].append(c["points"][0]),
    "another task": lambda c: c["model"]["p"][0][2][0].__setitem__(1, "7"),
    "all B(k)": lambda c: c.update(memory="B(k)"),
}


@pytest.mark.parametrize("spoil", SPOILED.values(), ids=SPOILED)
def test_what_is_changed_is_refused(spoil):
    good = certificate_of(recall4())
    recheck(good)
    bad = copy.deepcopy(good)
    spoil(bad)
    with pytest.raises(Spoiled):
        recheck(bad)


def test_a_vertex_that_is_no_maximum_is_refused():
    bad = certificate_of(recall_variant())
    vertex = next(point for point in bad["points"] if not point["box"])
    other = next(point for point in bad["points"] if not point["box"] and point is not vertex)
    vertex["outside"] = other["outside"]
    with pytest.raises(Spoiled):
        recheck(bad)
