"""Damaged files of every kind: only the package's own errors, no hanging, no memory without
bound."""

from __future__ import annotations

import subprocess

import file_fuzz
import pytest


@pytest.mark.parametrize(
    ("kind", "count"),
    [("pomdp", 150), ("drn", 150), ("controller", 60), ("spec", 150), ("model", 150), ("cell", 60)],
)
def test_damaged_files_are_read_or_refused_in_words(kind, count):
    read, refused = file_fuzz.attack(kind, count, seed=1)
    assert read + refused == count
    assert kind == "cell" or refused > count // 4


@pytest.mark.slow
@pytest.mark.parametrize("seed", [2, 3])
@pytest.mark.parametrize("kind", file_fuzz.KINDS)
def test_thousands_of_damaged_files_take_no_gigabyte(kind, seed, processes):
    count = 1_000
    child = processes.python(
        file_fuzz.__file__, kind, count, seed, stdout=subprocess.PIPE, text=True
    )
    said, _ = child.communicate(timeout=3_000)
    assert child.returncode == 0
    read, refused, more = map(int, said.split())
    assert read + refused == count
    assert more < 1_000_000_000
