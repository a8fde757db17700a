"""What does not fit into memory is refused, before it is built."""

from __future__ import annotations

import importlib
import math
import re
import resource
import subprocess
import sys

import pytest

import pomdps
from workbench import POMDP, Memory, augment
from workbench.core import product_room, product_size, room
from workbench.core.errors import TooLarge
from workbench.core.memories import attach
from workbench.core.product_room import ProductRoom
from workbench.core.product_size import ProductSize

augment_module = importlib.import_module("workbench.core.augment")  # `augment` is the function


def leave_free(monkeypatch, size: float) -> None:
    monkeypatch.setattr(product_room, "free_bytes", lambda: math.ceil(size))


def test_a_product_that_does_not_fit_is_refused_before_it_is_built(monkeypatch):
    monkeypatch.setattr(product_size, "_DENSE_CODES", 0)
    P = POMDP.random(1, states=6, observations=4)
    fits = augment(P, "O2")
    cost = ProductRoom(P, attach("O2", P)).cost
    need = sum(int(cost[P.S.index(s)]) for s, _, _ in fits.S)
    assert need > len(fits.p.s_next) * 80
    leave_free(monkeypatch, need / 0.75)
    assert len(augment(P, "O2").S) == len(fits.S)
    leave_free(monkeypatch, need / 0.75 - 2)
    with pytest.raises(TooLarge, match=r"random 1×O2 has more than .*, 75% of the free memory: "):
        augment(P, "O2")

    def Gamma(m, w, o, a, r, o_next):
        return {m: 1}

    leave_free(monkeypatch, 100)
    with pytest.raises(TooLarge, match="take a smaller memory"):
        augment(P, Memory("own", [0], ["w"], Gamma, {0: 1}))


def test_rows_of_terminal_states_take_room_though_nothing_follows(monkeypatch):
    P = POMDP.from_functions(
        name="one step",
        A=[0, 1],
        p=lambda s, a: {(i, 0): 0.01 for i in range(100)},
        omega=lambda s: {s: 1},
        mu={"start": 1},
        gamma=1,
        terminal=range(100),
    )
    E = augment(P, "B5")
    pointers = E.p.row_ptr.nbytes
    assert pointers > len(E.p.s_next) * 80
    leave_free(monkeypatch, pointers)
    with pytest.raises(TooLarge, match="has more than"):
        augment(P, "B5")


def test_a_refused_product_is_walked_no_further_than_needed_and_the_refusal_says_what_fits(
    monkeypatch,
):
    P = POMDP.random(1, states=6, observations=4)
    whole = augment(P, "O3")
    # without what is known before the walk, which refuses most of these
    monkeypatch.setattr(augment_module, "least_buffered_size", lambda *_: ProductSize(0, 0))

    def refusal(outcomes: int) -> str:
        with pytest.raises(TooLarge) as found:
            augment(P, "O3", most=outcomes)
        return str(found.value)

    # states count as soon as they are met, so that few more are met than fit
    said = refusal(len(whole.p.s_next) // 4)
    met = int(re.search(r"more than ([\d,]+) states", said)[1].replace(",", ""))
    assert len(whole.S) / 8 < met < len(whole.S) / 2
    # 25 memory states with 41 outcomes and two writes each are at most 2,050
    assert "one of 25 memory states, an entry less, fits" in refusal(2_050)
    assert refusal(2_049).endswith("take a smaller memory")


def test_gravity_with_three_pairs_is_refused_on_a_machine_of_23_gigabytes(monkeypatch):
    def walked(*_):
        raise AssertionError("walked")

    monkeypatch.setattr(augment_module, "discover_states", walked)
    leave_free(monkeypatch, 23 * 2**30)
    with pytest.raises(TooLarge, match=r"has more than 41,154,000 states"):
        augment(pomdps.gravity(), "OA3")


@pytest.mark.parametrize("moment", ["discover_states", "fill_product_rows", "Transitions"])
def test_memory_that_runs_out_all_the_same_is_said_with_sizes_and_advice(monkeypatch, moment):
    def exhausted(*_, **__):
        raise MemoryError

    P = pomdps.tiger()
    monkeypatch.setattr(augment_module, moment, exhausted)
    with pytest.raises(TooLarge, match=r"memory ran out while tiger×O1.*take a smaller") as found:
        augment(P, "O1")
    assert ("states and" in str(found.value)) == (moment != "discover_states")


LIMITED = """
import resource, sys
import workbench
from pomdps import gravity
from workbench.core.errors import TooLarge
from workbench.core.room import free_bytes

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
    assert "of the free memory: take a smaller memory" in done.stdout


def test_what_a_group_leaves_is_what_the_process_may_take(monkeypatch, tmp_path):
    """Both versions of Linux's groups; the groups around one count, and copies of files do not."""
    proc, groups = tmp_path / "proc", tmp_path / "groups"
    (proc / "self").mkdir(parents=True)
    monkeypatch.setattr(room, "_PROC", proc)
    monkeypatch.setattr(room, "_GROUPS", groups)
    monkeypatch.setattr(room, "_process", list)

    def write(folder, **files):
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (folder / f"memory.{name}").write_text(f"{text}\n")

    (proc / "meminfo").write_text("MemTotal: 9 kB\nMemAvailable:   8 kB\n")
    assert room.free_bytes() == 8 * 1024
    (proc / "self" / "cgroup").write_text("0::/outer/inner\n")
    write(groups / "outer" / "inner", max="max", current=5)
    assert room.free_bytes() == 8 * 1024
    write(groups / "outer", max=7000, current=1000, stat="anon 900\ninactive_file 100")
    assert room.free_bytes() == 6100
    (proc / "self" / "cgroup").write_text("3:cpu,cpuacct:/\n2:memory:/far\n0::/\n")
    write(groups / "memory", limit_in_bytes=5000, usage_in_bytes=1000, stat="total_inactive_file 0")
    assert room.free_bytes() == 4000
    write(groups / "memory" / "far", limit_in_bytes=900, usage_in_bytes=1000, stat="")
    assert room.free_bytes() == 0
    (proc / "meminfo").unlink()
    (proc / "self" / "cgroup").unlink()
    assert room.free_bytes() >= resource.getpagesize()
