"""Files of the lab with changed fields: damage is found at reading, by the reader's own error."""

from __future__ import annotations

import contextlib
import json
import random
import time

import pytest
from file_fuzz import damaged_json
from test_gallery import finds

from workbench.core.errors import WorkbenchError
from workbench.lab.gallery import Damaged, _digest, check_entry, read_find
from workbench.lab.print import gallery_page
from workbench.results.json import Unreadable, decode, model_from_json, model_json, parse_json
from workbench.sweeps.spec import SpecError, parse_spec


def damage(folder, count, seed):
    """Damaged files, their checksums right again: each is refused, or read, shown and checked."""
    refused = read = 0
    rng = random.Random(seed)
    for find in finds():
        name = find.save(folder)
        good = json.loads((folder / f"{name}.json").read_bytes())
        for _ in range(count):
            record = json.loads(damaged_json(good, rng, texts=False))
            record["sha256"] = _digest({key: x for key, x in record.items() if key != "sha256"})
            path = folder / "damaged.json"
            path.write_text(json.dumps(record))
            try:
                entry = read_find(path)
            except Damaged:
                refused += 1
                continue
            read += 1
            gallery_page([entry])
            with contextlib.suppress(WorkbenchError):
                check_entry(entry)
    return refused, read


def test_damaged_entries_are_refused_at_reading_or_shown_whole(tmp_path):
    refused, read = damage(tmp_path, count=25, seed=1)
    assert refused > 80
    assert read > 5


@pytest.mark.slow
def test_thousands_of_damaged_entries(tmp_path):
    refused, read = damage(tmp_path, count=1000, seed=2)
    assert refused > 1000
    assert read > 100


@pytest.mark.parametrize(
    "text", ["[" * 100_000, '{"a":' * 50_000, "[1e999]", "[" + "9" * 100_000 + "]", "[NaN]", "\x00"]
)
def test_deep_and_huge_json_is_refused_soon(tmp_path, text):
    began = time.perf_counter()
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(Damaged):
        read_find(tmp_path / "x.json")
    if text != "[1e999]":
        with pytest.raises(Unreadable):
            parse_json(text)
    with pytest.raises(Unreadable):
        decode(json.loads('{"tuple": [' * 300 + "1" + "]}" * 300))
    assert time.perf_counter() - began < 5


def test_numbers_that_would_take_for_ever_are_refused():
    good = model_json(finds()[0].task)
    for huge in ("1e999999999", "1" + "0" * 10_000, "1/0", "0x10", " 1", 1, None):
        with pytest.raises(Unreadable, match="no fraction"):
            model_from_json({**good, "gamma": huge})


def test_a_deeply_nested_sweep_is_refused():
    with pytest.raises(SpecError):
        parse_spec("x = " + "[" * 100_000, str)
