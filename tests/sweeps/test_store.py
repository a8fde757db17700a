"""Finished cells on disk: what comes back is what was put in, or nothing."""

import errno
import hashlib
import os
import pickle
import tracemalloc
from collections import namedtuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_of

from workbench import output
from workbench.output import StorageError, check_folder
from workbench.sweeps.cell import key_of
from workbench.sweeps.store import (
    Store,
    cells_in,
    is_whole,
    pack,
    unpack,
)

CONTENT = {"task": "recall", "seeds": [0, 1], "code": "abc"}
COLUMNS = {
    "step": np.arange(3),
    "seed": np.array([0, 1, 2**64 - 1], dtype=np.uint64),
    "per_100": np.array([0.1, np.nan, -0.0]),
    "ended": np.array(["limit cycle", "fixed", "fixed"]),
}


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "cells")


def same(one, other):
    return list(one) == list(other) and all(
        one[name].dtype == other[name].dtype and one[name].tobytes() == other[name].tobytes()
        for name in one
    )


def file_of(store):
    return store.folder / f"{key_of(CONTENT)}.parquet"


def test_a_cell_comes_back_bit_for_bit(store):
    assert store.load(CONTENT) is None
    store.save(CONTENT, COLUMNS)
    assert same(store.load(CONTENT), COLUMNS)
    assert Store(store.folder).load({**CONTENT, "seeds": [0, 2]}) is None
    assert store.set_aside == []


@settings(max_examples=20, deadline=None)
@given(
    st.sampled_from([np.float64, np.int64, np.uint64]).flatmap(
        lambda kind: arrays_of.arrays(kind, st.integers(0, 9))
    )
)
def test_any_numbers_survive(numbers):
    content, columns = unpack(pack(CONTENT, {"x": numbers}))
    assert content == CONTENT
    assert same(columns, {"x": numbers})


def test_anything_that_reads_parquet_reads_a_cell(store):
    import pandas as pd

    store.save(CONTENT, COLUMNS)
    frame = pd.read_parquet(file_of(store))
    assert list(frame.columns) == list(COLUMNS)
    assert frame.ended.tolist() == COLUMNS["ended"].tolist()


def with_another_record(path):
    path.write_bytes(pack({**CONTENT, "code": "xyz"}, COLUMNS))


def with_a_deep_record(path):
    """A record with a right checksum that no reader of JSON gets to the end of."""
    data = pack({**CONTENT, "code": "~" * 200_000}, COLUMNS)
    data = (
        data.replace(b"~" * 200_000, b"~" + b"[" * 199_998 + b"~")
        .replace(b'"~[', b"[[[")
        .replace(b'[~"', b"[[[")
    )
    start = data.rindex(b"sha256:") + 7
    zeroed = data[:start] + b"0" * 64 + data[start + 64 :]
    path.write_bytes(
        data[:start] + hashlib.sha256(zeroed).hexdigest().encode() + data[start + 64 :]
    )


def with_a_right_checksum(path):
    """Bytes that are no Parquet file, under a checksum that fits."""
    start = b"PAR1 nonsense sha256:"
    digest = hashlib.sha256(start + b"0" * 64).hexdigest().encode()
    path.write_bytes(start + digest)


def with_pickle(path):
    path.write_bytes(pickle.dumps(Trap()))


class Trap:
    """Says so if it is unpickled."""

    def __reduce__(self):
        return sprung.append, (True,)


sprung = []

