"""What does not fit into memory is refused while it is walked."""

from __future__ import annotations

import importlib
import math
import re
import subprocess
import sys

import pytest

import pomdps
from workbench import Memory, augment, random_pomdp
from workbench.core import footprint
from workbench.core.errors import TooLarge

augment_module = importlib.import_module("workbench.core.augment")  # `augment` is the function


def leave_free(monkeypatch, size: float) -> None:
    monkeypatch.setattr(footprint, "free_bytes", lambda: math.ceil(size))


def test_a_walk_stops_where_it_has_met_more_than_fits(monkeypatch):
    P = random_pomdp(1, states=6, observations=4)
    whole = augment(P, "K4")
    leave_free(monkeypatch, len(whole.p.s_next) * 80 / 0.75 + 1)
    assert len(augment(P, "K4").S) == len(whole.S)
    monkeypatch.setattr(augment_module, "_PIECE", 8)
    leave_free(monkeypatch, len(whole.p.s_next) * 80 / 0.75 / 4)
    with pytest.raises(TooLarge, match=r"into the free memory.*take a smaller memory") as found:
        augment(P, "K4")
    # states count as soon as they are met, so that few more are met than fit
    met = int(re.search(r"more than ([\d,]+) states", str(found.value))[1].replace(",", ""))
    assert len(whole.S) / 8 < met < len(whole.S) / 2
    leave_free(monkeypatch, 100)
    still = Memory("own", [0], ["w"], lambda *_: {0: 1}, {0: 1})
    with pytest.raises(TooLarge, match="take a smaller memory"):
        augment(P, still)


@pytest.mark.parametrize("memory", ["O1*O1", "O1*B1"])
def test_the_limit_that_is_given_is_kept(memory):
    P = pomdps.t_maze(2)
    outcomes = len(augment(P, memory).p.s_next)
    assert len(augment(P, memory, most=outcomes).p.s_next) == outcomes
    with pytest.raises(TooLarge, match=f"{outcomes:,} outcomes; {outcomes - 1:,} fit"):
        augment(P, memory, most=outcomes - 1)


@pytest.mark.parametrize("moment", ["expand_states", "Transitions"])
def test_memory_that_runs_out_all_the_same_is_said_with_advice(monkeypatch, moment):
    def exhausted(*_, **__):
        raise MemoryError

    monkeypatch.setattr(augment_module, moment, exhausted)
    with pytest.raises(TooLarge, match=r"memory ran out while tiger×O1.*take a smaller"):
        augment(pomdps.tiger(), "O1")


LIMITED = """
import resource, sys
import workbench
from pomdps import gravity
from workbench.core.errors import TooLarge
from workbench.core.footprint import free_bytes

workbench.augment(gravity(), "O1")  # kernels are there before the limit
kind = getattr(resource, sys.argv[1])
resource.setrlimit(kind, (1 << 30, 1 << 30))
assert free_bytes() < 1 << 30
try:
    workbench.augment(gravity(), "B10")
except TooLarge as error:
    print(error)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits are read from /proc")
@pytest.mark.parametrize("kind", ["RLIMIT_AS", "RLIMIT_DATA"])
def test_limits_on_the_process_are_kept(kind):
    """B10 of gravity takes some 13 GB."""
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, kind], capture_output=True, text=True, check=True
    )
    assert "take a smaller memory" in done.stdout
