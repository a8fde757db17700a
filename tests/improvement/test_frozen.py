"""The ends of the oracle loop on all small tasks are those that were recorded."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest
from frozen_loops import record_run

RECORDED = json.loads(Path("tests/data/oracle_loops.json").read_text())

DAILY = ("recall", "recall4", "recall_variant", "short_corridor", "belief_corridor", "tiger")
"""Small tasks; the others are looked at where slow tests are run."""

ELSEWHERE = {
    # near the limit a row alternates between actions that floats cannot tell apart
    ("cheese_maze", "K1"): "fixed",
}
"""Runs that are told otherwise than they were recorded, when comparisons were decided modulo primes
and in balls: the value is the same."""

NEXT_TO = {("hallway_keys", "B2"): 1e-21}
"""Runs that floats lead to another limit, whose value differs by less than this."""


def check(run: dict) -> None:
    found = record_run(run["task"], run["memory"])
    assert found is not None
    assert found["ended"] == ELSEWHERE.get((run["task"], run["memory"]), run["ended"])
    near = NEXT_TO.get((run["task"], run["memory"]), 0)
    assert found["value"] == pytest.approx(run["value"], rel=1e-9, abs=max(near, 1e-12))
    if run["limit"] is not None:
        assert abs(Fraction(found["limit"]) - Fraction(run["limit"])) <= near
    if found["ended"] == run["ended"]:
        assert found["period"] == run["period"]


def is_daily(run: dict) -> bool:
    """Whether a run takes no time; that on recall with B1 has thousands of iterates."""
    return run["task"] in DAILY and (run["task"], run["memory"]) != ("recall", "B1")


def named(runs: list[dict]) -> list:
    return [pytest.param(run, id=f"{run['task']}-{run['memory']}") for run in runs]


@pytest.mark.parametrize("run", named([x for x in RECORDED if is_daily(x)]))
def test_the_loop_ends_where_it_did(run):
    check(run)


@pytest.mark.slow
@pytest.mark.parametrize("run", named([x for x in RECORDED if not is_daily(x)]))
def test_the_loop_ends_where_it_did_on_larger_tasks(run):
    check(run)