DAMAGE = {
    "a changed byte": lambda path: flip(path, len(path.read_bytes()) // 2),
    "a changed first byte": lambda path: flip(path, 0),
    "a changed checksum": lambda path: flip(path, path.read_bytes().rindex(b"sha256:") + 20),
    "half of the file": lambda path: path.write_bytes(path.read_bytes()[:500]),
    "an empty file": lambda path: path.write_bytes(b""),
    "zeros": lambda path: path.write_bytes(bytes(len(path.read_bytes()))),
    "the record of another cell": with_another_record,
    "no Parquet": with_a_right_checksum,
    "a record that is nested deeply": with_a_deep_record,
    "a pickle": with_pickle,
}


def flip(path, place):
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(bytes(content))


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_damage_is_seen_set_aside_and_can_be_repaired(store, damage):
    store.save(CONTENT, COLUMNS)
    damage(file_of(store))
    assert store.load(CONTENT) is None
    assert len(store.set_aside) == 1
    assert key_of(CONTENT) in store.set_aside[0]
    assert not file_of(store).exists()
    assert any((store.folder / "set-aside").rglob("*.parquet"))  # nothing is thrown away
    assert sprung == []
    store.save(CONTENT, COLUMNS)
    assert same(store.load(CONTENT), COLUMNS)


def test_a_whole_cell_under_the_name_of_another_does_not_count_as_found(store):
    other = {**CONTENT, "seeds": [2, 3]}
    store.save(other, COLUMNS)
    file_of(store).write_bytes(store.path(key_of(other)).read_bytes())
    assert store.load(CONTENT) is None
    assert "describes another cell" in store.set_aside[0]
    assert store.load(other) is not None


@pytest.mark.parametrize(
    ("column", "why"),
    [
        (np.zeros(40_000_000), "more than 32,000,000 numbers"),
        (np.array(["x" * 800_000] * 3), "words of more than 200 characters"),
        (np.array(["x" * 190] * 400_000), "more than 64,000,000 characters"),
        (np.array([b"bytes"]), "neither numbers nor words"),
        (np.array([True]), "neither numbers nor words"),
    ],
)
def test_a_small_file_that_stands_for_gigabytes_or_for_no_numbers_is_refused(column, why):
    data = pack(CONTENT, {"x": column})
    assert len(data) < 900_000
    with pytest.raises(ValueError, match=why):
        unpack(data)


def test_the_words_of_all_columns_count_together():
    """125 kB stood for four gigabytes: sixteen columns of one long word."""
    words = np.array(["x" * 190] * 100_000)
    assert len(unpack(pack(CONTENT, {str(i): words for i in range(3)}))[1]) == 3
    with pytest.raises(ValueError, match="its words have more than 64,000,000 characters"):
        unpack(pack(CONTENT, {str(i): words for i in range(4)}))


def test_repeated_words_are_not_made_one_by_one():
    """A short word in thirty million rows took minutes."""
    data = pack(CONTENT, {"x": np.array(["xy", "z"] * 200_000)})
    tracemalloc.start()
    try:
        words = unpack(data)[1]["x"]
        assert words[:3].tolist() == ["xy", "z", "xy"]
        assert tracemalloc.get_traced_memory()[1] < 4 * words.nbytes
    finally:
        tracemalloc.stop()


def test_no_byte_can_change_unseen():
    data = pack(CONTENT, COLUMNS)
    assert is_whole(data)
    for place in range(len(data)):
        changed = bytearray(data)
        changed[place] ^= 0x10
        assert not is_whole(bytes(changed))
        assert not is_whole(data[:place])


def test_all_cells_of_a_folder_are_listed_and_damaged_ones_left_alone(store):
    other = {**CONTENT, "code": "xyz"}
    store.save(CONTENT, COLUMNS)
    store.save(other, COLUMNS)
    flip(file_of(store), 30)
    found = {path.stem: content for path, content, _ in cells_in(store.folder)}
    assert found == {key_of(CONTENT): None, key_of(other): other}
    assert file_of(store).exists()


def test_a_disk_that_fills_up_leaves_no_half_cell(store, monkeypatch):
    def full(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StorageError, match=r"cannot write .*\.parquet: No space left on device"):
        store.save(CONTENT, COLUMNS)
    assert [path.name for path in store.folder.iterdir()] == [".claims"]


def test_an_interruption_while_writing_leaves_no_half_cell(store, monkeypatch):
    def interrupted(one, other):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        store.save(CONTENT, COLUMNS)
    assert [path.name for path in store.folder.iterdir()] == [".claims"]


def test_a_folder_that_cannot_be_written_is_refused_before_the_work(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match=r"cannot write to .*file: .*"):
        Store(tmp_path / "file")

    def read_only(**_):
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(output.tempfile, "NamedTemporaryFile", read_only)
    with pytest.raises(StorageError, match="Read-only file system"):
        check_folder(tmp_path)


def test_a_full_folder_is_refused_before_the_work(tmp_path, monkeypatch):
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(
        output.shutil, "disk_usage", lambda path: usage(10**9, 10**9 - 10**6, 10**6)
    )
    with pytest.raises(StorageError, match="only 1 MB of free space; 50 MB are needed"):
        check_folder(tmp_path)


def test_what_a_killed_process_left_half_written_goes_when_it_is_old(tmp_path):
    old, new = tmp_path / ".part-old", tmp_path / ".part-new"
    for path in (old, new):
        path.write_text("half")
    os.utime(old, (0, 0))
    Store(tmp_path)
    assert not old.exists()
    assert new.exists()
